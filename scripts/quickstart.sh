#!/bin/bash
# From a bare machine to a verified kernel: scripts/quickstart.sh
#
# Installs missing Debian packages, builds the two tools it runs (build/bin; the simulator for this CPU alone), compiles the
# attention kernels of kernels/attn to gfx950 code objects, and runs one problem: on a gfx950 through HIP if there is one, else in
# the built-in simulator. The result is checked against a float64 reference. Then it predicts the time of a published problem,
# beside what was measured, and draws the pipeline. Fails if anything, the check included, fails.
# scripts/build.sh builds everything, in the same directory.
set -euo pipefail
cd "$(dirname "$0")/.."

step() { printf '\n[%s/4] %s\n' "$1" "$2"; }

step 1 'packages and tools (hocketc, hocket-run)'
scripts/build.sh quickstart hocketc hocket-run

out=build/quickstart
mkdir -p "$out"
step 2 'attention kernels for gfx950'
printf '%-44s %12s %10s\n' "kernel" "code object" "seconds"
for source in kernels/attn/*.mlir; do
  object=$out/$(basename "$source" .mlir).hsaco
  begin=$(date +%s%N)
  build/bin/hocketc "$source" -o "$object"
  end=$(date +%s%N)
  printf '%-44s %10d B %10.2f\n' "$source" "$(stat -c %s "$object")" \
    "$(awk "BEGIN { print ($end - $begin) / 1e9 }")"
done

step 3 'one problem, verified: 2 heads on 1 KV head, 512 queries, 512 keys, head dim 128, bf16, causal'
build/bin/hocket-run fmha-fwd --batch 1 --heads 2 --kv-heads 1 --seq-q 512 --seq-kv 512 \
  --head-dim 128 --dtype bf16 --causal --json "$out/result.json"

published=docs/published/fmha_fwd_mi355x_causal.csv
row=37
step 4 'a published problem: 64 heads, 8192 queries and keys, causal'
build/bin/hocket-run bench --device sim --rows $row
# Beneath a comment and the names of the columns.
awk -F, -v line=$((row + 2)) 'NR == 2 { split($0, name) } NR == line {
  printf "measured by their authors on an MI355X, in us:"
  for (i = 1; i <= NF; ++i) if (name[i] ~ /_us$/ && $i != "") printf "  %s %s", substr(name[i], 1, length(name[i]) - 3), $i
  print "  (" FILENAME ")" }' "$published"
build/bin/hocketc kernels/attn/fmha_fwd_d128_bf16_causal.mlir --schedule=dual_wave -o "$out/dual_wave.hsaco" \
  --draw-schedule="$out/dual_wave.svg"

cat <<END

Verified. In $out: code objects, result.json, and dual_wave.svg, the pipeline as a picture (open it in a browser).
Next: docs/TenMinutes.md, docs/WritingASchedule.md, build/bin/hocket-run --help.
END
