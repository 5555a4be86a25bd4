// Rows of a tile through a table: one load of page numbers, one lane a row, and the crossbar for the rest.
// RUN: hocket-opt %s --tile-allocate-lds --convert-tile-to-rocdl --canonicalize -split-input-file | FileCheck %s

// A lane looks up the page of its row: of a tile of 64 rows one each. What is behind the sequence's end is not read: the
// table's descriptor ends there.
// CHECK-LABEL: llvm.func @gathered
// CHECK: %[[ROUNDED:.*]] = arith.addi %{{.*}}, %c15_i32
// CHECK: %[[NEEDED:.*]] = arith.divui %[[ROUNDED]], %c16_i32
// CHECK: %[[USED:.*]] = arith.minui %[[NEEDED]],
// CHECK: %[[UNIFORM:.*]] = rocdl.readfirstlane %[[USED]]
// CHECK: arith.muli %[[UNIFORM]], %c4_i32
// CHECK: %[[ENTRY:.*]] = arith.divui %{{.*}}, %c16_i32
// CHECK: %[[OFFSET:.*]] = arith.muli %[[ENTRY]], %c4_i32
// CHECK: %[[HIDDEN:.*]] = llvm.inline_asm {{.*}}"", "=v,0,i" %[[OFFSET]], %{{.*}}
// CHECK: %[[PAGE:.*]] = rocdl.raw.ptr.buffer.load %{{.*}}, %[[HIDDEN]], {{.*}} : i32
// Where the row lies: of a row that there is, else beyond the descriptor.
// CHECK: arith.remui %{{.*}}, %c16_i32
// CHECK: arith.muli %[[PAGE]],
// CHECK: %[[EXISTS:.*]] = arith.cmpi slt, %{{.*}}, %{{.*}} : i32
// CHECK: %[[PLACE:.*]] = arith.select %[[EXISTS]], %{{.*}}, %c-2147483648_i32
// Four instructions of each of four waves bring the halves of two rows.
// CHECK-COUNT-2: llvm.call_intrinsic "llvm.amdgcn.ds.bpermute"(%{{.*}}, %[[PLACE]])
// CHECK-NOT: ds.bpermute
// CHECK-COUNT-4: rocdl.raw.ptr.buffer.load.lds
tile.kernel @gathered(%k: !tile.view<?x?x?x128xbf16>, %table: !tile.view<?xi32>, %n: i32, %t: i32)
    target("gfx950") waves(4) {
  %zero = arith.constant 0 : i32
  %ring = tile.ring %k[%zero, %zero] pages(16 rows %n) depth(1) : <?x?x?x128xbf16> -> <64x128xbf16>
  %pages = tile.look_up %table for %ring[%t] : <?xi32>, <64x128xbf16>
  tile.fetch %ring[%t] pages(%pages : !tile.pages<64>) slot(%zero) : <64x128xbf16>
  %x = tile.read %ring[%zero] slot(%zero) : <64x128xbf16> -> <64x128xbf16, lhs>
}

// -----

// Of a tile of 128 rows each lane looks after two. To LLVM no two look-ups are the same load, nor neighbours: waits count
// both.
// CHECK-LABEL: llvm.func @two_rows
// CHECK: %[[FIRST:.*]] = llvm.inline_asm {{.*}}"", "=v,0,i" %{{.*}}, %[[NUMBER:.*]] : (i32, i32) -> i32
// CHECK: rocdl.raw.ptr.buffer.load %{{.*}}, %[[FIRST]], {{.*}} : i32
// CHECK-NOT: %[[NUMBER]] : (i32, i32) -> i32
// CHECK: %[[SECOND:.*]] = llvm.inline_asm {{.*}}"", "=v,0,i" %{{.*}}, %{{.*}} : (i32, i32) -> i32
// CHECK: rocdl.raw.ptr.buffer.load %{{.*}}, %[[SECOND]], {{.*}} : i32
// CHECK: %[[UPPER:.*]] = arith.cmpi uge, %{{.*}}, %c64_i32
// CHECK: arith.select %[[UPPER]],
tile.kernel @two_rows(%k: !tile.view<?x?x?x64xbf16>, %table: !tile.view<?xi32>, %n: i32, %t: i32)
    target("gfx950") waves(4) {
  %zero = arith.constant 0 : i32
  %ring = tile.ring %k[%zero, %zero] pages(1 rows %n) depth(1) : <?x?x?x64xbf16> -> <128x64xbf16>
  %pages = tile.look_up %table for %ring[%t] : <?xi32>, <128x64xbf16>
  tile.fetch %ring[%t] pages(%pages : !tile.pages<128>) slot(%zero) : <128x64xbf16>
  %x = tile.read %ring[%zero] slot(%zero) : <128x64xbf16> -> <128x64xbf16, lhs>
}

// -----

// What is found ahead is where each lane's pieces lie: the fetch adds nothing to it.
// CHECK-LABEL: llvm.func @located
// CHECK: arith.remui %{{.*}}, %c16_i32
// CHECK: %[[PLACE:.*]] = arith.select %{{.*}}, %{{.*}}, %c-2147483648_i32
// CHECK-COUNT-2: llvm.call_intrinsic "llvm.amdgcn.ds.bpermute"(%{{.*}}, %[[PLACE]])
// CHECK-NOT: ds.bpermute
// CHECK-COUNT-4: rocdl.raw.ptr.buffer.load.lds
tile.kernel @located(%k: !tile.view<?x?x?x128xbf16>, %table: !tile.view<?xi32>, %n: i32, %t: i32)
    target("gfx950") waves(4) {
  %zero = arith.constant 0 : i32
  %ring = tile.ring %k[%zero, %zero] pages(16 rows %n) depth(1) : <?x?x?x128xbf16> -> <64x128xbf16>
  %pages = tile.look_up %table for %ring[%t] : <?xi32>, <64x128xbf16>
  %places = tile.locate %pages for %ring[%t] : !tile.pages<64>, !tile.ring<64x128xbf16> -> !tile.places<64x128xbf16, 4>
  tile.fetch %ring[%t] pages(%places : !tile.places<64x128xbf16, 4>) slot(%zero) : <64x128xbf16>
  %x = tile.read %ring[%zero] slot(%zero) : <64x128xbf16> -> <64x128xbf16, lhs>
}

// -----

// A far pool has no descriptor: rows that do not exist are the last one, pages that do not the first, and addresses have
// 64 bits, which cross lanes in halves.
// CHECK-LABEL: llvm.func @far
// CHECK: arith.minsi
// CHECK: arith.maxsi
// CHECK: rocdl.raw.ptr.buffer.load
// CHECK: %[[KNOWN:.*]] = arith.cmpi ult, %[[PAGE:.*]],
// CHECK: arith.select %[[KNOWN]], %[[PAGE]], %c0_i32
// CHECK: arith.muli %{{.*}} : i64
// CHECK-COUNT-2: llvm.inline_asm {{.*}}ds_bpermute_b32{{.*}}ds_bpermute_b32{{.*}}s_waitcnt lgkmcnt(0)
// CHECK-NOT: ds_bpermute
// CHECK-COUNT-4: rocdl.global.load.lds
tile.kernel @far(%k: !tile.view<?x?x?x128xbf16>, %table: !tile.view<?xi32>, %n: i32, %t: i32)
    target("gfx950") waves(4) {
  %zero = arith.constant 0 : i32
  %ring = tile.ring %k[%zero, %zero] pages(16 rows %n) far depth(1) : <?x?x?x128xbf16> -> <64x128xbf16>
  %pages = tile.look_up %table for %ring[%t] : <?xi32>, <64x128xbf16>
  tile.fetch %ring[%t] pages(%pages : !tile.pages<64>) slot(%zero) : <64x128xbf16>
  %x = tile.read %ring[%zero] slot(%zero) : <64x128xbf16> -> <64x128xbf16, lhs>
}

// -----

// Vectors of rows come as they lie, 16 bytes a column and 2 KiB from 8 rows to the next 8, and
// are read by plain reads of 8 bytes, of which LLVM may make no pairs (volatile). What lies behind the end of the depth
// is masked in the accumulator's order.
// CHECK-LABEL: llvm.func @vectors
// CHECK: %[[GROUP:.*]] = arith.divui %{{.*}}, %c8_i32
// CHECK: arith.muli %[[GROUP]], %c2048_i32
// CHECK-COUNT-4: rocdl.raw.ptr.buffer.load.lds
// CHECK: llvm.load volatile %{{.*}} {{.*}} -> vector<4xbf16>
// CHECK-NOT: rocdl.ds.read.tr
// CHECK: scf.if
tile.kernel @vectors(%k: !tile.view<?x?x?x128xbf16>, %table: !tile.view<?xi32>, %out: !tile.view<?x?xbf16>, %n: i32, %t: i32)
    target("gfx950") waves(4) {
  %zero = arith.constant 0 : i32
  %ring = tile.ring %k[%zero, %zero] pages(16 rows %n) vectors(rows) depth(1) : <?x?x?x128xbf16> -> <64x128xbf16>
  %pages = tile.look_up %table for %ring[%t] : <?xi32>, <64x128xbf16>
  tile.fetch %ring[%t] pages(%pages : !tile.pages<64>) slot(%zero) : <64x128xbf16>
  %x = tile.read_transposed %ring[%zero] slot(%zero) : <64x128xbf16> -> <128x64xbf16, lhs_acc>
  %y = tile.mask_depth %x tile(%t) below(%n) : !tile.frag<128x64xbf16, lhs_acc>
  %z = tile.convert_layout %y : !tile.frag<128x64xbf16, lhs_acc> -> !tile.frag<64x128xbf16, lines>
  tile.store %z, %out[%zero, %zero] : !tile.frag<64x128xbf16, lines>, !tile.view<?x?xbf16>
}
