// Four numbers a lane, rounded to one word.
tile.kernel @one_word(%x: !tile.view<4x64xf32> {tile.bind = "x", tile.strides = ["64"]},
    %y: !tile.view<4x64xf8E4M3FN> {tile.bind = "y", tile.strides = ["64"]}) target("gfx950") waves(1) {
  %a, %b, %c = tile.workgroup_id ["1"]
  %zero = arith.constant 0 : i32
  %numbers = tile.load %x[%zero, %zero] : !tile.view<4x64xf32> -> !tile.frag<4x64xf32, lines>
  tile.store %numbers, %y[%zero, %zero] : !tile.frag<4x64xf32, lines>, !tile.view<4x64xf8E4M3FN>
}
