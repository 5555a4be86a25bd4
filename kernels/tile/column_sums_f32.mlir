// Sums over the columns of an m x n matrix of f32 in two launches: this one sums slices of 256 rows,
// column_sums_combine_f32.mlir adds the slices. The same bits whatever the timing.
//
// Memory bounds it. A wave has 256 columns, a line-wide piece of 64 lanes, and goes down the
// rows of its slice, sixteen at a time.
tile.kernel @column_sums_f32(
    %x: !tile.view<?x?xf32> {tile.bind = "x", tile.sizes = ["m", "n"], tile.strides = ["x_stride"]},
    %partial: !tile.view<?x?xf32> {tile.bind = "partial", tile.sizes = ["ceildiv(m, 256)", "n"], tile.strides = ["n"]})
    target("gfx950") waves(4) attributes {
    tile.requires = [
      ["max(m, n) <= 1073741824", "m and n may be at most 1073741824"],
      ["ceildiv(m, 256) <= 65535", "m may be at most 16776960"],
      ["256 * x_stride <= 268435456", "256 rows of x may span at most 268435456 elements"]]} {
  %block, %slice, %unused_z = tile.workgroup_id ["ceildiv(n, 1024)", "ceildiv(m, 256)"]
  %columns_of_block = arith.constant 1024 : i32
  %first_column = arith.muli %block, %columns_of_block : i32
  %column = tile.wave_row %first_column rows(256)
  %rows_of_slice = arith.constant 256 : i32
  %first_row = arith.muli %slice, %rows_of_slice : i32

  // Rows beyond the last read as zero, and so do columns, which are not written either.
  %none = tile.fill 0.0 : !tile.frag<16x256xf32, lines>
  %zero = arith.constant 0 : i32
  %at_once = arith.constant 16 : i32
  %sums = scf.for %step = %zero to %rows_of_slice step %at_once iter_args(%sum = %none)
      -> (!tile.frag<16x256xf32, lines>) : i32 {
    %row = arith.addi %first_row, %step : i32
    %rows = tile.load %x[%row, %column] : <?x?xf32> -> !tile.frag<16x256xf32, lines>
    %next = tile.map(%s = %sum : !tile.frag<16x256xf32, lines>, %e = %rows : !tile.frag<16x256xf32, lines>)
        -> !tile.frag<16x256xf32, lines> {
      %total = arith.addf %s, %e : f32
      tile.yield %total : f32
    }
    scf.yield %next : !tile.frag<16x256xf32, lines>
  }
  %column_sums = tile.reduce sum %sums over rows : !tile.frag<16x256xf32, lines> -> !tile.columns<256xf32, lines(4x64)>
  tile.store %column_sums, %partial[%slice, %column] : !tile.columns<256xf32, lines(4x64)>, <?x?xf32>
}
