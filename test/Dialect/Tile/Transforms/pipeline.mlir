// tile-pipeline places steps as the schedule says.
// RUN: hocket-opt %s --tile-pipeline -split-input-file | FileCheck %s
// RUN: sed 's/compute { use(-1) rescale/compute interleave("none") { use(-1) rescale/' %s \
// RUN:   | hocket-opt --tile-pipeline -split-input-file | FileCheck %s --check-prefix=BY-LLVM

tile.schedule @by_halves {
  tile.cluster memory { fetch(0) }
  tile.cluster compute { read(0) use(0) }
}

// Steps stand in the order of the clusters, every cluster ends in a barrier, and the ring has the
// depth and the slot that this takes.
// CHECK-LABEL: tile.kernel @places
// CHECK: %[[RING:.*]] = tile.ring %{{.*}} depth(1) :
// CHECK-NOT: tile.for_tiles
// CHECK: %[[ZERO:.*]] = arith.constant 0 : i32
// CHECK: %[[ONE:.*]] = arith.constant 1 : i32
// CHECK: scf.for %[[T:.*]] = %[[ZERO]] to %{{.*}} step %[[ONE]] iter_args(%[[SUM:.*]] = %{{.*}}) -> (!tile.rows<32xf32>)
// CHECK: tile.step @fetch
// CHECK-NEXT: tile.fetch %[[RING]][%[[T]]] slot(%{{.*}})
// CHECK-NEXT: }
// CHECK-NEXT: tile.await fetches
// CHECK-NEXT: tile.barrier
// CHECK: tile.step @read
// CHECK-NEXT: tile.read %[[RING]][%[[T]]] slot(%{{.*}})
// CHECK: %[[NEXT:.*]] = tile.step @use
// CHECK: tile.await reads
// CHECK-NEXT: tile.barrier
// CHECK-NEXT: scf.yield %[[NEXT]] : !tile.rows<32xf32>
tile.kernel @places(%k: !tile.view<?x?x?x128xbf16>, %n: i32) target("gfx950") waves(8) {
  %ring = tile.ring %k[%n, %n] : !tile.view<?x?x?x128xbf16> -> !tile.ring<64x128xbf16>
  %zero = tile.fill 0.0 : !tile.rows<32xf32>
  %sum = tile.for_tiles %t = 0 to %n init(%carried = %zero : !tile.rows<32xf32>) schedule(@by_halves) {
    tile.step @fetch { tile.fetch %ring[%t] : !tile.ring<64x128xbf16> }
    tile.step @read {
      %x = tile.read %ring[%t] : !tile.ring<64x128xbf16> -> !tile.frag<64x128xbf16, lhs>
    }
    %next = tile.step @use -> !tile.rows<32xf32> {
      %x = tile.unify %carried : !tile.rows<32xf32>
      tile.yield %x : !tile.rows<32xf32>
    }
    tile.yield %next : !tile.rows<32xf32>
  }
}

// -----

// Joined clusters are entered one by one, each with its priority, and have one barrier behind the last. What was read
// beneath the first is waited for where that ends.
tile.schedule @joined {
  tile.cluster memory { fetch(+1) read(0) }
  tile.cluster joined compute priority(1) { use(0) }
}
// CHECK-LABEL: tile.kernel @joins
// CHECK: scf.while
// CHECK-NEXT: tile.enter memory priority(0)
// CHECK: tile.step @fetch
// CHECK-NOT: tile.barrier
// CHECK: tile.step @read
// CHECK-NOT: tile.barrier
// CHECK: tile.await reads
// CHECK-NEXT: tile.fence
// CHECK-NOT: tile.barrier
// CHECK: tile.enter compute priority(1)
// CHECK: tile.step @use
// CHECK: tile.await fetches{{.*}} reads
// CHECK-NEXT: tile.barrier
tile.kernel @joins(%k: !tile.view<?x?x?x128xbf16>, %n: i32) target("gfx950") waves(8) {
  %ring = tile.ring %k[%n, %n] : !tile.view<?x?x?x128xbf16> -> !tile.ring<64x128xbf16>
  %zero = tile.fill 0.0 : !tile.rows<32xf32>
  %sum = tile.for_tiles %t = 0 to %n init(%carried = %zero : !tile.rows<32xf32>) schedule(@joined) {
    tile.step @fetch { tile.fetch %ring[%t] : !tile.ring<64x128xbf16> }
    tile.step @read {
      %x = tile.read %ring[%t] : !tile.ring<64x128xbf16> -> !tile.frag<64x128xbf16, lhs>
    }
    %next = tile.step @use -> !tile.rows<32xf32> {
      %x = tile.unify %carried : !tile.rows<32xf32>
      tile.yield %x : !tile.rows<32xf32>
    }
    tile.yield %next : !tile.rows<32xf32>
  }
}

// -----

// The schedule, not the text, orders independent steps.
tile.schedule @turned {
  tile.cluster compute { b(0) a(0) }
}
// Waves that share no tile meet at no barrier.
// CHECK-LABEL: tile.kernel @order
// CHECK: tile.step @b
// CHECK: tile.step @a
// CHECK-NOT: tile.barrier
tile.kernel @order(%n: i32) target("gfx950") waves(1) {
  tile.for_tiles %t = 0 to %n schedule(@turned) {
    tile.step @a { }
    tile.step @b { }
  }
}

// -----

// A step ahead takes an entry, which brings the first tile and is waited for once, a steady loop, a copy of its own
// for the last tile, behind which nobody need meet, and a second slot. There may be no tile: what the entry brings is
// waited for in any case.
tile.schedule @ahead {
  tile.cluster compute { fetch(+1) read(0) }
}
// CHECK-LABEL: tile.kernel @overlap
// CHECK: tile.ring %{{.*}} depth(2)
// CHECK-NOT: scf.if
// CHECK: tile.step @fetch
// CHECK: tile.await fetches
// CHECK-NEXT: tile.barrier
// CHECK-NOT: tile.step
// CHECK: arith.cmpi sgt
// CHECK: scf.if
// CHECK: scf.while
// CHECK: tile.step @fetch
// CHECK: tile.step @read
// CHECK: tile.await fetches reads
// CHECK-NEXT: tile.barrier
// CHECK: tile.enter compute
// CHECK-NOT: tile.step @fetch
// CHECK: tile.step @read
// CHECK: tile.await reads
// CHECK-NOT: tile.barrier
// CHECK-LABEL: tile.kernel @far
tile.kernel @overlap(%k: !tile.view<?x?x?x128xbf16>, %n: i32) target("gfx950") waves(8) {
  %ring = tile.ring %k[%n, %n] : !tile.view<?x?x?x128xbf16> -> !tile.ring<64x128xbf16>
  tile.for_tiles %t = 0 to %n schedule(@ahead) {
    tile.step @fetch { tile.fetch %ring[%t] : !tile.ring<64x128xbf16> }
    tile.step @read {
      %x = tile.read %ring[%t] : !tile.ring<64x128xbf16> -> !tile.frag<64x128xbf16, lhs>
    }
  }
}

// -----

// Two steps ahead: a fetch of a tile that does not exist does no harm, so that one tile takes the same way as many.
tile.schedule @far_ahead {
  tile.cluster compute { fetch(+2) read(0) }
}
// CHECK: tile.ring %{{.*}} depth(3)
// CHECK: tile.step @fetch
// CHECK: tile.step @fetch
// CHECK: scf.while
// CHECK-NOT: scf.for
tile.kernel @far(%k: !tile.view<?x?x?x128xbf16>, %n: i32) target("gfx950") waves(8) {
  %ring = tile.ring %k[%n, %n] : !tile.view<?x?x?x128xbf16> -> !tile.ring<64x128xbf16>
  tile.for_tiles %t = 0 to %n schedule(@far_ahead) {
    tile.step @fetch { tile.fetch %ring[%t] : !tile.ring<64x128xbf16> }
    tile.step @read {
      %x = tile.read %ring[%t] : !tile.ring<64x128xbf16> -> !tile.frag<64x128xbf16, lhs>
    }
  }
}

// -----

// Of pairs one iteration is left over at most: a branch, not a loop.
tile.schedule @pairs unroll(2) {
  tile.cluster compute { fetch(+1) read(0) }
}
// CHECK-LABEL: tile.kernel @pairs_left
// CHECK: %[[ANY:.*]] = arith.cmpi sge
// CHECK: scf.if %[[ANY]]
// CHECK: scf.while
// CHECK: } else {
// CHECK-NEXT: }
// CHECK: %[[LEFT:.*]] = arith.cmpi slt
// CHECK-NEXT: scf.if %[[LEFT]] {
// CHECK: tile.step @fetch
// CHECK: tile.step @read
// CHECK: tile.step @read
// CHECK: } else {
tile.kernel @pairs_left(%k: !tile.view<?x?x?x128xbf16>, %n: i32) target("gfx950") waves(8) {
  %ring = tile.ring %k[%n, %n] : !tile.view<?x?x?x128xbf16> -> !tile.ring<64x128xbf16>
  tile.for_tiles %t = 0 to %n schedule(@pairs) {
    tile.step @fetch { tile.fetch %ring[%t] : !tile.ring<64x128xbf16> }
    tile.step @read {
      %x = tile.read %ring[%t] : !tile.ring<64x128xbf16> -> !tile.frag<64x128xbf16, lhs>
    }
  }
}

// -----

// Of threes two may be left over: two branches, one in the other, whose slots are known.
tile.schedule @threes unroll(3) {
  tile.cluster compute { fetch(+2) read(0) }
}
// CHECK-LABEL: tile.kernel @threes_left
// CHECK: scf.while
// CHECK: } else {
// CHECK-NOT: scf.for
// CHECK: %[[LEFT:.*]] = arith.cmpi slt, %[[FIRST:.*]], %[[END:.*]] : i32
// CHECK-NEXT: scf.if %[[LEFT]] {
// CHECK-NOT: arith.rem
// CHECK: tile.step @fetch
// CHECK: tile.step @read
// CHECK: %[[SECOND:.*]] = arith.addi %[[FIRST]],
// CHECK-NEXT: %[[MORE:.*]] = arith.cmpi slt, %[[SECOND]], %[[END]] : i32
// CHECK-NEXT: scf.if %[[MORE]] {
// CHECK-NOT: arith.rem
// CHECK: tile.step @fetch
// CHECK: tile.step @read
// CHECK: } else {
tile.kernel @threes_left(%k: !tile.view<?x?x?x128xbf16>, %n: i32) target("gfx950") waves(8) {
  %ring = tile.ring %k[%n, %n] : !tile.view<?x?x?x128xbf16> -> !tile.ring<64x128xbf16>
  tile.for_tiles %t = 0 to %n schedule(@threes) {
    tile.step @fetch { tile.fetch %ring[%t] : !tile.ring<64x128xbf16> }
    tile.step @read {
      %x = tile.read %ring[%t] : !tile.ring<64x128xbf16> -> !tile.frag<64x128xbf16, lhs>
    }
  }
}

// -----

// A loop may use what a step in front of it has made: that step is no part of the schedule.
tile.schedule @s {
  tile.cluster compute { a(0) }
}
// CHECK-LABEL: tile.kernel @step_before
// CHECK: tile.step @before
// CHECK: scf.for
// CHECK: tile.step @a
tile.kernel @step_before(%n: i32) target("gfx950") waves(1) {
  %x = tile.step @before -> i32 { tile.yield %n : i32 }
  tile.for_tiles %t = 0 to %n schedule(@s) {
    tile.step @a { %y = arith.addi %x, %t : i32 }
  }
}

// -----

// Two loops may follow one schedule.
tile.schedule @s {
  tile.cluster compute { a(0) }
}
// CHECK-LABEL: tile.kernel @two_loops
// CHECK-COUNT-2: scf.for
// CHECK-NOT: tile.for_tiles
tile.kernel @two_loops(%n: i32) target("gfx950") waves(1) {
  tile.for_tiles %t = 0 to %n schedule(@s) {
    tile.step @a { }
  }
  tile.for_tiles %t = 0 to %n schedule(@s) {
    tile.step @a { }
  }
}

// -----

// Does not fire: a kernel without a loop over tiles.
// CHECK-LABEL: tile.kernel @no_loop
// CHECK-NEXT: %{{.*}} = tile.wave_row
// CHECK-NEXT: }
tile.kernel @no_loop(%n: i32) target("gfx950") waves(1) {
  %r = tile.wave_row %n rows(32)
}

// -----

// Two loops over one ring, with schedules of their own: it gets the depth that the deeper one needs, whichever comes
// first, and each loop the slots that it needs itself.
tile.schedule @flat { tile.cluster memory { fetch(0) } tile.cluster compute { read(0) } }
tile.schedule @ahead { tile.cluster compute { fetch(+2) read(0) } }
// CHECK-LABEL: tile.kernel @two_loops
// CHECK: tile.ring %{{.*}} depth(3)
// CHECK: scf.for
// CHECK: tile.step @fetch
// CHECK: scf.while
// CHECK: arith.remui
// CHECK: tile.step @fetch
tile.kernel @two_loops(%k: !tile.view<?x?x?x128xbf16>, %n: i32, %m: i32) target("gfx950") waves(8) {
  %ring = tile.ring %k[%n, %n] : !tile.view<?x?x?x128xbf16> -> !tile.ring<64x128xbf16>
  tile.for_tiles %t = 0 to %n schedule(@flat) {
    tile.step @fetch { tile.fetch %ring[%t] : !tile.ring<64x128xbf16> }
    tile.step @read {
      %x = tile.read %ring[%t] : !tile.ring<64x128xbf16> -> !tile.frag<64x128xbf16, lhs>
    }
  }
  tile.for_tiles %t = 0 to %m schedule(@ahead) {
    tile.step @fetch { tile.fetch %ring[%t] : !tile.ring<64x128xbf16> }
    tile.step @read {
      %x = tile.read %ring[%t] : !tile.ring<64x128xbf16> -> !tile.frag<64x128xbf16, lhs>
    }
  }
}

// -----

// Of a tile of which a wave sees nothing it leaves out all steps but those that bring tiles, where the schedule has them in
// one cluster: what is carried stays, and the wave comes to the barrier. Fetches ahead are for the others, too.
tile.schedule @together { tile.cluster compute { fetch(+1) read(0) add(0) } }
// CHECK-LABEL: tile.kernel @seen
// CHECK: scf.while
// CHECK: tile.step @fetch
// CHECK: %[[BEGUN:.*]] = arith.cmpi sge, %[[TILE:.*]], %from : i32
// CHECK: %[[OPEN:.*]] = arith.cmpi slt, %[[TILE]], %to : i32
// CHECK: %[[SEES:.*]] = arith.andi %[[BEGUN]], %[[OPEN]] : i1
// CHECK: tile.where %[[SEES]] else(%{{.*}} : i32) {
// CHECK: tile.step @read
// CHECK: %[[SUM:.*]] = tile.step @add
// CHECK: tile.yield %[[SUM]] : i32
// CHECK: }
// CHECK: tile.await
// CHECK: tile.barrier
tile.kernel @seen(%k: !tile.view<?x?x?x128xbf16>, %n: i32, %from: i32, %to: i32) target("gfx950") waves(8) {
  %ring = tile.ring %k[%n, %n] : !tile.view<?x?x?x128xbf16> -> !tile.ring<64x128xbf16>
  %r = tile.for_tiles %t = 0 to %n seen(%from to %to) init(%c = %n : i32) schedule(@together) {
    tile.step @fetch { tile.fetch %ring[%t] : !tile.ring<64x128xbf16> }
    tile.step @read {
      %x = tile.read %ring[%t] : !tile.ring<64x128xbf16> -> !tile.frag<64x128xbf16, lhs>
    }
    %a = tile.step @add -> i32 {
      %sum = arith.addi %c, %t : i32
      tile.yield %sum : i32
    }
    tile.yield %a : i32
  }
}

// -----

// Does not fire: steps of one tile in two clusters, where another tile's stand beside them.
tile.schedule @apart { tile.cluster compute { fetch(+1) read(0) } tile.cluster compute { add(0) } }
// CHECK-LABEL: tile.kernel @seen_apart
// CHECK-NOT: tile.where
tile.kernel @seen_apart(%k: !tile.view<?x?x?x128xbf16>, %n: i32, %from: i32, %to: i32) target("gfx950") waves(8) {
  %ring = tile.ring %k[%n, %n] : !tile.view<?x?x?x128xbf16> -> !tile.ring<64x128xbf16>
  %r = tile.for_tiles %t = 0 to %n seen(%from to %to) init(%c = %n : i32) schedule(@apart) {
    tile.step @fetch { tile.fetch %ring[%t] : !tile.ring<64x128xbf16> }
    tile.step @read {
      %x = tile.read %ring[%t] : !tile.ring<64x128xbf16> -> !tile.frag<64x128xbf16, lhs>
    }
    %a = tile.step @add -> i32 {
      %sum = arith.addi %c, %t : i32
      tile.yield %sum : i32
    }
    tile.yield %a : i32
  }
}

// -----

// A step that only begins loads needs no place: it runs a tile ahead of the first that uses it, in front of what the
// cluster does with that tile, and in the entry with what brings tiles. The wait for the fetch lets those loads pass
// that began in a later cluster, four of them, and not those of the same one.
tile.schedule @loads_ahead {
  tile.cluster memory { fetch(+1) }
  tile.cluster compute { other(0) use(0) }
  tile.cluster compute { read(0) }
}
// CHECK-LABEL: tile.kernel @begins_ahead
// CHECK: %[[FIRST:.*]] = tile.step @load -> !tile.pending<!tile.frag<64x32xbf16, acc>>
// CHECK: scf.while {{.*}}%[[FIRST]]
// CHECK: tile.step @fetch
// CHECK: tile.barrier
// CHECK: tile.step @load
// CHECK: tile.step @other
// CHECK: tile.step @use
// CHECK: tile.await fetches but(%{{.*}}) loads(4)
// CHECK: tile.barrier
// CHECK: tile.step @read
tile.kernel @begins_ahead(%k: !tile.view<?x?x?x128xbf16>, %b: !tile.view<?x?xbf16>, %n: i32)
    target("gfx950") waves(8) {
  %ring = tile.ring %k[%n, %n] : !tile.view<?x?x?x128xbf16> -> !tile.ring<64x128xbf16>
  tile.for_tiles %t = 0 to %n schedule(@loads_ahead) {
    tile.step @fetch { tile.fetch %ring[%t] : !tile.ring<64x128xbf16> }
    %pending = tile.step @load -> !tile.pending<!tile.frag<64x32xbf16, acc>> {
      %keys = arith.constant 64 : i32
      %key = arith.muli %t, %keys : i32
      %begun = tile.begin_load %b[%n, %key] tile(%t) : <?x?xbf16> -> <!tile.frag<64x32xbf16, acc>>
      tile.yield %begun : !tile.pending<!tile.frag<64x32xbf16, acc>>
    }
    tile.step @other { }
    tile.step @use {
      %keys = arith.constant 64 : i32
      %key = arith.muli %t, %keys : i32
      %x = tile.end_load %pending tile(%t) : <!tile.frag<64x32xbf16, acc>> -> !tile.frag<64x32xf32, acc>
    }
    tile.step @read {
      %x = tile.read %ring[%t] : !tile.ring<64x128xbf16> -> !tile.frag<64x128xbf16, lhs>
    }
  }
}

// -----

// Where nothing runs ahead, nor do the loads.
tile.schedule @nothing_ahead {
  tile.cluster compute { use(0) }
}
// CHECK-LABEL: tile.kernel @begins_in_turn
// CHECK: scf.for
// CHECK: tile.step @load
// CHECK: tile.step @use
// CHECK-NOT: tile.step
tile.kernel @begins_in_turn(%b: !tile.view<?x?xbf16>, %n: i32) target("gfx950") waves(1) {
  tile.for_tiles %t = 0 to %n schedule(@nothing_ahead) {
    %pending = tile.step @load -> !tile.pending<!tile.frag<64x32xbf16, acc>> {
      %begun = tile.begin_load %b[%n, %t] tile(%t) : <?x?xbf16> -> <!tile.frag<64x32xbf16, acc>>
      tile.yield %begun : !tile.pending<!tile.frag<64x32xbf16, acc>>
    }
    tile.step @use {
      %x = tile.end_load %pending tile(%t) : <!tile.frag<64x32xbf16, acc>> -> !tile.frag<64x32xf32, acc>
    }
  }
}

// -----

// Where nobody meets in the last iterations, each is one cluster, in which products may be issued while others' operands
// are read; what rescales stands in front, where all that it needs is there. With a cluster that LLVM orders they are as
// in the loop.
tile.schedule @drained {
  tile.cluster compute { settle(0) read(-1) fetch(+1) }
  tile.cluster compute { use(-1) rescale(-1) sum(-1) }
}
// CHECK-LABEL: tile.kernel @drains
// CHECK: scf.while
// CHECK: tile.enter compute
// CHECK: tile.step @read
// CHECK: tile.barrier
// CHECK: tile.enter compute
// CHECK: tile.step @use
// CHECK: tile.step @rescale
// CHECK: tile.step @sum
// CHECK: tile.barrier
// CHECK: scf.condition
// CHECK-NOT: tile.enter compute interleave("stream")
// CHECK: tile.enter compute interleave("stream")
// CHECK-NOT: tile.step @read
// CHECK: tile.step @rescale
// CHECK-NOT: tile.barrier
// CHECK: tile.step @read
// CHECK-NOT: tile.barrier
// CHECK: tile.step @use
// CHECK-NOT: tile.barrier
// CHECK: tile.step @sum
// BY-LLVM-LABEL: tile.kernel @drains
// BY-LLVM: interleave("none")
// BY-LLVM-NOT: stream
tile.kernel @drains(%k: !tile.view<?x?x?x128xbf16>, %n: i32, %scale: f32) target("gfx950") waves(4) {
  %ring = tile.ring %k[%n, %n] : !tile.view<?x?x?x128xbf16> -> !tile.ring<64x128xbf16>
  %rows = tile.fill 0.0 : !tile.rows<32xf32>
  %zero = tile.fill 0.0 : !tile.frag<32x32xf32, acc>
  %sum = tile.for_tiles %t = 0 to %n init(%carried = %zero : !tile.frag<32x32xf32, acc>) schedule(@drained) {
    tile.step @fetch { tile.fetch %ring[%t] : !tile.ring<64x128xbf16> }
    %factor, %moved = tile.step @settle -> !tile.rows<32xf32>, i1 {
      %reference, %bound, %f, %m = tile.settle %rows, %rows, %rows scale(%scale) threshold(8.0) : !tile.rows<32xf32>
      tile.yield %f, %m : !tile.rows<32xf32>, i1
    }
    %x = tile.step @read -> !tile.frag<64x128xbf16, lhs> {
      %read = tile.read %ring[%t] : !tile.ring<64x128xbf16> -> !tile.frag<64x128xbf16, lhs>
      tile.yield %read : !tile.frag<64x128xbf16, lhs>
    }
    %y = tile.step @use -> !tile.frag<64x128xbf16, lhs> {
      tile.yield %x : !tile.frag<64x128xbf16, lhs>
    }
    %shrunk = tile.step @rescale -> !tile.frag<32x32xf32, acc> {
      %scaled = tile.rescale %carried by %factor when %moved : !tile.frag<32x32xf32, acc> by !tile.rows<32xf32>
      tile.yield %scaled : !tile.frag<32x32xf32, acc>
    }
    %next = tile.step @sum -> !tile.frag<32x32xf32, acc> {
      tile.yield %shrunk : !tile.frag<32x32xf32, acc>
    }
    tile.yield %next : !tile.frag<32x32xf32, acc>
  }
}
