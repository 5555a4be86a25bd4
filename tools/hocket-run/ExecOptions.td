// hocket-run exec
include "Common.td"
include "TimeOptions.td"

defm kernel : Value<"kernel", "NAME", "Kernel to run (default: the only one of the code object)">;
defm grid : Value<"grid", "X,Y,Z", "Workgroups; left-out dimensions are 1">;
defm block : Value<"block", "X,Y,Z", "Work-items of a workgroup; left-out dimensions are 1">;
defm dynamic_lds : Value<"dynamic-lds", "BYTES", "LDS on top of the kernel's own (default: 0)">;
defm args : Value<"args", "FILE", "JSON file with the arguments; - for standard input (docs/HocketRun.md)">;
defm device : Value<"device", "auto|hip|hip:N|sim", "Device to run on (default: auto)">;
defm seed : Value<"seed", "N", "Order of waves in the simulator (default: 0, round robin)">;
defm interleavings : Value<"interleavings", "N", "Run N times with seeds from --seed on; saved buffers must agree (default: 1)">;
def check : Switch<"check", "Checked execution in the simulator: report races, missing waits, uninitialised data, hazards (docs/CheckedExecution.md)">;
defm hang_limit : Value<"hang-limit", "SECONDS", "Processor time of one workgroup in the simulator beyond which it counts as hanging (default: 30, or 10^9 wave-instructions)">;
defm instruction_limit : Value<"instruction-limit", "N", "The same in wave-instructions">;
defm json : Value<"json", "FILE", "Write the JSON result there, - for standard output">;
