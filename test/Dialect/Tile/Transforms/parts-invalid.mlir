// What is refused of tiles that pass through registers.
// RUN: hocket-opt %s --tile-allocate-lds --tile-verify-clusters -verify-diagnostics -split-input-file

tile.kernel @no_dma(%k: !tile.view<?x?x?x128xbf16> {tile.bind = "k"}, %n: i32) target("gfx942") waves(4) {
  %zero = arith.constant 0 : i32
  %ring = tile.ring %k[%n, %n] depth(1) : !tile.view<?x?x?x128xbf16> -> !tile.ring<32x128xbf16>
  // expected-error @below {{needs loads of 16 bytes to LDS, which gfx942 does not have; use 'tile.load_part' and 'tile.put'}}
  tile.fetch %ring[%zero] slot(%zero) : !tile.ring<32x128xbf16>
  %x = tile.read %ring[%zero] slot(%zero) : !tile.ring<32x128xbf16> -> !tile.frag<32x128xbf16, lhs>
}

// -----

tile.kernel @both(%k: !tile.view<?x?x?x128xbf16> {tile.bind = "k"}, %n: i32) target("gfx950") waves(4) {
  %zero = arith.constant 0 : i32
  %ring = tile.ring %k[%n, %n] depth(1) : !tile.view<?x?x?x128xbf16> -> !tile.ring<32x128xbf16>
  // expected-note @below {{the fetch is here}}
  tile.fetch %ring[%zero] slot(%zero) : !tile.ring<32x128xbf16>
  %part = tile.load_part %ring[%zero] : !tile.ring<32x128xbf16> -> !tile.part<32x128xbf16, 4>
  // expected-error @below {{puts into ring 'k', which is fetched into too; use one of both}}
  tile.put %part, %ring[%zero] slot(%zero) : !tile.part<32x128xbf16, 4>, !tile.ring<32x128xbf16>
  %x = tile.read %ring[%zero] slot(%zero) : !tile.ring<32x128xbf16> -> !tile.frag<32x128xbf16, lhs>
}

// -----

tile.kernel @along_and_across(%k: !tile.view<?x?x?x128xbf16> {tile.bind = "k"}, %n: i32) target("gfx942") waves(4) {
  %zero = arith.constant 0 : i32
  // expected-error @below {{is read along its rows and across them, which no layout of a tile that passes through registers serves; use a ring for each}}
  %ring = tile.ring %k[%n, %n] depth(1) : !tile.view<?x?x?x128xbf16> -> !tile.ring<32x128xbf16>
  %part = tile.load_part %ring[%zero] : !tile.ring<32x128xbf16> -> !tile.part<32x128xbf16, 4>
  tile.put %part, %ring[%zero] slot(%zero) : !tile.part<32x128xbf16, 4>, !tile.ring<32x128xbf16>
  tile.barrier
  %x = tile.read %ring[%zero] slot(%zero) : !tile.ring<32x128xbf16> -> !tile.frag<32x128xbf16, lhs>
  %y = tile.read_transposed %ring[%zero] slot(%zero) : !tile.ring<32x128xbf16> -> !tile.frag<128x32xbf16, lhs_acc>
}

// -----

// Eight waves have less than eight bytes a lane of the narrow panel.
tile.kernel @too_many_waves(%v: !tile.view<?x?x?x32xbf16> {tile.bind = "v"}, %n: i32) target("gfx942") waves(8) {
  %zero = arith.constant 0 : i32
  // expected-error @below {{a panel of 2048 bytes does not give every lane of 8 waves 8 bytes to load; use fewer waves or larger tiles}}
  %ring = tile.ring %v[%n, %n] depth(1) : !tile.view<?x?x?x32xbf16> -> !tile.ring<32x32xbf16>
  %part = tile.load_part %ring[%zero] : !tile.ring<32x32xbf16> -> !tile.part<32x32xbf16, 8>
  tile.put %part, %ring[%zero] slot(%zero) : !tile.part<32x32xbf16, 8>, !tile.ring<32x32xbf16>
  tile.barrier
  %y = tile.read_transposed %ring[%zero] slot(%zero) : !tile.ring<32x32xbf16> -> !tile.frag<32x32xbf16, lhs_acc>
}

// -----

tile.kernel @not_waited(%k: !tile.view<?x?x?x128xbf16> {tile.bind = "k"}, %n: i32) target("gfx942") waves(4) {
  %zero = arith.constant 0 : i32
  %ring = tile.ring %k[%n, %n] depth(1) : !tile.view<?x?x?x128xbf16> -> !tile.ring<32x128xbf16>
  %part = tile.load_part %ring[%zero] : !tile.ring<32x128xbf16> -> !tile.part<32x128xbf16, 4>
  // expected-note @below {{it was put here and no wait follows; put 'tile.wait lgkm(0)' in front of the barrier}}
  tile.put %part, %ring[%zero] slot(%zero) : !tile.part<32x128xbf16, 4>, !tile.ring<32x128xbf16>
  tile.wait vm(0)
  tile.barrier
  // expected-error @below {{reads tile 0 of ring 'k', which 'tile.put' (epoch 0) may still be putting}}
  %x = tile.read %ring[%zero] slot(%zero) : !tile.ring<32x128xbf16> -> !tile.frag<32x128xbf16, lhs>
}

// -----

tile.kernel @no_barrier(%k: !tile.view<?x?x?x128xbf16> {tile.bind = "k"}, %n: i32) target("gfx942") waves(4) {
  %zero = arith.constant 0 : i32
  %ring = tile.ring %k[%n, %n] depth(1) : !tile.view<?x?x?x128xbf16> -> !tile.ring<32x128xbf16>
  %part = tile.load_part %ring[%zero] : !tile.ring<32x128xbf16> -> !tile.part<32x128xbf16, 4>
  tile.put %part, %ring[%zero] slot(%zero) : !tile.part<32x128xbf16, 4>, !tile.ring<32x128xbf16>
  // expected-note @below {{the wait is here; wait one cluster earlier or read one cluster later}}
  tile.wait lgkm(0)
  // expected-error @below {{which 'tile.put' (epoch 0) put, with no barrier between the wait (epoch 0) and the read (epoch 0)}}
  %x = tile.read %ring[%zero] slot(%zero) : !tile.ring<32x128xbf16> -> !tile.frag<32x128xbf16, lhs>
}

// -----

tile.kernel @overwritten(%k: !tile.view<?x?x?x128xbf16> {tile.bind = "k"}, %n: i32) target("gfx942") waves(4) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %ring = tile.ring %k[%n, %n] depth(1) : !tile.view<?x?x?x128xbf16> -> !tile.ring<32x128xbf16>
  %part = tile.load_part %ring[%zero] : !tile.ring<32x128xbf16> -> !tile.part<32x128xbf16, 4>
  %next = tile.load_part %ring[%one] : !tile.ring<32x128xbf16> -> !tile.part<32x128xbf16, 4>
  tile.put %part, %ring[%zero] slot(%zero) : !tile.part<32x128xbf16, 4>, !tile.ring<32x128xbf16>
  tile.wait lgkm(0)
  tile.barrier
  // expected-note @below {{the read is here; put one cluster later, read one cluster earlier, or give ring 'k' one more slot}}
  %x = tile.read %ring[%zero] slot(%zero) : !tile.ring<32x128xbf16> -> !tile.frag<32x128xbf16, lhs>
  tile.wait lgkm(0)
  // expected-error @below {{puts tile 1 of ring 'k' over tile 0 (epoch 1), which 'tile.read' may still be reading (epoch 1)}}
  tile.put %next, %ring[%one] slot(%zero) : !tile.part<32x128xbf16, 4>, !tile.ring<32x128xbf16>
}

// -----

// A part remembers the tile that it is of.
tile.kernel @wrong_part(%k: !tile.view<?x?x?x128xbf16> {tile.bind = "k"}, %n: i32) target("gfx942") waves(4) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %ring = tile.ring %k[%n, %n] depth(1) : !tile.view<?x?x?x128xbf16> -> !tile.ring<32x128xbf16>
  // expected-note @below {{the part comes from here; load and put the same tile}}
  %part = tile.load_part %ring[%one] : !tile.ring<32x128xbf16> -> !tile.part<32x128xbf16, 4>
  // expected-error @below {{puts a part of tile 1 where tile 0 belongs}}
  tile.put %part, %ring[%zero] slot(%zero) : !tile.part<32x128xbf16, 4>, !tile.ring<32x128xbf16>
  tile.wait lgkm(0)
  tile.barrier
  %x = tile.read %ring[%zero] slot(%zero) : !tile.ring<32x128xbf16> -> !tile.frag<32x128xbf16, lhs>
}

// -----

tile.kernel @part_shape(%k: !tile.view<?x?x?x128xbf16>, %n: i32) target("gfx942") waves(4) {
  %ring = tile.ring %k[%n, %n] depth(1) : !tile.view<?x?x?x128xbf16> -> !tile.ring<32x128xbf16>
  // expected-error @below {{expected the ring's shape and element type}}
  %part = tile.load_part %ring[%n] : !tile.ring<32x128xbf16> -> !tile.part<64x128xbf16, 4>
}

// -----

tile.kernel @part_waves(%k: !tile.view<?x?x?x128xbf16>, %n: i32) target("gfx942") waves(4) {
  %ring = tile.ring %k[%n, %n] depth(1) : !tile.view<?x?x?x128xbf16> -> !tile.ring<32x128xbf16>
  // expected-error @below {{is shared by 2 waves, the kernel has 4}}
  %part = tile.load_part %ring[%n] : !tile.ring<32x128xbf16> -> !tile.part<32x128xbf16, 2>
}
