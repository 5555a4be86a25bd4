// hocket-run registry
include "Common.td"

defm profile : Value<"profile", "NAME", "Only the variants of this profile, one a line">;
defm json : Value<"json", "FILE", "Write the whole registry there, - for standard output">;
