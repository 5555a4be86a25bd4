// RUN: hocket-opt %s --split-input-file --verify-diagnostics --tile-work-items --tile-verify-clusters

// expected-error @below {{'tile.kernel' op is persistent and has 2 ops that place a workgroup}}
tile.kernel @two(%x: !tile.view<?x?xf32>) target("gfx950") waves(1) attributes {tile.persistent = 1} {
  %row, %column = tile.block_tile %x rows(16) columns(256) : <?x?xf32>
  %other, %more = tile.block_tile %x rows(16) columns(256) : <?x?xf32>
}

// -----

tile.kernel @plain(%x: !tile.view<?x?xf32>) target("gfx950") waves(1) {
  // expected-error @below {{'tile.item_turns' op is of persistent kernels; give the kernel the attribute 'tile.persistent'}}
  %turns = tile.item_turns
}

// -----

tile.kernel @plain_with_turn(%x: !tile.view<?x?xf32>) target("gfx950") waves(1) {
  %zero = arith.constant 0 : i32
  // expected-error @below {{'tile.block_tile' op has a 'turn', which is of persistent kernels; give the kernel the attribute 'tile.persistent'}}
  %row, %column = tile.block_tile %x rows(16) columns(256) turn(%zero) : <?x?xf32>
}

// -----

tile.kernel @turn_of_a_hand(%x: !tile.view<?x?xf32>) target("gfx950") waves(1) attributes {tile.persistent = 1} {
  %zero = arith.constant 0 : i32
  // expected-error @below {{'tile.block_tile' op is of a turn, and the kernel has no 'tile.item_turns'; leave 'turn' out}}
  %row, %column = tile.block_tile %x rows(16) columns(256) turn(%zero) : <?x?xf32>
}

// -----

#layout = #tile.lds_layout<panel 256, chunk 1024, pad 0, rows [256, 512, 1024, 2048, 4096, 8192], bytes [1, 2, 4, 8, 16, 32, 64, 128]>
// A hand has taken away what lets all waves meet before the next item's fetch.
tile.kernel @early(%x: !tile.view<?x?x?x128xbf16>) target("gfx950") waves(4) attributes {tile.persistent = 1} {
  %turns = tile.item_turns
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %batch, %head, %row = tile.block_id %x rows(128) turn(%zero) : <?x?x?x128xbf16>
  %ring = tile.ring %x[%batch, %head] depth(1) at(0) layout(#layout) : <?x?x?x128xbf16> -> <64x128xbf16>
  scf.for %t = %zero to %turns step %one : i32 {
    %b, %h, %r = tile.block_id %x rows(128) turn(%t) : <?x?x?x128xbf16>
    %next = tile.ring %x[%b, %h] continues(%ring : !tile.ring<64x128xbf16>) depth(1) at(0) layout(#layout) : <?x?x?x128xbf16> -> <64x128xbf16>
    // expected-error @below {{fetches tile 0 of ring 'x' over tile 0}}
    tile.fetch %next[%zero] slot(%zero) : <64x128xbf16>
    tile.wait vm(0)
    tile.barrier
    // expected-note @below {{the read is here}}
    %k = tile.read %next[%zero] slot(%zero) : <64x128xbf16> -> <64x128xbf16, lhs>
    tile.wait lgkm(0)
  }
}
