// hocket-run info
include "Common.td"

defm manifest : Value<"manifest", "FILE", "Launch manifest of one of the kernels (default: beside the file, with the ending .json, if there is one)">;
defm json : Value<"json", "FILE", "Write the JSON there, - for standard output">;
