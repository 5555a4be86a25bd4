// Loads, stores, additions, views and rings of one's own, printed as they are parsed, custom and generic.
// RUN: hocket-opt %s | hocket-opt | FileCheck %s
// RUN: hocket-opt %s --mlir-print-op-generic | hocket-opt | FileCheck %s

// CHECK-LABEL: tile.kernel @accesses
tile.kernel @accesses(%q: !tile.view<?x?x?x128xbf16> {tile.bind = "q"}, %c: !tile.view<?x?xbf16> {tile.bind = "c"},
    %b: !tile.view<?xbf16> {tile.bind = "b"}, %s: !tile.view<?x4xf32> {tile.bind = "s"},
    %n: !tile.view<?xi32> {tile.bind = "n"}, %i: i32) target("gfx950") waves(4) {
  // CHECK: %q_rows = tile.load %q[%{{.*}}, %{{.*}}, %{{.*}}] : <?x?x?x128xbf16> -> <128x32xbf16, rhs>
  %x = tile.load %q[%i, %i, %i] : <?x?x?x128xbf16> -> <128x32xbf16, rhs>
  // Another dimension is the rows: heads.
  // CHECK: tile.load %q[%{{.*}}, %{{.*}}, %{{.*}}] along(2) : <?x?x?x128xbf16> -> <128x32xbf16, rhs>
  %h = tile.load %q[%i, %i, %i] along(2) : <?x?x?x128xbf16> -> <128x32xbf16, rhs>
  // Rows count the pairs of two dimensions.
  // CHECK: tile.load %q[%{{.*}}, %{{.*}}, %{{.*}}] over [1, 2] : <?x?x?x128xbf16> -> <128x32xbf16, rhs>
  %pairs = tile.load %q[%i, %i, %i] over [1, 2] : <?x?x?x128xbf16> -> <128x32xbf16, rhs>
  // CHECK: tile.load %c[%{{.*}}, %{{.*}}] : <?x?xbf16> -> <64x32xf32, acc>
  %block = tile.load %c[%i, %i] : <?x?xbf16> -> !tile.frag<64x32xf32, acc>
  // CHECK: tile.load %b[%{{.*}}] : <?xbf16> -> !tile.columns<64xf32, acc>
  %bias = tile.load %b[%i] : <?xbf16> -> !tile.columns<64xf32, acc>
  // CHECK: tile.load %s[%{{.*}}, %{{.*}}] along(0) : <?x4xf32> -> !tile.rows<32xf32>
  %scales = tile.load %s[%i, %i] along(0) : <?x4xf32> -> !tile.rows<32xf32>
  // CHECK: tile.load %n[%{{.*}}] : <?xi32> -> i32
  %length = tile.load %n[%i] : <?xi32> -> i32
  // CHECK: tile.store %{{.*}}, %c[%{{.*}}, %{{.*}}] : <64x32xf32, acc>, <?x?xbf16>
  tile.store %block, %c[%i, %i] : <64x32xf32, acc>, <?x?xbf16>
  // CHECK: tile.store %{{.*}}, %s[%{{.*}}, %{{.*}}] along(0) : !tile.rows<32xf32>, <?x4xf32>
  tile.store %scales, %s[%i, %i] along(0) : !tile.rows<32xf32>, <?x4xf32>
  // CHECK: tile.store %{{.*}}, %s[%{{.*}}, %{{.*}}] over [1, 0] : !tile.rows<32xf32>, <?x4xf32>
  tile.store %scales, %s[%i, %i] over [1, 0] : !tile.rows<32xf32>, <?x4xf32>
  // CHECK: tile.store %{{.*}}, %n[%{{.*}}] : i32, <?xi32>
  tile.store %length, %n[%i] : i32, <?xi32>
  // CHECK: tile.atomic_add %{{.*}}, %c[%{{.*}}, %{{.*}}] : <64x32xf32, acc>, <?x?xbf16>
  tile.atomic_add %block, %c[%i, %i] : <64x32xf32, acc>, <?x?xbf16>
}

// CHECK-LABEL: tile.kernel @groups
tile.kernel @groups(%b: !tile.view<?x?x?xbf16> {tile.bind = "b"}) target("gfx950") waves(4) {
  // CHECK: %workgroup_x, %workgroup_y, %workgroup_z = tile.workgroup_id ["ceildiv(m, 128)", "groups"]
  %x, %y, %z = tile.workgroup_id ["ceildiv(m, 128)", "groups"]
  // CHECK: %b_selected = tile.select %b[%workgroup_y] : <?x?x?xbf16> -> <?x?xbf16>
  %one = tile.select %b[%y] : <?x?x?xbf16> -> <?x?xbf16>
  // CHECK: tile.slice_rows %b_selected from %workgroup_x size %workgroup_x : <?x?xbf16>
  %some = tile.slice_rows %one from %x size %x : <?x?xbf16>
}

// CHECK-LABEL: tile.kernel @entries
tile.kernel @entries(%few: !tile.view<?xi32>, %more: !tile.view<?xi32>, %i: i32) target("gfx950") waves(4) {
  // CHECK: %entry = tile.entry %i of %few, %more : !tile.view<?xi32>, !tile.view<?xi32>
  %n = tile.entry %i of %few, %more : !tile.view<?xi32>, !tile.view<?xi32>
}

// CHECK-LABEL: tile.kernel @exchange
tile.kernel @exchange(%t: i32) target("gfx950") waves(4) {
  // CHECK: %ds_ring = tile.ring named("ds") : !tile.ring<64x64xbf16>
  %ring = tile.ring named("ds") : !tile.ring<64x64xbf16>
  // CHECK: tile.ring named("two words") depth(2) at(8192) : !tile.ring<64x64xbf16>
  %placed = tile.ring named("two words") depth(2) at(8192) : !tile.ring<64x64xbf16>
  %i, %j = tile.wave_grid rows(2) columns(2)
  %ds = tile.fill 0.0 : !tile.frag<32x32xf32, acc>
  // CHECK: tile.put %{{.*}}, %ds_ring[%{{.*}}] rows_part(%wave_i) columns_part(%wave_j) slot(%{{.*}}) : !tile.frag<32x32xf32, acc>, <64x64xbf16>
  tile.put %ds, %ring[%t] rows_part(%i) columns_part(%j) slot(%t) : !tile.frag<32x32xf32, acc>, <64x64xbf16>
}

// CHECK-LABEL: tile.kernel @in_two
tile.kernel @in_two(%b: !tile.view<?x?xbf16>, %i: i32) target("gfx950") waves(1) {
  // CHECK: %b_pending = tile.begin_load %b[%{{.*}}, %{{.*}}] along(0) tile(%{{.*}}) : <?x?xbf16> -> <!tile.frag<64x32xbf16, acc>>
  %p = tile.begin_load %b[%i, %i] along(0) tile(%i) : <?x?xbf16> -> <!tile.frag<64x32xbf16, acc>>
  // CHECK: tile.end_load %b_pending tile(%{{.*}}) : <!tile.frag<64x32xbf16, acc>> -> <64x32xf32, acc>
  %x = tile.end_load %p tile(%i) : <!tile.frag<64x32xbf16, acc>> -> <64x32xf32, acc>
}
