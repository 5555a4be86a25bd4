// Queries, keys and values of 8 bits, and keys and values of 8 bits that are widened to the type of queries of 16.
// RUN: hocket-opt %s --convert-attn-to-tile=schedule=mine -split-input-file -verify-diagnostics | FileCheck %s

// Weights are e4m3 whatever V is, and summed as they are multiplied, those of a tile at once. A row begins 4 below where
// its weights may grow to.
// CHECK-LABEL: tile.kernel @eight(
// CHECK-SAME: %v_descale: !tile.view<?x?xf32> {tile.bind = "v_descale", tile.sizes = ["batch", "kv_heads"], tile.strides = ["kv_heads"]}
// CHECK-SAME: %o: !tile.view<?x?x?x128xbf16>
// CHECK-SAME: ["q_stride_b % 16 == 0", "q_stride_b must be a multiple of 16 elements"]
// CHECK-SAME: ["o_stride_b % 8 == 0", "o_stride_b must be a multiple of 8 elements"]
// CHECK: %[[PRODUCT:.*]] = arith.mulf %q_descale_rows, %k_descale_rows
// CHECK: arith.mulf %scale, %[[PRODUCT]]
// CHECK: tile.settle {{.*}} threshold(8.000000e+00) raised(4.000000e+00)
// CHECK: tile.exponents %mask scale(%{{.*}}) minus(%new_reference) : <128x32xf32, acc>
// CHECK: tile.step @head
// CHECK: tile.exp2 %part : <64x32xf32, acc>
// CHECK-NOT: tile.row_sum
// CHECK: tile.step @rescale
// CHECK: tile.rescale %{{.*}}, %{{.*}} by {{.*}} : !tile.frag<128x32xf32, acc>, !tile.rows<32xf32>
// CHECK: tile.step @pv
// CHECK: tile.mma {{.*}} : <128x128xf8E5M2, lhs_acc>, <128x32xf8E4M3FN, rhs_acc>, <128x32xf32, acc>
// CHECK: tile.row_sum %{{.*}} : <128x32xf8E4M3FN, rhs_acc>
// CHECK: tile.scale %normalized by %v_descale_rows
attn.forward @eight element_type(q = f8E4M3FN, k = f8E4M3FN, v = f8E5M2, o = bf16) head_dim(128) descale

// -----

// What is multiplied with K and V lies in the order of the narrower ones.
// CHECK-LABEL: tile.kernel @keys(
// CHECK: tile.load %q[{{.*}}] : <?x?x?x128xbf16> -> <128x32xbf16, rhs bits(8)>
// CHECK: tile.step @read_k
// CHECK: arith.extf %{{.*}} : f8E4M3FN to bf16
// CHECK: tile.yield %{{.*}} : !tile.frag<64x128xbf16, lhs bits(8)>
// CHECK: tile.pack %{{.*}} : <32x32xf32, acc> -> <32x32xbf16, rhs_acc bits(8)>
// CHECK: tile.mma {{.*}} : <128x64xbf16, lhs_acc bits(8)>, <64x32xbf16, rhs_acc bits(8)>, <128x32xf32, acc>
attn.forward @keys element_type(q = bf16, k = f8E4M3FN, v = f8E4M3FN) head_dim(128)

// -----

// expected-error @below {{'values' has 'k' of 'f8E4M3FN' and 'v' of 'bf16', which no kernel mixes; give both 8 bits or both 16}}
attn.forward @values element_type(q = bf16, k = f8E4M3FN) head_dim(128)

// -----

// expected-error @below {{'output' has 'q' of 'f16' and 'o' of 'bf16', which no kernel writes; give both one type}}
attn.forward @output element_type(q = f16, o = bf16) head_dim(128)
