#!/bin/bash
# Brings a machine from nothing to a build: scripts/build.sh [PRESET [TARGET...]]
#
# Installs missing packages, configures the preset (release, debug or asan; default release) and builds
# the targets (default: everything). The presets say where: build/, build-debug/, build-asan/.
set -euo pipefail
cd "$(dirname "$0")/.."

preset=${1:-release}
targets=("${@:2}")

scripts/install-packages.sh
cmake --preset "$preset" >&2
cmake --build --preset "$preset" ${targets[0]:+--target "${targets[@]}"} >&2
