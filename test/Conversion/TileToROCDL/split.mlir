// convert-tile-to-rocdl, split KV: slices of views, partial results, combining them.
// RUN: hocket-opt %s --tile-allocate-lds --convert-tile-to-rocdl --canonicalize -split-input-file | FileCheck %s

// Quotients are the same in all lanes and go to a scalar register; remainders need no second division.
// CHECK-LABEL: llvm.func @divmod
// CHECK-SAME: %[[A:[^:]*]]: i32, %[[B:[^:]*]]: i32
// CHECK: %[[Q:.*]] = arith.divui %[[A]], %[[B]]
// CHECK: %[[UNIFORM:.*]] = rocdl.readfirstlane %[[Q]]
// CHECK: %[[WHOLE:.*]] = arith.muli %[[UNIFORM]], %[[B]]
// CHECK: arith.subi %[[A]], %[[WHOLE]]
tile.kernel @divmod(%a: i32, %b: i32, %lse: !tile.view<?x?x?xf32>) target("gfx950") waves(1) {
  %quotient, %rest = tile.divmod %a by %b
  %x = tile.fill 0.0 : !tile.rows<32xf32>
  tile.store_rows %x, %lse[%quotient, %rest, %rest] : !tile.rows<32xf32>, !tile.view<?x?x?xf32>
}

// -----

// A slice moves the pointer by 64-bit bytes and leaves as many rows as there are, none if it begins behind the end.
// CHECK-LABEL: llvm.func @slice_rows
// CHECK-SAME: %[[POINTER:[^:]*]]: !llvm.ptr<1>, %{{[^:]*}}: i64, %[[STRIDE:[^:]*]]: i64, %{{[^:]*}}: i64, %{{[^:]*}}: i32, %[[ROWS:[^:]*]]: i32, %{{[^:]*}}: i32, %[[FIRST:[^:]*]]: i32, %[[SIZE:[^:]*]]: i32
// CHECK-DAG: %[[BYTES:.*]] = arith.muli %[[STRIDE]], %{{.*}} : i64
// CHECK-DAG: %[[LEFT:.*]] = arith.subi %[[ROWS]], %[[FIRST]]
// CHECK: %[[SOME:.*]] = arith.minsi %[[LEFT]], %[[SIZE]]
// CHECK: arith.maxsi %[[SOME]], %{{.*}} : i32
// CHECK: %[[WIDE:.*]] = arith.extsi %[[FIRST]] : i32 to i64
// CHECK: %[[OFFSET:.*]] = arith.muli %[[WIDE]], %[[BYTES]] : i64
// CHECK: llvm.getelementptr %[[POINTER]][%[[OFFSET]]]
tile.kernel @slice_rows(%k: !tile.view<?x?x?x128xbf16>, %first: i32, %size: i32) target("gfx950") waves(1) {
  %slice = tile.slice_rows %k from %first size %size : !tile.view<?x?x?x128xbf16>
  %x = tile.load %slice[%first, %first, %first] : !tile.view<?x?x?x128xbf16> -> !tile.frag<128x32xbf16, rhs>
  %acc = tile.fill 0.0 : !tile.frag<128x32xf32, acc>
  tile.store %acc, %slice[%first, %first, %first] : !tile.frag<128x32xf32, acc>, !tile.view<?x?x?x128xbf16>
}

// -----

// Partial results are not rounded: 16 bytes a lane, 64 x 32 floats in 8 stores.
// CHECK-LABEL: llvm.func @store_wide
// CHECK-NOT: llvm.fptrunc
// CHECK-COUNT-8: rocdl.raw.ptr.buffer.store %{{.*}} : vector<4xi32>
// CHECK-NOT: rocdl.raw.ptr.buffer.store
tile.kernel @store_wide(%partial: !tile.view<?x?x?x64xf32>, %n: i32) target("gfx950") waves(1) {
  %acc = tile.fill 1.0 : !tile.frag<64x32xf32, acc>
  tile.store %acc, %partial[%n, %n, %n] : !tile.frag<64x32xf32, acc>, !tile.view<?x?x?x64xf32>
}

// -----

// Eight slices at a time, a piece of 16 bytes and an LSE of each; the slices beyond the last count as empty.
// CHECK-LABEL: llvm.func @combine
// CHECK: scf.for %{{.*}} = %{{.*}} to %{{.*}} step %{{.*}}
// CHECK-COUNT-16: rocdl.raw.ptr.buffer.load
// CHECK-NOT: rocdl.raw.ptr.buffer.load
// CHECK: arith.maxnumf
// One weight for what was summed before, one for each slice.
// CHECK-COUNT-9: rocdl.exp2
// CHECK-NOT: rocdl.exp2
// A row without a key is divided by nothing.
// CHECK: %[[EMPTY:.*]] = arith.cmpf oeq
// CHECK: rocdl.rcp
// CHECK: arith.select %[[EMPTY]]
// CHECK: llvm.fptrunc %{{.*}} : vector<4xf32> to vector<4xbf16>
// CHECK: rocdl.raw.ptr.buffer.store {{.*}} vector<2xi32>
// CHECK: rocdl.raw.ptr.buffer.store {{.*}} f32
tile.kernel @combine(%partial: !tile.view<?x?x?x64xf32>, %partial_lse: !tile.view<?x?x?xf32>, %o: !tile.view<?x?x?x64xbf16>,
    %lse: !tile.view<?x?x?xf32>, %splits: i32) target("gfx950") waves(4) {
  %batch, %head, %row = tile.block_id %o rows(4) : !tile.view<?x?x?x64xbf16>
  tile.combine %partial, %partial_lse splits(%splits) into %o and %lse[%batch, %row, %head] rows(4)
      : !tile.view<?x?x?x64xf32>, !tile.view<?x?x?xf32>, !tile.view<?x?x?x64xbf16>, !tile.view<?x?x?xf32>
}

// -----

// Along the last dimension elements follow one another.
// CHECK-LABEL: llvm.func @slice_elements
// CHECK-SAME: %[[POINTER:[^:]*]]: !llvm.ptr<1>
// CHECK: %[[WIDE:.*]] = arith.extsi %{{.*}} : i32 to i64
// CHECK: %[[OFFSET:.*]] = arith.muli %[[WIDE]], %c4_i64 : i64
// CHECK: llvm.getelementptr %[[POINTER]][%[[OFFSET]]]
tile.kernel @slice_elements(%lse: !tile.view<?x?x?xf32>, %first: i32) target("gfx950") waves(1) {
  %some = tile.slice_rows %lse from %first size %first along(2) : !tile.view<?x?x?xf32>
  %x = tile.fill 0.0 : !tile.rows<32xf32>
  tile.store_rows %x, %some[%first, %first, %first] : !tile.rows<32xf32>, !tile.view<?x?x?xf32>
}
