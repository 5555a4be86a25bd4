// Every refusal of tile-synchronize.
// RUN: hocket-opt %s --tile-synchronize -verify-diagnostics -split-input-file

tile.kernel @no_layout(%k: !tile.view<?x?x?x128xbf16>, %a: i32, %n: i32, %b: i32) target("gfx950") waves(8) {
  %ring = tile.ring %k[%n, %n] depth(1) : !tile.view<?x?x?x128xbf16> -> !tile.ring<64x128xbf16>
  scf.for %t = %a to %n step %b : i32 {
    // expected-error @below {{needs a ring with a layout; run 'tile-allocate-lds' first}}
    tile.fetch %ring[%t] slot(%a) : !tile.ring<64x128xbf16>
    tile.barrier
  }
}

// -----

tile.kernel @three_waves(%k: !tile.view<?x?x?x128xbf16>, %a: i32, %n: i32, %b: i32) target("gfx950") waves(3) {
  %ring = tile.ring %k[%n, %n] depth(1) at(0) layout(<panel 256, chunk 1024, pad 0,
    rows [256, 512, 1024, 2048, 4096, 8192], bytes [1, 2, 4, 8, 16, 32, 64, 128]>)
    : !tile.view<?x?x?x128xbf16> -> !tile.ring<64x128xbf16>
  scf.for %t = %a to %n step %b : i32 {
    // expected-error @below {{cannot be split over the waves: no plan for an LDS DMA by 3 waves, a power of two is needed}}
    tile.fetch %ring[%t] slot(%a) : !tile.ring<64x128xbf16>
    tile.barrier
  }
}

// -----

tile.kernel @behind_the_barrier(%k: !tile.view<?x?x?x128xbf16>, %a: i32, %n: i32, %b: i32) target("gfx950") waves(8) {
  %ring = tile.ring %k[%n, %n] depth(1) : !tile.view<?x?x?x128xbf16> -> !tile.ring<64x128xbf16>
  scf.for %t = %a to %n step %b : i32 {
    // expected-error @below {{is not the end of the loop body: rings are used behind it; end every cluster in a barrier}}
    tile.barrier
    tile.fetch %ring[%t] slot(%a) : !tile.ring<64x128xbf16>
  }
}

// -----

tile.kernel @never_read(%k: !tile.view<?x?x?x128xbf16>, %a: i32, %n: i32, %b: i32) target("gfx950") waves(8) {
  %ring = tile.ring %k[%n, %n] depth(1) at(0) layout(<panel 256, chunk 1024, pad 0,
    rows [256, 512, 1024, 2048, 4096, 8192], bytes [1, 2, 4, 8, 16, 32, 64, 128]>)
    : !tile.view<?x?x?x128xbf16> -> !tile.ring<64x128xbf16>
  scf.for %t = %a to %n step %b : i32 {
    tile.fetch %ring[%t] slot(%a) : !tile.ring<64x128xbf16>
    // expected-error @below {{leaves fetches in flight at the end of an iteration; overlapping iterations is not supported yet}}
    tile.barrier
  }
}

// -----

// 16 KiB by one wave of 1 KiB are 16 instructions; five later fetches are more than a wait can leave.
tile.kernel @too_many(%k: !tile.view<?x?x?x128xbf16>, %a: i32, %n: i32, %b: i32) target("gfx950") waves(1) {
  %first = tile.ring %k[%n, %n] depth(1) at(0) layout(<panel 256, chunk 1024, pad 0,
    rows [256, 512, 1024, 2048, 4096, 8192], bytes [1, 2, 4, 8, 16, 32, 64, 128]>)
    : !tile.view<?x?x?x128xbf16> -> !tile.ring<64x128xbf16>
  %later = tile.ring %k[%n, %n] depth(5) at(16384) layout(<panel 256, chunk 1024, pad 0,
    rows [256, 512, 1024, 2048, 4096, 8192], bytes [1, 2, 4, 8, 16, 32, 64, 128]>)
    : !tile.view<?x?x?x128xbf16> -> !tile.ring<64x128xbf16>
  scf.for %t = %a to %n step %b : i32 {
    tile.fetch %first[%t] slot(%a) : !tile.ring<64x128xbf16>
    tile.fetch %later[%t] slot(%a) : !tile.ring<64x128xbf16>
    tile.fetch %later[%t] slot(%a) : !tile.ring<64x128xbf16>
    tile.fetch %later[%t] slot(%a) : !tile.ring<64x128xbf16>
    tile.fetch %later[%t] slot(%a) : !tile.ring<64x128xbf16>
    // expected-error @below {{would have to leave 64 loads in flight, a wait can leave 63; read the tile later}}
    tile.barrier
    %x = tile.read %first[%t] slot(%a) : !tile.ring<64x128xbf16> -> !tile.frag<64x128xbf16, lhs>
    tile.barrier
  }
}

// -----

tile.kernel @conditional(%k: !tile.view<?x?x?x128xbf16>, %a: i32, %n: i32, %b: i32) target("gfx950") waves(8) {
  %ring = tile.ring %k[%n, %n] depth(1) : !tile.view<?x?x?x128xbf16> -> !tile.ring<64x128xbf16>
  %c = arith.cmpi eq, %a, %n : i32
  scf.for %t = %a to %n step %b : i32 {
    tile.step @fetch {
      scf.if %c {
        // expected-error @below {{stands in 'scf.if', where waits cannot be counted; put it directly into a step or the loop}}
        tile.fetch %ring[%t] slot(%a) : !tile.ring<64x128xbf16>
      }
    }
    tile.barrier
  }
}
