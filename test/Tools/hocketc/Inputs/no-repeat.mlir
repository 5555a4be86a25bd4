tile.schedule @s {
  tile.cluster compute { a(0) }
}
tile.kernel @once(%n: i32) target("gfx950") waves(1) {
  %zero = arith.constant 0 : i32
  %some = arith.cmpi sgt, %n, %zero : i32
  scf.if %some {
    tile.barrier
  }
}
