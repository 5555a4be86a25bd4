// C = B^T A of 8 bits whose depth runs along rows in memory: both operands are read from LDS transposed. A is k x 64, B
// k x 64, C 64 x 64, any k; what lies beyond the last row is zero.
tile.kernel @transposed_8_bits(
    %a: !tile.view<?x?x?x64xf8E4M3FN> {tile.bind = "a", tile.sizes = ["1", "k", "1"],
        tile.strides = ["64 * k", "64", "64"]},
    %b: !tile.view<?x?x?x64xf8E4M3FN> {tile.bind = "b", tile.sizes = ["1", "k", "1"],
        tile.strides = ["64 * k", "64", "64"]},
    %c: !tile.view<?x?xf32> {tile.bind = "c", tile.sizes = ["64", "64"], tile.strides = ["64"]})
    target("gfx950") waves(4) attributes {tile.requires = [["k <= 1048576", "k may be at most 1048576"]]} {
  %x, %y, %z = tile.workgroup_id ["1"]
  %wave_n, %wave_m = tile.wave_grid rows(2) columns(2)
  %first = arith.constant 0 : i32
  %a_ring = tile.ring %a[%first, %first] : <?x?x?x64xf8E4M3FN> -> <128x64xf8E4M3FN>
  %b_ring = tile.ring %b[%first, %first] : <?x?x?x64xf8E4M3FN> -> <128x64xf8E4M3FN>
  %k = tile.dim %a, 1 : <?x?x?x64xf8E4M3FN>
  %tile_depth_less_1 = arith.constant 127 : i32
  %rounded_up = arith.addi %k, %tile_depth_less_1 : i32
  %tile_depth = arith.constant 128 : i32
  %tiles = arith.divui %rounded_up, %tile_depth : i32
  %zero = tile.fill 0.000000e+00 : !tile.frag<32x32xf32, acc>
  %product = tile.for_tiles %t = 0 to %tiles init(%sum = %zero : !tile.frag<32x32xf32, acc>) schedule(@gemm_sequential) {
    tile.step @fetch_b {
      tile.fetch %a_ring[%t] : <128x64xf8E4M3FN>
    }
    tile.step @fetch_a {
      tile.fetch %b_ring[%t] : <128x64xf8E4M3FN>
    }
    %lhs = tile.step @read_b -> !tile.frag<32x128xf8E4M3FN, lhs_acc> {
      %operand = tile.read_transposed %a_ring[%t] part(%wave_n) : <128x64xf8E4M3FN> -> <32x128xf8E4M3FN, lhs_acc>
      tile.yield %operand : !tile.frag<32x128xf8E4M3FN, lhs_acc>
    }
    %rhs = tile.step @read_a -> !tile.frag<128x32xf8E4M3FN, rhs_acc> {
      %operand = tile.read_transposed %b_ring[%t] part(%wave_m) : <128x64xf8E4M3FN> -> <128x32xf8E4M3FN, rhs_acc>
      tile.yield %operand : !tile.frag<128x32xf8E4M3FN, rhs_acc>
    }
    %low = tile.step @multiply_low -> !tile.frag<32x32xf32, acc> {
      %left = tile.slice_depth %lhs from 0 : <32x128xf8E4M3FN, lhs_acc> -> <32x32xf8E4M3FN, lhs_acc>
      %right = tile.slice_depth %rhs from 0 : <128x32xf8E4M3FN, rhs_acc> -> <32x32xf8E4M3FN, rhs_acc>
      %part = tile.mma %left, %right, %sum : <32x32xf8E4M3FN, lhs_acc>, <32x32xf8E4M3FN, rhs_acc>, <32x32xf32, acc>
      tile.yield %part : !tile.frag<32x32xf32, acc>
    }
    %high = tile.step @multiply_high -> !tile.frag<32x32xf32, acc> {
      %left = tile.slice_depth %lhs from 32 : <32x128xf8E4M3FN, lhs_acc> -> <32x96xf8E4M3FN, lhs_acc>
      %right = tile.slice_depth %rhs from 32 : <128x32xf8E4M3FN, rhs_acc> -> <96x32xf8E4M3FN, rhs_acc>
      %part = tile.mma %left, %right, %low : <32x96xf8E4M3FN, lhs_acc>, <96x32xf8E4M3FN, rhs_acc>, <32x32xf32, acc>
      tile.yield %part : !tile.frag<32x32xf32, acc>
    }
    tile.yield %high : !tile.frag<32x32xf32, acc>
  }
  %c_row = tile.wave_row %first rows(32) part(%wave_m)
  %c_column = tile.wave_row %first rows(32) part(%wave_n)
  tile.store %product, %c[%c_row, %c_column] : !tile.frag<32x32xf32, acc>, !tile.view<?x?xf32>
}
