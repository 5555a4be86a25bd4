// hocket-run cache
include "Common.td"

defm dir : Value<"dir", "DIR", "Cache directory (default: HOCKET_CACHE_DIR, else $XDG_CACHE_HOME/hocket, else ~/.cache/hocket)">;
defm json : Value<"json", "FILE", "list, verify: write the entries there as JSON, - for standard output">;
