// Every refusal of tile-allocate-lds.
// RUN: hocket-opt %s --tile-allocate-lds -verify-diagnostics -split-input-file

// expected-error @below {{unknown target 'gfx1100'; known targets: gfx950}}
tile.kernel @target(%n: i32) target("gfx1100") waves(8) {
}

// -----

tile.kernel @no_depth(%k: !tile.view<?x?x?x128xbf16>, %n: i32) target("gfx950") waves(8) {
  // expected-error @below {{has no depth; run 'tile-pipeline' first}}
  %0 = tile.ring %k[%n, %n] : !tile.view<?x?x?x128xbf16> -> !tile.ring<64x128xbf16>
}

// -----

// expected-error-re @below {{needs {{[0-9]+}} bytes of LDS, gfx950 has 163840}}
tile.kernel @too_deep(%k: !tile.view<?x?x?x128xbf16>, %n: i32) target("gfx950") waves(8) {
  // expected-note-re @below {{this ring takes 11 x {{[0-9]+}} bytes; use a smaller tile or a schedule of less depth}}
  %0 = tile.ring %k[%n, %n] depth(11) : !tile.view<?x?x?x128xbf16> -> !tile.ring<64x128xbf16>
  %1 = tile.read %0[%n] slot(%n) : !tile.ring<64x128xbf16> -> !tile.frag<64x128xbf16, lhs>
}

// -----

// Three waves cannot share a tile evenly.
tile.kernel @three_waves(%k: !tile.view<?x?x?x128xbf16>, %n: i32) target("gfx950") waves(3) {
  // expected-error @below {{cannot be fetched by 3 waves, which do not share a tile's 64 rows evenly; use 1, 2, 4, 8 or 16 waves}}
  %0 = tile.ring %k[%n, %n] depth(1) : !tile.view<?x?x?x128xbf16> -> !tile.ring<64x128xbf16>
  %1 = tile.read %0[%n] slot(%n) : !tile.ring<64x128xbf16> -> !tile.frag<64x128xbf16, lhs>
}

// -----

tile.kernel @never_read(%k: !tile.view<?x?x?x128xbf16>, %n: i32) target("gfx950") waves(8) {
  // expected-error @below {{has no layout in LDS: nothing reads it, so there is nothing to choose by; remove it or write its layout}}
  %0 = tile.ring %k[%n, %n] depth(1) : !tile.view<?x?x?x128xbf16> -> !tile.ring<64x128xbf16>
}

// -----

tile.kernel @odd_tile(%k: !tile.view<?x?x?x128xbf16>, %n: i32) target("gfx950") waves(8) {
  // expected-error @below {{has no layout in LDS}}
  %0 = tile.ring %k[%n, %n] depth(1) : !tile.view<?x?x?x128xbf16> -> !tile.ring<96x128xbf16>
  %1 = tile.read %0[%n] slot(%n) : !tile.ring<96x128xbf16> -> !tile.frag<96x128xbf16, lhs>
}

// -----

tile.kernel @overlap(%k: !tile.view<?x?x?x128xbf16>, %n: i32) target("gfx950") waves(8) {
  // expected-note @below {{the other ring is here}}
  %0 = tile.ring %k[%n, %n] depth(1) at(0) : !tile.view<?x?x?x128xbf16> -> !tile.ring<64x128xbf16>
  // expected-error-re @below {{at(1024) lies in another ring, which ends at {{[0-9]+}}; move it, or leave 'at' out}}
  %1 = tile.ring %k[%n, %n] depth(1) at(1024) : !tile.view<?x?x?x128xbf16> -> !tile.ring<64x128xbf16>
  %2 = tile.read %0[%n] slot(%n) : !tile.ring<64x128xbf16> -> !tile.frag<64x128xbf16, lhs>
  %3 = tile.read %1[%n] slot(%n) : !tile.ring<64x128xbf16> -> !tile.frag<64x128xbf16, lhs>
}

// -----

// 96 columns are three panels of 32: halves of them would begin within one.
tile.kernel @halves_of_panels(%n: i32) target("gfx950") waves(2) {
  %i, %j = tile.wave_grid rows(1) columns(2)
  // expected-error @below {{has no layout in LDS: parts of 48 columns of a tile of 96, whose panels have 32; give waves parts of its rows}}
  %ring = tile.ring named("x") depth(1) : !tile.ring<32x96xbf16>
  %f = tile.fill 1.0 : !tile.frag<48x32xbf16, rhs_acc>
  tile.put %f, %ring[%n] columns_part(%j) slot(%n) : !tile.frag<48x32xbf16, rhs_acc>, <32x96xbf16>
  %a = tile.read %ring[%n] slot(%n) : <32x96xbf16> -> <32x96xbf16, lhs>
}

// -----

tile.kernel @never_read(%k: !tile.view<?x?x?x128xbf16>, %n: i32) target("gfx950") waves(8) {
  // expected-error @below {{has no layout in LDS: nothing reads it, so there is nothing to choose by; remove it or write its layout}}
  %0 = tile.ring %k[%n, %n] depth(1) : !tile.view<?x?x?x128xbf16> -> !tile.ring<64x128xbf16>
}

// -----

tile.kernel @odd_tile(%k: !tile.view<?x?x?x128xbf16>, %n: i32) target("gfx950") waves(8) {
  // expected-error @below {{has no layout in LDS}}
  %0 = tile.ring %k[%n, %n] depth(1) : !tile.view<?x?x?x128xbf16> -> !tile.ring<96x128xbf16>
  %1 = tile.read %0[%n] slot(%n) : !tile.ring<96x128xbf16> -> !tile.frag<96x128xbf16, lhs>
}

// -----

tile.kernel @overlap(%k: !tile.view<?x?x?x128xbf16>, %n: i32) target("gfx950") waves(8) {
  // expected-note @below {{the other ring is here}}
  %0 = tile.ring %k[%n, %n] depth(1) at(0) : !tile.view<?x?x?x128xbf16> -> !tile.ring<64x128xbf16>
  // expected-error-re @below {{at(1024) lies in another ring, which ends at {{[0-9]+}}; move it, or leave 'at' out}}
  %1 = tile.ring %k[%n, %n] depth(1) at(1024) : !tile.view<?x?x?x128xbf16> -> !tile.ring<64x128xbf16>
  %2 = tile.read %0[%n] slot(%n) : !tile.ring<64x128xbf16> -> !tile.frag<64x128xbf16, lhs>
  %3 = tile.read %1[%n] slot(%n) : !tile.ring<64x128xbf16> -> !tile.frag<64x128xbf16, lhs>
}

// -----

// 96 columns are three panels of 32: halves of them would begin within one.
tile.kernel @halves_of_panels(%n: i32) target("gfx950") waves(2) {
  %i, %j = tile.wave_grid rows(1) columns(2)
  // expected-error @below {{has no layout in LDS: parts of 48 columns of a tile of 96, whose panels have 32; give waves parts of its rows}}
  %ring = tile.ring named("x") depth(1) : !tile.ring<32x96xbf16>
  %f = tile.fill 1.0 : !tile.frag<48x32xbf16, rhs_acc>
  tile.put %f, %ring[%n] columns_part(%j) slot(%n) : !tile.frag<48x32xbf16, rhs_acc>, <32x96xbf16>
  %a = tile.read %ring[%n] slot(%n) : <32x96xbf16> -> <32x96xbf16, lhs>
}

// -----

tile.kernel @never_read(%n: i32) target("gfx950") waves(1) {
  // expected-error @below {{has no layout in LDS: nothing reads it, so there is nothing to choose by; remove it or write its layout}}
  %ring = tile.ring named("x") depth(1) : !tile.ring<32x32xbf16>
  %f = tile.fill 1.0 : !tile.frag<32x32xf32, acc>
  tile.put %f, %ring[%n] slot(%n) : !tile.frag<32x32xf32, acc>, <32x32xbf16>
}

// -----

tile.kernel @many_rows(%n: i32) target("gfx950") waves(1) {
  // expected-error @below {{has no layout in LDS: parts of 96 rows, which are no power of two}}
  %ring = tile.ring named("x") depth(1) : !tile.ring<96x32xbf16>
  %f = tile.fill 1.0 : !tile.frag<32x96xf32, acc>
  %a = tile.read %ring[%n] slot(%n) : <96x32xbf16> -> <96x32xbf16, lhs>
  tile.put %f, %ring[%n] slot(%n) : !tile.frag<32x96xf32, acc>, <96x32xbf16>
}

// -----

tile.kernel @exchanges_overlap() target("gfx950") waves(4) {
  %r = tile.fill 0.0 : !tile.rows<32xf32>
  // expected-note @below {{the other op is here}}
  %x = tile.reduce_waves sum %r at(0) : !tile.rows<32xf32>
  // expected-error @below {{at(512) lies in another op, which ends at 1024; move it, or leave 'at' out}}
  %y = tile.reduce_waves sum %r at(512) : !tile.rows<32xf32>
}

// -----

// expected-error @below {{needs 262144 bytes of LDS, gfx950 has 163840}}
tile.kernel @exchanges_too_much() target("gfx950") waves(16) {
  %c = tile.fill 0.0 : !tile.columns<4096xf32, lines(4x64)>
  // expected-note @below {{this exchange takes 262144 bytes; combine fewer numbers at once}}
  %x = tile.reduce_waves sum %c : !tile.columns<4096xf32, lines(4x64)>
}

// -----

// expected-error @below {{needs 1056768 bytes of LDS, gfx950 has 163840}}
tile.kernel @conversions_too_large() target("gfx950") waves(16) {
  %x = tile.fill 0.0 : !tile.frag<512x32xf32, acc>
  // expected-note @below {{this exchange takes 1056768 bytes; use smaller fragments, or fewer waves}}
  %y = tile.convert_layout %x : !tile.frag<512x32xf32, acc> -> !tile.frag<32x512xf32, lines(8)>
}

// -----

tile.kernel @conversions_overlap() target("gfx950") waves(2) {
  %x = tile.fill 0.0 : !tile.frag<32x32xf32, acc>
  // expected-note @below {{the other op is here}}
  %y = tile.convert_layout %x at(0 by 4608) : !tile.frag<32x32xf32, acc> -> !tile.frag<32x32xf32, lhs>
  // expected-error @below {{at(0) lies in another op, which ends at 9216; move it, or leave 'at' out}}
  %z = tile.convert_layout %x at(0 by 4624) : !tile.frag<32x32xf32, acc> -> !tile.frag<32x32xf32, lines>
}
