// Every refusal of tile-synchronize.
// RUN: hocket-opt %s --tile-synchronize -verify-diagnostics -split-input-file

tile.kernel @no_layout(%k: !tile.view<?x?x?x128xbf16>, %n: i32) target("gfx950") waves(8) {
  %ring = tile.ring %k[%n, %n] depth(1) : !tile.view<?x?x?x128xbf16> -> !tile.ring<64x128xbf16>
  // expected-error @below {{needs a ring with a layout; run 'tile-allocate-lds' first}}
  tile.await fetches but(%ring : !tile.ring<64x128xbf16>)
}

// -----

tile.kernel @three_waves(%k: !tile.view<?x?x?x128xbf16>, %n: i32) target("gfx950") waves(3) {
  %ring = tile.ring %k[%n, %n] depth(1) at(0) layout(<panel 256, chunk 1024, pad 0,
    rows [256, 512, 1024, 2048, 4096, 8192], bytes [1, 2, 4, 8, 16, 32, 64, 128]>)
    : !tile.view<?x?x?x128xbf16> -> !tile.ring<64x128xbf16>
  // expected-error @below {{cannot be split over the waves: no plan for an LDS DMA by 3 waves, a power of two is needed}}
  tile.await fetches but(%ring : !tile.ring<64x128xbf16>)
}

// -----

// One wave takes 16 instructions for a tile; four tiles are more than a wait can leave.
tile.kernel @too_many(%k: !tile.view<?x?x?x128xbf16>, %n: i32) target("gfx950") waves(1) {
  %ring = tile.ring %k[%n, %n] depth(5) at(0) layout(<panel 256, chunk 1024, pad 0,
    rows [256, 512, 1024, 2048, 4096, 8192], bytes [1, 2, 4, 8, 16, 32, 64, 128]>)
    : !tile.view<?x?x?x128xbf16> -> !tile.ring<64x128xbf16>
  // expected-error @below {{leaves 64 loads in flight, a wait can leave 63; fetch less far ahead or use smaller tiles}}
  tile.await fetches but(%ring, %ring, %ring, %ring : !tile.ring<64x128xbf16>, !tile.ring<64x128xbf16>, !tile.ring<64x128xbf16>, !tile.ring<64x128xbf16>)
}

// -----

// expected-error @below {{unknown target 'gfx1100'; known targets: gfx950}}
tile.kernel @target() target("gfx1100") waves(1) {
}
