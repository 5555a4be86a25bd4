// tile-pipeline leaves masks out of copies of an iteration for tiles of which the loop says that their bounds leave
// them whole. It reads nothing else: how tiles are counted is not looked at.
// RUN: hocket-opt %s --tile-pipeline -split-input-file | FileCheck %s

// Each loop becomes, in this order: the steady loop, and a copy for the last tile.
tile.schedule @ahead {
  tile.cluster memory { fetch(1) }
  tile.cluster compute { scores(0) }
}

// A bound that lies in the last tile cuts that alone.
// CHECK-LABEL: tile.kernel @last
// CHECK: scf.while
// CHECK-NOT: tile.mask
// CHECK: scf.condition
// CHECK: tile.mask
// CHECK-NOT: tile.mask
tile.kernel @last(%k: !tile.view<?x?x?x128xbf16>, %n: i32, %count: i32) target("gfx950") waves(8) {
  %ring = tile.ring %k[%n, %n] : !tile.view<?x?x?x128xbf16> -> !tile.ring<64x128xbf16>
  %zero = tile.fill 0.0 : !tile.frag<64x32xf32, acc>
  %r = tile.for_tiles %t = 0 to %count cut_right(%n within 0) init(%c = %zero : !tile.frag<64x32xf32, acc>) schedule(@ahead) {
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

// A bound that the loop does not list may cut any tile, whatever others do.
tile.schedule @ahead {
  tile.cluster memory { fetch(1) }
  tile.cluster compute { scores(0) }
}

// CHECK-LABEL: tile.kernel @unlisted
// CHECK-NOT: rarely_cuts
// CHECK: scf.while
// CHECK: tile.mask
// CHECK: scf.condition
// CHECK: tile.mask
tile.kernel @unlisted(%k: !tile.view<?x?x?x128xbf16>, %n: i32, %d: i32, %count: i32) target("gfx950") waves(8) {
  %ring = tile.ring %k[%n, %n] : !tile.view<?x?x?x128xbf16> -> !tile.ring<64x128xbf16>
  %zero = tile.fill 0.0 : !tile.frag<64x32xf32, acc>
  %r = tile.for_tiles %t = 0 to %count cut_right(%n within 0) init(%c = %zero : !tile.frag<64x32xf32, acc>) schedule(@ahead) {
    tile.step @fetch { tile.fetch %ring[%t] : !tile.ring<64x128xbf16> }
    %x = tile.step @scores -> !tile.frag<64x32xf32, acc> {
      %read = tile.read %ring[%t] : !tile.ring<64x128xbf16> -> !tile.frag<64x128xbf16, lhs>
      %m = tile.mask %c tile(%t) below(%n) diagonal(%d) : !tile.frag<64x32xf32, acc>
      tile.yield %m : !tile.frag<64x32xf32, acc>
    }
    tile.yield %x : !tile.frag<64x32xf32, acc>
  }
}

// -----

// Without a clause nothing is known.
tile.schedule @ahead {
  tile.cluster memory { fetch(1) }
  tile.cluster compute { scores(0) }
}

// CHECK-LABEL: tile.kernel @unknown
// CHECK: scf.while
// CHECK: tile.mask
// CHECK: scf.condition
tile.kernel @unknown(%k: !tile.view<?x?x?x128xbf16>, %n: i32, %count: i32) target("gfx950") waves(8) {
  %ring = tile.ring %k[%n, %n] : !tile.view<?x?x?x128xbf16> -> !tile.ring<64x128xbf16>
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
// CHECK-NOT: tile.mask_depth
tile.kernel @depth(%a: !tile.view<?x?xbf16>, %n: i32, %count: i32) target("gfx950") waves(8) {
  %ring = tile.ring %a[%n] by_columns : !tile.view<?x?xbf16> -> !tile.ring<256x64xbf16>
  %zero = tile.fill 0.0 : !tile.frag<64x256xbf16, rhs>
  %r = tile.for_tiles %t = 0 to %count cut_right(%n within 0) init(%c = %zero : !tile.frag<64x256xbf16, rhs>) schedule(@ahead) {
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

// Likewise.
tile.schedule @ahead {
  tile.cluster memory { fetch(1) }
  tile.cluster compute { operand(0) }
}

// CHECK-LABEL: tile.kernel @other_depth
// CHECK: scf.while
// CHECK: tile.mask_depth
// CHECK: scf.condition
tile.kernel @other_depth(%a: !tile.view<?x?xbf16>, %n: i32, %count: i32) target("gfx950") waves(8) {
  %ring = tile.ring %a[%n] by_columns : !tile.view<?x?xbf16> -> !tile.ring<256x64xbf16>
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

// A bound that reaches 1 place into tiles of 64 keys cuts the last alone; within 2 it may cut the one before, which
// the steady loop runs. It leaves most of the loop's tiles whole, which the mask says there, and not behind it.
tile.schedule @far_ahead {
  tile.cluster memory { fetch(2) }
  tile.cluster compute { scores(0) }
}

// CHECK-LABEL: tile.kernel @within_1
// CHECK: scf.while
// CHECK-NOT: tile.mask
// CHECK: scf.condition
// CHECK: tile.mask
// CHECK-LABEL: tile.kernel @within_2
// CHECK: scf.while
// CHECK: tile.mask {{.*}}rarely_cuts
// CHECK: scf.condition
// CHECK-NOT: rarely_cuts
tile.kernel @within_1(%k: !tile.view<?x?x?x128xbf16>, %keys: i32, %diagonal: i32, %count: i32) target("gfx950") waves(1) {
  %ring = tile.ring %k[%keys, %keys] : !tile.view<?x?x?x128xbf16> -> !tile.ring<64x128xbf16>
  %zero = tile.fill 0.0 : !tile.frag<64x32xf32, acc>
  %r = tile.for_tiles %t = 0 to %count cut_right(%keys within 0, %diagonal within 1)
      init(%c = %zero : !tile.frag<64x32xf32, acc>) schedule(@far_ahead) {
    tile.step @fetch { tile.fetch %ring[%t] : !tile.ring<64x128xbf16> }
    %x = tile.step @scores -> !tile.frag<64x32xf32, acc> {
      %read = tile.read %ring[%t] : !tile.ring<64x128xbf16> -> !tile.frag<64x128xbf16, lhs>
      %m = tile.mask %c tile(%t) below(%keys) diagonal(%diagonal) : !tile.frag<64x32xf32, acc>
      tile.yield %m : !tile.frag<64x32xf32, acc>
    }
    tile.yield %x : !tile.frag<64x32xf32, acc>
  }
}

tile.kernel @within_2(%k: !tile.view<?x?x?x128xbf16>, %keys: i32, %diagonal: i32, %count: i32) target("gfx950") waves(1) {
  %ring = tile.ring %k[%keys, %keys] : !tile.view<?x?x?x128xbf16> -> !tile.ring<64x128xbf16>
  %zero = tile.fill 0.0 : !tile.frag<64x32xf32, acc>
  %r = tile.for_tiles %t = 0 to %count cut_right(%keys within 0, %diagonal within 2)
      init(%c = %zero : !tile.frag<64x32xf32, acc>) schedule(@far_ahead) {
    tile.step @fetch { tile.fetch %ring[%t] : !tile.ring<64x128xbf16> }
    %x = tile.step @scores -> !tile.frag<64x32xf32, acc> {
      %read = tile.read %ring[%t] : !tile.ring<64x128xbf16> -> !tile.frag<64x128xbf16, lhs>
      %m = tile.mask %c tile(%t) below(%keys) diagonal(%diagonal) : !tile.frag<64x32xf32, acc>
      tile.yield %m : !tile.frag<64x32xf32, acc>
    }
    tile.yield %x : !tile.frag<64x32xf32, acc>
  }
}
// -----

// A promise about tiles holds for masks of the loop's tiles alone: this one counts otherwise. And a bound that cuts on
// the left says nothing about the right.
tile.schedule @ahead {
  tile.cluster memory { fetch(1) }
  tile.cluster compute { scores(0) }
}

// CHECK-LABEL: tile.kernel @of_another_tile
// CHECK: scf.while
// CHECK: tile.mask
// CHECK: scf.condition
// CHECK-LABEL: tile.kernel @on_the_left
// CHECK: scf.while
// CHECK: tile.mask
// CHECK: scf.condition
tile.kernel @of_another_tile(%k: !tile.view<?x?x?x128xbf16>, %n: i32, %other: i32, %count: i32) target("gfx950") waves(8) {
  %ring = tile.ring %k[%n, %n] : !tile.view<?x?x?x128xbf16> -> !tile.ring<64x128xbf16>
  %zero = tile.fill 0.0 : !tile.frag<64x32xf32, acc>
  %r = tile.for_tiles %t = 0 to %count cut_right(%n within 0) init(%c = %zero : !tile.frag<64x32xf32, acc>) schedule(@ahead) {
    tile.step @fetch { tile.fetch %ring[%t] : !tile.ring<64x128xbf16> }
    %x = tile.step @scores -> !tile.frag<64x32xf32, acc> {
      %read = tile.read %ring[%t] : !tile.ring<64x128xbf16> -> !tile.frag<64x128xbf16, lhs>
      %m = tile.mask %c tile(%other) below(%n) : !tile.frag<64x32xf32, acc>
      tile.yield %m : !tile.frag<64x32xf32, acc>
    }
    tile.yield %x : !tile.frag<64x32xf32, acc>
  }
}

tile.kernel @on_the_left(%k: !tile.view<?x?x?x128xbf16>, %n: i32, %count: i32) target("gfx950") waves(8) {
  %ring = tile.ring %k[%n, %n] : !tile.view<?x?x?x128xbf16> -> !tile.ring<64x128xbf16>
  %zero = tile.fill 0.0 : !tile.frag<64x32xf32, acc>
  %r = tile.for_tiles %t = 0 to %count cut_left(%n within 0) init(%c = %zero : !tile.frag<64x32xf32, acc>) schedule(@ahead) {
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

// Tiles that masks may cut have a loop of their own where the schedule says so: of 256 rows from the diagonal on that
// reach into 5 tiles of 64 the last is written out, so 4 turns are left.
tile.schedule @apart unroll(2) masks_apart {
  tile.cluster memory { fetch(1) }
  tile.cluster compute { scores(0) }
}

// CHECK-LABEL: tile.kernel @at_the_end
// CHECK: %[[FOUR:.*]] = arith.constant -4
// CHECK: %[[LEFT:.*]] = arith.addi %{{.*}}, %[[FOUR]]
// CHECK: arith.maxsi %[[LEFT]]
// CHECK: scf.while
// CHECK-NOT: tile.mask
// CHECK: scf.condition
// CHECK: scf.while
// CHECK-NOT: rarely_cuts
// CHECK-COUNT-2: tile.mask
// CHECK: scf.condition
tile.kernel @at_the_end(%k: !tile.view<?x?x?x128xbf16>, %n: i32, %d: i32, %count: i32) target("gfx950") waves(8) {
  %ring = tile.ring %k[%n, %n] : !tile.view<?x?x?x128xbf16> -> !tile.ring<64x128xbf16>
  %zero = tile.fill 0.0 : !tile.frag<64x32xf32, acc>
  %r = tile.for_tiles %t = 0 to %count cut_right(%n within 0, %d within 255) init(%c = %zero : !tile.frag<64x32xf32, acc>) schedule(@apart) {
    tile.step @fetch { tile.fetch %ring[%t] : !tile.ring<64x128xbf16> }
    %x = tile.step @scores -> !tile.frag<64x32xf32, acc> {
      %read = tile.read %ring[%t] : !tile.ring<64x128xbf16> -> !tile.frag<64x128xbf16, lhs>
      %m = tile.mask %c tile(%t) below(%n) diagonal(%d) : !tile.frag<64x32xf32, acc>
      tile.yield %m : !tile.frag<64x32xf32, acc>
    }
    tile.yield %x : !tile.frag<64x32xf32, acc>
  }
}

// -----

// And in front: 64 rows from any place of the first tile on reach into two.
tile.schedule @apart unroll(2) masks_apart {
  tile.cluster memory { fetch(1) }
  tile.cluster compute { scores(0) }
}

// CHECK-LABEL: tile.kernel @in_front
// CHECK: %[[TWO:.*]] = arith.constant 2
// CHECK: arith.minsi %[[TWO]]
// CHECK: scf.while
// CHECK-COUNT-2: tile.mask
// CHECK: scf.condition
// CHECK: scf.while
// CHECK-NOT: tile.mask
// CHECK: scf.condition
tile.kernel @in_front(%k: !tile.view<?x?x?x128xbf16>, %n: i32, %d: i32, %count: i32) target("gfx950") waves(8) {
  %ring = tile.ring %k[%n, %n] : !tile.view<?x?x?x128xbf16> -> !tile.ring<64x128xbf16>
  %zero = tile.fill 0.0 : !tile.frag<64x32xf32, acc>
  %r = tile.for_tiles %t = 0 to %count cut_left(%d within 63) cut_right(%n within 0) init(%c = %zero : !tile.frag<64x32xf32, acc>) schedule(@apart) {
    tile.step @fetch { tile.fetch %ring[%t] : !tile.ring<64x128xbf16> }
    %x = tile.step @scores -> !tile.frag<64x32xf32, acc> {
      %read = tile.read %ring[%t] : !tile.ring<64x128xbf16> -> !tile.frag<64x128xbf16, lhs>
      %m = tile.mask %c tile(%t) below(%n) above(%d) : !tile.frag<64x32xf32, acc>
      tile.yield %m : !tile.frag<64x32xf32, acc>
    }
    tile.yield %x : !tile.frag<64x32xf32, acc>
  }
}

// -----

// Windows are cut at both ends, and may have no tile between.
tile.schedule @ahead {
  tile.cluster memory { fetch(1) }
  tile.cluster compute { scores(0) }
}

// CHECK-LABEL: tile.kernel @window
// CHECK-NOT: rarely_cuts
// CHECK: scf.while
// CHECK: tile.mask
// CHECK: scf.condition
tile.kernel @window(%k: !tile.view<?x?x?x128xbf16>, %n: i32, %d: i32, %count: i32) target("gfx950") waves(8) {
  %ring = tile.ring %k[%n, %n] : !tile.view<?x?x?x128xbf16> -> !tile.ring<64x128xbf16>
  %zero = tile.fill 0.0 : !tile.frag<64x32xf32, acc>
  %r = tile.for_tiles %t = 0 to %count cut_left(%d within 63) cut_right(%n within 255) init(%c = %zero : !tile.frag<64x32xf32, acc>) schedule(@ahead) {
    tile.step @fetch { tile.fetch %ring[%t] : !tile.ring<64x128xbf16> }
    %x = tile.step @scores -> !tile.frag<64x32xf32, acc> {
      %read = tile.read %ring[%t] : !tile.ring<64x128xbf16> -> !tile.frag<64x128xbf16, lhs>
      %m = tile.mask %c tile(%t) below(%n) above(%d) : !tile.frag<64x32xf32, acc>
      tile.yield %m : !tile.frag<64x32xf32, acc>
    }
    tile.yield %x : !tile.frag<64x32xf32, acc>
  }
}

// -----

// Masks that reach so far that hardly anything lies between have one loop.
tile.schedule @apart unroll(2) masks_apart {
  tile.cluster memory { fetch(1) }
  tile.cluster compute { scores(0) }
}

// CHECK-LABEL: tile.kernel @everywhere
// CHECK-COUNT-1: scf.while
// CHECK-NOT: scf.while
tile.kernel @everywhere(%k: !tile.view<?x?x?x128xbf16>, %n: i32, %d: i32, %count: i32) target("gfx950") waves(8) {
  %ring = tile.ring %k[%n, %n] : !tile.view<?x?x?x128xbf16> -> !tile.ring<64x128xbf16>
  %zero = tile.fill 0.0 : !tile.frag<64x32xf32, acc>
  %r = tile.for_tiles %t = 0 to %count cut_right(%n within 0, %d within 100000) init(%c = %zero : !tile.frag<64x32xf32, acc>) schedule(@apart) {
    tile.step @fetch { tile.fetch %ring[%t] : !tile.ring<64x128xbf16> }
    %x = tile.step @scores -> !tile.frag<64x32xf32, acc> {
      %read = tile.read %ring[%t] : !tile.ring<64x128xbf16> -> !tile.frag<64x128xbf16, lhs>
      %m = tile.mask %c tile(%t) below(%n) diagonal(%d) : !tile.frag<64x32xf32, acc>
      tile.yield %m : !tile.frag<64x32xf32, acc>
    }
    tile.yield %x : !tile.frag<64x32xf32, acc>
  }
}

// -----

// A tile of another number, that rises with the loop's, is whole where the loop's is; of any other number nothing is known.
tile.schedule @ahead {
  tile.cluster memory { fetch(1) }
  tile.cluster compute { scores(0) }
}

// CHECK-LABEL: tile.kernel @rising
// CHECK: scf.while
// CHECK-NOT: tile.mask {{.*}}rises_with_loop
// CHECK: tile.mask
// CHECK-NOT: tile.mask
// CHECK: scf.condition
// CHECK: tile.mask {{.*}}rises_with_loop
// CHECK: tile.mask
tile.kernel @rising(%k: !tile.view<?x?x?x128xbf16>, %n: i32, %gap: i32, %count: i32) target("gfx950") waves(8) {
  %ring = tile.ring %k[%n, %n] : !tile.view<?x?x?x128xbf16> -> !tile.ring<64x128xbf16>
  %zero = tile.fill 0.0 : !tile.frag<64x32xf32, acc>
  %r = tile.for_tiles %t = 0 to %count cut_right(%n within 0) init(%c = %zero : !tile.frag<64x32xf32, acc>) schedule(@ahead) {
    tile.step @fetch { tile.fetch %ring[%t] : !tile.ring<64x128xbf16> }
    %x = tile.step @scores -> !tile.frag<64x32xf32, acc> {
      %read = tile.read %ring[%t] : !tile.ring<64x128xbf16> -> !tile.frag<64x128xbf16, lhs>
      %later = arith.addi %t, %gap : i32
      %m = tile.mask %c tile(%later) below(%n) {tile.rises_with_loop} : !tile.frag<64x32xf32, acc>
      %other = tile.mask %m tile(%later) below(%n) : !tile.frag<64x32xf32, acc>
      tile.yield %other : !tile.frag<64x32xf32, acc>
    }
    tile.yield %x : !tile.frag<64x32xf32, acc>
  }
}
