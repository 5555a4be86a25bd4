// %n is an i32.
tile.kernel @ill_typed(%n: i32) target("gfx950") waves(1) {
  %x = arith.addf %n, %n : f32
}
