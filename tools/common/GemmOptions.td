// All subcommands on a matrix product
include "Common.td"
include "TimeOptions.td"

defm m : Value<"m", "M", "Rows of A and of C">;
defm n : Value<"n", "N", "Rows of B, columns of C">;
defm k : Value<"k", "K", "Columns of A and of B: the depth">;
defm dtype : Value<"dtype", "bf16|fp16", "Element type (default: bf16)">;
defm stride : Value<"stride", "T=N", "Elements from one row of matrix T (a, b, c) to the next (default: the row, rounded up to a multiple of 8); may be repeated">;
defm data : Value<"data", "KIND", "normal, integers, onehot or zeros (default: normal)">;
defm manifest : Value<"manifest", "FILE", "Launch manifest of the code object (docs/Manifest.md)">;
defm device : Value<"device", "auto|hip|hip:N|sim", "Device to run on (default: auto)">, Visibility<[RunVis]>;
include "RunOptions.td"
