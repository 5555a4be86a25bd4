// Waits count look-ups with the fetches that they come with, and so does what verifies them.
// RUN: hocket-opt %s --tile-allocate-lds --tile-synchronize --tile-verify-clusters -split-input-file -verify-diagnostics | FileCheck %s

// Two instructions of each of eight waves, and one look-up.
// CHECK-LABEL: tile.kernel @counted(
// CHECK: tile.wait vm(3)
tile.kernel @counted(%k: !tile.view<?x?x?x128xbf16>, %table: !tile.view<?xi32>, %n: i32) target("gfx950") waves(8) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %ring = tile.ring %k[%zero, %zero] pages(16 rows %n) depth(2) : <?x?x?x128xbf16> -> <64x128xbf16>
  %first = tile.look_up %table for %ring[%zero] : <?xi32>, <64x128xbf16>
  %second = tile.step @fetch_0 -> !tile.pages<64> {
    %next = tile.look_up %table for %ring[%one] : <?xi32>, <64x128xbf16>
    tile.fetch %ring[%zero] pages(%first : !tile.pages<64>) slot(%zero) : <64x128xbf16>
    tile.yield %next : !tile.pages<64>
  }
  %third = tile.step @fetch_1 -> !tile.pages<64> {
    %next = tile.look_up %table for %ring[%n] : <?xi32>, <64x128xbf16>
    tile.fetch %ring[%one] pages(%second : !tile.pages<64>) slot(%one) : <64x128xbf16>
    tile.yield %next : !tile.pages<64>
  }
  tile.await fetches but(%ring : !tile.ring<64x128xbf16>)
  tile.barrier
  %x = tile.read %ring[%zero] slot(%zero) : <64x128xbf16> -> <64x128xbf16, lhs>
  tile.await fetches reads
  tile.barrier
  tile.retain %third : !tile.pages<64>
}

// -----

tile.kernel @uneven(%k: !tile.view<?x?x?x128xbf16>, %table: !tile.view<?xi32>, %n: i32) target("gfx950") waves(8) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %ring = tile.ring %k[%zero, %zero] pages(16 rows %n) depth(2) : <?x?x?x128xbf16> -> <64x128xbf16>
  %first = tile.look_up %table for %ring[%zero] : <?xi32>, <64x128xbf16>
  %second = tile.step @fetch_0 -> !tile.pages<64> {
    %next = tile.look_up %table for %ring[%one] : <?xi32>, <64x128xbf16>
    tile.fetch %ring[%zero] pages(%first : !tile.pages<64>) slot(%zero) : <64x128xbf16>
    tile.yield %next : !tile.pages<64>
  }
  tile.step @fetch_1 {
    // expected-error @below {{stands in a step with other look-ups of pages than others of its ring; give each step that fetches the same}}
    tile.fetch %ring[%one] pages(%second : !tile.pages<64>) slot(%one) : <64x128xbf16>
  }
  tile.await fetches but(%ring : !tile.ring<64x128xbf16>)
  tile.barrier
  %x = tile.read %ring[%zero] slot(%zero) : <64x128xbf16> -> <64x128xbf16, lhs>
}
