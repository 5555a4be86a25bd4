// C = (A B^T) of fp8 e4m3, times a scale for each row of A and one for each row of B, in bf16: what a
// linear layer computes whose activations are quantised per token and whose weights per channel. A is
// m x k, B n x k, C m x n, any sizes.
//
// The loop is that of gemm_bf16.mlir with tiles twice as deep: 32x32x64 multiplies 64 of the depth in
// the cycles of 32 of bf16. e5m2 is the same text with `f8E5M2`, of one operand or both.
tile.kernel @gemm_fp8(
    %a: !tile.view<?x?xf8E4M3FN> {tile.bind = "a", tile.sizes = ["m", "k"], tile.strides = ["a_stride"]},
    %b: !tile.view<?x?xf8E4M3FN> {tile.bind = "b", tile.sizes = ["n", "k"], tile.strides = ["b_stride"]},
    %a_scale: !tile.view<?xf32> {tile.bind = "a_scale", tile.sizes = ["m"]},
    %b_scale: !tile.view<?xf32> {tile.bind = "b_scale", tile.sizes = ["n"]},
    %c: !tile.view<?x?xbf16> {tile.bind = "c", tile.sizes = ["m", "n"], tile.strides = ["c_stride"]})
    target("gfx950") waves(8) attributes {
    tile.requires = [
      ["max(m, n, k) <= 1073741824", "m, n and k may be at most 1073741824"],
      ["ceildiv(m, 256) * ceildiv(n, 256) <= 4194304", "c may have at most 4194304 blocks of 256 x 256"],
      ["a_stride % 16 == 0", "a_stride must be a multiple of 16 elements"],
      ["b_stride % 16 == 0", "b_stride must be a multiple of 16 elements"],
      ["c_stride % 8 == 0", "c_stride must be a multiple of 8 elements"],
      ["(min(m, 256) - 1) * a_stride + k <= 2147483520", "256 rows of a may span at most 2147483520 elements"],
      ["(min(n, 256) - 1) * b_stride + k <= 2147483520", "256 rows of b may span at most 2147483520 elements"],
      ["(min(m, 256) - 1) * c_stride + n <= 1073741760", "256 rows of c may span at most 1073741760 elements"]]} {
  // Which 256 x 256 of C this workgroup computes. Bands of four row blocks, and neighbours on one
  // XCD, so that what one workgroup fetches the others find in L2.
  %row, %column = tile.block_tile %c rows(256) columns(256) band(4) xcds(8) : <?x?xbf16>

  // C^T = B A^T, as in gemm_bf16.mlir. Waves stand 2 x 4, each has 128 columns and 64 rows.
  %wave_n, %wave_m = tile.wave_grid rows(2) columns(4)

  // 128 of the depth at a time: rows of 128 bytes, a line of global memory.
  %b_ring = tile.ring %b[%column] by_columns unpadded : <?x?xf8E4M3FN> -> <256x128xf8E4M3FN>
  %a_ring = tile.ring %a[%row] by_columns unpadded : <?x?xf8E4M3FN> -> <256x128xf8E4M3FN>

  %k = tile.dim %a, 1 : <?x?xf8E4M3FN>
  %tile_depth_less_1 = arith.constant 127 : i32
  %rounded_up = arith.addi %k, %tile_depth_less_1 : i32
  %tile_depth = arith.constant 128 : i32
  %tiles = arith.divui %rounded_up, %tile_depth : i32
  %zero = tile.fill 0.000000e+00 : !tile.frag<128x64xf32, acc>

  // One iteration for each 128 of the depth. Its end cuts the last one alone.
  %product = tile.for_tiles %t = 0 to %tiles cut_right(%k within 0)
      init(%sum = %zero : !tile.frag<128x64xf32, acc>) schedule(@gemm_dual_wave) {
    tile.step @fetch_b {
      tile.fetch %b_ring[%t] : <256x128xf8E4M3FN>
    }
    tile.step @fetch_a {
      tile.fetch %a_ring[%t] : <256x128xf8E4M3FN>
    }
    // This wave's rows of both tiles; what lies beyond the depth becomes zero in both.
    %lhs = tile.step @read_b -> !tile.frag<128x128xf8E4M3FN, lhs> {
      %operand = tile.read %b_ring[%t] part(%wave_n) : <256x128xf8E4M3FN> -> <128x128xf8E4M3FN, lhs>
      %masked = tile.mask_depth %operand tile(%t) below(%k) : <128x128xf8E4M3FN, lhs>
      tile.yield %masked : !tile.frag<128x128xf8E4M3FN, lhs>
    }
    %rhs = tile.step @read_a -> !tile.frag<128x64xf8E4M3FN, rhs> {
      %operand = tile.read %a_ring[%t] part(%wave_m) : <256x128xf8E4M3FN> -> <128x64xf8E4M3FN, rhs>
      %masked = tile.mask_depth %operand tile(%t) below(%k) : <128x64xf8E4M3FN, rhs>
      tile.yield %masked : !tile.frag<128x64xf8E4M3FN, rhs>
    }
    // In two halves of the depth, so that a schedule can put work between them.
    %low = tile.step @multiply_low -> !tile.frag<128x64xf32, acc> {
      %left = tile.slice_depth %lhs from 0 : <128x128xf8E4M3FN, lhs> -> <128x64xf8E4M3FN, lhs>
      %right = tile.slice_depth %rhs from 0 : <128x64xf8E4M3FN, rhs> -> <64x64xf8E4M3FN, rhs>
      %half = tile.mma %left, %right, %sum : <128x64xf8E4M3FN, lhs>, <64x64xf8E4M3FN, rhs>, <128x64xf32, acc>
      tile.yield %half : !tile.frag<128x64xf32, acc>
    }
    %high = tile.step @multiply_high -> !tile.frag<128x64xf32, acc> {
      %left = tile.slice_depth %lhs from 64 : <128x128xf8E4M3FN, lhs> -> <128x64xf8E4M3FN, lhs>
      %right = tile.slice_depth %rhs from 64 : <128x64xf8E4M3FN, rhs> -> <64x64xf8E4M3FN, rhs>
      %whole = tile.mma %left, %right, %low : <128x64xf8E4M3FN, lhs>, <64x64xf8E4M3FN, rhs>, <128x64xf32, acc>
      tile.yield %whole : !tile.frag<128x64xf32, acc>
    }
    tile.yield %high : !tile.frag<128x64xf32, acc>
  }

  // Scaled and rounded once. A quarter of the columns at a time, so that scales fit beside the sums.
  %c_row = tile.wave_row %row rows(64) part(%wave_m)
  %c_column = tile.wave_row %column rows(128) part(%wave_n)
  %row_scale = tile.load %a_scale[%c_row] : <?xf32> -> !tile.rows<64xf32>

  %part_0 = tile.slice %product from 0 : <128x64xf32, acc> -> <32x64xf32, acc>
  %offset_0 = arith.constant 0 : i32
  %column_0 = arith.addi %c_column, %offset_0 : i32
  %scale_0 = tile.load %b_scale[%column_0] : <?xf32> -> !tile.columns<32xf32, acc>
  %scaled_0 = tile.map(%s = %part_0 : !tile.frag<32x64xf32, acc>, %r = %row_scale : !tile.rows<64xf32>,
      %c = %scale_0 : !tile.columns<32xf32, acc>) -> !tile.frag<32x64xf32, acc> {
    %of_row = arith.mulf %s, %r : f32
    %of_both = arith.mulf %of_row, %c : f32
    tile.yield %of_both : f32
  }
  tile.store_block %scaled_0, %c[%c_row, %column_0] : <32x64xf32, acc>, <?x?xbf16>

  %part_1 = tile.slice %product from 32 : <128x64xf32, acc> -> <32x64xf32, acc>
  %offset_1 = arith.constant 32 : i32
  %column_1 = arith.addi %c_column, %offset_1 : i32
  %scale_1 = tile.load %b_scale[%column_1] : <?xf32> -> !tile.columns<32xf32, acc>
  %scaled_1 = tile.map(%s = %part_1 : !tile.frag<32x64xf32, acc>, %r = %row_scale : !tile.rows<64xf32>,
      %c = %scale_1 : !tile.columns<32xf32, acc>) -> !tile.frag<32x64xf32, acc> {
    %of_row = arith.mulf %s, %r : f32
    %of_both = arith.mulf %of_row, %c : f32
    tile.yield %of_both : f32
  }
  tile.store_block %scaled_1, %c[%c_row, %column_1] : <32x64xf32, acc>, <?x?xbf16>

  %part_2 = tile.slice %product from 64 : <128x64xf32, acc> -> <32x64xf32, acc>
  %offset_2 = arith.constant 64 : i32
  %column_2 = arith.addi %c_column, %offset_2 : i32
  %scale_2 = tile.load %b_scale[%column_2] : <?xf32> -> !tile.columns<32xf32, acc>
  %scaled_2 = tile.map(%s = %part_2 : !tile.frag<32x64xf32, acc>, %r = %row_scale : !tile.rows<64xf32>,
      %c = %scale_2 : !tile.columns<32xf32, acc>) -> !tile.frag<32x64xf32, acc> {
    %of_row = arith.mulf %s, %r : f32
    %of_both = arith.mulf %of_row, %c : f32
    tile.yield %of_both : f32
  }
  tile.store_block %scaled_2, %c[%c_row, %column_2] : <32x64xf32, acc>, <?x?xbf16>

  %part_3 = tile.slice %product from 96 : <128x64xf32, acc> -> <32x64xf32, acc>
  %offset_3 = arith.constant 96 : i32
  %column_3 = arith.addi %c_column, %offset_3 : i32
  %scale_3 = tile.load %b_scale[%column_3] : <?xf32> -> !tile.columns<32xf32, acc>
  %scaled_3 = tile.map(%s = %part_3 : !tile.frag<32x64xf32, acc>, %r = %row_scale : !tile.rows<64xf32>,
      %c = %scale_3 : !tile.columns<32xf32, acc>) -> !tile.frag<32x64xf32, acc> {
    %of_row = arith.mulf %s, %r : f32
    %of_both = arith.mulf %of_row, %c : f32
    tile.yield %of_both : f32
  }
  tile.store_block %scaled_3, %c[%c_row, %column_3] : <32x64xf32, acc>, <?x?xbf16>
}
