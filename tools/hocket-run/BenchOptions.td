// hocket-run bench
include "Common.td"

defm problems : Value<"problems", "FILE", "Problems, CSV with the columns batch, seq_len or seq_q and seq_kv, heads, kv_heads, head_dim, head_dim_v, dtype, mask, or a column options with those of fmha-fwd (default: the published ones that are built in)">;
defm published : Value<"published", "FILE", "The same with published measurements to compare with, in columns NAME_us (docs/published/)">;
defm kernel : Value<"kernel", "NAME=CHOICE", "A kernel to run: CO,MANIFEST, a registered kernel, a schedule to compile, or auto, followed by :G to split the keys into G slices (default: as the line says); NAME is a column of the file or one's own; may be repeated (default: hocket=auto)">;
defm rows : Value<"rows", "N,N,...", "Only these lines of the data, counted from 1 (default: all)">;
defm arch : Value<"arch", "CHIP", "Chip to compile for and to predict: gfx950 (default) or gfx942">;
defm device : Value<"device", "auto|hip|hip:N|sim", "hip measures, sim predicts (default: auto)">;
defm warmup : Value<"warmup", "N", "Launches before measuring (default: 3)">;
defm repetitions : Value<"repetitions", "N", "Launches that are measured (default: 20)">;
def no_verify : Switch<"no-verify", "Do not compare what is measured with the reference">;
def measure : Switch<"measure", "Measure on the simulator too: host time, which says nothing about a GPU">;
defm calibrate : Value<"calibrate", "N,N,...", "Lines to fit clock and launch overhead to; they count in no error (default: none)">;
defm time_file : Value<"time-file", "FILE", "Parameters of the cycle model, as 'hocket-run first-day' measures them; --time-param overrides them">;
defm time_param : Value<"time-param", "KEY=VALUE", "Override a parameter of the cycle model; may be repeated">;
def vary : Switch<"vary", "Predict under every variation of a doubtful parameter, too (docs/generated/TimeParameters.md), and show the range">;
defm baseline : Value<"baseline", "FILE", "Compare with a run that was saved with --json">;
defm max_slowdown : Value<"max-slowdown", "PERCENT", "Exit status 1 if a line is slower than in the --baseline by more than this">;
defm csv : Value<"csv", "FILE", "Write a line for each problem and kernel there">;
defm json : Value<"json", "FILE", "Write the JSON there, - for standard output">;
defm plot : Value<"plot", "FILE.svg", "Draw TFLOP/s over length there: this run's kernels and what the list has figures of">;
