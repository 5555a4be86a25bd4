// 2^x of f32, half of the pairs as polynomials, all of them, and none. 32 x 32.
tile.kernel @exp2_polynomials(
    %x: !tile.view<32x32xf32> {tile.bind = "x", tile.strides = ["32"]},
    %half: !tile.view<32x32xf32> {tile.bind = "half", tile.strides = ["32"]},
    %all: !tile.view<32x32xf32> {tile.bind = "all", tile.strides = ["32"]},
    %none: !tile.view<32x32xf32> {tile.bind = "none", tile.strides = ["32"]})
    target("gfx950") waves(1) {
  %a, %b, %c = tile.workgroup_id ["1"]
  %zero = arith.constant 0 : i32
  %numbers = tile.load %x[%zero, %zero] : !tile.view<32x32xf32> -> !tile.frag<32x32xf32, acc>
  %some = tile.exp2 %numbers polynomials(2) : !tile.frag<32x32xf32, acc>
  %every = tile.exp2 %numbers polynomials(1) : !tile.frag<32x32xf32, acc>
  %plain = tile.exp2 %numbers : !tile.frag<32x32xf32, acc>
  tile.store %some, %half[%zero, %zero] : !tile.frag<32x32xf32, acc>, !tile.view<32x32xf32>
  tile.store %every, %all[%zero, %zero] : !tile.frag<32x32xf32, acc>, !tile.view<32x32xf32>
  tile.store %plain, %none[%zero, %zero] : !tile.frag<32x32xf32, acc>, !tile.view<32x32xf32>
}
