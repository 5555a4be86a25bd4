// RUN: not hocket-opt %s --convert-attn-to-tile="schedule=s waves=0" 2>&1 | FileCheck %s --check-prefix=WAVES
// RUN: not hocket-opt %s --convert-attn-to-tile="schedule=s kv-tile=96" 2>&1 | FileCheck %s --check-prefix=TILE
// RUN: not hocket-opt %s --convert-attn-to-tile="schedule=s kv-tile=-64" 2>&1 | FileCheck %s --check-prefix=NEGATIVE

// WAVES: error: waves = 0 and kv-tile = 64, expected 1 to 16 waves and a positive multiple of 64 keys
// TILE: error: waves = 8 and kv-tile = 96, expected 1 to 16 waves and a positive multiple of 64 keys
// NEGATIVE: error: waves = 8 and kv-tile = -64, expected
attn.forward @options element_type(bf16) head_dim(128)
