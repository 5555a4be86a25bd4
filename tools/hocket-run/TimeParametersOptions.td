// hocket-run time-parameters
include "Common.td"

defm arch : Value<"arch", "CHIP", "A table of this chip's values, gfx950 or gfx942 (default: the page that documents gfx950's)">;
defm time_file : Value<"time-file", "FILE", "With the parameters of this file, as 'hocket-run first-day' measures them; its chip is the one that is shown">;
defm json : Value<"json", "FILE", "Write the parameters there as data, - for standard output (default: print text)">;
