// Where no wide load writes to LDS: the same algorithm, tiles through registers, 32 keys of four waves.
// RUN: hocket-opt %s --convert-attn-to-tile="schedule=s target=gfx942" | FileCheck %s

// CHECK-LABEL: tile.kernel @small
// CHECK-SAME: target("gfx942") waves(4)
// CHECK: tile.block_id %q rows(128)
// CHECK: %[[PART:.*]] = tile.step @fetch_k -> !tile.part<32x128xbf16, 4>
// CHECK: tile.load_part %k_ring[%t] : <32x128xbf16> -> <32x128xbf16, 4>
// CHECK: tile.step @fetch_v -> !tile.part<32x128xbf16, 4>
// CHECK: tile.step @put_k
// CHECK-NEXT: tile.put %[[PART]], %k_ring[%t] : <32x128xbf16, 4>, <32x128xbf16>
// CHECK: tile.step @put_v
// One block of keys is the first half; the second only hands on. The sum is of the rounded weights, with or without
// a dot product that takes them; LSE has another of those before rounding.
// CHECK: %[[WEIGHTS:.*]], %[[SUM:.*]] = tile.step @head
// CHECK: tile.row_sum %{{.*}} : <32x32xbf16, rhs_acc>
// CHECK-NOT: tile.row_sum
// CHECK: tile.step @tail
// CHECK-NEXT: tile.yield %[[WEIGHTS]], %[[SUM]] :
attn.forward @small element_type(bf16) head_dim(128)

// CHECK-LABEL: tile.kernel @f16
// CHECK: tile.row_sum %{{.*}} : <32x32xf16, rhs_acc>
attn.forward @f16 element_type(f16) head_dim(64)

// Two blocks are two halves, as ever.
// CHECK-LABEL: tile.kernel @larger
// CHECK-SAME: waves(2)
// CHECK: tile.load_part %{{.*}} -> <64x64xbf16, 2>
// CHECK: tile.step @tail
// CHECK: tile.concat
attn.forward @larger element_type(bf16) head_dim(64) waves(2) kv_tile(64)

// CHECK-LABEL: tile.kernel @lse
// CHECK: tile.step @head
// CHECK: tile.row_sum %{{.*}} : <32x32xbf16, rhs_acc>
// CHECK: tile.row_sum %{{.*}} : <32x32xf32, acc>
// CHECK: %[[TOTAL:.*]] = tile.unify %final_sum :
// CHECK: tile.normalize %final_pv by %[[TOTAL]]
// CHECK: %[[EXACT:.*]] = tile.unify
// CHECK: tile.log_sum %[[EXACT]]
attn.forward @lse element_type(bf16) head_dim(64) lse

tile.schedule @s { tile.cluster memory { } }
