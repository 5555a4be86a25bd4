// Rings whose rows go through a table, and what fetches them.
// RUN: hocket-opt %s | hocket-opt | FileCheck %s
// RUN: hocket-opt %s -mlir-print-op-generic | hocket-opt | FileCheck %s

// CHECK-LABEL: tile.kernel @gathered(
// CHECK: %[[RING:.*]] = tile.ring %k[%{{.*}}, %head] pages(16 rows %n) : <?x?x?x128xbf16> -> <64x128xbf16>
// CHECK: %[[PAGES:.*]] = tile.look_up %table for %[[RING]][%t] : <?xi32>, <64x128xbf16>
// CHECK: tile.fetch %[[RING]][%t] pages(%[[PAGES]] : !tile.pages<64>) : <64x128xbf16>
// CHECK: tile.fetch %[[RING]][%t] from(%n) pages(%[[PAGES]] : !tile.pages<64>) : <64x128xbf16>
// CHECK: %[[PLACES:.*]] = tile.locate %[[PAGES]] for %[[RING]][%t] : <64>, <64x128xbf16> -> <64x128xbf16, 4>
// CHECK: tile.fetch %[[RING]][%t] pages(%[[PLACES]] : !tile.places<64x128xbf16, 4>) : <64x128xbf16>
// CHECK: tile.retain %[[PAGES]] : !tile.pages<64>
// CHECK: tile.retain %[[PLACES]] : !tile.places<64x128xbf16, 4>
tile.kernel @gathered(%k: !tile.view<?x?x?x128xbf16>, %table: !tile.view<?xi32>, %n: i32, %head: i32, %t: i32)
    target("gfx950") waves(4) {
  %zero = arith.constant 0 : i32
  %ring = tile.ring %k[%zero, %head] pages(16 rows %n) : <?x?x?x128xbf16> -> <64x128xbf16>
  %pages = tile.look_up %table for %ring[%t] : <?xi32>, <64x128xbf16>
  tile.fetch %ring[%t] pages(%pages : !tile.pages<64>) : <64x128xbf16>
  tile.fetch %ring[%t] from(%n) pages(%pages : !tile.pages<64>) : <64x128xbf16>
  %places = tile.locate %pages for %ring[%t] : !tile.pages<64>, !tile.ring<64x128xbf16> -> !tile.places<64x128xbf16, 4>
  tile.fetch %ring[%t] pages(%places : !tile.places<64x128xbf16, 4>) : <64x128xbf16>
  tile.retain %pages : !tile.pages<64>
  tile.retain %places : !tile.places<64x128xbf16, 4>
}

// CHECK-LABEL: tile.kernel @vectors(
// CHECK: tile.ring %k[%n, %n] pages(16 rows %n) vectors(columns) : <?x?x?x128xbf16> -> <64x128xbf16>
// CHECK: tile.ring %k[%n, %n] pages(16 rows %n) vectors(rows) far : <?x?x?x128xbf16> -> <64x128xbf16>
tile.kernel @vectors(%k: !tile.view<?x?x?x128xbf16>, %n: i32) target("gfx950") waves(4) {
  %k_ring = tile.ring %k[%n, %n] pages(16 rows %n) vectors(columns) : <?x?x?x128xbf16> -> <64x128xbf16>
  %v_ring = tile.ring %k[%n, %n] pages(16 rows %n) vectors(rows) far : <?x?x?x128xbf16> -> <64x128xbf16>
}

// CHECK-LABEL: tile.kernel @staged(
// CHECK: tile.load_part %{{.*}}[%t] pages(%{{.*}} : !tile.pages<32>) : <32x64xbf16> -> <32x64xbf16, 4>
tile.kernel @staged(%k: !tile.view<?x?x?x64xbf16>, %table: !tile.view<?xi32>, %n: i32, %t: i32)
    target("gfx942") waves(4) {
  %ring = tile.ring %k[%t, %t] pages(1056 rows %n) : <?x?x?x64xbf16> -> <32x64xbf16>
  %pages = tile.look_up %table for %ring[%t] : <?xi32>, <32x64xbf16>
  %part = tile.load_part %ring[%t] pages(%pages : !tile.pages<32>) : <32x64xbf16> -> <32x64xbf16, 4>
}
