// C = A B^T of mxfp4, in bf16: fp4 e2m1 with a power of two for each 32 of the depth of a row of A and of B. Memory has
// pairs of the depth as bytes, the first in the lower half: A is m x k bytes of 2 k elements, B n x k, C m x n, any sizes;
// a_scale is ceil(k / 16) x m and b_scale ceil(k / 16) x n.
//
// The loop is that of gemm_mxfp8.mlir: 64 bytes a tile are 128 of the depth. 32x32x64 of two operands of 4 bits takes half the cycles.
tile.kernel @gemm_mxfp4(
    %a: !tile.view<?x?xi8> {tile.bind = "a", tile.sizes = ["m", "k"], tile.strides = ["a_stride"]},
    %b: !tile.view<?x?xi8> {tile.bind = "b", tile.sizes = ["n", "k"], tile.strides = ["b_stride"]},
    %a_scale: !tile.view<?x?xf8E8M0FNU> {tile.bind = "a_scale", tile.sizes = ["ceildiv(k, 16)", "m"],
      tile.strides = ["a_scale_stride"]},
    %b_scale: !tile.view<?x?xf8E8M0FNU> {tile.bind = "b_scale", tile.sizes = ["ceildiv(k, 16)", "n"],
      tile.strides = ["b_scale_stride"]},
    %c: !tile.view<?x?xbf16> {tile.bind = "c", tile.sizes = ["m", "n"], tile.strides = ["c_stride"]})
    target("gfx950") waves(8) attributes {
    tile.requires = [
      ["max(m, n, k) <= 1073741824", "m, n and k may be at most 1073741824"],
      ["ceildiv(m, 256) * ceildiv(n, 256) <= 4194304", "c may have at most 4194304 blocks of 256 x 256"],
      ["a_stride % 16 == 0", "a_stride must be a multiple of 16 bytes"],
      ["b_stride % 16 == 0", "b_stride must be a multiple of 16 bytes"],
      ["c_stride % 8 == 0", "c_stride must be a multiple of 8 elements"],
      ["(min(m, 256) - 1) * a_stride + k <= 2147483520", "256 rows of a may span at most 2147483520 elements"],
      ["(min(n, 256) - 1) * b_stride + k <= 2147483520", "256 rows of b may span at most 2147483520 elements"],
      ["3 * a_scale_stride + m <= 2147483520", "4 rows of a_scale may span at most 2147483520 elements"],
      ["3 * b_scale_stride + n <= 2147483520", "4 rows of b_scale may span at most 2147483520 elements"],
      ["(min(m, 256) - 1) * c_stride + n <= 1073741760", "256 rows of c may span at most 1073741760 elements"]]} {
  // Which 256 x 256 of C this workgroup computes. Bands of four row blocks, and neighbours on one
  // XCD, so that what one workgroup fetches the others find in L2.
  %row, %column = tile.block_tile %c rows(256) columns(256) band(4) xcds(8) : <?x?xbf16>

  // C^T = B A^T, as in gemm_bf16.mlir. Waves stand 2 x 4, each has 128 columns and 64 rows.
  %wave_n, %wave_m = tile.wave_grid rows(2) columns(4)

  // 128 of the depth at a time: operands, their scales and the sums fit into the registers of a wave.
  %b_ring = tile.ring %b[%column] by_columns unpadded : <?x?xi8> -> <256x64xi8>
  %a_ring = tile.ring %a[%row] by_columns unpadded : <?x?xi8> -> <256x64xi8>

  %k = tile.dim %a, 1 : <?x?xi8>
  %two = arith.constant 2 : i32
  %depth = arith.muli %k, %two : i32
  %tile_depth_less_1 = arith.constant 63 : i32
  %rounded_up = arith.addi %k, %tile_depth_less_1 : i32
  %tile_depth = arith.constant 64 : i32
  %tiles = arith.divui %rounded_up, %tile_depth : i32
  %blocks_of_tile = arith.constant 4 : i32
  %c_row = tile.wave_row %row rows(64) part(%wave_m)
  %c_column = tile.wave_row %column rows(128) part(%wave_n)
  %zero = tile.fill 0.000000e+00 : !tile.frag<128x64xf32, acc>

  // One iteration for each 128 of the depth. Its end cuts the last one alone.
  %product = tile.for_tiles %t = 0 to %tiles cut_right(%depth within 0)
      init(%sum = %zero : !tile.frag<128x64xf32, acc>) schedule(@gemm_mxfp4_dual_wave) {
    tile.step @fetch_b {
      tile.fetch %b_ring[%t] : <256x64xi8>
    }
    tile.step @fetch_a {
      tile.fetch %a_ring[%t] : <256x64xi8>
    }
    // Scales of this wave's rows of both tiles, from memory to registers.
    %lhs_scale = tile.step @scale_b -> !tile.frag<128x4xf8E8M0FNU, lhs_scale> {
      %block = arith.muli %t, %blocks_of_tile : i32
      %scale = tile.load %b_scale[%block, %c_column] : <?x?xf8E8M0FNU> -> <128x4xf8E8M0FNU, lhs_scale>
      tile.yield %scale : !tile.frag<128x4xf8E8M0FNU, lhs_scale>
    }
    %rhs_scale = tile.step @scale_a -> !tile.frag<4x64xf8E8M0FNU, rhs_scale> {
      %block = arith.muli %t, %blocks_of_tile : i32
      %scale = tile.load %a_scale[%block, %c_row] : <?x?xf8E8M0FNU> -> <4x64xf8E8M0FNU, rhs_scale>
      tile.yield %scale : !tile.frag<4x64xf8E8M0FNU, rhs_scale>
    }
    // This wave's rows of both tiles; what lies beyond the depth becomes zero in both.
    %lhs = tile.step @read_b -> !tile.frag<128x128xf4E2M1FN, lhs> {
      %operand = tile.read %b_ring[%t] part(%wave_n) : <256x64xi8> -> <128x128xf4E2M1FN, lhs>
      %masked = tile.mask_depth %operand tile(%t) below(%depth) : <128x128xf4E2M1FN, lhs>
      tile.yield %masked : !tile.frag<128x128xf4E2M1FN, lhs>
    }
    %rhs = tile.step @read_a -> !tile.frag<128x64xf4E2M1FN, rhs> {
      %operand = tile.read %a_ring[%t] part(%wave_m) : <256x64xi8> -> <128x64xf4E2M1FN, rhs>
      %masked = tile.mask_depth %operand tile(%t) below(%depth) : <128x64xf4E2M1FN, rhs>
      tile.yield %masked : !tile.frag<128x64xf4E2M1FN, rhs>
    }
    %whole = tile.step @multiply -> !tile.frag<128x64xf32, acc> {
      %next = tile.mma %lhs, %rhs, %sum scales(%lhs_scale, %rhs_scale)
          : <128x128xf4E2M1FN, lhs>, <128x64xf4E2M1FN, rhs>, <128x64xf32, acc>,
            !tile.frag<128x4xf8E8M0FNU, lhs_scale>, !tile.frag<4x64xf8E8M0FNU, rhs_scale>
      tile.yield %next : !tile.frag<128x64xf32, acc>
    }
    tile.yield %whole : !tile.frag<128x64xf32, acc>
  }

  tile.store_block %product, %c[%c_row, %c_column] : <128x64xf32, acc>, <?x?xbf16>
}

// Two wave groups, one cluster apart: while one multiplies, the other reads its operands and fetches for two tiles later.
// Scales of the next tile are loaded where this one is multiplied, so that no wait for a fetch includes them.
tile.schedule @gemm_mxfp4_dual_wave unroll(3) wave_groups(2) {
  tile.cluster memory { read_b(0) read_a(0) fetch_b(+2) fetch_a(+2) }
  tile.cluster compute priority(1) { scale_b(+1) scale_a(+1) multiply(0) }
}
