// C = A B^T in f32, not rounded anywhere: A is m x k, B n x k, C m x n, any sizes.
//
// The loop is that of gemm_bf16.mlir with tiles of 32 of the depth, 128 bytes a row. A fragment of f32 says
// `bits(32)` where it is an operand: without it, an f32 lies beside operands of 16 bits.
tile.kernel @gemm_f32(
    %a: !tile.view<?x?xf32> {tile.bind = "a", tile.sizes = ["m", "k"], tile.strides = ["a_stride"]},
    %b: !tile.view<?x?xf32> {tile.bind = "b", tile.sizes = ["n", "k"], tile.strides = ["b_stride"]},
    %c: !tile.view<?x?xf32> {tile.bind = "c", tile.sizes = ["m", "n"], tile.strides = ["c_stride"]})
    target("gfx950") waves(8) attributes {
    tile.requires = [
      ["max(m, n, k) <= 536870912", "m, n and k may be at most 536870912"],
      ["ceildiv(m, 256) * ceildiv(n, 256) <= 4194304", "c may have at most 4194304 blocks of 256 x 256"],
      ["a_stride % 4 == 0", "a_stride must be a multiple of 4 elements"],
      ["b_stride % 4 == 0", "b_stride must be a multiple of 4 elements"],
      ["c_stride % 4 == 0", "c_stride must be a multiple of 4 elements"],
      ["(min(m, 256) - 1) * a_stride + k <= 536870880", "256 rows of a may span at most 536870880 elements"],
      ["(min(n, 256) - 1) * b_stride + k <= 536870880", "256 rows of b may span at most 536870880 elements"],
      ["(min(m, 256) - 1) * c_stride + n <= 536870880", "256 rows of c may span at most 536870880 elements"]]} {
  // Which 256 x 256 of C this workgroup computes. Bands of four row blocks, and neighbours on one
  // XCD, so that what one workgroup fetches the others find in L2.
  %row, %column = tile.block_tile %c rows(256) columns(256) band(4) xcds(8) : <?x?xf32>

  // C^T = B A^T: with the columns of C along the accumulator's rows, a lane holds consecutive
  // columns of one row of C and stores them at once. Waves stand 2 x 4, each has 128 columns and 64 rows.
  %wave_n, %wave_m = tile.wave_grid rows(2) columns(4)

  // 32 of the depth at a time: rows of 128 bytes, a line of global memory, 32 KiB a tile and not a
  // byte more. Which swizzle keeps all waves' reads free of bank conflicts is for tile-allocate-lds to find.
  %b_ring = tile.ring %b[%column] by_columns unpadded : <?x?xf32> -> <256x32xf32>
  %a_ring = tile.ring %a[%row] by_columns unpadded : <?x?xf32> -> <256x32xf32>

  %k = tile.dim %a, 1 : <?x?xf32>
  %tile_depth_less_1 = arith.constant 31 : i32
  %rounded_up = arith.addi %k, %tile_depth_less_1 : i32
  %tile_depth = arith.constant 32 : i32
  %tiles = arith.divui %rounded_up, %tile_depth : i32
  %zero = tile.fill 0.000000e+00 : !tile.frag<128x64xf32, acc>

  // One iteration for each 32 of the depth. Its end cuts the last one alone.
  %product = tile.for_tiles %t = 0 to %tiles cut_right(%k within 0)
      init(%sum = %zero : !tile.frag<128x64xf32, acc>) schedule(@gemm_dual_wave) {
    // Global memory to LDS, past the registers.
    tile.step @fetch_b {
      tile.fetch %b_ring[%t] : <256x32xf32>
    }
    tile.step @fetch_a {
      tile.fetch %a_ring[%t] : <256x32xf32>
    }
    // This wave's rows of both tiles. What lies beyond the depth, perhaps NaN, is zero in both; only
    // the last tile pays for that.
    %lhs = tile.step @read_b -> !tile.frag<128x32xf32, lhs bits(32)> {
      %operand = tile.read %b_ring[%t] part(%wave_n) : <256x32xf32> -> <128x32xf32, lhs bits(32)>
      %masked = tile.mask_depth %operand tile(%t) below(%k) : <128x32xf32, lhs bits(32)>
      tile.yield %masked : !tile.frag<128x32xf32, lhs bits(32)>
    }
    %rhs = tile.step @read_a -> !tile.frag<32x64xf32, rhs bits(32)> {
      %operand = tile.read %a_ring[%t] part(%wave_m) : <256x32xf32> -> <32x64xf32, rhs bits(32)>
      %masked = tile.mask_depth %operand tile(%t) below(%k) : <32x64xf32, rhs bits(32)>
      tile.yield %masked : !tile.frag<32x64xf32, rhs bits(32)>
    }
    // In two halves of the depth, so that a schedule can put work between them.
    %low = tile.step @multiply_low -> !tile.frag<128x64xf32, acc> {
      %left = tile.slice_depth %lhs from 0 : <128x32xf32, lhs bits(32)> -> <128x16xf32, lhs bits(32)>
      %right = tile.slice_depth %rhs from 0 : <32x64xf32, rhs bits(32)> -> <16x64xf32, rhs bits(32)>
      %half = tile.mma %left, %right, %sum : <128x16xf32, lhs bits(32)>, <16x64xf32, rhs bits(32)>, <128x64xf32, acc>
      tile.yield %half : !tile.frag<128x64xf32, acc>
    }
    %high = tile.step @multiply_high -> !tile.frag<128x64xf32, acc> {
      %left = tile.slice_depth %lhs from 16 : <128x32xf32, lhs bits(32)> -> <128x16xf32, lhs bits(32)>
      %right = tile.slice_depth %rhs from 16 : <32x64xf32, rhs bits(32)> -> <16x64xf32, rhs bits(32)>
      %whole = tile.mma %left, %right, %low : <128x16xf32, lhs bits(32)>, <16x64xf32, rhs bits(32)>, <128x64xf32, acc>
      tile.yield %whole : !tile.frag<128x64xf32, acc>
    }
    tile.yield %high : !tile.frag<128x64xf32, acc>
  }

  %c_row = tile.wave_row %row rows(64) part(%wave_m)
  %c_column = tile.wave_row %column rows(128) part(%wave_n)
  tile.store %product, %c[%c_row, %c_column] : <128x64xf32, acc>, !tile.view<?x?xf32>
}
