// RMS norm of each row: y = x / sqrt(mean of x^2 + epsilon) * weight, rows of 4096 in bf16, in f32.
//
// Memory bounds it, as softmax_bf16.mlir explains. A wave has two rows, for which it loads the
// weights once.
tile.kernel @rms_norm_bf16(
    %x: !tile.view<?x4096xbf16> {tile.bind = "x", tile.sizes = ["m"], tile.strides = ["x_stride"]},
    %weight: !tile.view<4096xbf16> {tile.bind = "weight"},
    %y: !tile.view<?x4096xbf16> {tile.bind = "y", tile.sizes = ["m"], tile.strides = ["y_stride"]},
    %epsilon: f32 {tile.bind = "epsilon"})
    target("gfx950") waves(4) attributes {
    tile.requires = [
      ["m <= 1073741824", "m may be at most 1073741824"],
      ["x_stride % 8 == 0", "x_stride must be a multiple of 8 elements"],
      ["y_stride % 8 == 0", "y_stride must be a multiple of 8 elements"]]} {
  %block, %unused_y, %unused_z = tile.workgroup_id ["ceildiv(m, 8)"]
  %rows_of_block = arith.constant 8 : i32
  %first = arith.muli %block, %rows_of_block : i32
  %row = tile.wave_row %first rows(2)
  %zero = arith.constant 0 : i32

  %narrow = tile.load %x[%row] : <?x4096xbf16> -> !tile.frag<2x4096xbf16, lines>
  %weights = tile.load %weight[%zero] : <4096xbf16> -> !tile.columns<4096xbf16, lines(8x64)>
  %squares = tile.map(%e = %narrow : !tile.frag<2x4096xbf16, lines>) -> !tile.frag<2x4096xf32, lines(8)> {
    %wide = arith.extf %e : bf16 to f32
    %square = arith.mulf %wide, %wide : f32
    tile.yield %square : f32
  }
  %sum = tile.reduce sum %squares over columns : !tile.frag<2x4096xf32, lines(8)> -> !tile.rows<2xf32, lines(8x64)>
  %factor = tile.map(%s = %sum : !tile.rows<2xf32, lines(8x64)>, %eps = %epsilon : f32)
      -> !tile.rows<2xf32, lines(8x64)> {
    %part = arith.constant 2.44140625e-04 : f32
    %mean = arith.mulf %s, %part : f32
    %shifted = arith.addf %mean, %eps : f32
    %inverse = math.rsqrt %shifted : f32
    tile.yield %inverse : f32
  }
  %result = tile.map(%e = %narrow : !tile.frag<2x4096xbf16, lines>, %f = %factor : !tile.rows<2xf32, lines(8x64)>,
      %w = %weights : !tile.columns<4096xbf16, lines(8x64)>) -> !tile.frag<2x4096xbf16, lines> {
    %wide = arith.extf %e : bf16 to f32
    %normed = arith.mulf %wide, %f : f32
    %wide_weight = arith.extf %w : bf16 to f32
    %weighted = arith.mulf %normed, %wide_weight : f32
    %rounded = arith.truncf %weighted : f32 to bf16
    tile.yield %rounded : bf16
  }
  tile.store %result, %y[%row] : !tile.frag<2x4096xbf16, lines>, <?x4096xbf16>
}
