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
