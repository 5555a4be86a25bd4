#!/bin/bash
# From a bare machine to a verified kernel: scripts/quickstart.sh
#
# Installs missing Debian packages, builds into build/ (tools in build/bin), compiles the attention
# kernels in kernels/attn to gfx950 code objects, and runs one problem: on a gfx950 through HIP if there is one,
# else in the built-in simulator. The result is checked against a float64 reference. Fails if
# anything, the check included, fails.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/build.sh release

out=build/quickstart
mkdir -p "$out"
printf '\n%-44s %12s %10s\n' "kernel" "code object" "seconds"
for source in kernels/attn/*.mlir; do
  object=$out/$(basename "$source" .mlir).hsaco
  begin=$(date +%s%N)
  build/bin/hocketc "$source" -o "$object"
  end=$(date +%s%N)
  printf '%-44s %10d B %10.2f\n' "$source" "$(stat -c %s "$object")" \
    "$(awk "BEGIN { print ($end - $begin) / 1e9 }")"
done

printf '\nfmha-fwd: batch 1, 2 heads on 1 KV head, 512 queries, 512 keys, head dim 128, bf16, causal\n'
build/bin/hocket-run fmha-fwd --batch 1 --heads 2 --kv-heads 1 --seq-q 512 --seq-kv 512 \
  --head-dim 128 --dtype bf16 --causal --json "$out/result.json"
printf '\ncode objects and result.json are in %s\n' "$out"
