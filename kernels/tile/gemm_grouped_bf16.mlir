// Grouped matrix product in bf16, accumulated in f32: rows of A belong to groups, one after the other, and the rows of
// group g are multiplied by B[g]^T: the experts of a mixture, say. A is m x k, B groups x n x k, C m x n. Group g has
// rows offsets[g] to offsets[g + 1] - 1, any number of them, 0 as well.
//
// What is new beside gemm_batched_bf16.mlir: numbers loaded from memory decide which block a workgroup computes.
tile.kernel @gemm_grouped_bf16(
    %a: !tile.view<?x?xbf16> {tile.bind = "a", tile.sizes = ["m", "k"], tile.strides = ["a_stride"]},
    %b: !tile.view<?x?x?xbf16> {tile.bind = "b", tile.sizes = ["groups", "n", "k"], tile.strides = ["b_stride_g", "b_stride"]},
    %c: !tile.view<?x?xbf16> {tile.bind = "c", tile.sizes = ["m", "n"], tile.strides = ["c_stride"]},
    %offsets: !tile.view<?xi32> {tile.bind = "offsets", tile.sizes = ["groups + 1"], tile.strides = []})
    target("gfx950") waves(4) attributes {
    tile.requires = [
      ["max(m, n, k) <= 1073741824", "m, n and k may be at most 1073741824"],
      ["a_stride % 8 == 0", "a_stride must be a multiple of 8 elements"],
      ["b_stride % 8 == 0 && b_stride_g % 8 == 0", "b's strides must be multiples of 8 elements"],
      ["c_stride % 8 == 0", "c_stride must be a multiple of 8 elements"],
      ["(min(m, 128) - 1) * a_stride + k <= 1073741760", "128 rows of a may span at most 1073741760 elements"],
      ["(min(n, 128) - 1) * b_stride + k <= 1073741760", "128 rows of b may span at most 1073741760 elements"],
      ["(min(m, 128) - 1) * c_stride + n <= 1073741760", "128 rows of c may span at most 1073741760 elements"]]} {
  // Groups begin anew at a block of rows, so there may be one block more for each; those too many do nothing.
  %block, %unused_y, %unused_z = tile.workgroup_id ["(ceildiv(m, 128) + groups) * ceildiv(n, 128)"]
  %n = tile.dim %c, 1 : <?x?xbf16>
  %block_less_1 = arith.constant 127 : i32
  %block_size = arith.constant 128 : i32
  %n_rounded_up = arith.addi %n, %block_less_1 : i32
  %column_blocks = arith.divui %n_rounded_up, %block_size : i32
  %row_block, %column_block = tile.divmod %block by %column_blocks
  %column = arith.muli %column_block, %block_size : i32

  // The group that has the block: group by group, counting blocks.
  %zero_i = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %groups = tile.dim %b, 0 : <?x?x?xbf16>
  %group, %blocks_before, %counted = scf.while (%g = %zero_i, %before = %zero_i) : (i32, i32) -> (i32, i32, i32) {
    %next = arith.addi %g, %one : i32
    %first = tile.load %offsets[%g] : <?xi32> -> i32
    %end = tile.load %offsets[%next] : <?xi32> -> i32
    %rows = arith.subi %end, %first : i32
    %rows_rounded_up = arith.addi %rows, %block_less_1 : i32
    %blocks = arith.divui %rows_rounded_up, %block_size : i32
    %after = arith.addi %before, %blocks : i32
    %is_later = arith.cmpi sge, %row_block, %after : i32
    %has_more = arith.cmpi slt, %next, %groups : i32
    %go_on = arith.andi %is_later, %has_more : i1
    scf.condition(%go_on) %g, %before, %after : i32, i32, i32
  } do {
  ^bb0(%g: i32, %before: i32, %after: i32):
    %next = arith.addi %g, %one : i32
    scf.yield %next, %after : i32, i32
  }
  %next_group = arith.addi %group, %one : i32
  %first_row = tile.load %offsets[%group] : <?xi32> -> i32
  %end_row = tile.load %offsets[%next_group] : <?xi32> -> i32
  %group_rows = arith.subi %end_row, %first_row : i32
  %block_of_group = arith.subi %row_block, %blocks_before : i32
  %row = arith.muli %block_of_group, %block_size : i32

  // Rows of other groups are beyond these views: they read as zero and are not written.
  %a_g = tile.slice_rows %a from %first_row size %group_rows : <?x?xbf16>
  %c_g = tile.slice_rows %c from %first_row size %group_rows : <?x?xbf16>
  %b_g = tile.select %b[%group] : <?x?x?xbf16> -> <?x?xbf16>
  %wave_n, %wave_m = tile.wave_grid rows(2) columns(2)
  %b_ring = tile.ring %b_g[%column] by_columns : <?x?xbf16> -> <128x64xbf16>
  %a_ring = tile.ring %a_g[%row] by_columns : <?x?xbf16> -> <128x64xbf16>
  %k = tile.dim %a, 1 : <?x?xbf16>
  %depth_less_1 = arith.constant 63 : i32
  %depth = arith.constant 64 : i32
  %k_rounded_up = arith.addi %k, %depth_less_1 : i32
  %all_tiles = arith.divui %k_rounded_up, %depth : i32
  %has_rows = arith.cmpi slt, %row, %group_rows : i32
  %tiles = arith.select %has_rows, %all_tiles, %zero_i : i32
  %zero = tile.fill 0.000000e+00 : !tile.frag<64x64xf32, acc>
  %product = tile.for_tiles %t = 0 to %tiles cut_right(%k within 0)
      init(%sum = %zero : !tile.frag<64x64xf32, acc>) schedule(@next_tile) {
    tile.step @fetch_b {
      tile.fetch %b_ring[%t] : <128x64xbf16>
    }
    tile.step @fetch_a {
      tile.fetch %a_ring[%t] : <128x64xbf16>
    }
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
  tile.store_block %product, %c_g[%c_row, %c_column] : <64x64xf32, acc>, <?x?xbf16>
}

tile.schedule @next_tile unroll(2) {
  tile.cluster compute { fetch_b(+1) fetch_a(+1) read_b(0) read_a(0) multiply(0) }
}
