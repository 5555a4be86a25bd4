// RUN: hocket-opt %s --tile-pipeline --tile-allocate-lds --tile-synchronize --tile-work-items --tile-verify-clusters | FileCheck %s
// RUN: hocket-opt %s --tile-pipeline --tile-allocate-lds --tile-synchronize --tile-work-items --tile-work-items | FileCheck %s

// The first tiles of the first item are asked for in front of the loop over items, those of the next one when all waves
// have read the last of this one, and the wait for them stands in front of the store.
//
// CHECK-LABEL: tile.kernel @product
// CHECK: %[[TURNS:.*]] = tile.item_turns
// CHECK: tile.block_tile %{{.*}} turn(%[[ZERO:.*]]) :
// CHECK: %[[A:.*]] = tile.ring %a
// CHECK: scf.if
// CHECK-COUNT-2: tile.fetch
// CHECK: tile.wait vm(0)
// CHECK: scf.for %[[TURN:.*]] = %{{.*}} to %[[TURNS]]
// CHECK: tile.block_tile %{{.*}} turn(%[[TURN]]) :
// CHECK: tile.ring %a{{.*}} continues(%[[A]] : !tile.ring<64x64xbf16>)
// CHECK-NOT: tile.fetch
// CHECK: tile.barrier
// CHECK: tile.mma
// CHECK: tile.wait lgkm(0)
// CHECK: tile.barrier
// CHECK-NEXT: %[[NEXT:.*]] = arith.addi %[[TURN]]
// CHECK: %[[MORE:.*]] = arith.cmpi slt, %[[NEXT]], %[[TURNS]]
// CHECK: tile.block_tile %{{.*}} turn(%{{.*}}) :
// CHECK: scf.if %[[MORE]]
// CHECK-COUNT-2: tile.fetch
// CHECK: tile.wait vm(0)
// CHECK-NEXT: tile.store
tile.kernel @product(%a: !tile.view<?x?xbf16>, %b: !tile.view<?x?xbf16>, %c: !tile.view<?x?xbf16>) target("gfx950")
    waves(1) attributes {tile.persistent = 2} {
  %row, %column = tile.block_tile %c rows(64) columns(64) : <?x?xbf16>
  %a_ring = tile.ring %a[%row] by_columns : <?x?xbf16> -> <64x64xbf16>
  %b_ring = tile.ring %b[%column] by_columns : <?x?xbf16> -> <64x64xbf16>
  %k = tile.dim %a, 1 : <?x?xbf16>
  %depth = arith.constant 64 : i32
  %tiles = arith.divui %k, %depth : i32
  %zero = tile.fill 0.0 : !tile.frag<64x64xf32, acc>
  // What is loaded in front of the loop, from what nobody writes, comes ahead with the tiles.
  %product = tile.for_tiles %t = 0 to %tiles init(%sum = %zero : !tile.frag<64x64xf32, acc>) schedule(@ahead) {
    tile.step @fetch {
      tile.fetch %a_ring[%t] : <64x64xbf16>
      tile.fetch %b_ring[%t] : <64x64xbf16>
    }
    %next = tile.step @multiply -> !tile.frag<64x64xf32, acc> {
      %lhs = tile.read %b_ring[%t] : <64x64xbf16> -> <64x64xbf16, lhs>
      %rhs = tile.read %a_ring[%t] : <64x64xbf16> -> <64x64xbf16, rhs>
      %more = tile.mma %lhs, %rhs, %sum : <64x64xbf16, lhs>, <64x64xbf16, rhs>, <64x64xf32, acc>
      tile.yield %more : !tile.frag<64x64xf32, acc>
    }
    tile.yield %next : !tile.frag<64x64xf32, acc>
  }
  tile.store %product, %c[%row, %column] : !tile.frag<64x64xf32, acc>, <?x?xbf16>
}
tile.schedule @ahead unroll(2) {
  tile.cluster compute { fetch(+1) multiply(0) }
}

// Without LDS there is nothing to wait for.
//
// CHECK-LABEL: tile.kernel @copy
// CHECK: scf.for
// CHECK-NOT: tile.barrier
// CHECK: tile.store
// CHECK-NOT: tile.barrier
// CHECK: }
tile.kernel @copy(%x: !tile.view<?x?xf32>, %y: !tile.view<?x?xf32>) target("gfx950") waves(1)
    attributes {tile.persistent = 1} {
  %row, %column = tile.block_tile %y rows(16) columns(256) : <?x?xf32>
  %block = tile.load %x[%row, %column] : <?x?xf32> -> !tile.frag<16x256xf32, lines>
  tile.store %block, %y[%row, %column] : !tile.frag<16x256xf32, lines>, <?x?xf32>
}
