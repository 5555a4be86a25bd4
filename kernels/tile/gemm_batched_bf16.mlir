// Batched matrix product in bf16, accumulated in f32: C[i] = A[i] B[i]^T for each i of a batch. A[i] is m x k, B[i]
// n x k, C[i] m x n, any sizes, each matrix anywhere.
//
// What is new beside gemm_bf16.mlir: a grid of one's own, whose second dimension counts the batch, and
// `tile.select`, one matrix of a view of many.
tile.kernel @gemm_batched_bf16(
    %a: !tile.view<?x?x?xbf16> {tile.bind = "a", tile.sizes = ["batch", "m", "k"], tile.strides = ["a_stride_b", "a_stride"]},
    %b: !tile.view<?x?x?xbf16> {tile.bind = "b", tile.sizes = ["batch", "n", "k"], tile.strides = ["b_stride_b", "b_stride"]},
    %c: !tile.view<?x?x?xbf16> {tile.bind = "c", tile.sizes = ["batch", "m", "n"], tile.strides = ["c_stride_b", "c_stride"]})
    target("gfx950") waves(4) attributes {
    tile.requires = [
      ["batch <= 65535", "at most 65535 matrices, the grid's second dimension"],
      ["max(m, n, k) <= 1073741824", "m, n and k may be at most 1073741824"],
      ["a_stride % 8 == 0 && a_stride_b % 8 == 0", "a's strides must be multiples of 8 elements"],
      ["b_stride % 8 == 0 && b_stride_b % 8 == 0", "b's strides must be multiples of 8 elements"],
      ["c_stride % 8 == 0 && c_stride_b % 8 == 0", "c's strides must be multiples of 8 elements"],
      ["(min(m, 128) - 1) * a_stride + k <= 1073741760", "128 rows of a may span at most 1073741760 elements"],
      ["(min(n, 128) - 1) * b_stride + k <= 1073741760", "128 rows of b may span at most 1073741760 elements"],
      ["(min(m, 128) - 1) * c_stride + n <= 1073741760", "128 rows of c may span at most 1073741760 elements"]]} {
  // Which 128 x 128 of which C: blocks down the rows first.
  %block, %i, %unused = tile.workgroup_id ["ceildiv(m, 128) * ceildiv(n, 128)", "batch"]
  %m = tile.dim %c, 1 : <?x?x?xbf16>
  %block_less_1 = arith.constant 127 : i32
  %block_size = arith.constant 128 : i32
  %m_rounded_up = arith.addi %m, %block_less_1 : i32
  %row_blocks = arith.divui %m_rounded_up, %block_size : i32
  %column_block, %row_block = tile.divmod %block by %row_blocks
  %row = arith.muli %row_block, %block_size : i32
  %column = arith.muli %column_block, %block_size : i32
  %a_i = tile.select %a[%i] : <?x?x?xbf16> -> <?x?xbf16>
  %b_i = tile.select %b[%i] : <?x?x?xbf16> -> <?x?xbf16>
  %c_i = tile.select %c[%i] : <?x?x?xbf16> -> <?x?xbf16>

  // C^T = B A^T, 64 columns and 64 rows of C for each of 2 x 2 waves.
  %wave_n, %wave_m = tile.wave_grid rows(2) columns(2)
  %b_ring = tile.ring %b_i[%column] by_columns : <?x?xbf16> -> <128x64xbf16>
  %a_ring = tile.ring %a_i[%row] by_columns : <?x?xbf16> -> <128x64xbf16>
  %k = tile.dim %a, 2 : <?x?x?xbf16>
  %depth_less_1 = arith.constant 63 : i32
  %depth = arith.constant 64 : i32
  %k_rounded_up = arith.addi %k, %depth_less_1 : i32
  %tiles = arith.divui %k_rounded_up, %depth : i32
  %zero = tile.fill 0.000000e+00 : !tile.frag<64x64xf32, acc>
  %product = tile.for_tiles %t = 0 to %tiles cut_right(%k within 0)
      init(%sum = %zero : !tile.frag<64x64xf32, acc>) schedule(@next_tile) {
    tile.step @fetch_b {
      tile.fetch %b_ring[%t] : <128x64xbf16>
    }
    tile.step @fetch_a {
      tile.fetch %a_ring[%t] : <128x64xbf16>
    }
    // What lies beyond the depth is zero in both, perhaps instead of NaN.
    %lhs = tile.step @read_b -> !tile.frag<64x64xbf16, lhs> {
      %operand = tile.read %b_ring[%t] part(%wave_n) : <128x64xbf16> -> <64x64xbf16, lhs>
      %masked = tile.mask_depth %operand tile(%t) below(%k) : <64x64xbf16, lhs>
      tile.yield %masked : !tile.frag<64x64xbf16, lhs>
    }
    %rhs = tile.step @read_a -> !tile.frag<64x64xbf16, rhs> {
      %operand = tile.read %a_ring[%t] part(%wave_m) : <128x64xbf16> -> <64x64xbf16, rhs>
      %masked = tile.mask_depth %operand tile(%t) below(%k) : <64x64xbf16, rhs>
      tile.yield %masked : !tile.frag<64x64xbf16, rhs>
    }
    %more = tile.step @multiply -> !tile.frag<64x64xf32, acc> {
      %next = tile.mma %lhs, %rhs, %sum : <64x64xbf16, lhs>, <64x64xbf16, rhs>, <64x64xf32, acc>
      tile.yield %next : !tile.frag<64x64xf32, acc>
    }
    tile.yield %more : !tile.frag<64x64xf32, acc>
  }
  %c_row = tile.wave_row %row rows(64) part(%wave_m)
  %c_column = tile.wave_row %column rows(64) part(%wave_n)
  tile.store_block %product, %c_i[%c_row, %c_column] : <64x64xf32, acc>, <?x?xbf16>
}

// The next tile is fetched while this one is multiplied.
tile.schedule @next_tile unroll(2) {
  tile.cluster compute { fetch_b(+1) fetch_a(+1) read_b(0) read_a(0) multiply(0) }
}
