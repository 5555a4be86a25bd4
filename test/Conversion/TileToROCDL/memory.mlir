// convert-tile-to-rocdl, memory: one behaviour per kernel.
// RUN: hocket-opt %s --tile-allocate-lds --convert-tile-to-rocdl --canonicalize -split-input-file | FileCheck %s

// The two scopes of LDS accesses: without them LLVM drains the DMA in front of every read.
// CHECK-DAG: #[[DMA:.*]] = #llvm.alias_scope<{{.*}}description = "dma">
// CHECK-DAG: #[[READ:.*]] = #llvm.alias_scope<{{.*}}description = "read">

// All LDS of a kernel is one global of exactly the bytes that its rings take.
// CHECK: llvm.mlir.global internal @fetch.lds() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<{{[0-9]+}} x i8>

// A fetch is LDS DMA of 16 bytes a lane, two instructions for each of 8 waves, from a descriptor that
// is re-based for the tile. What differs between instructions is in the scalar offset: an instruction
// offset (the second last operand) would move the LDS address too.
// CHECK-LABEL: llvm.func @fetch
// CHECK: %[[ZERO:.*]] = arith.constant 0 : i32
// CHECK: rocdl.make.buffer.rsrc
// CHECK-COUNT-2: rocdl.raw.ptr.buffer.load.lds %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %[[ZERO]], %[[ZERO]] {alias_scopes = [#[[DMA]]]}
// CHECK-NOT: rocdl.raw.ptr.buffer.load.lds
// The read that follows names both scopes.
// CHECK: llvm.load %{{.*}} {alias_scopes = [#[[READ]]], {{.*}}noalias_scopes = [#[[DMA]]]} : !llvm.ptr<3> -> vector<8xbf16>
tile.kernel @fetch(%k: !tile.view<?x?x?x128xbf16>, %o: !tile.view<?x?x?x128xbf16>, %n: i32) target("gfx950") waves(8) {
  %slot = arith.constant 0 : i32
  %ring = tile.ring %k[%n, %n] depth(1) : !tile.view<?x?x?x128xbf16> -> !tile.ring<64x128xbf16>
  tile.fetch %ring[%n] slot(%slot) : !tile.ring<64x128xbf16>
  %x = tile.read %ring[%n] slot(%slot) : !tile.ring<64x128xbf16> -> !tile.frag<64x128xbf16, lhs>
  %q = tile.load %k[%n, %n, %n] : !tile.view<?x?x?x128xbf16> -> !tile.frag<128x32xbf16, rhs>
  %acc = tile.fill 0.0 : !tile.frag<64x32xf32, acc>
  %s = tile.mma %x, %q, %acc : !tile.frag<64x128xbf16, lhs>, !tile.frag<128x32xbf16, rhs>, !tile.frag<64x32xf32, acc>
  %max = tile.row_max %s : !tile.frag<64x32xf32, acc> -> !tile.rows<32xf32>
}

// -----

// A tile from elsewhere: any number. A whole tile, the rest of the last one, and beyond the view, as unsigned, a
// descriptor of no bytes.
// CHECK-LABEL: llvm.func @from
// CHECK: %[[IS_LAST:.*]] = arith.cmpi eq, %[[TILE:arg[0-9]+]], %[[WHOLE_TILES:.*]] : i32
// CHECK: %[[IS_WHOLE:.*]] = arith.cmpi ult, %[[TILE]], %[[WHOLE_TILES]] : i32
// CHECK: %[[REST:.*]] = arith.select %[[IS_LAST]], %{{.*}}, %c0_i32 : i32
// CHECK: %[[BYTES:.*]] = arith.select %[[IS_WHOLE]], %{{.*}}, %[[REST]] : i32
// CHECK: %[[WIDE:.*]] = arith.extui %[[BYTES]] : i32 to i64
// CHECK: rocdl.make.buffer.rsrc %{{.*}}, %{{.*}}, %[[WIDE]],
tile.kernel @from(%k: !tile.view<?x?x?x128xbf16>, %n: i32) target("gfx950") waves(8) {
  %slot = arith.constant 0 : i32
  %ring = tile.ring %k[%n, %n] depth(1) : !tile.view<?x?x?x128xbf16> -> !tile.ring<64x128xbf16>
  tile.fetch %ring[%slot] from(%n) slot(%slot) : !tile.ring<64x128xbf16>
  %x = tile.read %ring[%slot] slot(%slot) : !tile.ring<64x128xbf16> -> !tile.frag<64x128xbf16, lhs>
}

// -----

// V is read transposed, 8 bytes a lane, two reads for each operand, both scopes on each.
// CHECK-LABEL: llvm.func @transposed
// CHECK-COUNT-32: rocdl.ds.read.tr16.b64 %{{.*}} {alias_scopes = [#{{.*}}], noalias_scopes = [#{{.*}}]} : <3> -> vector<4xf16>
// CHECK-NOT: rocdl.ds.read.tr16.b64
tile.kernel @transposed(%v: !tile.view<?x?x?x128xf16>, %n: i32) target("gfx950") waves(8) {
  %slot = arith.constant 0 : i32
  %ring = tile.ring %v[%n, %n] depth(1) : !tile.view<?x?x?x128xf16> -> !tile.ring<64x128xf16>
  tile.fetch %ring[%n] slot(%slot) : !tile.ring<64x128xf16>
  %x = tile.read_transposed %ring[%n] slot(%slot) : !tile.ring<64x128xf16> -> !tile.frag<128x64xf16, lhs_acc>
  %p = tile.fill 1.0 : !tile.frag<64x32xf16, rhs_acc>
  %acc = tile.fill 0.0 : !tile.frag<128x32xf32, acc>
  %o = tile.mma %x, %p, %acc : !tile.frag<128x64xf16, lhs_acc>, !tile.frag<64x32xf16, rhs_acc>, !tile.frag<128x32xf32, acc>
  tile.store %o, %v[%n, %n, %n] : !tile.frag<128x32xf32, acc>, !tile.view<?x?x?x128xf16>
}

// -----

// Waits are encoded in one instruction, counters that are absent at their limit; a barrier is fenced on
// both sides, and one for a single wave group is a branch.
// CHECK-LABEL: llvm.func @waits
// CHECK: rocdl.s.waitcnt
// CHECK: rocdl.sched.barrier 0
// CHECK-NEXT: rocdl.s.barrier
// CHECK-NEXT: rocdl.sched.barrier 0
tile.kernel @waits() target("gfx950") waves(8) {
  tile.wait vm(4) lgkm(0)
  tile.barrier
}

// -----

// The wave number is the same in all lanes and lives in a scalar register.
// CHECK-LABEL: llvm.func @uniform
// CHECK: %[[ID:.*]] = rocdl.workitem.id.x range <i32, 0, 512>
// CHECK: %[[WAVE:.*]] = arith.shrui %[[ID]]
// CHECK: rocdl.readfirstlane %[[WAVE]] : i32
tile.kernel @uniform(%o: !tile.view<?x?x?xf32>, %n: i32) target("gfx950") waves(8) {
  %row = tile.wave_row %n rows(32)
  %x = tile.fill 0.0 : !tile.rows<32xf32>
  tile.store_rows %x, %o[%n, %n, %row] : !tile.rows<32xf32>, !tile.view<?x?x?xf32>
}

// -----

// A tile of 96 columns is three panels of 32, 64 rows x 64 bytes each: of each, every one of four waves
// moves a KiB. The view has 80 columns: the lanes that would fetch others are sent out of bounds, in the
// last panel alone.
// CHECK-LABEL: llvm.func @panels
// CHECK: %[[OUT:.*]] = arith.constant -2147483648 : i32
// CHECK: rocdl.raw.ptr.buffer.load.lds %{{.*}}, %{{.*}}, %{{.*}}, %[[IN:[a-z0-9]+]], %
// CHECK: rocdl.raw.ptr.buffer.load.lds %{{.*}}, %{{.*}}, %{{.*}}, %[[IN]], %
// CHECK: %[[EDGE:.*]] = arith.select %{{.*}}, %[[IN]], %[[OUT]] : i32
// CHECK: rocdl.raw.ptr.buffer.load.lds %{{.*}}, %{{.*}}, %{{.*}}, %[[EDGE]], %
// CHECK-NOT: rocdl.raw.ptr.buffer.load.lds
// CHECK-COUNT-12: llvm.load
// CHECK-COUNT-6: rocdl.raw.ptr.buffer.load %
tile.kernel @panels(%k: !tile.view<?x?x?x80xbf16>, %n: i32) target("gfx950") waves(4) {
  %slot = arith.constant 0 : i32
  %ring = tile.ring %k[%n, %n] depth(1) : !tile.view<?x?x?x80xbf16> -> !tile.ring<64x96xbf16>
  tile.fetch %ring[%n] slot(%slot) : !tile.ring<64x96xbf16>
  %x = tile.read %ring[%n] slot(%slot) : !tile.ring<64x96xbf16> -> !tile.frag<64x96xbf16, lhs>
  %q = tile.load %k[%n, %n, %n] : !tile.view<?x?x?x80xbf16> -> !tile.frag<96x32xbf16, rhs>
  %acc = tile.fill 0.0 : !tile.frag<64x32xf32, acc>
  %s = tile.mma %x, %q, %acc : !tile.frag<64x96xbf16, lhs>, !tile.frag<96x32xbf16, rhs>, !tile.frag<64x32xf32, acc>
  %max = tile.row_max %s : !tile.frag<64x32xf32, acc> -> !tile.rows<32xf32>
}

// -----

// Rows of 128 elements are loaded in whole lines, eight lanes side by side, and lanes that differ in bits 4 and 3 exchange
// registers in front of what uses them first: fetches in between wait for nothing.
// CHECK-LABEL: llvm.func @rows_in_lines
// CHECK-COUNT-8: rocdl.raw.ptr.buffer.load %{{.*}} : vector<4xi32>
// CHECK: rocdl.raw.ptr.buffer.load.lds
// CHECK: rocdl.permlane16.swap
// CHECK: rocdl.update.dpp
// CHECK: rocdl.mfma
tile.kernel @rows_in_lines(%k: !tile.view<?x?x?x128xbf16>, %o: !tile.view<?x?x?x128xbf16>, %n: i32) target("gfx950") waves(8) {
  %slot = arith.constant 0 : i32
  %ring = tile.ring %k[%n, %n] depth(1) : !tile.view<?x?x?x128xbf16> -> !tile.ring<64x128xbf16>
  %q = tile.load %k[%n, %n, %n] : !tile.view<?x?x?x128xbf16> -> !tile.frag<128x32xbf16, rhs>
  tile.fetch %ring[%n] slot(%slot) : !tile.ring<64x128xbf16>
  %x = tile.read %ring[%n] slot(%slot) : !tile.ring<64x128xbf16> -> !tile.frag<64x128xbf16, lhs>
  %acc = tile.fill 0.0 : !tile.frag<64x32xf32, acc>
  %s = tile.mma %x, %q, %acc : !tile.frag<64x128xbf16, lhs>, !tile.frag<128x32xbf16, rhs>, !tile.frag<64x32xf32, acc>
  %max = tile.row_max %s : !tile.frag<64x32xf32, acc> -> !tile.rows<32xf32>
}

// -----

// A step that a wave leaves out is a branch.
// CHECK-LABEL: llvm.func @left_out
// CHECK: scf.if %{{.*}} -> (f32) {
// CHECK: } else {
// CHECK-NEXT: scf.yield
tile.kernel @left_out(%o: !tile.view<?xf32>, %n: i32, %x: f32) target("gfx950") waves(1) {
  %zero = arith.constant 0 : i32
  %sees = arith.cmpi slt, %zero, %n : i32
  %y = tile.where %sees else(%x : f32) {
    %z = tile.step @add -> f32 {
      %sum = arith.addf %x, %x : f32
      tile.yield %sum : f32
    }
    tile.yield %z : f32
  }
  %rows = tile.fill 0.0 : !tile.rows<32xf32>
  tile.store %y, %o[%n] : f32, !tile.view<?xf32>
}
