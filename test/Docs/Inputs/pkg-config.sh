#!/bin/bash
# Builds a program in C against an installed Hocket by pkg-config alone, and runs it: pkg-config.sh CLANG SOURCE PREFIX
set -euo pipefail
compiler=$1 source=$2
PKG_CONFIG_PATH=$(dirname "$(find "$3" -name hocket.pc)")
export PKG_CONFIG_PATH
echo "version $(pkg-config --modversion hocket)"
flags=$(pkg-config --cflags --libs hocket)
echo "flags $flags"
# shellcheck disable=SC2086
"$compiler" -std=c99 -Wall -Wextra -Werror "$source" $flags -o program
LD_LIBRARY_PATH=$(pkg-config --variable=libdir hocket) ./program
