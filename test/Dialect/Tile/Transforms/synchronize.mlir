// tile-synchronize inserts exactly the waits that are needed.
// RUN: hocket-opt %s --tile-allocate-lds --tile-synchronize -split-input-file | FileCheck %s

// The fetch's tile is read behind the barrier: wait for it. Its slot is fetched into again behind the
// last barrier: wait for the reads.
// CHECK-LABEL: tile.kernel @both
// CHECK: tile.fetch
// CHECK-NEXT: tile.wait vm(0)
// CHECK-NEXT: tile.barrier
// CHECK-NEXT: tile.read
// CHECK-NEXT: tile.wait lgkm(0)
// CHECK-NEXT: tile.barrier
tile.kernel @both(%k: !tile.view<?x?x?x128xbf16>, %a: i32, %n: i32, %b: i32) target("gfx950") waves(8) {
  %ring = tile.ring %k[%n, %n] depth(1) : !tile.view<?x?x?x128xbf16> -> !tile.ring<64x128xbf16>
  scf.for %t = %a to %n step %b : i32 {
    tile.fetch %ring[%t] slot(%a) : !tile.ring<64x128xbf16>
    tile.barrier
    %x = tile.read %ring[%t] slot(%a) : !tile.ring<64x128xbf16> -> !tile.frag<64x128xbf16, lhs>
    tile.barrier
  }
}

// -----

// Two fetches of two instructions each (16 KiB over 8 waves of 1 KiB): the first is read first, the
// second may stay in flight until its own barrier.
// CHECK-LABEL: tile.kernel @in_flight
// CHECK: tile.fetch
// CHECK-NEXT: tile.fetch
// CHECK-NEXT: tile.wait vm(2)
// CHECK-NEXT: tile.barrier
// CHECK-NEXT: tile.read
// CHECK-NEXT: tile.wait vm(0)
// CHECK-NEXT: tile.barrier
// CHECK-NEXT: tile.read_transposed
// CHECK-NEXT: tile.wait lgkm(0)
// CHECK-NEXT: tile.barrier
tile.kernel @in_flight(%k: !tile.view<?x?x?x128xbf16>, %a: i32, %n: i32, %b: i32) target("gfx950") waves(8) {
  %first = tile.ring %k[%n, %n] depth(1) : !tile.view<?x?x?x128xbf16> -> !tile.ring<64x128xbf16>
  %second = tile.ring %k[%n, %n] depth(1) : !tile.view<?x?x?x128xbf16> -> !tile.ring<64x128xbf16>
  scf.for %t = %a to %n step %b : i32 {
    tile.fetch %first[%t] slot(%a) : !tile.ring<64x128xbf16>
    tile.fetch %second[%t] slot(%a) : !tile.ring<64x128xbf16>
    tile.barrier
    %x = tile.read %first[%t] slot(%a) : !tile.ring<64x128xbf16> -> !tile.frag<64x128xbf16, lhs>
    tile.barrier
    %y = tile.read_transposed %second[%t] slot(%a) : !tile.ring<64x128xbf16> -> !tile.frag<128x64xbf16, lhs_acc>
    tile.barrier
  }
}

// -----

// The count follows from the waves: four of them take four instructions for the same tile.
// CHECK-LABEL: tile.kernel @four_waves
// CHECK: tile.wait vm(4)
tile.kernel @four_waves(%k: !tile.view<?x?x?x128xbf16>, %a: i32, %n: i32, %b: i32) target("gfx950") waves(4) {
  %first = tile.ring %k[%n, %n] depth(1) : !tile.view<?x?x?x128xbf16> -> !tile.ring<64x128xbf16>
  %second = tile.ring %k[%n, %n] depth(1) : !tile.view<?x?x?x128xbf16> -> !tile.ring<64x128xbf16>
  scf.for %t = %a to %n step %b : i32 {
    tile.fetch %first[%t] slot(%a) : !tile.ring<64x128xbf16>
    tile.fetch %second[%t] slot(%a) : !tile.ring<64x128xbf16>
    tile.barrier
    %x = tile.read %first[%t] slot(%a) : !tile.ring<64x128xbf16> -> !tile.frag<64x128xbf16, lhs>
    tile.barrier
    %y = tile.read %second[%t] slot(%a) : !tile.ring<64x128xbf16> -> !tile.frag<64x128xbf16, lhs>
    tile.barrier
  }
}

// -----

// Does not fire: nothing is read behind this barrier and nothing overwritten.
// CHECK-LABEL: tile.kernel @nothing
// CHECK-NOT: tile.wait
// CHECK: tile.barrier
// CHECK-NOT: tile.wait
tile.kernel @nothing(%a: i32, %n: i32, %b: i32) target("gfx950") waves(8) {
  scf.for %t = %a to %n step %b : i32 {
    tile.barrier
  }
}

// -----

// Does not fire: a loop without a barrier is none of this pass's.
// CHECK-LABEL: tile.kernel @no_barrier
// CHECK-NOT: tile.wait
tile.kernel @no_barrier(%a: i32, %n: i32, %b: i32) target("gfx950") waves(8) {
  scf.for %t = %a to %n step %b : i32 {
    %x = arith.addi %t, %n : i32
  }
}
