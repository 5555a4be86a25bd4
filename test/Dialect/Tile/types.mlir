// Every type and attribute of the tile dialect, printed as it is parsed.
// RUN: hocket-opt %s --allow-unregistered-dialect | hocket-opt --allow-unregistered-dialect | FileCheck %s

// CHECK: tile.kernel @types(
// CHECK-SAME: %a: !tile.view<?x?x?x128xbf16> {{.*}}, %b: !tile.view<2x?x8x64xf16> {{.*}}, %c: !tile.view<?x?x?xf32> {{.*}}, %d: !tile.view<?xf32> {{.*}})
tile.kernel @types(%a: !tile.view<?x?x?x128xbf16>, %b: !tile.view<2x?x8x64xf16>, %c: !tile.view<?x?x?xf32>,
                   %d: !tile.view<?xf32>) target("gfx950") waves(1) {
  // CHECK: !tile.frag<32x16xbf16, lhs>
  %lhs = tile.fill 0.0 : !tile.frag<32x16xbf16, lhs>
  // CHECK: !tile.frag<16x32xf16, rhs>
  %rhs = tile.fill 0.0 : !tile.frag<16x32xf16, rhs>
  // CHECK: !tile.frag<64x32xf32, acc>
  %acc = tile.fill 0.0 : !tile.frag<64x32xf32, acc>
  // CHECK: !tile.frag<128x64xbf16, lhs_acc>
  %lhs_acc = tile.fill 0.0 : !tile.frag<128x64xbf16, lhs_acc>
  // CHECK: !tile.frag<64x32xbf16, rhs_acc>
  %rhs_acc = tile.fill 0.0 : !tile.frag<64x32xbf16, rhs_acc>
  // CHECK: !tile.rows<32xf32>
  %rows = tile.fill 0.0 : !tile.rows<32xf32>
  // CHECK: !tile.rows<64xbf16>
  %more_rows = tile.fill 0.0 : !tile.rows<64xbf16, acc>
  // CHECK: !tile.rows<64xf32, lhs_acc>
  %depths = tile.fill 0.0 : !tile.rows<64xf32, lhs_acc>
  // CHECK: !tile.rows<8xf32, lines(8x16)>
  %lines_rows = tile.fill 0.0 : !tile.rows<8xf32, lines(8x16)>
  // CHECK: !tile.columns<64xf32, acc>
  %columns = tile.fill 0.0 : !tile.columns<64xf32, acc>
  // CHECK: !tile.columns<128xf16, lines(8x16)>
  %lines_columns = tile.fill 0.0 : !tile.columns<128xf16, lines(8x16)>
  // CHECK: !tile.frag<32x128xbf16, lines>
  %lines = tile.fill 0.0 : !tile.frag<32x128xbf16, lines(8x16)>
  // CHECK: !tile.frag<32x128xf32, lines(8)>
  %wide = tile.fill 0.0 : !tile.frag<32x128xf32, lines(8x16)>
  // CHECK: !tile.frag<32x128xbf16, lines(8x4)>
  %narrow = tile.fill 0.0 : !tile.frag<32x128xbf16, lines(8x4)>
  // Widths that are no power of two.
  // CHECK: !tile.frag<64x96xf32, lines>
  %odd = tile.fill 0.0 : !tile.frag<64x96xf32, lines(4x8)>
  // CHECK: !tile.frag<64x32xbf16, acc>
  %rounded = tile.fill 0.0 : !tile.frag<64x32xbf16, acc>
  // What lies beside an operand says of how many bits that is; what is one, or lies beside 16 bits, does not.
  // CHECK: !tile.frag<64x32xf32, lhs bits(8)>
  %beside = tile.fill 0.0 : !tile.frag<64x32xf32, lhs bits(8)>
  // CHECK: !tile.frag<32x64xi32, rhs_acc bits(8)>
  %beside_acc = tile.fill 0.0 : !tile.frag<32x64xi32, rhs_acc bits(8)>
  // CHECK: !tile.frag<64x32xf32, lhs_acc(8) bits(8)>
  %beside_run = tile.fill 0.0 : !tile.frag<64x32xf32, lhs_acc(8) bits(8)>
  // CHECK: !tile.frag<64x32xi8, lhs bits(16)>
  %small_beside = tile.fill 0.0 : !tile.frag<64x32xi8, lhs bits(16)>
  // CHECK: !tile.frag<64x32xi8, lhs>
  %small = tile.fill 0.0 : !tile.frag<64x32xi8, lhs bits(8)>
  // CHECK: !tile.frag<64x32xf32, rhs>
  %usual = tile.fill 0.0 : !tile.frag<64x32xf32, rhs bits(16)>
  // CHECK: !tile.rows<64xf32, lhs_acc bits(8)>
  %beside_rows = tile.fill 0.0 : !tile.rows<64xf32, lhs_acc bits(8)>
  // Operands of f32 lie beside nothing, which they must say.
  // CHECK: !tile.frag<64x32xf32, lhs bits(32)>
  %words = tile.fill 0.0 : !tile.frag<64x32xf32, lhs bits(32)>
  // CHECK: !tile.frag<64x128xf4E2M1FN, lhs>
  %packed = tile.fill 1.5 : !tile.frag<64x128xf4E2M1FN, lhs>
  // CHECK: !tile.frag<64x4xf8E8M0FNU, lhs_scale>
  %scales = tile.fill 2.0 : !tile.frag<64x4xf8E8M0FNU, lhs_scale>
  // CHECK: !tile.frag<4x32xf8E8M0FNU, rhs_scale>
  %right_scales = tile.fill 0.5 : !tile.frag<4x32xf8E8M0FNU, rhs_scale>
  // The largest fragment: all registers of a wave.
  // CHECK: !tile.frag<256x128xf32, acc>
  %all = tile.fill 0.0 : !tile.frag<256x128xf32, acc>
}

// CHECK: "some.op"() {layout = #tile.lds_layout<panel 256, chunk 1024, pad 16, rows[128], bytes[1, 2, 4, 8, 16, 32, 64, 256]>
// CHECK-SAME: place = #tile.place<"fetch_k", 2>, ring = !tile.ring<64x128xbf16>
"some.op"() {
  layout = #tile.lds_layout<panel 256, chunk 1024, pad 16, rows [128], bytes [1, 2, 4, 8, 16, 32, 64, 256]>,
  place = #tile.place<"fetch_k", 2>, ring = !tile.ring<64x128xbf16>
} : () -> ()
