// C = A B^T of mxfp8, in bf16: fp8 e4m3 with a power of two for each 32 of the depth of a row of A and of B. A is
// m x k, B n x k, C m x n, any sizes; a_scale is ceil(k / 32) x m and b_scale ceil(k / 32) x n, so that lanes load what
// lies side by side.
//
// The loop is that of gemm_fp8.mlir with tiles half as deep. The matrix instruction multiplies by the scales, at no cost.
tile.kernel @gemm_mxfp8(
    %a: !tile.view<?x?xf8E4M3FN> {tile.bind = "a", tile.sizes = ["m", "k"], tile.strides = ["a_stride"]},
    %b: !tile.view<?x?xf8E4M3FN> {tile.bind = "b", tile.sizes = ["n", "k"], tile.strides = ["b_stride"]},
    %a_scale: !tile.view<?x?xf8E8M0FNU> {tile.bind = "a_scale", tile.sizes = ["ceildiv(k, 32)", "m"],
      tile.strides = ["a_scale_stride"]},
    %b_scale: !tile.view<?x?xf8E8M0FNU> {tile.bind = "b_scale", tile.sizes = ["ceildiv(k, 32)", "n"],
      tile.strides = ["b_scale_stride"]},
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
      ["a_scale_stride + m <= 2147483520", "2 rows of a_scale may span at most 2147483520 elements"],
      ["b_scale_stride + n <= 2147483520", "2 rows of b_scale may span at most 2147483520 elements"],
      ["(min(m, 256) - 1) * c_stride + n <= 1073741760", "256 rows of c may span at most 1073741760 elements"]]} {
  // Which 256 x 256 of C this workgroup computes. Bands of four row blocks, and neighbours on one
  // XCD, so that what one workgroup fetches the others find in L2.
  %row, %column = tile.block_tile %c rows(256) columns(256) band(4) xcds(8) : <?x?xbf16>

  // C^T = B A^T, as in gemm_bf16.mlir. Waves stand 2 x 4, each has 128 columns and 64 rows.
  %wave_n, %wave_m = tile.wave_grid rows(2) columns(4)

  // 64 of the depth at a time: operands, their scales and the sums fit into the registers of a wave.
  %b_ring = tile.ring %b[%column] by_columns unpadded : <?x?xf8E4M3FN> -> <256x64xf8E4M3FN>
  %a_ring = tile.ring %a[%row] by_columns unpadded : <?x?xf8E4M3FN> -> <256x64xf8E4M3FN>

  %k = tile.dim %a, 1 : <?x?xf8E4M3FN>
  %tile_depth_less_1 = arith.constant 63 : i32
  %rounded_up = arith.addi %k, %tile_depth_less_1 : i32
  %tile_depth = arith.constant 64 : i32
  %tiles = arith.divui %rounded_up, %tile_depth : i32
  %blocks_of_tile = arith.constant 2 : i32
  %c_row = tile.wave_row %row rows(64) part(%wave_m)
  %c_column = tile.wave_row %column rows(128) part(%wave_n)
  %zero = tile.fill 0.000000e+00 : !tile.frag<128x64xf32, acc>

  // One iteration for each 64 of the depth. Its end cuts the last one alone.
  %product = tile.for_tiles %t = 0 to %tiles cut_right(%k within 0)
      init(%sum = %zero : !tile.frag<128x64xf32, acc>) schedule(@gemm_mxfp8_dual_wave) {
    tile.step @fetch_b {
      tile.fetch %b_ring[%t] : <256x64xf8E4M3FN>
    }
    tile.step @fetch_a {
      tile.fetch %a_ring[%t] : <256x64xf8E4M3FN>
    }
    // Scales of this wave's rows of both tiles, from memory to registers.
    %lhs_scale = tile.step @scale_b -> !tile.frag<128x2xf8E8M0FNU, lhs_scale> {
      %block = arith.muli %t, %blocks_of_tile : i32
      %scale = tile.load %b_scale[%block, %c_column] : <?x?xf8E8M0FNU> -> <128x2xf8E8M0FNU, lhs_scale>
      tile.yield %scale : !tile.frag<128x2xf8E8M0FNU, lhs_scale>
    }
    %rhs_scale = tile.step @scale_a -> !tile.frag<2x64xf8E8M0FNU, rhs_scale> {
      %block = arith.muli %t, %blocks_of_tile : i32
      %scale = tile.load %a_scale[%block, %c_row] : <?x?xf8E8M0FNU> -> <2x64xf8E8M0FNU, rhs_scale>
      tile.yield %scale : !tile.frag<2x64xf8E8M0FNU, rhs_scale>
    }
    // This wave's rows of both tiles; what lies beyond the depth becomes zero in both.
    %lhs = tile.step @read_b -> !tile.frag<128x64xf8E4M3FN, lhs> {
      %operand = tile.read %b_ring[%t] part(%wave_n) : <256x64xf8E4M3FN> -> <128x64xf8E4M3FN, lhs>
      %masked = tile.mask_depth %operand tile(%t) below(%k) : <128x64xf8E4M3FN, lhs>
      tile.yield %masked : !tile.frag<128x64xf8E4M3FN, lhs>
    }
    %rhs = tile.step @read_a -> !tile.frag<64x64xf8E4M3FN, rhs> {
      %operand = tile.read %a_ring[%t] part(%wave_m) : <256x64xf8E4M3FN> -> <64x64xf8E4M3FN, rhs>
      %masked = tile.mask_depth %operand tile(%t) below(%k) : <64x64xf8E4M3FN, rhs>
      tile.yield %masked : !tile.frag<64x64xf8E4M3FN, rhs>
    }
    %whole = tile.step @multiply -> !tile.frag<128x64xf32, acc> {
      %next = tile.mma %lhs, %rhs, %sum scales(%lhs_scale, %rhs_scale)
          : <128x64xf8E4M3FN, lhs>, <64x64xf8E4M3FN, rhs>, <128x64xf32, acc>,
            !tile.frag<128x2xf8E8M0FNU, lhs_scale>, !tile.frag<2x64xf8E8M0FNU, rhs_scale>
      tile.yield %next : !tile.frag<128x64xf32, acc>
    }
    tile.yield %whole : !tile.frag<128x64xf32, acc>
  }

  tile.store_block %product, %c[%c_row, %c_column] : <128x64xf32, acc>, <?x?xbf16>
}

// Two wave groups, one cluster apart: while one multiplies, the other reads its operands and fetches for two tiles later.
// Scales of the next tile are loaded where this one is multiplied, so that no wait for a fetch includes them.
tile.schedule @gemm_mxfp8_dual_wave unroll(3) wave_groups(2) {
  tile.cluster memory { read_b(0) read_a(0) fetch_b(+2) fetch_a(+2) }
  tile.cluster compute priority(1) { scale_b(+1) scale_a(+1) multiply(0) }
}
