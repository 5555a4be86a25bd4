// hocket-dev splits
include "Common.td"

defm arch : Value<"arch", "CHIP", "Chip to choose and predict for: gfx950 (default) or gfx942">;
defm problems : Value<"problems", "FILE", "Problems, CSV as for bench (docs/measurements/splits.csv)">;
defm rows : Value<"rows", "N,N,...", "Only these lines of the data, counted from 1 (default: all)">;
defm splits : Value<"splits", "G,G,...", "Numbers of slices to predict beside what the heuristic chooses (default: 2,3,4,6,8,12,16,24,32,48,64)">;
defm max_loss : Value<"max-loss", "PERCENT", "Exit status 1 if what is chosen is slower than no split by more than this (default: 3)">;
defm min_gain : Value<"min-gain", "PERCENT", "Exit status 1 if less of the time that the best numbers of slices save is saved (default: 90)">;
defm json : Value<"json", "FILE", "Write the JSON there, - for standard output">;
