// The examples of the .td files, in whole modules.
// RUN: hocket-opt %s | FileCheck %s

// CHECK: tile.kernel @nothing
tile.kernel @nothing(%q: !tile.view<?x?x?x128xbf16> {tile.bind = "q"}) target("gfx950") waves(8) {
}

// CHECK: tile.schedule @by_halves
tile.schedule @by_halves {
  tile.cluster memory { fetch(0) }
  tile.cluster compute { read(0) multiply(0) }
}

// CHECK: tile.kernel @for_tiles
tile.kernel @for_tiles(%k: !tile.view<?x?x?x128xbf16>, %n: i32) target("gfx950") waves(8) {
  %K = tile.ring %k[%n, %n] : !tile.view<?x?x?x128xbf16> -> !tile.ring<64x128xbf16>
  %zero = tile.fill 0.0 : !tile.frag<128x32xf32, acc>
  %acc = tile.for_tiles %t = 0 to %n init(%o = %zero : !tile.frag<128x32xf32, acc>) schedule(@sequential) {
    tile.step @fetch_k { tile.fetch %K[%t] : !tile.ring<64x128xbf16> }
    %next = tile.step @keep -> !tile.frag<128x32xf32, acc> {
      tile.yield %o : !tile.frag<128x32xf32, acc>
    }
    tile.yield %next : !tile.frag<128x32xf32, acc>
  }
}

// CHECK: tile.kernel @matrices
tile.kernel @matrices(%a: !tile.view<?x?xbf16>, %c: !tile.view<?x?xbf16>, %t: i32) target("gfx950") waves(8) {
  %row, %column = tile.block_tile %c rows(256) columns(256) band(4) xcds(8) : !tile.view<?x?xbf16>
  %i, %j = tile.wave_grid rows(2) columns(4)
  %a_ring = tile.ring %a[%row] by_columns unpadded : !tile.view<?x?xbf16> -> !tile.ring<256x64xbf16>
  %lhs = tile.read %a_ring[%t] part(%i) : !tile.ring<256x64xbf16> -> !tile.frag<128x64xbf16, lhs>
  %rhs = tile.read %a_ring[%t] part(%j) : !tile.ring<256x64xbf16> -> !tile.frag<64x64xbf16, rhs>
  %half = tile.slice_depth %lhs from 32 : !tile.frag<128x64xbf16, lhs> -> !tile.frag<128x32xbf16, lhs>
}

// CHECK: tile.kernel @accesses
tile.kernel @accesses(%q: !tile.view<?x?x?x128xbf16>, %c: !tile.view<?x?xbf16>, %b: !tile.view<?xbf16>, %s: !tile.view<?x4xf32>,
    %lengths: !tile.view<?xi32>, %out: !tile.view<?x?x?x128xbf16>, %sums_of: !tile.view<?x?xf32>, %n: !tile.view<?xi32>,
    %dq: !tile.view<?x?x?x128xf32>, %many: !tile.view<?x?x?xbf16>, %batch: i32, %row: i32, %head: i32, %column: i32,
    %group: i32, %zero: i32) target("gfx950") waves(1) {
  %x = tile.load %q[%batch, %row, %head] : <?x?x?x128xbf16> -> <128x32xbf16, rhs>
  %block = tile.load %c[%row, %column] : <?x?xbf16> -> !tile.frag<64x32xf32, acc>
  %bias = tile.load %b[%column] : <?xbf16> -> !tile.columns<64xf32, acc>
  %scales = tile.load %s[%row, %zero] along(0) : <?x4xf32> -> !tile.rows<32xf32>
  %count = tile.load %lengths[%batch] : <?xi32> -> i32
  %o = tile.fill 0.0 : !tile.frag<128x32xf32, acc>
  %sums = tile.fill 0.0 : !tile.rows<32xf32>
  tile.store %o, %out[%batch, %row, %head] : <128x32xf32, acc>, <?x?x?x128xbf16>
  tile.store %sums, %sums_of[%head, %row] : !tile.rows<32xf32>, <?x?xf32>
  tile.store %count, %n[%batch] : i32, <?xi32>
  tile.atomic_add %o, %dq[%batch, %row, %head] : <128x32xf32, acc>, <?x?x?x128xf32>
  %x_of_grid, %y_of_grid, %z_of_grid = tile.workgroup_id ["ceildiv(m, 128) * ceildiv(n, 128)", "batch"]
  %b_of_group = tile.select %many[%group] : <?x?x?xbf16> -> <?x?xbf16>
}

// CHECK: tile.kernel @exchanged
tile.kernel @exchanged(%t: i32) target("gfx950") waves(2) {
  %i, %j = tile.wave_grid rows(2) columns(1)
  %ds_ring = tile.ring named("ds") : !tile.ring<64x64xbf16>
  %ds = tile.fill 0.0 : !tile.frag<64x32xf32, acc>
  tile.put %ds, %ds_ring[%t] rows_part(%i) : !tile.frag<64x32xf32, acc>, <64x64xbf16>
}

// CHECK: tile.kernel @transposed_parts
tile.kernel @transposed_parts(%t: i32) target("gfx950") waves(8) {
  %i, %j = tile.wave_grid rows(4) columns(2)
  %k_ring = tile.ring named("k") : !tile.ring<256x128xbf16>
  %ds_ring = tile.ring named("ds") : !tile.ring<256x64xbf16>
  // CHECK: tile.read_transposed %{{.*}} part(%{{.*}}) : <256x128xbf16> -> <32x256xbf16, lhs_acc>
  %lhs = tile.read_transposed %k_ring[%t] part(%i) : <256x128xbf16> -> <32x256xbf16, lhs_acc>
  %rhs = tile.read_transposed %ds_ring[%t] part(%j) : <256x64xbf16> -> <256x32xbf16, rhs_acc>
}

// CHECK: tile.kernel @image
tile.kernel @image(%a: !tile.view<?x1024xf32>) target("gfx950") waves(1) {
  %zero = arith.constant 0 : i32
  %x = tile.fill 1.0 : !tile.frag<32x32xf32, acc>
  // CHECK: tile.relabel %{{.*}} : <32x32xf32, acc> -> <1x1024xf32, lines(1)>
  %image = tile.relabel %x : !tile.frag<32x32xf32, acc> -> !tile.frag<1x1024xf32, lines(1x64)>
  tile.atomic_add %image, %a[%zero] : !tile.frag<1x1024xf32, lines(1x64)>, !tile.view<?x1024xf32>
}

// CHECK: tile.kernel @bias_and_relu
tile.kernel @bias_and_relu(%slope: f32) target("gfx950") waves(1) {
  %x = tile.fill 1.0 : !tile.frag<64x32xf32, acc>
  %bias = tile.fill 0.5 : !tile.columns<64xbf16, acc>
  %y = tile.map(%e = %x : !tile.frag<64x32xf32, acc>, %b = %bias : !tile.columns<64xbf16, acc>, %s = %slope : f32)
      -> !tile.frag<64x32xbf16, acc> {
    %wide = arith.extf %b : bf16 to f32
    %sum = arith.addf %e, %wide : f32
    %zero = arith.constant 0.0 : f32
    %positive = arith.cmpf ogt, %sum, %zero : f32
    %leak = arith.mulf %sum, %s : f32
    %relu = arith.select %positive, %sum, %leak : f32
    %rounded = arith.truncf %relu : f32 to bf16
    tile.yield %rounded : bf16
  }
  %diagonal = tile.map() at(%row, %column) -> !tile.frag<32x32xi32, acc> {
    %same = arith.cmpi eq, %row, %column : i32
    %one = arith.extui %same : i1 to i32
    tile.yield %one : i32
  }
}

// CHECK: tile.kernel @greatest
tile.kernel @greatest() target("gfx950") waves(1) {
  %x = tile.fill 1.0 : !tile.frag<32x128xf32, lines>
  %of_rows = tile.reduce max %x over columns : !tile.frag<32x128xf32, lines> -> !tile.rows<32xf32, lines(4x32)>
  %of_all = tile.reduce max %of_rows over rows : !tile.rows<32xf32, lines(4x32)> -> f32
}

// CHECK: tile.kernel @across_waves
tile.kernel @across_waves() target("gfx950") waves(8) {
  %i, %j = tile.wave_grid rows(2) columns(4)
  %zero = tile.fill 0.0 : !tile.rows<64xf32>
  %row_sums = tile.reduce_waves sum %zero along(%j) : !tile.rows<64xf32>
}

// CHECK: tile.kernel @bytes
// CHECK: tile.random_bytes %seed, %offset at_element(%{{.*}}, %{{.*}}) : <64x32xi8, acc>
tile.kernel @bytes(%seed: i64, %offset: i64, %out: !tile.view<?x?xi8>) target("gfx950") waves(1) {
  %zero = arith.constant 0 : i32
  %bytes = tile.random_bytes %seed, %offset at_element(%zero, %zero) : !tile.frag<64x32xi8, acc>
  tile.store %bytes, %out[%zero, %zero] : !tile.frag<64x32xi8, acc>, !tile.view<?x?xi8>
}

// CHECK: tile.kernel @square
// CHECK: %[[LHS:.*]] = tile.convert_layout %{{.*}} : !tile.frag<32x32xbf16, lines> -> !tile.frag<32x32xbf16, lhs>
// CHECK: tile.convert_layout %{{.*}} : !tile.frag<32x32xf32, acc> -> !tile.frag<32x32xf32, lines>
tile.kernel @square(%a: !tile.view<?x?xbf16>, %c: !tile.view<?x?xf32>) target("gfx950") waves(1) {
  %zero = arith.constant 0 : i32
  %x = tile.load %a[%zero, %zero] : !tile.view<?x?xbf16> -> !tile.frag<32x32xbf16, lines>
  %lhs = tile.convert_layout %x : !tile.frag<32x32xbf16, lines> -> !tile.frag<32x32xbf16, lhs>
  %rhs = tile.convert_layout %x : !tile.frag<32x32xbf16, lines> -> !tile.frag<32x32xbf16, rhs>
  %none = tile.fill 0.0 : !tile.frag<32x32xf32, acc>
  %product = tile.mma %lhs, %rhs, %none : !tile.frag<32x32xbf16, lhs>, !tile.frag<32x32xbf16, rhs>, !tile.frag<32x32xf32, acc>
  %rows = tile.convert_layout %product : !tile.frag<32x32xf32, acc> -> !tile.frag<32x32xf32, lines>
  tile.store %rows, %c[%zero, %zero] : !tile.frag<32x32xf32, lines>, !tile.view<?x?xf32>
}

// CHECK: tile.kernel @aside
tile.kernel @aside(%a: !tile.view<?x?xbf16>, %c: !tile.view<?x?xbf16>) target("gfx950") waves(1) {
  %zero = arith.constant 0 : i32
  %b = tile.load %a[%zero, %zero] : !tile.view<?x?xbf16> -> !tile.frag<64x32xbf16, rhs>
  %aside = tile.stash %b : !tile.frag<64x32xbf16, rhs>
  %half = tile.recall %aside from 32 : !tile.stash<!tile.frag<64x32xbf16, rhs>> -> !tile.frag<32x32xbf16, rhs>
  tile.store %half, %c[%zero, %zero] : !tile.frag<32x32xbf16, rhs>, !tile.view<?x?xbf16>
}
