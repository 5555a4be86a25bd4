// hocket-dev difftest
include "Common.td"

defm seed : Value<"seed", "N", "Seed of the first case; the others follow (0)">;
defm count : Value<"count", "N", "Cases (200)">;
defm batch : Value<"batch", "N", "Cases compiled together (50)">;
defm optimize : Value<"optimize", "LEVEL", "0 to 3 for clang's -O; 'mixed' (default) takes every level in turn">;
defm clang : Value<"clang", "FILE", "The compiler (clang-22 on the path)">;
defm emit : Value<"emit", "FILE", "Write the first batch's source there and stop">;
defm json : Value<"json", "FILE", "Write the JSON there, - for standard output">;
