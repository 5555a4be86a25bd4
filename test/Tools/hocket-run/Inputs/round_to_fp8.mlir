// f32 rounded to fp8 in a map, on the way to memory and by way of bf16, and what fp8 is in f32, f16 and bf16. 4 x 256.
tile.kernel @round_to_fp8(
    %x: !tile.view<4x256xf32> {tile.bind = "x", tile.strides = ["256"]},
    %in_map: !tile.view<4x256xf8E4M3FN> {tile.bind = "in_map", tile.strides = ["256"]},
    %stored: !tile.view<4x256xf8E5M2> {tile.bind = "stored", tile.strides = ["256"]},
    %wide: !tile.view<4x256xf32> {tile.bind = "wide", tile.strides = ["256"]},
    %loaded: !tile.view<4x256xf32> {tile.bind = "loaded", tile.strides = ["256"]},
    %half: !tile.view<4x256xbf16> {tile.bind = "half", tile.strides = ["256"]},
    %given: !tile.view<4x256xf8E5M2> {tile.bind = "given", tile.strides = ["256"]},
    %given_wide: !tile.view<4x256xf32> {tile.bind = "given_wide", tile.strides = ["256"]})
    target("gfx950") waves(1) {
  %a, %b, %c = tile.workgroup_id ["1"]
  %zero = arith.constant 0 : i32
  %numbers = tile.load %x[%zero, %zero] : !tile.view<4x256xf32> -> !tile.frag<4x256xf32, lines>
  %rounded, %back, %narrow = tile.map(%n = %numbers : !tile.frag<4x256xf32, lines>)
      -> (!tile.frag<4x256xf8E4M3FN, lines(4)>, !tile.frag<4x256xf32, lines>, !tile.frag<4x256xbf16, lines(4)>) {
    %small = arith.truncf %n : f32 to f8E4M3FN
    %wide = arith.extf %small : f8E4M3FN to f32
    %limit = arith.constant 1.0 : f32
    %isSmall = arith.cmpf olt, %n, %limit : f32
    %one = arith.constant 1.0 : f8E5M2
    %other = arith.truncf %n : f32 to f8E5M2
    %chosen = arith.select %isSmall, %other, %one : f8E5M2
    %half = arith.extf %chosen : f8E5M2 to bf16
    tile.yield %small, %wide, %half : f8E4M3FN, f32, bf16
  }
  tile.store %rounded, %in_map[%zero, %zero] : !tile.frag<4x256xf8E4M3FN, lines(4)>, !tile.view<4x256xf8E4M3FN>
  tile.store %back, %wide[%zero, %zero] : !tile.frag<4x256xf32, lines>, !tile.view<4x256xf32>
  tile.store %narrow, %half[%zero, %zero] : !tile.frag<4x256xbf16, lines(4)>, !tile.view<4x256xbf16>
  tile.store %numbers, %stored[%zero, %zero] : !tile.frag<4x256xf32, lines>, !tile.view<4x256xf8E5M2>
  %again = tile.load %given[%zero, %zero] : !tile.view<4x256xf8E5M2> -> !tile.frag<4x256xf32, lines>
  tile.store %again, %given_wide[%zero, %zero] : !tile.frag<4x256xf32, lines>, !tile.view<4x256xf32>
  %untouched = tile.fill 448.0 : !tile.frag<4x256xf8E4M3FN, lines(4)>
  %filled = tile.map(%f = %untouched : !tile.frag<4x256xf8E4M3FN, lines(4)>) -> !tile.frag<4x256xf32, lines> {
    %w = arith.extf %f : f8E4M3FN to f32
    tile.yield %w : f32
  }
  tile.store %filled, %loaded[%zero, %zero] : !tile.frag<4x256xf32, lines>, !tile.view<4x256xf32>
}
