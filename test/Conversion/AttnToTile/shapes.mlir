// Waves and keys of a tile follow from the head's dimensions where nobody says (Conversion/TileShape.h).
// RUN: hocket-opt %s --convert-attn-to-tile="schedule=s" | FileCheck %s

// CHECK-LABEL: tile.kernel @d128
// CHECK-SAME: waves(8)
// CHECK: tile.ring %v[{{.*}}] : <?x?x?x128xbf16> -> <64x128xbf16>
attn.forward @d128 element_type(bf16) head_dim(128)

// Registers are left for twice the keys.
// CHECK-LABEL: tile.kernel @d64
// CHECK-SAME: waves(8)
// CHECK: tile.ring %v[{{.*}}] : <?x?x?x64xbf16> -> <128x64xbf16>
attn.forward @d64 element_type(bf16) head_dim(64)

// Eight waves do not have the registers.
// CHECK-LABEL: tile.kernel @d256
// CHECK-SAME: waves(4)
// CHECK: tile.ring %v[{{.*}}] : <?x?x?x256xbf16> -> <64x256xbf16>
attn.forward @d256 element_type(bf16) head_dim(256)

// CHECK-LABEL: tile.kernel @d192x128
// CHECK-SAME: tile.view<?x?x?x192xbf16> {{.*}}tile.view<?x?x?x128xbf16>
// CHECK-SAME: waves(4)
// CHECK: tile.ring %k[{{.*}}] : <?x?x?x192xbf16> -> <64x192xbf16>
// CHECK: tile.ring %v[{{.*}}] : <?x?x?x128xbf16> -> <64x128xbf16>
// CHECK: tile.store %{{.*}} : <128x32xf32, acc(8)>
attn.forward @d192x128 element_type(bf16) head_dim(192) head_dim_v(128)

// A head that is not whole blocks is rounded up; a panel of 64 bytes by 64 keys is four chunks of LDS DMA.
// CHECK-LABEL: tile.kernel @d72
// CHECK-SAME: waves(4)
// CHECK: tile.ring %k[{{.*}}] : <?x?x?x72xbf16> -> <64x96xbf16>
// Of the columns of Q and K, the last step of the product's depth is padding alone: it is left out.
// CHECK: %[[Q:.*]] = tile.load %q{{.*}} -> <96x32xbf16, rhs>
// CHECK-NEXT: tile.slice_depth %[[Q]] from 0 : <96x32xbf16, rhs> -> <80x32xbf16, rhs>
// CHECK: %[[K:.*]] = tile.read %{{.*}} -> <64x96xbf16, lhs>
// CHECK-NEXT: tile.slice_depth %[[K]] from 0 : <64x96xbf16, lhs> -> <64x80xbf16, lhs>
// CHECK: tile.mma {{.*}} : <64x80xbf16, lhs>, <80x32xbf16, rhs>, <64x32xf32, acc>
attn.forward @d72 element_type(bf16) head_dim(72)

// Does not fire: the last step has columns of the head.
// CHECK-LABEL: tile.kernel @d88
// CHECK-NOT: tile.slice_depth
// CHECK: tile.mma {{.*}} : <64x96xbf16, lhs>, <96x32xbf16, rhs>, <64x32xf32, acc>
attn.forward @d88 element_type(bf16) head_dim(88)

tile.schedule @s { tile.cluster memory { } }
