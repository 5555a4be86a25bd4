tile.kernel @copy(%x: !tile.view<?x?xf32>, %y: !tile.view<?x?xf32>) target("gfx950") waves(1)
    attributes {tile.persistent = 9} {
  %zero = arith.constant 0 : i32
  %row, %column = tile.block_tile %y rows(16) columns(256) : <?x?xf32>
  %block = tile.load %x[%row, %zero] : <?x?xf32> -> !tile.frag<16x256xf32, lines>
  tile.store %block, %y[%row, %zero] : !tile.frag<16x256xf32, lines>, <?x?xf32>
}
