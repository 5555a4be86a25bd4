#!/bin/bash
# Installs the Debian packages that building and testing Hocket needs, the one list of them:
# scripts/install-packages.sh [--for-tests]
#
# With --for-tests also torch (610 MB), without which its tests are skipped.
# Does nothing where all are present, so it can run before every build. Needs root or sudo only when
# something is missing. Everything comes from Debian 12 itself (LLVM 22 from its security archive).
set -euo pipefail

packages=(
  # build
  cmake ninja-build python3
  # compiler and sanitizer run-time; libstdc++
  clang-22 libclang-rt-22-dev g++
  # what Hocket links: LLVM, MLIR, lld, and what their CMake packages look for
  llvm-22-dev libmlir-22-dev mlir-22-tools liblld-22-dev lld-22 zlib1g-dev libzstd-dev
  # the Python package
  python3-dev pybind11-dev
  # tests: lit and FileCheck, llvm-objdump and friends, GoogleTest
  llvm-22 llvm-22-tools libgtest-dev libgmock-dev libbenchmark-dev patch pkg-config
  # tests of unmodified HIP programs: HIP's headers, and the library that they are linked to
  libamdhip64-dev
  # tests of the VS Code extension
  nodejs
  # tests of the Python package, and what installs it
  python3-numpy python3-pip python3-venv
)
case "${1:-}" in
  "") ;;
  --for-tests) packages+=(python3-torch) ;;
  *) echo "install-packages.sh: unknown argument '$1'; the only one is --for-tests" >&2; exit 1 ;;
esac

if ! command -v dpkg-query >/dev/null; then
  echo "install-packages.sh: no dpkg here; install what corresponds to: ${packages[*]}" >&2
  exit 1
fi

missing=()
for package in "${packages[@]}"; do
  status=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$status" = installed ] || missing+=("$package")
done
if [ ${#missing[@]} -eq 0 ]; then
  exit 0
fi

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo >/dev/null; then
    echo "install-packages.sh: missing packages: ${missing[*]}" >&2
    echo "install-packages.sh: run it as root, or install sudo" >&2
    exit 1
  fi
  as_root=(sudo)
fi

echo "installing ${#missing[@]} Debian packages: ${missing[*]}" >&2
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
  apt-get install -y -qq --no-install-recommends "${missing[@]}" >&2
