tile.kernel @read_alone(%x: !tile.view<?xf32> {tile.bind = "x", tile.sizes = ["n"]}, %n: i32 {tile.bind = "n"})
    target("gfx950") waves(1) {
  %zero = arith.constant 0 : i32
  %row = tile.wave_row %zero rows(64)
  %value = tile.load %x[%row] : <?xf32> -> !tile.columns<64xf32, lines(1x64)>
}
