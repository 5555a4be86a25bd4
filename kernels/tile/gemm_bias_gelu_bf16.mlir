// D = gelu(A B^T + bias) + residual in bf16, accumulated in f32: a matrix product whose end is one's
// own. A is m x k, B n x k, D and residual m x n, bias n numbers, any sizes.
//
// The product is that of gemm_bf16.mlir. What follows it is a map: columns of the bias are broadcast
// down the rows, and the residual comes in the accumulator's layout. For SiLU write
// `math.tanh %half_x` in place of `math.erf %scaled`: x / (1 + exp(-x)) = x/2 + x/2 tanh(x/2).
tile.kernel @gemm_bias_gelu_bf16(
    %a: !tile.view<?x?xbf16> {tile.bind = "a", tile.sizes = ["m", "k"], tile.strides = ["a_stride"]},
    %b: !tile.view<?x?xbf16> {tile.bind = "b", tile.sizes = ["n", "k"], tile.strides = ["b_stride"]},
    %bias: !tile.view<?xbf16> {tile.bind = "bias", tile.sizes = ["n"]},
    %residual: !tile.view<?x?xbf16> {tile.bind = "residual", tile.sizes = ["m", "n"], tile.strides = ["residual_stride"]},
    %c: !tile.view<?x?xbf16> {tile.bind = "d", tile.sizes = ["m", "n"], tile.strides = ["d_stride"]})
    target("gfx950") waves(8) attributes {
    tile.requires = [
      ["max(m, n, k) <= 1073741824", "m, n and k may be at most 1073741824"],
      ["ceildiv(m, 256) * ceildiv(n, 256) <= 4194304", "d may have at most 4194304 blocks of 256 x 256"],
      ["a_stride % 8 == 0", "a_stride must be a multiple of 8 elements"],
      ["b_stride % 8 == 0", "b_stride must be a multiple of 8 elements"],
      ["d_stride % 8 == 0", "d_stride must be a multiple of 8 elements"],
      ["(min(m, 256) - 1) * a_stride + k <= 1073741760", "256 rows of a may span at most 1073741760 elements"],
      ["(min(n, 256) - 1) * b_stride + k <= 1073741760", "256 rows of b may span at most 1073741760 elements"],
      ["residual_stride % 8 == 0", "residual_stride must be a multiple of 8 elements"],
      ["(min(m, 256) - 1) * residual_stride + n <= 1073741760", "256 rows of residual may span at most 1073741760 elements"],
      ["(min(m, 256) - 1) * d_stride + n <= 1073741760", "256 rows of d may span at most 1073741760 elements"]]} {
  // Which 256 x 256 of D this workgroup computes. Bands of four row blocks, and neighbours on one
  // XCD, so that what one workgroup fetches the others find in L2.
  %row, %column = tile.block_tile %c rows(256) columns(256) band(4) xcds(8) : <?x?xbf16>

  // D^T = B A^T: with the columns of D along the accumulator's rows, a lane holds consecutive
  // columns of one row of D and stores them at once. Waves stand 2 x 4, each has 128 columns and 64 rows.
  %wave_n, %wave_m = tile.wave_grid rows(2) columns(4)

  // 64 of the depth at a time: rows of 128 bytes, a line of global memory, 32 KiB a tile and not a
  // byte more. Which swizzle keeps all waves' reads free of bank conflicts is for tile-allocate-lds to find.
  %b_ring = tile.ring %b[%column] by_columns unpadded : <?x?xbf16> -> <256x64xbf16>
  %a_ring = tile.ring %a[%row] by_columns unpadded : <?x?xbf16> -> <256x64xbf16>

  %k = tile.dim %a, 1 : <?x?xbf16>
  %tile_depth_less_1 = arith.constant 63 : i32
  %rounded_up = arith.addi %k, %tile_depth_less_1 : i32
  %tile_depth = arith.constant 64 : i32
  %tiles = arith.divui %rounded_up, %tile_depth : i32
  %zero = tile.fill 0.000000e+00 : !tile.frag<128x64xf32, acc>

  // One iteration for each 64 of the depth.
  %product = tile.for_tiles %t = 0 to %tiles cut_right(%k within 0)
      init(%sum = %zero : !tile.frag<128x64xf32, acc>) schedule(@gemm_dual_wave) {
    // Global memory to LDS, past the registers.
    tile.step @fetch_b {
      tile.fetch %b_ring[%t] : <256x64xbf16>
    }
    tile.step @fetch_a {
      tile.fetch %a_ring[%t] : <256x64xbf16>
    }
    // This wave's rows of both tiles. What lies beyond the depth, perhaps NaN, is zero in both; only
    // the last tile pays for that.
    %lhs = tile.step @read_b -> !tile.frag<128x64xbf16, lhs> {
      %operand = tile.read %b_ring[%t] part(%wave_n) : <256x64xbf16> -> <128x64xbf16, lhs>
      %masked = tile.mask_depth %operand tile(%t) below(%k) : <128x64xbf16, lhs>
      tile.yield %masked : !tile.frag<128x64xbf16, lhs>
    }
    %rhs = tile.step @read_a -> !tile.frag<64x64xbf16, rhs> {
      %operand = tile.read %a_ring[%t] part(%wave_m) : <256x64xbf16> -> <64x64xbf16, rhs>
      %masked = tile.mask_depth %operand tile(%t) below(%k) : <64x64xbf16, rhs>
      tile.yield %masked : !tile.frag<64x64xbf16, rhs>
    }
    // In two halves of the depth, so that a schedule can put work between them.
    %low = tile.step @multiply_low -> !tile.frag<128x64xf32, acc> {
      %left = tile.slice_depth %lhs from 0 : <128x64xbf16, lhs> -> <128x32xbf16, lhs>
      %right = tile.slice_depth %rhs from 0 : <64x64xbf16, rhs> -> <32x64xbf16, rhs>
      %half = tile.mma %left, %right, %sum : <128x32xbf16, lhs>, <32x64xbf16, rhs>, <128x64xf32, acc>
      tile.yield %half : !tile.frag<128x64xf32, acc>
    }
    %high = tile.step @multiply_high -> !tile.frag<128x64xf32, acc> {
      %left = tile.slice_depth %lhs from 32 : <128x64xbf16, lhs> -> <128x32xbf16, lhs>
      %right = tile.slice_depth %rhs from 32 : <64x64xbf16, rhs> -> <32x64xbf16, rhs>
      %whole = tile.mma %left, %right, %low : <128x32xbf16, lhs>, <32x64xbf16, rhs>, <128x64xf32, acc>
      tile.yield %whole : !tile.frag<128x64xf32, acc>
    }
    tile.yield %high : !tile.frag<128x64xf32, acc>
  }

  // A quarter of the columns at a time, so that what the end needs fits beside the sums.
  %c_row = tile.wave_row %row rows(64) part(%wave_m)
  %c_column = tile.wave_row %column rows(128) part(%wave_n)
  %part_0 = tile.slice %product from 0 : <128x64xf32, acc> -> <32x64xf32, acc>
  %offset_0 = arith.constant 0 : i32
  %column_0 = arith.addi %c_column, %offset_0 : i32
  %bias_0 = tile.load %bias[%column_0] : <?xbf16> -> !tile.columns<32xbf16, acc>
  %residual_0 = tile.load %residual[%c_row, %column_0] : <?x?xbf16> -> !tile.frag<32x64xbf16, acc>
  %end_0 = tile.map(%s = %part_0 : !tile.frag<32x64xf32, acc>, %b = %bias_0 : !tile.columns<32xbf16, acc>,
      %r = %residual_0 : !tile.frag<32x64xbf16, acc>) -> !tile.frag<32x64xf32, acc> {
    %wide_bias = arith.extf %b : bf16 to f32
    %x = arith.addf %s, %wide_bias : f32
    %half = arith.constant 0.5 : f32
    %half_x = arith.mulf %x, %half : f32
    %one_over_sqrt_2 = arith.constant 0.70710678 : f32
    %scaled = arith.mulf %x, %one_over_sqrt_2 : f32
    %error = math.erf %scaled : f32
    %gelu = math.fma %half_x, %error, %half_x : f32
    %wide_residual = arith.extf %r : bf16 to f32
    %d = arith.addf %gelu, %wide_residual : f32
    tile.yield %d : f32
  }
  tile.store_block %end_0, %c[%c_row, %column_0] : <32x64xf32, acc>, <?x?xbf16>

  %part_1 = tile.slice %product from 32 : <128x64xf32, acc> -> <32x64xf32, acc>
  %offset_1 = arith.constant 32 : i32
  %column_1 = arith.addi %c_column, %offset_1 : i32
  %bias_1 = tile.load %bias[%column_1] : <?xbf16> -> !tile.columns<32xbf16, acc>
  %residual_1 = tile.load %residual[%c_row, %column_1] : <?x?xbf16> -> !tile.frag<32x64xbf16, acc>
  %end_1 = tile.map(%s = %part_1 : !tile.frag<32x64xf32, acc>, %b = %bias_1 : !tile.columns<32xbf16, acc>,
      %r = %residual_1 : !tile.frag<32x64xbf16, acc>) -> !tile.frag<32x64xf32, acc> {
    %wide_bias = arith.extf %b : bf16 to f32
    %x = arith.addf %s, %wide_bias : f32
    %half = arith.constant 0.5 : f32
    %half_x = arith.mulf %x, %half : f32
    %one_over_sqrt_2 = arith.constant 0.70710678 : f32
    %scaled = arith.mulf %x, %one_over_sqrt_2 : f32
    %error = math.erf %scaled : f32
    %gelu = math.fma %half_x, %error, %half_x : f32
    %wide_residual = arith.extf %r : bf16 to f32
    %d = arith.addf %gelu, %wide_residual : f32
    tile.yield %d : f32
  }
  tile.store_block %end_1, %c[%c_row, %column_1] : <32x64xf32, acc>, <?x?xbf16>

  %part_2 = tile.slice %product from 64 : <128x64xf32, acc> -> <32x64xf32, acc>
  %offset_2 = arith.constant 64 : i32
  %column_2 = arith.addi %c_column, %offset_2 : i32
  %bias_2 = tile.load %bias[%column_2] : <?xbf16> -> !tile.columns<32xbf16, acc>
  %residual_2 = tile.load %residual[%c_row, %column_2] : <?x?xbf16> -> !tile.frag<32x64xbf16, acc>
  %end_2 = tile.map(%s = %part_2 : !tile.frag<32x64xf32, acc>, %b = %bias_2 : !tile.columns<32xbf16, acc>,
      %r = %residual_2 : !tile.frag<32x64xbf16, acc>) -> !tile.frag<32x64xf32, acc> {
    %wide_bias = arith.extf %b : bf16 to f32
    %x = arith.addf %s, %wide_bias : f32
    %half = arith.constant 0.5 : f32
    %half_x = arith.mulf %x, %half : f32
    %one_over_sqrt_2 = arith.constant 0.70710678 : f32
    %scaled = arith.mulf %x, %one_over_sqrt_2 : f32
    %error = math.erf %scaled : f32
    %gelu = math.fma %half_x, %error, %half_x : f32
    %wide_residual = arith.extf %r : bf16 to f32
    %d = arith.addf %gelu, %wide_residual : f32
    tile.yield %d : f32
  }
  tile.store_block %end_2, %c[%c_row, %column_2] : <32x64xf32, acc>, <?x?xbf16>

  %part_3 = tile.slice %product from 96 : <128x64xf32, acc> -> <32x64xf32, acc>
  %offset_3 = arith.constant 96 : i32
  %column_3 = arith.addi %c_column, %offset_3 : i32
  %bias_3 = tile.load %bias[%column_3] : <?xbf16> -> !tile.columns<32xbf16, acc>
  %residual_3 = tile.load %residual[%c_row, %column_3] : <?x?xbf16> -> !tile.frag<32x64xbf16, acc>
  %end_3 = tile.map(%s = %part_3 : !tile.frag<32x64xf32, acc>, %b = %bias_3 : !tile.columns<32xbf16, acc>,
      %r = %residual_3 : !tile.frag<32x64xbf16, acc>) -> !tile.frag<32x64xf32, acc> {
    %wide_bias = arith.extf %b : bf16 to f32
    %x = arith.addf %s, %wide_bias : f32
    %half = arith.constant 0.5 : f32
    %half_x = arith.mulf %x, %half : f32
    %one_over_sqrt_2 = arith.constant 0.70710678 : f32
    %scaled = arith.mulf %x, %one_over_sqrt_2 : f32
    %error = math.erf %scaled : f32
    %gelu = math.fma %half_x, %error, %half_x : f32
    %wide_residual = arith.extf %r : bf16 to f32
    %d = arith.addf %gelu, %wide_residual : f32
    tile.yield %d : f32
  }
  tile.store_block %end_3, %c[%c_row, %column_3] : <32x64xf32, acc>, <?x?xbf16>
}
