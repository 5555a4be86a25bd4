// hocket-run cache
include "Common.td"

defm dir : Value<"dir", "DIR", "Cache directory (default: HOCKET_CACHE_DIR, else $XDG_CACHE_HOME/hocket, else ~/.cache/hocket)">;
defm json : Value<"json", "FILE", "list, verify, stress: write the JSON there, - for standard output">;
defm processes : Value<"processes", "N", "stress: processes at the same time (default: 8)">;
defm threads : Value<"threads", "N", "stress: threads of each (default: 4)">;
defm kernels : Value<"kernels", "N", "stress: distinct kernels that every thread asks for (default: 10)">;
defm kills : Value<"kills", "N", "stress: kill this many processes at random moments, each replaced by a new one (default: 0)">;
defm seed : Value<"seed", "N", "stress: of orders and kills (default: 0)">;
defm results : Value<"worker-results", "FILE", "stress, internal: this process is a worker and writes what it got there">;
