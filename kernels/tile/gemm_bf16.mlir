// Matrix product C = A B^T in bf16, accumulated in f32: A is m x k, B n x k, C m x n, any sizes.
//
// The other kernel of this dialect: nothing in it is attention's. Tiles of A and B pass through LDS
// along the depth k, eight waves share a block of 256 x 256, and schedules in kernels/schedules/gemm
// say when what is fetched, read and multiplied. Copy it, edit it, and compile it with hocketc.
tile.kernel @gemm_bf16(
    %a: !tile.view<?x?xbf16> {tile.bind = "a", tile.sizes = ["m", "k"], tile.strides = ["a_stride"]},
    %b: !tile.view<?x?xbf16> {tile.bind = "b", tile.sizes = ["n", "k"], tile.strides = ["b_stride"]},
    %c: !tile.view<?x?xbf16> {tile.bind = "c", tile.sizes = ["m", "n"], tile.strides = ["c_stride"]})
    target("gfx950") waves(8) attributes {
    tile.requires = [
      ["max(m, n, k) <= 1073741824", "m, n and k may be at most 1073741824"],
      ["ceildiv(m, 256) * ceildiv(n, 256) <= 4194304", "c may have at most 4194304 blocks of 256 x 256"],
      ["a_stride % 8 == 0", "a_stride must be a multiple of 8 elements"],
      ["b_stride % 8 == 0", "b_stride must be a multiple of 8 elements"],
      ["c_stride % 8 == 0", "c_stride must be a multiple of 8 elements"],
      ["(min(m, 256) - 1) * a_stride + k <= 1073741760", "256 rows of a may span at most 1073741760 elements"],
      ["(min(n, 256) - 1) * b_stride + k <= 1073741760", "256 rows of b may span at most 1073741760 elements"],
      ["(min(m, 256) - 1) * c_stride + n <= 1073741760", "256 rows of c may span at most 1073741760 elements"]]} {
  // Which 256 x 256 of C this workgroup computes. Bands of four row blocks, and neighbours on one
  // XCD, so that what one workgroup fetches the others find in L2.
  %row, %column = tile.block_tile %c rows(256) columns(256) band(4) xcds(8) : <?x?xbf16>

  // C^T = B A^T: with the columns of C along the accumulator's rows, a lane holds consecutive
  // columns of one row of C and stores them at once. Waves stand 2 x 4, each has 128 columns and 64 rows.
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

  // One iteration for each 64 of the depth. Its end cuts the last one alone.
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

  // Rounded once, at the end.
  %c_row = tile.wave_row %row rows(64) part(%wave_m)
  %c_column = tile.wave_row %column rows(128) part(%wave_n)
  tile.store_block %product, %c[%c_row, %c_column] : <128x64xf32, acc>, <?x?xbf16>
}
