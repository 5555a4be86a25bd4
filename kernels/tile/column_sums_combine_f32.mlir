// The second launch of column_sums_f32.mlir: adds the sums of the slices, in their order.
tile.kernel @column_sums_combine_f32(
    %partial: !tile.view<?x?xf32> {tile.bind = "partial", tile.sizes = ["ceildiv(m, 256)", "n"], tile.strides = ["n"]},
    %sums: !tile.view<?xf32> {tile.bind = "sums", tile.sizes = ["n"]})
    target("gfx950") waves(4) attributes {
    tile.requires = [
      ["max(m, n) <= 1073741824", "m and n may be at most 1073741824"],
      ["ceildiv(m, 256) <= 65535", "m may be at most 16776960"]]} {
  %block, %unused_y, %unused_z = tile.workgroup_id ["ceildiv(n, 1024)"]
  %columns_of_block = arith.constant 1024 : i32
  %first_column = arith.muli %block, %columns_of_block : i32
  %column = tile.wave_row %first_column rows(256)
  %slices = tile.dim %partial, 0 : <?x?xf32>
  %none = tile.fill 0.0 : !tile.columns<256xf32, lines(4x64)>
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %total = scf.for %slice = %zero to %slices step %one iter_args(%sum = %none)
      -> (!tile.columns<256xf32, lines(4x64)>) : i32 {
    %part = tile.load %partial[%slice, %column] : <?x?xf32> -> !tile.columns<256xf32, lines(4x64)>
    %next = tile.map(%s = %sum : !tile.columns<256xf32, lines(4x64)>, %e = %part : !tile.columns<256xf32, lines(4x64)>)
        -> !tile.columns<256xf32, lines(4x64)> {
      %more = arith.addf %s, %e : f32
      tile.yield %more : f32
    }
    scf.yield %next : !tile.columns<256xf32, lines(4x64)>
  }
  tile.store %total, %sums[%column] : !tile.columns<256xf32, lines(4x64)>, <?xf32>
}
