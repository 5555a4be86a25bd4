// Rows of pairs take a causal mask as a program. Where a window ends no later, that cuts no tile: its first hidden key is
// then beyond all keys.
// RUN: hocketc %s --to=tile -o - | FileCheck %s

// CHECK: %[[EARLIER:.*]] = arith.cmpi sle, %[[WINDOW:[^,]*]], %[[CAUSAL:[^ ]*]] : i32
// CHECK-NEXT: %[[BEYOND:.*]] = arith.constant 1073741824 : i32
// CHECK-NEXT: %[[HIDDEN:.*]] = arith.select %[[EARLIER]], %[[BEYOND]], %[[CAUSAL]] : i32
// CHECK: tile.for_tiles
// CHECK: arith.cmpi sle, %[[WINDOW]], %{{.*}} : i32
// CHECK: %[[CUT:.*]] = arith.cmpi sle, %[[HIDDEN]], %{{.*}} : i32
// CHECK-NEXT: tile.map({{.*}}) when(%[[CUT]])
attn.forward @window element_type(bf16) head_dim(64) mask(causal) waves(4) kv_tile(32) group_rows mask_mod(@near)
attn.mask_mod @near(%b: i32, %h: i32, %query: i32, %key: i32, %shift: i32 {attn.value = "seq_kv - seq_q"},
                    %left: i32 {attn.value = "min(window_left, 268435456) + (window_left < 0) * 268435457"},
                    %right: i32 {attn.value = "min(window_right, 268435456) + (window_right < 0) * 268435457"}) {
  %place = arith.addi %query, %shift : i32
  %first = arith.subi %place, %left : i32
  %last = arith.addi %place, %right : i32
  %begins = arith.cmpi sge, %key, %first : i32
  %ends = arith.cmpi sle, %key, %last : i32
  %both = arith.andi %begins, %ends : i1
  attn.yield %both : i1
}
