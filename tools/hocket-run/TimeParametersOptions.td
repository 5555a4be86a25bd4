// hocket-run time-parameters
include "Common.td"

defm arch : Value<"arch", "CHIP", "A table of this chip's values, gfx950 or gfx942 (default: the page that documents gfx950's)">;
defm json : Value<"json", "FILE", "Write the parameters there as data, - for standard output (default: print text)">;
