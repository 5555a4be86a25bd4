// tile-synchronize turns tiles in flight into instructions in flight.
// RUN: hocket-opt %s --tile-synchronize -split-input-file | FileCheck %s

// 16 KiB over 8 waves of 1 KiB are two instructions for each wave and tile.
// CHECK-LABEL: tile.kernel @eight_waves
// CHECK: tile.wait vm(0){{$}}
// CHECK: tile.wait lgkm(0)
// CHECK: tile.wait vm(4) lgkm(0)
// CHECK-NOT: tile.await
tile.kernel @eight_waves(%k: !tile.view<?x?x?x128xbf16>, %n: i32) target("gfx950") waves(8) {
  %ring = tile.ring %k[%n, %n] depth(3) at(0) layout(<panel 256, chunk 1024, pad 0,
    rows [256, 512, 1024, 2048, 4096, 8192], bytes [1, 2, 4, 8, 16, 32, 64, 128]>)
    : !tile.view<?x?x?x128xbf16> -> !tile.ring<64x128xbf16>
  tile.await fetches
  tile.await reads
  tile.await fetches but(%ring, %ring : !tile.ring<64x128xbf16>, !tile.ring<64x128xbf16>) reads
}

// -----

// Four waves take four instructions for the same tile.
// CHECK-LABEL: tile.kernel @four_waves
// CHECK: tile.wait vm(4){{$}}
tile.kernel @four_waves(%k: !tile.view<?x?x?x128xbf16>, %n: i32) target("gfx950") waves(4) {
  %ring = tile.ring %k[%n, %n] depth(2) at(0) layout(<panel 256, chunk 1024, pad 0,
    rows [256, 512, 1024, 2048, 4096, 8192], bytes [1, 2, 4, 8, 16, 32, 64, 128]>)
    : !tile.view<?x?x?x128xbf16> -> !tile.ring<64x128xbf16>
  tile.await fetches but(%ring : !tile.ring<64x128xbf16>)
}

// -----

// Loads into registers that may stay in flight are instructions as they are.
// CHECK-LABEL: tile.kernel @loads
// CHECK: tile.wait vm(6){{$}}
// CHECK: tile.wait vm(4) lgkm(0)
tile.kernel @loads(%k: !tile.view<?x?x?x128xbf16>, %n: i32) target("gfx950") waves(8) {
  %ring = tile.ring %k[%n, %n] depth(2) at(0) layout(<panel 256, chunk 1024, pad 0,
    rows [256, 512, 1024, 2048, 4096, 8192], bytes [1, 2, 4, 8, 16, 32, 64, 128]>)
    : !tile.view<?x?x?x128xbf16> -> !tile.ring<64x128xbf16>
  tile.await fetches but(%ring : !tile.ring<64x128xbf16>) loads(4)
  tile.await fetches loads(4) reads
}

// -----

// Does not fire: a wait that a hand has written stays as it is.
// CHECK-LABEL: tile.kernel @by_hand
// CHECK-NEXT: tile.wait vm(3)
// CHECK-NEXT: tile.barrier
tile.kernel @by_hand(%n: i32) target("gfx950") waves(8) {
  tile.wait vm(3)
  tile.barrier
}
