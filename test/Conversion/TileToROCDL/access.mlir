// Loads, stores and additions of what lanes share, down to buffer instructions.
// RUN: hocket-opt %s --convert-tile-to-rocdl -split-input-file | FileCheck %s

// An accumulator holds four consecutive columns of a row in a lane: four f32 are 16 bytes. f32 needs no alignment, but
// columns may be cut: both ways are written out, and the wave takes one.
// CHECK-LABEL: llvm.func @accumulator
// CHECK: %[[WHOLE:.*]] = arith.cmpi sge
// CHECK: scf.if %[[WHOLE]]
// CHECK-COUNT-4: rocdl.raw.ptr.buffer.load {{.*}} : vector<4xi32>
// CHECK: else
// CHECK-COUNT-16: rocdl.raw.ptr.buffer.load {{.*}} : i32
tile.kernel @accumulator(%c: !tile.view<?x?xf32>, %i: i32) target("gfx950") waves(1) {
  %x = tile.load %c[%i, %i] : <?x?xf32> -> <32x32xf32, acc>
}

// -----

// In whole lines: eight lanes load 128 bytes of a row, and hand what they hold to those that want it. The chip without
// instructions for that loads what lanes want.
// CHECK-LABEL: llvm.func @in_lines
// CHECK: scf.if
// CHECK-COUNT-4: rocdl.raw.ptr.buffer.load {{.*}} : vector<4xi32>
// CHECK: rocdl.update.dpp
// CHECK: rocdl.permlane16.swap
// CHECK: rocdl.permlane32.swap
// CHECK: llvm.fpext
// CHECK: else
// CHECK-COUNT-32: rocdl.raw.ptr.buffer.load {{.*}} : i16
tile.kernel @in_lines(%c: !tile.view<?x?xbf16>, %i: i32) target("gfx950") waves(1) {
  %x = tile.load %c[%i, %i] along(0) {tile.whole_lines} : <?x?xbf16> -> <64x32xf32, acc>
}
// In two: lines in either case, so that what puts elements in their places does not ask. LLVM must not ask later.
// CHECK-LABEL: llvm.func @in_two
// CHECK: %[[LOADED:.*]]:4 = scf.if %{{.*}} -> (vector<4xi32>, vector<4xi32>, vector<4xi32>, vector<4xi32>)
// CHECK-COUNT-4: rocdl.raw.ptr.buffer.load {{.*}} : vector<4xi32>
// CHECK: else
// CHECK-COUNT-32: rocdl.raw.ptr.buffer.load {{.*}} : i16
// CHECK: llvm.inline_asm has_side_effects {{.*}}"~{memory}"
// CHECK-NOT: scf.if
// CHECK: %[[LOADED]]#0
// CHECK: rocdl.update.dpp
// CHECK: rocdl.permlane16.swap
// CHECK: rocdl.permlane32.swap
// CHECK: llvm.fpext
tile.kernel @in_two(%c: !tile.view<?x?xbf16>, %i: i32) target("gfx950") waves(1) {
  %p = tile.begin_load %c[%i, %i] along(0) tile(%i) : <?x?xbf16> -> <!tile.frag<64x32xbf16, acc>>
  %x = tile.end_load %p tile(%i) : <!tile.frag<64x32xbf16, acc>> -> <64x32xf32, acc>
}
// CHECK-LABEL: llvm.func @not_in_lines
// CHECK-COUNT-8: rocdl.raw.ptr.buffer.load {{.*}} : vector<2xi32>
tile.kernel @not_in_lines(%c: !tile.view<?x?xbf16>, %i: i32) target("gfx942") waves(1) {
  %x = tile.load %c[%i, %i] along(0) {tile.whole_lines} : <?x?xbf16> -> <64x32xf32, acc>
}

// -----

// 16 bits at once only where everything lies at multiples of a dword, which the wave finds out.
// CHECK-LABEL: llvm.func @operand
// CHECK: %[[ADDRESS:.*]] = llvm.ptrtoint
// CHECK: %[[LOW:.*]] = arith.trunci %[[ADDRESS]]
// CHECK: arith.ori %[[LOW]]
// CHECK: scf.if
// CHECK: rocdl.raw.ptr.buffer.load {{.*}} : vector<4xi32>
// CHECK: else
// CHECK-COUNT-8: rocdl.raw.ptr.buffer.load {{.*}} : i16
tile.kernel @operand(%c: !tile.view<?x?xbf16>, %i: i32) target("gfx950") waves(1) {
  %x = tile.load %c[%i, %i] : <?x?xbf16> -> <32x16xbf16, lhs>
}

// -----

// Whole rows of known length need no branch for columns: those beyond are out of bounds one run at a time.
// CHECK-LABEL: llvm.func @whole_rows
// CHECK-NOT: scf.if
// CHECK-COUNT-8: rocdl.raw.ptr.buffer.load {{.*}} : vector<4xi32>
// CHECK-NOT: rocdl.raw.ptr.buffer.load
tile.kernel @whole_rows(%c: !tile.view<?x?x64xf32>, %i: i32) target("gfx950") waves(1) {
  %x = tile.load %c[%i, %i] : <?x?x64xf32> -> !tile.frag<32x64xf32, lines>
}

// -----

// Elements of another depth are memory's rows: one at a time.
// CHECK-LABEL: llvm.func @across
// CHECK-NOT: scf.if
// CHECK-COUNT-8: rocdl.raw.ptr.buffer.load {{.*}} : i16
tile.kernel @across(%c: !tile.view<?x?xbf16>, %i: i32) target("gfx950") waves(1) {
  %x = tile.load %c[%i, %i] : <?x?xbf16> -> <32x16xbf16, lhs_acc>
}

// -----

// One number a lane; lanes that hold copies write nowhere.
// CHECK-LABEL: llvm.func @rows
// CHECK: rocdl.raw.ptr.buffer.load {{.*}} : i32
// CHECK: arith.andi %{{.*}}, %c32_i32{{.*}} : i32
// CHECK: arith.select
// CHECK: rocdl.raw.ptr.buffer.store
tile.kernel @rows(%s: !tile.view<?xf32>, %i: i32) target("gfx950") waves(1) {
  %x = tile.load %s[%i] : <?xf32> -> !tile.rows<32xf32>
  tile.store %x, %s[%i] : !tile.rows<32xf32>, <?xf32>
}

// -----

// Columns of an accumulator: the same in all lanes of a half, in runs of four. Of a single row of f32 the descriptor ends
// where the columns do, and the hardware checks each dword: no branch.
// CHECK-LABEL: llvm.func @columns
// CHECK-NOT: scf.if
// CHECK-COUNT-4: rocdl.raw.ptr.buffer.load {{.*}} : vector<4xi32>
// CHECK-NOT: scf.if
// CHECK: llvm.return
tile.kernel @columns(%b: !tile.view<?xf32>, %i: i32) target("gfx950") waves(1) {
  %x = tile.load %b[%i] : <?xf32> -> !tile.columns<32xf32, acc>
}

// -----

// A number comes by way of the scalar unit where nothing writes its view, ...
// CHECK-LABEL: llvm.func @constant
// CHECK: %[[EXISTS:.*]] = arith.cmpi ult
// CHECK: llvm.call_intrinsic "llvm.amdgcn.kernarg.segment.ptr"
// CHECK: arith.select %[[EXISTS]], %{{.*}}, %{{.*}} : i64
// CHECK: %[[LOADED:.*]] = llvm.load %{{.*}} invariant {{.*}} : !llvm.ptr<4> -> i32
// CHECK: arith.select %[[EXISTS]], %[[LOADED]], %{{.*}} : i32
// CHECK-NOT: rocdl.raw.ptr.buffer.load
tile.kernel @constant(%n: !tile.view<?xi32>, %o: !tile.view<?xi32>, %i: i32) target("gfx950") waves(1) {
  %x = tile.load %n[%i] : <?xi32> -> i32
  tile.store %x, %o[%i] : i32, <?xi32>
}

// -----

// ... and by way of the vector unit where something does, some rows of it or all.
// CHECK-LABEL: llvm.func @changed
// CHECK-NOT: !llvm.ptr<4>
// CHECK: rocdl.raw.ptr.buffer.load {{.*}} : i32
// CHECK: rocdl.readfirstlane
tile.kernel @changed(%n: !tile.view<?x?xi32>, %i: i32) target("gfx950") waves(1) {
  %x = tile.load %n[%i, %i] : <?x?xi32> -> i32
  %some = tile.slice_rows %n from %i size %i : <?x?xi32>
  tile.store %x, %some[%i, %i] : i32, <?x?xi32>
}

// -----

// Sums of f32 one by one, columns compared only where the view ends; of 16 bits in pairs where they lie at dwords.
// CHECK-LABEL: llvm.func @sums
// CHECK: scf.if
// CHECK-COUNT-16: rocdl.raw.ptr.buffer.atomic.fadd {{.*}} : f32
// CHECK: else
// CHECK-COUNT-16: rocdl.raw.ptr.buffer.atomic.fadd {{.*}} : f32
// CHECK: scf.if
// CHECK-COUNT-8: rocdl.raw.ptr.buffer.atomic.fadd {{.*}} : vector<2xbf16>
// CHECK: else
// CHECK-COUNT-16: rocdl.raw.ptr.buffer.atomic.fadd {{.*}} : vector<2xbf16>
tile.kernel @sums(%c: !tile.view<?x?xf32>, %d: !tile.view<?x?xbf16>, %i: i32) target("gfx950") waves(1) {
  %x = tile.fill 1.0 : !tile.frag<32x32xf32, acc>
  tile.atomic_add %x, %c[%i, %i] : <32x32xf32, acc>, <?x?xf32>
  tile.atomic_add %x, %d[%i, %i] : <32x32xf32, acc>, <?x?xbf16>
}

// -----

// A fragment put into a ring: 8 bytes at once where the layout keeps columns together, and barriers that LLVM moves no
// memory access over.
// CHECK-LABEL: llvm.func @put
// CHECK-COUNT-4: llvm.store %{{.*}} {alias_scopes = {{.*}}, alignment = 8 : i64, noalias_scopes = {{.*}}} : vector<4xbf16>, !llvm.ptr<3>
// CHECK: rocdl.s.barrier
// CHECK-NEXT: rocdl.sched.barrier
// CHECK-NEXT: llvm.inline_asm has_side_effects asm_dialect = att "", "~{memory}"
#layout = #tile.lds_layout<panel 64, chunk 64, pad 0, rows [64, 128, 256, 512, 1024], bytes [1, 2, 4, 8, 16, 32]>
tile.kernel @put(%t: i32) target("gfx950") waves(1) {
  %zero = arith.constant 0 : i32
  %ring = tile.ring named("x") depth(1) at(0) layout(#layout) : !tile.ring<32x32xbf16>
  %x = tile.fill 1.0 : !tile.frag<32x32xf32, acc>
  tile.put %x, %ring[%t] slot(%zero) : !tile.frag<32x32xf32, acc>, <32x32xbf16>
  tile.barrier
}
