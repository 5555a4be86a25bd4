// hocket-run kernel
include "Common.td"
include "TimeOptions.td"

defm tensor : Value<"tensor", "NAME=FILE", "Tensor NAME from a .npy file, FILE:TYPE to read its numbers as TYPE (bf16 from 16-bit integers); NAME=FILE,SHAPE,TYPE (o=out.npy,128x64,bf16) is zero at first and saved to FILE">;
defm random : Value<"random", "NAME=SHAPE,TYPE[,SEED]", "Random tensor NAME: normally distributed, integers from -8 to 8">;
defm strides : Value<"strides", "NAME=STRIDES", "Distances of tensor NAME's elements in memory, in elements, for each dimension (x=4096x1; default: dense, in C order)">;
defm scalar : Value<"scalar", "NAME=NUMBER", "A number that the kernel takes">;
defm save : Value<"save", "NAME=FILE", "Save tensor NAME to a .npy file after the first launch">;
defm expect : Value<"expect", "NAME=FILE", "Compare tensor NAME with this .npy file after the first launch">;
defm tolerance : Value<"tolerance", "[NAME=]ABS[,REL]", "What may lie between found and expected: ABS + REL * |expected|; REL is as ABS if left out (default: a few roundings of the tensor's type, nothing for integers)">;
defm manifest : Value<"manifest", "FILE", "Launch manifest of a code object (default: beside it, with the ending .json; docs/Manifest.md)">;
defm schedule : Value<"schedule", "NAME|FILE", "Compile with this schedule">;
defm arch : Value<"arch", "CHIP", "Chip to compile for: gfx950 (default) or gfx942">;
defm device : Value<"device", "auto|hip|hip:N|sim", "Device to run on (default: auto; for another chip than gfx950 its simulator)">;
defm seed : Value<"seed", "N", "Seed of the first interleaving, and of random tensors without one (default: 0)">;
defm interleavings : Value<"interleavings", "N", "Launches with different orders of waves in the simulator; results must agree (default: 1)">;
def check : Switch<"check", "Checked execution in the simulator: report races, missing waits, uninitialised data, hazards (docs/CheckedExecution.md)">;
defm hang_limit : Value<"hang-limit", "SECONDS", "Processor time of one workgroup in the simulator beyond which it counts as hanging (default: 30, or 10^9 wave-instructions)">;
defm instruction_limit : Value<"instruction-limit", "N", "The same in wave-instructions">;
defm measure : Value<"measure", "N", "After the launch, time N more by the device, on HIP: median and quartiles, three before them left out; they find what the launches before left">;
def no_launch : Switch<"no-launch", "Time the kernel without a launch before, which executes all of the grid; nothing is compared, needs --time">;
defm json : Value<"json", "FILE", "Write the JSON report there, - for standard output">;
