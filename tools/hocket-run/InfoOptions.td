// hocket-run info
include "Common.td"

defm json : Value<"json", "FILE", "Write the JSON there, - for standard output">;
