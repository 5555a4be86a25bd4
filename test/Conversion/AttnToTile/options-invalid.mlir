// RUN: not hocket-opt %s --convert-attn-to-tile="schedule=s waves=-1" 2>&1 | FileCheck %s --check-prefix=WAVES
// RUN: not hocket-opt %s --convert-attn-to-tile="schedule=s kv-tile=96" 2>&1 | FileCheck %s --check-prefix=TILE
// RUN: not hocket-opt %s --convert-attn-to-tile="schedule=s kv-tile=-64" 2>&1 | FileCheck %s --check-prefix=NEGATIVE
// RUN: not hocket-opt %s --convert-attn-to-tile="schedule=s target=other" 2>&1 | FileCheck %s --check-prefix=TARGET

// WAVES: error: 'attn.forward' op 'options' has -1 waves, expected 1 to 16
// TILE: error: 'attn.forward' op 'options' has tiles of 96 keys, expected 32, 64, 128 or 256
// NEGATIVE: error: 'attn.forward' op 'options' has tiles of -64 keys, expected
// TARGET: error: 'attn.forward' op unknown target 'other'; known targets: gfx950
attn.forward @options element_type(bf16) head_dim(128)
