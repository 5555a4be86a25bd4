// Waves, tile and target are options of the pass.
// RUN: hocket-opt %s --convert-attn-to-tile="schedule=s waves=4 kv-tile=128 target=other" | FileCheck %s

// CHECK: target("other") waves(4)
// CHECK: tile.block_id %q rows(128)
// CHECK: tile.ring %k[{{.*}}] : <?x?x?x128xbf16> -> <128x128xbf16>
// CHECK: tile.slice %{{.*}} from 64
attn.forward @options element_type(bf16) head_dim(128)
