// The examples of the .td files, in whole modules.
// RUN: hocket-opt %s | FileCheck %s

// CHECK: tile.kernel @nothing
tile.kernel @nothing(%q: !tile.view<?x?x?x128xbf16> {tile.bind = "q"}) target("gfx950") waves(8) {
}

// CHECK: tile.schedule @by_halves
tile.schedule @by_halves {
  tile.cluster memory { fetch(0) }
  tile.cluster compute { read(0) multiply(0) }
}

// CHECK: tile.kernel @for_tiles
tile.kernel @for_tiles(%k: !tile.view<?x?x?x128xbf16>, %n: i32) target("gfx950") waves(8) {
  %K = tile.ring %k[%n, %n] : !tile.view<?x?x?x128xbf16> -> !tile.ring<64x128xbf16>
  %zero = tile.fill 0.0 : !tile.frag<128x32xf32, acc>
  %acc = tile.for_tiles %t = 0 to %n init(%o = %zero : !tile.frag<128x32xf32, acc>) schedule(@sequential) {
    tile.step @fetch_k { tile.fetch %K[%t] : !tile.ring<64x128xbf16> }
    %next = tile.step @keep -> !tile.frag<128x32xf32, acc> {
      tile.yield %o : !tile.frag<128x32xf32, acc>
    }
    tile.yield %next : !tile.frag<128x32xf32, acc>
  }
}

// CHECK: tile.kernel @matrices
tile.kernel @matrices(%a: !tile.view<?x?xbf16>, %c: !tile.view<?x?xbf16>, %t: i32) target("gfx950") waves(8) {
  %row, %column = tile.block_tile %c rows(256) columns(256) band(4) xcds(8) : !tile.view<?x?xbf16>
  %i, %j = tile.wave_grid rows(2) columns(4)
  %a_ring = tile.ring %a[%row] by_columns unpadded : !tile.view<?x?xbf16> -> !tile.ring<256x64xbf16>
  %lhs = tile.read %a_ring[%t] part(%i) : !tile.ring<256x64xbf16> -> !tile.frag<128x64xbf16, lhs>
  %rhs = tile.read %a_ring[%t] part(%j) : !tile.ring<256x64xbf16> -> !tile.frag<64x64xbf16, rhs>
  %half = tile.slice_depth %lhs from 32 : !tile.frag<128x64xbf16, lhs> -> !tile.frag<128x32xbf16, lhs>
}
