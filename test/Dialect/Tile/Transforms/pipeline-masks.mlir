// tile-pipeline leaves masks out of copies of an iteration whose tile they cannot cut: where the tiles were
// counted from the length that the mask cuts at, only the last one is cut.
// RUN: hocket-opt %s --tile-pipeline -split-input-file | FileCheck %s

// Each loop becomes, in this order: the steady loop, the epilogue, and the single tile of shorter ones.
tile.schedule @ahead {
  tile.cluster memory { fetch(1) }
  tile.cluster compute { scores(0) }
}

// CHECK-LABEL: tile.kernel @last
// CHECK: scf.while
// CHECK-NOT: tile.mask
// CHECK: scf.condition
// CHECK: tile.mask
// CHECK: scf.if
// CHECK: tile.mask
// CHECK-NOT: tile.mask
tile.kernel @last(%k: !tile.view<?x?x?x128xbf16>, %n: i32) target("gfx950") waves(8) {
  %ring = tile.ring %k[%n, %n] : !tile.view<?x?x?x128xbf16> -> !tile.ring<64x128xbf16>
  %last = arith.constant 63 : i32
  %rows = arith.constant 64 : i32
  %up = arith.addi %n, %last : i32
  %count = arith.divui %up, %rows : i32
  %zero = tile.fill 0.0 : !tile.frag<64x32xf32, acc>
  %r = tile.for_tiles %t = 0 to %count init(%c = %zero : !tile.frag<64x32xf32, acc>) schedule(@ahead) {
    tile.step @fetch { tile.fetch %ring[%t] : !tile.ring<64x128xbf16> }
    %x = tile.step @scores -> !tile.frag<64x32xf32, acc> {
      %read = tile.read %ring[%t] : !tile.ring<64x128xbf16> -> !tile.frag<64x128xbf16, lhs>
      %m = tile.mask %c tile(%t) below(%n) : !tile.frag<64x32xf32, acc>
      tile.yield %m : !tile.frag<64x32xf32, acc>
    }
    tile.yield %x : !tile.frag<64x32xf32, acc>
  }
}

// -----

// A diagonal may cut any tile.
tile.schedule @ahead {
  tile.cluster memory { fetch(1) }
  tile.cluster compute { scores(0) }
}

// CHECK-LABEL: tile.kernel @diagonal
// CHECK: scf.while
// CHECK: tile.mask
// CHECK: scf.condition
// CHECK: tile.mask
// CHECK: scf.if
// CHECK: tile.mask
tile.kernel @diagonal(%k: !tile.view<?x?x?x128xbf16>, %n: i32) target("gfx950") waves(8) {
  %ring = tile.ring %k[%n, %n] : !tile.view<?x?x?x128xbf16> -> !tile.ring<64x128xbf16>
  %last = arith.constant 63 : i32
  %rows = arith.constant 64 : i32
  %up = arith.addi %n, %last : i32
  %count = arith.divui %up, %rows : i32
  %zero = tile.fill 0.0 : !tile.frag<64x32xf32, acc>
  %r = tile.for_tiles %t = 0 to %count init(%c = %zero : !tile.frag<64x32xf32, acc>) schedule(@ahead) {
    tile.step @fetch { tile.fetch %ring[%t] : !tile.ring<64x128xbf16> }
    %x = tile.step @scores -> !tile.frag<64x32xf32, acc> {
      %read = tile.read %ring[%t] : !tile.ring<64x128xbf16> -> !tile.frag<64x128xbf16, lhs>
      %m = tile.mask %c tile(%t) below(%n) diagonal(%n) : !tile.frag<64x32xf32, acc>
      tile.yield %m : !tile.frag<64x32xf32, acc>
    }
    tile.yield %x : !tile.frag<64x32xf32, acc>
  }
}

// -----

// Tiles that were counted from something else, of another size: nothing is known.
tile.schedule @ahead {
  tile.cluster memory { fetch(1) }
  tile.cluster compute { scores(0) }
}

// CHECK-LABEL: tile.kernel @unknown
// CHECK: scf.while
// CHECK: tile.mask
// CHECK: scf.condition
tile.kernel @unknown(%k: !tile.view<?x?x?x128xbf16>, %n: i32) target("gfx950") waves(8) {
  %ring = tile.ring %k[%n, %n] : !tile.view<?x?x?x128xbf16> -> !tile.ring<64x128xbf16>
  %last = arith.constant 31 : i32
  %rows = arith.constant 32 : i32
  %up = arith.addi %n, %last : i32
  %count = arith.divui %up, %rows : i32
  %zero = tile.fill 0.0 : !tile.frag<64x32xf32, acc>
  %r = tile.for_tiles %t = 0 to %count init(%c = %zero : !tile.frag<64x32xf32, acc>) schedule(@ahead) {
    tile.step @fetch { tile.fetch %ring[%t] : !tile.ring<64x128xbf16> }
    %x = tile.step @scores -> !tile.frag<64x32xf32, acc> {
      %read = tile.read %ring[%t] : !tile.ring<64x128xbf16> -> !tile.frag<64x128xbf16, lhs>
      %m = tile.mask %c tile(%t) below(%n) : !tile.frag<64x32xf32, acc>
      tile.yield %m : !tile.frag<64x32xf32, acc>
    }
    tile.yield %x : !tile.frag<64x32xf32, acc>
  }
}

// -----

// Masks of an operand's depth, likewise.
tile.schedule @ahead {
  tile.cluster memory { fetch(1) }
  tile.cluster compute { operand(0) }
}

// CHECK-LABEL: tile.kernel @depth
// CHECK: scf.while
// CHECK-NOT: tile.mask_depth
// CHECK: scf.condition
// CHECK: tile.mask_depth
// CHECK: scf.if
// CHECK: tile.mask_depth
// CHECK-NOT: tile.mask_depth
tile.kernel @depth(%a: !tile.view<?x?xbf16>, %n: i32) target("gfx950") waves(8) {
  %ring = tile.ring %a[%n] by_columns : !tile.view<?x?xbf16> -> !tile.ring<256x64xbf16>
  %last = arith.constant 63 : i32
  %depth = arith.constant 64 : i32
  %up = arith.addi %n, %last : i32
  %count = arith.divui %up, %depth : i32
  %zero = tile.fill 0.0 : !tile.frag<64x256xbf16, rhs>
  %r = tile.for_tiles %t = 0 to %count init(%c = %zero : !tile.frag<64x256xbf16, rhs>) schedule(@ahead) {
    tile.step @fetch { tile.fetch %ring[%t] : !tile.ring<256x64xbf16> }
    %x = tile.step @operand -> !tile.frag<64x256xbf16, rhs> {
      %read = tile.read %ring[%t] : !tile.ring<256x64xbf16> -> !tile.frag<64x256xbf16, rhs>
      %m = tile.mask_depth %read tile(%t) below(%n) : !tile.frag<64x256xbf16, rhs>
      tile.yield %m : !tile.frag<64x256xbf16, rhs>
    }
    tile.yield %x : !tile.frag<64x256xbf16, rhs>
  }
}

// -----

// Tiles that were counted otherwise may all be cut.
tile.schedule @ahead {
  tile.cluster memory { fetch(1) }
  tile.cluster compute { operand(0) }
}

// CHECK-LABEL: tile.kernel @other_depth
// CHECK: scf.while
// CHECK: tile.mask_depth
// CHECK: scf.condition
tile.kernel @other_depth(%a: !tile.view<?x?xbf16>, %n: i32) target("gfx950") waves(8) {
  %ring = tile.ring %a[%n] by_columns : !tile.view<?x?xbf16> -> !tile.ring<256x64xbf16>
  %last = arith.constant 31 : i32
  %depth = arith.constant 32 : i32
  %up = arith.addi %n, %last : i32
  %count = arith.divui %up, %depth : i32
  %zero = tile.fill 0.0 : !tile.frag<64x256xbf16, rhs>
  %r = tile.for_tiles %t = 0 to %count init(%c = %zero : !tile.frag<64x256xbf16, rhs>) schedule(@ahead) {
    tile.step @fetch { tile.fetch %ring[%t] : !tile.ring<256x64xbf16> }
    %x = tile.step @operand -> !tile.frag<64x256xbf16, rhs> {
      %read = tile.read %ring[%t] : !tile.ring<256x64xbf16> -> !tile.frag<64x256xbf16, rhs>
      %m = tile.mask_depth %read tile(%t) below(%n) : !tile.frag<64x256xbf16, rhs>
      tile.yield %m : !tile.frag<64x256xbf16, rhs>
    }
    tile.yield %x : !tile.frag<64x256xbf16, rhs>
  }
}

// -----

// A diagonal from a wave's row, and tiles that are counted to where the workgroup's last row ends: with 66 rows and tiles of
// 64 keys it cuts the last two alone. The steady state is two tiles ahead of the end, so that it has no mask; with more
// than 66 it would have one.
tile.schedule @far_ahead {
  tile.cluster memory { fetch(2) }
  tile.cluster compute { scores(0) }
}

// CHECK-LABEL: tile.kernel @diagonal_of_rows
// CHECK: scf.while
// CHECK-NOT: tile.mask
// CHECK: scf.condition
// CHECK-COUNT-2: tile.mask
// CHECK-LABEL: tile.kernel @diagonal_of_more_rows
// CHECK: scf.while
// CHECK: tile.mask
// CHECK: scf.condition
tile.kernel @diagonal_of_rows(%k: !tile.view<?x?x?x128xbf16>, %row: i32, %keys: i32, %shift: i32) target("gfx950") waves(1) {
  %ring = tile.ring %k[%row, %row] : !tile.view<?x?x?x128xbf16> -> !tile.ring<64x128xbf16>
  %wave_row = tile.wave_row %row rows(32)
  %diagonal = arith.addi %wave_row, %shift : i32
  %none = arith.constant 0 : i32
  %last = arith.constant 63 : i32
  %tile = arith.constant 64 : i32
  %rows = arith.constant 66 : i32
  %next = arith.addi %row, %rows : i32
  %beyond = arith.addi %next, %shift : i32
  %most = arith.maxsi %beyond, %none : i32
  %least = arith.minsi %most, %keys : i32
  %up = arith.addi %least, %last : i32
  %count = arith.divui %up, %tile : i32
  %zero = tile.fill 0.0 : !tile.frag<64x32xf32, acc>
  %r = tile.for_tiles %t = 0 to %count init(%c = %zero : !tile.frag<64x32xf32, acc>) schedule(@far_ahead) {
    tile.step @fetch { tile.fetch %ring[%t] : !tile.ring<64x128xbf16> }
    %x = tile.step @scores -> !tile.frag<64x32xf32, acc> {
      %read = tile.read %ring[%t] : !tile.ring<64x128xbf16> -> !tile.frag<64x128xbf16, lhs>
      %m = tile.mask %c tile(%t) below(%keys) diagonal(%diagonal) : !tile.frag<64x32xf32, acc>
      tile.yield %m : !tile.frag<64x32xf32, acc>
    }
    tile.yield %x : !tile.frag<64x32xf32, acc>
  }
}

tile.kernel @diagonal_of_more_rows(%k: !tile.view<?x?x?x128xbf16>, %row: i32, %keys: i32, %shift: i32) target("gfx950") waves(1) {
  %ring = tile.ring %k[%row, %row] : !tile.view<?x?x?x128xbf16> -> !tile.ring<64x128xbf16>
  %wave_row = tile.wave_row %row rows(32)
  %diagonal = arith.addi %wave_row, %shift : i32
  %none = arith.constant 0 : i32
  %last = arith.constant 63 : i32
  %tile = arith.constant 64 : i32
  %rows = arith.constant 67 : i32
  %next = arith.addi %row, %rows : i32
  %beyond = arith.addi %next, %shift : i32
  %most = arith.maxsi %beyond, %none : i32
  %least = arith.minsi %most, %keys : i32
  %up = arith.addi %least, %last : i32
  %count = arith.divui %up, %tile : i32
  %zero = tile.fill 0.0 : !tile.frag<64x32xf32, acc>
  %r = tile.for_tiles %t = 0 to %count init(%c = %zero : !tile.frag<64x32xf32, acc>) schedule(@far_ahead) {
    tile.step @fetch { tile.fetch %ring[%t] : !tile.ring<64x128xbf16> }
    %x = tile.step @scores -> !tile.frag<64x32xf32, acc> {
      %read = tile.read %ring[%t] : !tile.ring<64x128xbf16> -> !tile.frag<64x128xbf16, lhs>
      %m = tile.mask %c tile(%t) below(%keys) diagonal(%diagonal) : !tile.frag<64x32xf32, acc>
      tile.yield %m : !tile.frag<64x32xf32, acc>
    }
    tile.yield %x : !tile.frag<64x32xf32, acc>
  }
}
