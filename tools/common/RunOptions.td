// How a problem is run and verified, for every subcommand that has a float64 reference.
defm seed : Value<"seed", "N", "Seed of the data, and of the first interleaving (default: 0)">;
defm interleavings : Value<"interleavings", "N", "Launches with different orders of waves in the simulator; results must agree (default: 1)">;
defm check_rows : Value<"check-rows", "N", "Verify at most N rows, a seeded sample (default: what takes about a minute of one core)">;
def check : Switch<"check", "Checked execution in the simulator: report races, missing waits, uninitialised data, hazards (docs/CheckedExecution.md)">, Visibility<[RunVis]>;
defm hang_limit : Value<"hang-limit", "SECONDS", "Processor time of one workgroup in the simulator beyond which it counts as hanging (default: 30, or 10^9 wave-instructions)">;
def no_verify : Switch<"no-verify", "Do not compare with the float64 reference">, Visibility<[RunVis]>;
defm count : Value<"count", "N", "A seeded sample of N mutants (default: all)">, Visibility<[MutateVis]>;
defm kind : Value<"kind", "KIND", "Mutants of one kind alone: drop-wait, weaken-wait, drop-barrier, drop-nop, lds-offset, buffer-slot or counter (default: all)">, Visibility<[MutateVis]>;
defm json : Value<"json", "FILE", "Write the JSON report there, - for standard output">;
