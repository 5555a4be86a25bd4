// Timed execution, for every subcommand that has it.
def time : Switch<"time", "Predict cycles with the cycle model, on the simulator (docs/Predictions.md)">, Visibility<[TimedVis]>;
defm time_file : Value<"time-file", "FILE", "Parameters of the cycle model, as 'hocket-run first-day' measures them; --time-param overrides them">, Visibility<[TimeVis]>;
defm time_param : Value<"time-param", "KEY=VALUE", "Override a parameter of the cycle model; may be repeated">, Visibility<[TimeVis]>;
defm time_workgroup : Value<"time-workgroup", "N", "Workgroup to time, by its number in the grid, or all; may be repeated (default: 0)">, Visibility<[TimeVis]>;
defm trace : Value<"trace", "FILE", "Write what was timed as a trace for ui.perfetto.dev; needs --time">, Visibility<[TimedVis]>;
defm picture : Value<"picture", "FILE", "Draw one turn of the hot loop as SVG; needs --time">, Visibility<[TimedVis]>;
def time_grid : Switch<"time-grid", "Predict the whole grid too: all compute units, block order, clock; needs --time">, Visibility<[TimeVis]>;
def time_vary : Switch<"time-vary", "Predict the whole grid under every variation of a doubtful parameter, too (docs/generated/TimeParameters.md); needs --time-grid">, Visibility<[TimedVis]>;
