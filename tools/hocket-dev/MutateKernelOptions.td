// hocket-dev mutate kernel
include "Common.td"

defm random : Value<"random", "NAME=SHAPE,TYPE[,SEED]", "Random tensor NAME, as of 'hocket-run kernel'; what the kernel writes, too">;
defm strides : Value<"strides", "NAME=STRIDES", "Distances of tensor NAME's elements in memory, in elements, for each dimension (default: dense, in C order)">;
defm scalar : Value<"scalar", "NAME=NUMBER", "A number that the kernel takes">;
defm manifest : Value<"manifest", "FILE", "Launch manifest of the code object (docs/Manifest.md)">;
include "RunOptions.td"
