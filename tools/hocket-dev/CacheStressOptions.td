// hocket-dev cache-stress
include "Common.td"

defm dir : Value<"dir", "DIR", "Cache directory; it is emptied">;
defm processes : Value<"processes", "N", "Processes at the same time (default: 8)">;
defm threads : Value<"threads", "N", "Threads of each (default: 4)">;
defm kernels : Value<"kernels", "N", "Distinct kernels that every thread asks for (default: 10)">;
defm kills : Value<"kills", "N", "Kill this many processes at random moments, each replaced by a new one (default: 0)">;
defm seed : Value<"seed", "N", "Seed of orders and kills (default: 0)">;
defm results : Value<"worker-results", "FILE", "Internal: this process is a worker and writes what it got there">;
defm json : Value<"json", "FILE", "Write the counts there as JSON, - for standard output">;
