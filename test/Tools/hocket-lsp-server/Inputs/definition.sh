#!/bin/sh
# definition.sh PYTHON ASK FILE COLUMN: asks for the definition of what stands at COLUMN of FILE's last line, then says where
# step 'qk' is.
"$1" "$2" hocket-lsp-server "$3" definition "$(wc -l < "$3"):$4"
echo "step: $(grep -n 'tile.step @qk' "$3" | cut -d: -f1)"
