// Every refusal of an op of kernels over matrices, by its verifier.
// RUN: hocket-opt %s -verify-diagnostics -split-input-file

tile.kernel @k(%q: !tile.view<?x?x?x128xbf16>, %n: i32) target("gfx950") waves(8) {
  // expected-error @below {{needs a matrix, a view of rank 2, found rank 4}}
  %r, %c = tile.block_tile %q rows(256) columns(256) : !tile.view<?x?x?x128xbf16>
}

// -----

tile.kernel @k(%a: !tile.view<?x?xbf16>, %n: i32) target("gfx950") waves(8) {
  // expected-error @below {{rows(0), expected 1 to 65536}}
  %r, %c = tile.block_tile %a rows(0) columns(256) : !tile.view<?x?xbf16>
}

// -----

tile.kernel @k(%a: !tile.view<?x?xbf16>, %n: i32) target("gfx950") waves(8) {
  // expected-error @below {{columns(65537), expected 1 to 65536}}
  %r, %c = tile.block_tile %a rows(256) columns(65537) : !tile.view<?x?xbf16>
}

// -----

tile.kernel @k(%a: !tile.view<?x?xbf16>, %n: i32) target("gfx950") waves(8) {
  // expected-error @below {{band(-1), expected 1 to 65536}}
  %r, %c = tile.block_tile %a rows(256) columns(256) band(-1) : !tile.view<?x?xbf16>
}

// -----

tile.kernel @k(%a: !tile.view<?x?xbf16>, %n: i32) target("gfx950") waves(8) {
  // expected-error @below {{xcds(0), expected 1 to 65536}}
  %r, %c = tile.block_tile %a rows(256) columns(256) xcds(0) : !tile.view<?x?xbf16>
}

// -----

tile.kernel @k(%a: !tile.view<?x?xbf16>, %n: i32) target("gfx950") waves(8) {
  // expected-error @below {{rows(3), expected 1, 2, 4, 8 or 16}}
  %i, %j = tile.wave_grid rows(3) columns(2)
}

// -----

tile.kernel @k(%a: !tile.view<?x?xbf16>, %n: i32) target("gfx950") waves(8) {
  // expected-error @below {{columns(32), expected 1, 2, 4, 8 or 16}}
  %i, %j = tile.wave_grid rows(1) columns(32)
}

// -----

tile.kernel @k(%a: !tile.view<?x?xbf16>, %n: i32) target("gfx950") waves(8) {
  // expected-error @below {{has a grid of 2 x 2 waves, the kernel has 8}}
  %i, %j = tile.wave_grid rows(2) columns(2)
}

// -----

tile.kernel @k(%a: !tile.view<?x?xbf16>, %n: i32) target("gfx950") waves(8) {
  // expected-error @below {{has a part that is no result of 'tile.wave_grid': where all waves read must be known when the kernel is compiled}}
  %r = tile.wave_row %n rows(32) part(%n)
}

// -----

tile.kernel @k(%a: !tile.view<?x?xbf16>, %n: i32) target("gfx950") waves(8) {
  %ring = tile.ring %a[%n] by_columns : !tile.view<?x?xbf16> -> !tile.ring<256x64xbf16>
  // expected-error @below {{has a part that is no result of 'tile.wave_grid'}}
  %x = tile.read %ring[%n] part(%n) : !tile.ring<256x64xbf16> -> !tile.frag<128x64xbf16, lhs>
}

// -----

tile.kernel @k(%q: !tile.view<?x?x?x128xbf16>, %n: i32) target("gfx950") waves(8) {
  // expected-error @below {{needs a matrix, a view of rank 2, found rank 4}}
  %ring = tile.ring %q[%n] by_columns : !tile.view<?x?x?x128xbf16> -> !tile.ring<256x64xbf16>
}

// -----

tile.kernel @k(%a: !tile.view<?x?xbf16>, %n: i32) target("gfx950") waves(8) {
  // expected-error @below {{has 2 indices, expected one with by_columns: the first row}}
  %ring = tile.ring %a[%n, %n] by_columns : !tile.view<?x?xbf16> -> !tile.ring<256x64xbf16>
}

// -----

tile.kernel @k(%a: !tile.view<?x?xbf16>, %n: i32) target("gfx950") waves(8) {
  // expected-error @below {{ring of 'f16' over a view of 'bf16'}}
  %ring = tile.ring %a[%n] by_columns : !tile.view<?x?xbf16> -> !tile.ring<256x64xf16>
}

// -----

tile.kernel @k(%a: !tile.view<?x?xbf16>, %n: i32) target("gfx950") waves(8) {
  %ring = tile.ring %a[%n] by_columns : !tile.view<?x?xbf16> -> !tile.ring<256x64xbf16>
  %i, %j = tile.wave_grid rows(2) columns(4)
  // expected-error @below {{reads '!tile.frag<64x64xbf16, lhs>' from '!tile.ring<256x64xbf16>' by 2 waves, expected 128 of 256 rows, all columns and the same element type}}
  %x = tile.read %ring[%n] part(%i) : !tile.ring<256x64xbf16> -> !tile.frag<64x64xbf16, lhs>
}

// -----

tile.kernel @k(%a: !tile.view<?x?xbf16>, %n: i32) target("gfx950") waves(8) {
  %ring = tile.ring %a[%n] by_columns : !tile.view<?x?xbf16> -> !tile.ring<256x64xbf16>
  // expected-error @below {{reads '!tile.frag<64x128xbf16, rhs>' from '!tile.ring<256x64xbf16>', expected the ring's shape and element type}}
  %x = tile.read %ring[%n] : !tile.ring<256x64xbf16> -> !tile.frag<64x128xbf16, rhs>
}

// -----

tile.kernel @k(%a: !tile.view<?x?xbf16>, %n: i32) target("gfx950") waves(8) {
  %ring = tile.ring %a[%n] by_columns : !tile.view<?x?xbf16> -> !tile.ring<256x64xbf16>
  // expected-error @below {{reads a fragment in layout lhs_acc, expected lhs or rhs}}
  %x = tile.read %ring[%n] : !tile.ring<256x64xbf16> -> !tile.frag<256x64xbf16, lhs_acc>
}

// -----

tile.kernel @k(%a: !tile.view<?x?xbf16>, %n: i32) target("gfx950") waves(8) {
  %x = tile.fill 0.0 : !tile.frag<64x64xf32, acc>
  // expected-error @below {{source has layout acc, expected lhs or rhs}}
  %y = tile.mask_depth %x tile(%n) below(%n) : !tile.frag<64x64xf32, acc>
}

// -----

tile.kernel @k(%a: !tile.view<?x?xbf16>, %n: i32) target("gfx950") waves(8) {
  %x = tile.fill 0.0 : !tile.frag<64x64xf32, acc>
  // expected-error @below {{source has layout acc, expected lhs or rhs}}
  %y = tile.slice_depth %x from 0 : !tile.frag<64x64xf32, acc> -> !tile.frag<32x64xf32, acc>
}

// -----

tile.kernel @k(%a: !tile.view<?x?xbf16>, %n: i32) target("gfx950") waves(8) {
  %x = tile.fill 0.0 : !tile.frag<64x64xbf16, lhs>
  // expected-error @below {{depth 32 from 8 of '!tile.frag<64x64xbf16, lhs>' as '!tile.frag<64x32xbf16, lhs>'; whole steps of 16 and all of the other dimension are needed}}
  %y = tile.slice_depth %x from 8 : !tile.frag<64x64xbf16, lhs> -> !tile.frag<64x32xbf16, lhs>
}

// -----

tile.kernel @k(%a: !tile.view<?x?xbf16>, %n: i32) target("gfx950") waves(8) {
  %x = tile.fill 0.0 : !tile.frag<64x64xbf16, lhs>
  // expected-error @below {{depth 32 from 48 of '!tile.frag<64x64xbf16, lhs>' as '!tile.frag<64x32xbf16, lhs>'; whole steps of 16 and all of the other dimension are needed}}
  %y = tile.slice_depth %x from 48 : !tile.frag<64x64xbf16, lhs> -> !tile.frag<64x32xbf16, lhs>
}

// -----

tile.kernel @k(%a: !tile.view<?x?xbf16>, %n: i32) target("gfx950") waves(8) {
  %x = tile.fill 0.0 : !tile.frag<64x64xbf16, lhs>
  // expected-error @below {{depth 32 from -16 of '!tile.frag<64x64xbf16, lhs>' as '!tile.frag<64x32xbf16, lhs>'; whole steps of 16 and all of the other dimension are needed}}
  %y = tile.slice_depth %x from -16 : !tile.frag<64x64xbf16, lhs> -> !tile.frag<64x32xbf16, lhs>
}

// -----

tile.kernel @k(%a: !tile.view<?x?xbf16>, %n: i32) target("gfx950") waves(8) {
  %x = tile.fill 0.0 : !tile.frag<64x64xbf16, lhs>
  // expected-error @below {{depth 32 from 0 of '!tile.frag<64x64xbf16, lhs>' as '!tile.frag<32x32xbf16, lhs>'; whole steps of 16 and all of the other dimension are needed}}
  %y = tile.slice_depth %x from 0 : !tile.frag<64x64xbf16, lhs> -> !tile.frag<32x32xbf16, lhs>
}

// -----

tile.kernel @k(%a: !tile.view<?x?xbf16>, %n: i32) target("gfx950") waves(8) {
  %x = tile.fill 0.0 : !tile.frag<64x64xbf16, lhs>
  // expected-error @below {{depth 32 from 0 of '!tile.frag<64x64xbf16, lhs>' as '!tile.frag<64x32xf16, lhs>'; whole steps of 16 and all of the other dimension are needed}}
  %y = tile.slice_depth %x from 0 : !tile.frag<64x64xbf16, lhs> -> !tile.frag<64x32xf16, lhs>
}

// -----

tile.kernel @k(%a: !tile.view<?x?xbf16>, %n: i32) target("gfx950") waves(8) {
  %x = tile.fill 0.0 : !tile.frag<64x64xbf16, lhs>
  // expected-error @below {{depth 64 from 0 of '!tile.frag<64x64xbf16, lhs>' as '!tile.frag<64x32xbf16, rhs>'; whole steps of 16 and all of the other dimension are needed}}
  %y = tile.slice_depth %x from 0 : !tile.frag<64x64xbf16, lhs> -> !tile.frag<64x32xbf16, rhs>
}

// -----

tile.kernel @k(%q: !tile.view<?x?x?x128xbf16>, %n: i32) target("gfx950") waves(8) {
  %x = tile.fill 0.0 : !tile.frag<64x64xf32, acc>
  // expected-error @below {{needs a matrix, a view of rank 2, found rank 4}}
  tile.store_block %x, %q[%n, %n] : !tile.frag<64x64xf32, acc>, !tile.view<?x?x?x128xbf16>
}

// -----

tile.kernel @k(%a: !tile.view<?x?xbf16>, %n: i32) target("gfx950") waves(8) {
  %x = tile.fill 0.0 : !tile.frag<64x64xbf16, lhs>
  // expected-error @below {{stores a fragment in layout lhs, expected acc}}
  tile.store_block %x, %a[%n, %n] : !tile.frag<64x64xbf16, lhs>, !tile.view<?x?xbf16>
}

// -----

tile.kernel @k(%a: !tile.view<?x?xf32>, %n: i32) target("gfx950") waves(8) {
  %x = tile.fill 0.0 : !tile.frag<64x64xf32, acc>
  // expected-error @below {{stores to '!tile.view<?x?xf32>', expected a view of bf16, f16 or a float of 8 bits}}
  tile.store_block %x, %a[%n, %n] : !tile.frag<64x64xf32, acc>, !tile.view<?x?xf32>
}

// -----

tile.kernel @packed_of_bf16(%a: !tile.view<?x?xbf16>, %t: i32) target("gfx950") waves(1) {
  %ring = tile.ring %a[%t] by_columns : !tile.view<?x?xbf16> -> !tile.ring<64x64xbf16>
  // expected-error @below {{reads '!tile.frag<64x128xf4E2M1FN, lhs>' from '!tile.ring<64x64xbf16>' by 1 wave, expected a ring of i8 of 64 rows and 64 columns, each of which holds 2 elements}}
  %x = tile.read %ring[%t] : !tile.ring<64x64xbf16> -> !tile.frag<64x128xf4E2M1FN, lhs>
}
