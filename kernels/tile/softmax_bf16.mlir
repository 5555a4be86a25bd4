// Softmax of each row: y = exp(x - max) / sum, rows of 4096 in bf16, computed in f32.
//
// Memory bounds it: a row is read once, held in the registers of one wave, and written once. Lanes
// lie along the row, 16 bytes each, so that every load and store covers whole lines; a few waves of
// 8 KiB each keep enough of them under way. For rows of another length change 4096 everywhere, to
// a multiple of 512; for shorter rows, more of them a wave, the first 1 of the fragments as well.
tile.kernel @softmax_bf16(
    %x: !tile.view<?x4096xbf16> {tile.bind = "x", tile.sizes = ["m"], tile.strides = ["x_stride"]},
    %y: !tile.view<?x4096xbf16> {tile.bind = "y", tile.sizes = ["m"], tile.strides = ["y_stride"]})
    target("gfx950") waves(4) attributes {
    tile.requires = [
      ["m <= 1073741824", "m may be at most 1073741824"],
      ["x_stride % 8 == 0", "x_stride must be a multiple of 8 elements"],
      ["y_stride % 8 == 0", "y_stride must be a multiple of 8 elements"]]} {
  // A row for each of four waves.
  %block, %unused_y, %unused_z = tile.workgroup_id ["ceildiv(m, 4)"]
  %rows_of_block = arith.constant 4 : i32
  %first = arith.muli %block, %rows_of_block : i32
  %row = tile.wave_row %first rows(1)

  %narrow = tile.load %x[%row] : <?x4096xbf16> -> !tile.frag<1x4096xbf16, lines>
  %scores = tile.map(%e = %narrow : !tile.frag<1x4096xbf16, lines>) -> !tile.frag<1x4096xf32, lines(8)> {
    %wide = arith.extf %e : bf16 to f32
    tile.yield %wide : f32
  }
  %max = tile.reduce max %scores over columns : !tile.frag<1x4096xf32, lines(8)> -> !tile.rows<1xf32, lines(8x64)>
  %weights = tile.map(%score = %scores : !tile.frag<1x4096xf32, lines(8)>, %m = %max : !tile.rows<1xf32, lines(8x64)>)
      -> !tile.frag<1x4096xf32, lines(8)> {
    // Scaled after the subtraction, so that no finite number overflows.
    %distance = arith.subf %score, %m : f32
    %log2e = arith.constant 1.44269504 : f32
    %exponent = arith.mulf %distance, %log2e : f32
    %weight = math.exp2 %exponent : f32
    tile.yield %weight : f32
  }
  %sum = tile.reduce sum %weights over columns : !tile.frag<1x4096xf32, lines(8)> -> !tile.rows<1xf32, lines(8x64)>
  // One division for each row.
  %factor = tile.map(%s = %sum : !tile.rows<1xf32, lines(8x64)>) -> !tile.rows<1xf32, lines(8x64)> {
    %one = arith.constant 1.0 : f32
    %inverse = arith.divf %one, %s : f32
    tile.yield %inverse : f32
  }
  %result = tile.map(%w = %weights : !tile.frag<1x4096xf32, lines(8)>, %f = %factor : !tile.rows<1xf32, lines(8x64)>)
      -> !tile.frag<1x4096xbf16, lines> {
    %share = arith.mulf %w, %f : f32
    %rounded = arith.truncf %share : f32 to bf16
    tile.yield %rounded : bf16
  }
  tile.store %result, %y[%row] : !tile.frag<1x4096xbf16, lines>, <?x4096xbf16>
}
