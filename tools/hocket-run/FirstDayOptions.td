// hocket-run first-day
include "Common.td"

defm out : Value<"out", "DIR", "Directory of the journal and of the reports; a run there continues (made if it does not exist)">;
def quick : Switch<"quick", "A sample of each stage: less than 20 minutes">;
defm device : Value<"device", "hip|hip:N|sim", "Device under test (default: hip, its first device)">;
defm stage : Value<"stage", "NAME", "Only this stage: device, instructions, hazards, kernels, parameters or ledger; may be repeated (default: all)">;
defm item : Value<"item", "TEXT", "Only what has this in its name, such as an instruction or a kernel (default: all)">;
