#!/bin/bash
# Builds everything and runs every test: scripts/test.sh
#
# First the whole suite on the release build; then the part that is built for it (the programs and tests
# that need no MLIR, and lit tests marked "UNDER-SANITIZERS") with AddressSanitizer and
# UndefinedBehaviorSanitizer. Lists failures and skipped tests and closes with "N passed, N failed". Fails if a test
# failed or none ran. See docs/Testing.md.
set -euo pipefail
cd "$(dirname "$0")/.."

lit=/usr/lib/llvm-22/bin/lit

# Results go to BUILD/test-results.json, from which the summary is made; a failed test is not the end yet.
run_tests() {
  local build=$1
  rm -f "$build/test-results.json"
  "$lit" -sv --no-progress-bar -o "$build/test-results.json" "$build/test" "$build/test/unit" || true
}

scripts/install-packages.sh --for-tests
scripts/build.sh release
run_tests build
scripts/build.sh asan hocket-sanitized-tests
run_tests build-asan

python3 scripts/summarize-tests.py release=build/test-results.json \
  sanitizers=build-asan/test-results.json
