// hocket-dev isa
include "Common.td"

def coverage : Switch<"coverage", "List the chip's instructions: implemented by the simulator, missing, excluded">;
defm arch : Value<"arch", "CHIP", "gfx950 (default) or gfx942">;
defm json : Value<"json", "FILE", "Write the JSON there, - for standard output">;
