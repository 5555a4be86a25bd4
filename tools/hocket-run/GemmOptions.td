// hocket-run gemm
include "Common.td"
include "TimeOptions.td"

defm m : Value<"m", "M", "Rows of A and of C">;
defm n : Value<"n", "N", "Rows of B, columns of C">;
defm k : Value<"k", "K", "Columns of A and of B: the depth">;
defm dtype : Value<"dtype", "bf16|fp16", "Element type (default: bf16)">;
defm stride : Value<"stride", "T=N", "Elements from one row of matrix T (a, b, c) to the next (default: the row, rounded up to a multiple of 8); may be repeated">;
defm data : Value<"data", "KIND", "normal, integers, onehot or zeros (default: normal)">;
defm manifest : Value<"manifest", "FILE", "Launch manifest of the code object (docs/Manifest.md)">;
defm device : Value<"device", "auto|hip|sim", "Device to run on (default: auto)">;
defm seed : Value<"seed", "N", "Seed of the data, and of the first interleaving (default: 0)">;
defm interleavings : Value<"interleavings", "N", "Launches with different orders of waves in the simulator; results must agree (default: 1)">;
defm check_rows : Value<"check-rows", "N", "Verify at most N rows, a seeded sample (default: what takes about a minute of one core)">;
def check : Switch<"check", "Checked execution in the simulator: report races, missing waits, uninitialised data, hazards (docs/Simulator.md)">;
defm count : Value<"count", "N", "mutate only: a seeded sample of N mutants (default: all)">;
def no_verify : Switch<"no-verify", "Do not compare with the float64 reference">;
defm json : Value<"json", "FILE", "Write the JSON report there, - for standard output (the default unless that is a terminal)">;
