// Every refusal of convert-tile-to-rocdl.
// RUN: hocket-opt %s --convert-tile-to-rocdl -verify-diagnostics -split-input-file

// expected-error @below {{unknown target 'gfx1100'; known targets: gfx950}}
tile.kernel @target() target("gfx1100") waves(1) {
}

// -----

tile.kernel @loop(%n: i32) target("gfx950") waves(1) {
  // expected-error @below {{is still there; run 'tile-pipeline' first}}
  tile.for_tiles %t = 0 to %n schedule(@s) {
    tile.step @a { }
  }
}

// -----

tile.kernel @ring(%k: !tile.view<?x?x?x128xbf16>, %n: i32) target("gfx950") waves(8) {
  // expected-error @below {{has no depth, offset or layout; run 'tile-pipeline' and 'tile-allocate-lds' first}}
  %ring = tile.ring %k[%n, %n] depth(1) : !tile.view<?x?x?x128xbf16> -> !tile.ring<64x128xbf16>
}

// -----

// A kernel in a module of its own is checked like any other.
module {
  tile.kernel @inner(%k: !tile.view<?x?x?x128xbf16>, %n: i32) target("gfx950") waves(8) {
    // expected-error @below {{has no depth, offset or layout}}
    %ring = tile.ring %k[%n, %n] depth(1) : !tile.view<?x?x?x128xbf16> -> !tile.ring<64x128xbf16>
  }
}

// -----

tile.kernel @no_slot(%k: !tile.view<?x?x?x128xbf16>, %n: i32) target("gfx950") waves(8) {
  %ring = tile.ring %k[%n, %n] depth(1) at(0) layout(<panel 256, chunk 1024, pad 0, rows [256, 512, 1024, 2048, 4096, 8192], bytes [1, 2, 4, 8, 16, 32, 64, 128]>) : !tile.view<?x?x?x128xbf16> -> !tile.ring<64x128xbf16>
  // expected-error @below {{has no slot; run 'tile-pipeline' first or write slot(%n)}}
  tile.fetch %ring[%n] : !tile.ring<64x128xbf16>
}

// -----

tile.kernel @slot(%k: !tile.view<?x?x?x128xbf16>, %n: i32) target("gfx950") waves(8) {
  %ring = tile.ring %k[%n, %n] depth(2) at(0) layout(<panel 256, chunk 1024, pad 0, rows [256, 512, 1024, 2048, 4096, 8192], bytes [1, 2, 4, 8, 16, 32, 64, 128]>) : !tile.view<?x?x?x128xbf16> -> !tile.ring<64x128xbf16>
  %slot = arith.constant 2 : i32
  // expected-error @below {{uses slot 2 of a ring with depth(2), expected 0 to 1}}
  tile.fetch %ring[%n] slot(%slot) : !tile.ring<64x128xbf16>
}

// -----

tile.kernel @negative_slot(%k: !tile.view<?x?x?x128xbf16>, %n: i32) target("gfx950") waves(8) {
  %ring = tile.ring %k[%n, %n] depth(2) at(0) layout(<panel 256, chunk 1024, pad 0, rows [256, 512, 1024, 2048, 4096, 8192], bytes [1, 2, 4, 8, 16, 32, 64, 128]>) : !tile.view<?x?x?x128xbf16> -> !tile.ring<64x128xbf16>
  %slot = arith.constant -1 : i32
  // expected-error @below {{uses slot -1 of a ring with depth(2), expected 0 to 1}}
  %x = tile.read %ring[%n] slot(%slot) : !tile.ring<64x128xbf16> -> !tile.frag<64x128xbf16, lhs>
}

// -----

tile.kernel @lds(%k: !tile.view<?x?x?x128xbf16>, %n: i32) target("gfx950") waves(8) {
  // expected-error @below {{ends at byte 180224 of LDS, gfx950 has 163840; use a smaller tile, less depth or another 'at'}}
  %ring = tile.ring %k[%n, %n] depth(11) at(0) layout(<panel 256, chunk 1024, pad 0, rows [256, 512, 1024, 2048, 4096, 8192], bytes [1, 2, 4, 8, 16, 32, 64, 128]>) : !tile.view<?x?x?x128xbf16> -> !tile.ring<64x128xbf16>
}

// -----

tile.kernel @three_waves(%k: !tile.view<?x?x?x128xbf16>, %n: i32) target("gfx950") waves(3) {
  %ring = tile.ring %k[%n, %n] depth(1) at(0) layout(<panel 256, chunk 1024, pad 0, rows [256, 512, 1024, 2048, 4096, 8192], bytes [1, 2, 4, 8, 16, 32, 64, 128]>) : !tile.view<?x?x?x128xbf16> -> !tile.ring<64x128xbf16>
  // expected-error @below {{cannot be laid out: no plan for an LDS DMA by 3 waves, a power of two is needed}}
  // expected-error @below {{failed to legalize operation 'tile.fetch'}}
  tile.fetch %ring[%n] slot(%n) : !tile.ring<64x128xbf16>
}

// -----

tile.kernel @from_elsewhere(%k: !tile.view<?x?x?x128xbf16>, %n: i32, %c: i32) target("gfx950") waves(8) {
  %a = tile.ring %k[%n, %n] depth(1) at(0) layout(<panel 256, chunk 1024, pad 0, rows [256, 512, 1024, 2048, 4096, 8192], bytes [1, 2, 4, 8, 16, 32, 64, 128]>) : !tile.view<?x?x?x128xbf16> -> !tile.ring<64x128xbf16>
  %is = arith.cmpi eq, %n, %c : i32
  %ring = scf.if %is -> !tile.ring<64x128xbf16> {
    scf.yield %a : !tile.ring<64x128xbf16>
  } else {
    scf.yield %a : !tile.ring<64x128xbf16>
  }
  // expected-error @below {{needs a ring that a 'tile.ring' of this kernel makes}}
  tile.fetch %ring[%n] slot(%n) : !tile.ring<64x128xbf16>
}

// -----

tile.kernel @mask(%n: i32) target("gfx950") waves(1) {
  %s = tile.fill 0.0 : !tile.frag<64x64xf32, acc>
  // expected-error @below {{masks '!tile.frag<64x64xf32, acc>', only 32 columns are supported}}
  // expected-error @below {{failed to legalize operation 'tile.mask'}}
  %m = tile.mask %s tile(%n) below(%n) : !tile.frag<64x64xf32, acc>
}

// -----

tile.kernel @load(%q: !tile.view<?x?x?x64xbf16>, %n: i32) target("gfx950") waves(1) {
  // expected-error @below {{cannot be laid out: tile has 96 columns, a power of two of at least 32 is needed}}
  // expected-error @below {{failed to legalize operation 'tile.load'}}
  %a = tile.load %q[%n, %n, %n] : !tile.view<?x?x?x64xbf16> -> !tile.frag<64x96xbf16, rhs>
}

// -----

tile.kernel @adds_bf16(%d: !tile.view<?x?xbf16>, %i: i32) target("gfx942") waves(1) {
  %x = tile.fill 1.0 : !tile.frag<32x32xf32, acc>
  // expected-error @below {{adds to a view of bf16, which gfx942 cannot do in memory; use a view of f32 or f16}}
  // expected-error @below {{failed to legalize operation 'tile.atomic_add'}}
  tile.atomic_add %x, %d[%i, %i] : <32x32xf32, acc>, <?x?xbf16>
}

// -----

tile.kernel @exchange_without_place() target("gfx950") waves(4) {
  %r = tile.fill 0.0 : !tile.rows<32xf32>
  // expected-error @below {{has no place in LDS; run 'tile-allocate-lds' first}}
  %x = tile.reduce_waves sum %r : !tile.rows<32xf32>
}

// -----

// expected-error @below {{needs 164864 bytes of LDS with what its waves exchange, gfx950 has 163840}}
tile.kernel @exchange_beyond() target("gfx950") waves(4) {
  %r = tile.fill 0.0 : !tile.rows<32xf32>
  %x = tile.reduce_waves sum %r at(163840) : !tile.rows<32xf32>
}

// -----

// expected-error @below {{has numbers of 'f8E4M3FN', which gfx942 does not have; use f8E4M3FNUZ, the nearest that it has}}
tile.kernel @other_fp8(%a: !tile.view<?x?xf8E4M3FN>) target("gfx942") waves(1) {
}

// -----

tile.kernel @other_bf8() target("gfx950") waves(1) {
  // expected-error @below {{has numbers of 'f8E5M2FNUZ', which gfx950 does not have; use f8E5M2, the nearest that it has}}
  %x = tile.fill 1.0 : !tile.frag<32x32xf8E5M2FNUZ, lhs>
}

// -----

tile.kernel @no_scales() target("gfx942") waves(1) {
  %x = tile.fill 1.0 : !tile.frag<32x64xf8E4M3FNUZ, lhs>
  %y = tile.fill 1.0 : !tile.frag<64x32xf8E4M3FNUZ, rhs>
  %of_x = tile.fill 1.0 : !tile.frag<32x2xf8E8M0FNU, lhs_scale>
  %of_y = tile.fill 1.0 : !tile.frag<2x32xf8E8M0FNU, rhs_scale>
  %acc = tile.fill 0.0 : !tile.frag<32x32xf32, acc>
  // expected-error @below {{needs a matrix instruction of 32x32 with scales for 'f8E4M3FNUZ', which gfx942 does not have; it multiplies nothing with scales}}
  // expected-error @below {{failed to legalize operation 'tile.mma'}}
  %s = tile.mma %x, %y, %acc scales(%of_x, %of_y) : <32x64xf8E4M3FNUZ, lhs>, <64x32xf8E4M3FNUZ, rhs>, <32x32xf32, acc>, !tile.frag<32x2xf8E8M0FNU, lhs_scale>, !tile.frag<2x32xf8E8M0FNU, rhs_scale>
}
