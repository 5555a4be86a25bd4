// Queries and keys that are integers of 8 bits. Products are sums in i32, which begin with the bits of an f32 whose last places
// count them; scores are what is left of it, times the sign of the scale.
// RUN: hocket-opt %s --convert-attn-to-tile=schedule=mine -split-input-file -verify-diagnostics | FileCheck %s

// CHECK-LABEL: tile.kernel @sage(
// CHECK-NOT: tile.negate
// CHECK: %[[SIGN:.*]] = arith.select %{{.*}}, %cst{{.*}}, %cst{{.*}} : f32
// CHECK: %[[ORIGIN:.*]] = tile.fill 1.2624855E+9 : !tile.frag<128x32xi32, acc>
// CHECK: tile.step @qk
// CHECK: %[[SUMS:.*]] = tile.mma %{{.*}}, %{{.*}}, %[[ORIGIN]] : <128x128xi8, lhs>, <128x32xi8, rhs>, <128x32xi32, acc>
// CHECK: tile.step @mask
// CHECK: tile.map(%[[SUM:.*]] = %{{.*}} : !tile.frag<128x32xi32, acc>, %[[OF_SIGN:.*]] = %[[SIGN]] : f32, %[[BACK:.*]] = %{{.*}} : f32)
// CHECK: %[[BITS:.*]] = arith.bitcast %[[SUM]] : i32 to f32
// CHECK: math.fma %[[BITS]], %[[OF_SIGN]], %[[BACK]] : f32
// CHECK: tile.mma {{.*}} : <128x128xf8E4M3FN, lhs_acc>, <128x32xf8E4M3FN, rhs_acc>, <128x32xf32, acc>
attn.forward @sage element_type(q = i8, k = i8, v = f8E4M3FN, o = bf16) head_dim(128)

// -----

// Weights are what V is, where that has 16 bits.
// CHECK-LABEL: tile.kernel @wide(
// CHECK: tile.mma {{.*}}xi8, lhs>{{.*}}xi8, rhs>{{.*}}xi32, acc>
// CHECK: tile.mma {{.*}}xf16, lhs_acc{{.*}}xf16, rhs_acc{{.*}}xf32, acc
attn.forward @wide element_type(q = i8, k = i8, v = f16, o = f16) head_dim(128)

// -----

// Modifications that add to scores do not begin the products, and get the scale with its sign.
// CHECK-LABEL: tile.kernel @biased(
// CHECK-NOT: tile.step @start
// CHECK: tile.step @mask
// CHECK: math.fma
attn.forward @biased element_type(q = i8, k = i8, v = f8E4M3FN, o = bf16) head_dim(128) score_mod(@one)
attn.score_mod @one(%score: f32, %batch: i32, %head: i32, %query: i32, %key: i32) {
  %more = arith.constant 1.000000e+00 : f32
  %result = arith.addf %score, %more : f32
  attn.yield %result : f32
}

// -----

// expected-error @below {{'keys' has 'q' of 'i8' and 'k' of 'f8E4M3FN', which no kernel mixes; give both i8}}
attn.forward @keys element_type(q = i8, k = f8E4M3FN, v = f8E4M3FN, o = bf16) head_dim(128)

// -----

// expected-error @below {{'values' has 'q' of 'i8' and 'v' of 'f32', which no kernel mixes; give 'v' 8 or 16 bits}}
attn.forward @values element_type(q = i8, k = i8, v = f32, o = bf16) head_dim(128)
