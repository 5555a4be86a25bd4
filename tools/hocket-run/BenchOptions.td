// hocket-run bench
include "Common.td"

defm published : Value<"published", "FILE", "Published measurements, one problem a line (docs/published/)">;
defm kernel : Value<"kernel", "NAME=CO,MANIFEST", "Kernel to predict: a column of the file, or a name of one's own; also NAME=SCHEDULE to compile; may be repeated">;
defm rows : Value<"rows", "N,N,...", "Only these lines of the data, counted from 1 (default: all)">;
defm calibrate : Value<"calibrate", "N,N,...", "Lines to fit clock and launch overhead to; they count in no error (default: none)">;
defm time_param : Value<"time-param", "KEY=VALUE", "Override a parameter of the cycle model; may be repeated">;
defm json : Value<"json", "FILE", "Write the JSON there, - for standard output (the default unless that is a terminal)">;
