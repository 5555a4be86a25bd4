// Tiles that pass through registers, from the schedule to waits.
// RUN: hocket-opt %s --tile-pipeline --tile-allocate-lds=remarks --tile-synchronize --tile-verify-clusters=remarks -split-input-file 2>&1 | FileCheck %s

// A step that only puts needs no place: it ends the last cluster before the read. Puts are waited for with the
// LDS accesses, loads by LLVM where they are used.
// CHECK: remark: {{[0-9]+}} bytes a tile, 0 cycles of bank conflicts in one wave's accesses to it
// CHECK: remark: verified with
// CHECK-LABEL: tile.kernel @unplaced
// CHECK: tile.ring %k{{.*}} depth(1)
// CHECK: scf.for
// CHECK: %[[PART:.*]] = tile.step @fetch
// CHECK: tile.step @put
// CHECK-NEXT: tile.put %[[PART]], %{{.*}} slot(
// CHECK: tile.wait lgkm(0)
// CHECK-NEXT: tile.barrier
// CHECK: tile.step @read
// CHECK: tile.wait lgkm(0)
// CHECK-NEXT: tile.barrier
tile.kernel @unplaced(%k: !tile.view<?x?x?x128xbf16> {tile.bind = "k"}, %n: i32) target("gfx942") waves(4) {
  %ring = tile.ring %k[%n, %n] : !tile.view<?x?x?x128xbf16> -> !tile.ring<32x128xbf16>
  tile.for_tiles %t = 0 to %n init() schedule(@s) {
    %part = tile.step @fetch -> !tile.part<32x128xbf16, 4> {
      %p = tile.load_part %ring[%t] : !tile.ring<32x128xbf16> -> !tile.part<32x128xbf16, 4>
      tile.yield %p : !tile.part<32x128xbf16, 4>
    }
    tile.step @put {
      tile.put %part, %ring[%t] : !tile.part<32x128xbf16, 4>, !tile.ring<32x128xbf16>
    }
    tile.step @read {
      %x = tile.read %ring[%t] : !tile.ring<32x128xbf16> -> !tile.frag<32x128xbf16, lhs>
    }
  }
}
tile.schedule @s { tile.cluster memory { fetch(0) } tile.cluster compute { read(0) } }

// -----

// Loaded ahead, the part waits in registers from one iteration to the next: a loop-carried value, and one slot.
// CHECK-LABEL: tile.kernel @ahead
// CHECK: depth(1)
// CHECK: scf.while ({{.*}}) : (i32, !tile.part<32x128xbf16, 4>)
// CHECK: tile.step @put
// CHECK: tile.step @fetch
// CHECK: tile.step @read
tile.kernel @ahead(%k: !tile.view<?x?x?x128xbf16> {tile.bind = "k"}, %n: i32) target("gfx942") waves(4) {
  %ring = tile.ring %k[%n, %n] : !tile.view<?x?x?x128xbf16> -> !tile.ring<32x128xbf16>
  tile.for_tiles %t = 0 to %n init() schedule(@s) {
    %part = tile.step @fetch -> !tile.part<32x128xbf16, 4> {
      %p = tile.load_part %ring[%t] : !tile.ring<32x128xbf16> -> !tile.part<32x128xbf16, 4>
      tile.yield %p : !tile.part<32x128xbf16, 4>
    }
    tile.step @put {
      tile.put %part, %ring[%t] : !tile.part<32x128xbf16, 4>, !tile.ring<32x128xbf16>
    }
    tile.step @read {
      %x = tile.read %ring[%t] : !tile.ring<32x128xbf16> -> !tile.frag<32x128xbf16, lhs>
    }
  }
}
tile.schedule @s { tile.cluster memory { } tile.cluster compute { fetch(+1) read(0) } }

// -----

// A place that is given is kept: with the load, one tile ahead, which takes a second slot.
// CHECK-LABEL: tile.kernel @placed
// CHECK: depth(2)
// CHECK: tile.step @fetch
// CHECK: tile.step @put
// CHECK: scf.while
tile.kernel @placed(%k: !tile.view<?x?x?x128xbf16> {tile.bind = "k"}, %n: i32) target("gfx942") waves(4) {
  %ring = tile.ring %k[%n, %n] : !tile.view<?x?x?x128xbf16> -> !tile.ring<32x128xbf16>
  tile.for_tiles %t = 0 to %n init() schedule(@s) {
    %part = tile.step @fetch -> !tile.part<32x128xbf16, 4> {
      %p = tile.load_part %ring[%t] : !tile.ring<32x128xbf16> -> !tile.part<32x128xbf16, 4>
      tile.yield %p : !tile.part<32x128xbf16, 4>
    }
    tile.step @put {
      tile.put %part, %ring[%t] : !tile.part<32x128xbf16, 4>, !tile.ring<32x128xbf16>
    }
    tile.step @read {
      %x = tile.read %ring[%t] : !tile.ring<32x128xbf16> -> !tile.frag<32x128xbf16, lhs>
    }
  }
}
tile.schedule @s { tile.cluster memory { fetch(+1) put(+1) } tile.cluster compute { read(0) } }
