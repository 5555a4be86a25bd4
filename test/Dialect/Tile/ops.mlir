// Every op of the tile dialect, printed as it is parsed, custom and generic.
// RUN: hocket-opt %s | hocket-opt | FileCheck %s
// RUN: hocket-opt %s --mlir-print-op-generic | hocket-opt | FileCheck %s

// CHECK-LABEL: tile.schedule @plain {
// CHECK-NEXT:    tile.cluster memory { fetch_k(0) fetch_v(0) }
// CHECK-NEXT:    tile.cluster compute { read_k(0) "odd name"(0) }
// CHECK-NEXT:  }
tile.schedule @plain {
  tile.cluster memory { fetch_k(0) fetch_v(0) }
  tile.cluster compute { read_k(0) "odd name"(0) }
}

// Offsets keep their sign; an empty cluster is a barrier.
// CHECK-LABEL: tile.schedule "private" @all unroll(2) wave_groups(2) attributes {tile.default} {
// CHECK-NEXT:    tile.cluster memory { a(+2) b(-1) c(0) }
// CHECK-NEXT:    tile.cluster compute { }
tile.schedule "private" @all unroll(2) wave_groups(2) attributes {tile.default} {
  tile.cluster memory { a(+2) b(-1) c(0) }
  tile.cluster compute { }
}

// CHECK-LABEL: tile.kernel @arguments(
// An argument is bound to its name, which the printed text would lose; one without a name to nothing.
// CHECK-SAME: %q: !tile.view<?x?x?x128xbf16> {tile.bind = "q"}, %a: i32 {tile.bind = "a"}, %other: i64 {tile.bind = "other"}, %{{[^:]*}}: f32) target("gfx950") waves(8) attributes {note = 1 : i64} {
// CHECK-NEXT: }
tile.kernel @arguments(%q: !tile.view<?x?x?x128xbf16> {tile.bind = "q"}, %a: i32, %b: i64 {tile.bind = "other"}, %3: f32)
    target("gfx950") waves(8) attributes {note = 1} {
  tile.return
}

// CHECK-LABEL: tile.kernel @surroundings
tile.kernel @surroundings(%q: !tile.view<?x?x?x128xbf16> {tile.bind = "q"},
                          %k: !tile.view<?x?x?x128xbf16> {tile.bind = "k", tile.sizes = ["batch", "seq_kv", "kv_heads"]},
                          %lse: !tile.view<?x?x?xf32> {tile.bind = "lse"}) target("gfx950") waves(8) {
  // CHECK: %batch, %head, %row = tile.block_id %q rows(256) last_rows_first : <?x?x?x128xbf16>
  %batch, %head, %block = tile.block_id %q rows(256) last_rows_first : !tile.view<?x?x?x128xbf16>
  // CHECK: tile.block_id %q rows(128) last_rows_first paired xcds(8) : <?x?x?x128xbf16>
  %batch3, %head3, %block3 = tile.block_id %q rows(128) last_rows_first paired xcds(8) : !tile.view<?x?x?x128xbf16>
  // CHECK: tile.block_id %q rows(256) : <?x?x?x128xbf16>
  %batch2, %head2, %block2 = tile.block_id %q rows(256) : !tile.view<?x?x?x128xbf16>
  // CHECK: %wave_row = tile.wave_row %row rows(32)
  %row = tile.wave_row %block rows(32)
  // CHECK: %kv_head = tile.group_head %head of %q in %k
  %kv_head = tile.group_head %head of %q in %k : !tile.view<?x?x?x128xbf16>, !tile.view<?x?x?x128xbf16>
  // CHECK: %seq_kv = tile.dim %k, 1 : <?x?x?x128xbf16>
  %extent = tile.dim %k, 1 : !tile.view<?x?x?x128xbf16>
  // CHECK: %k_ring = tile.ring %k[%batch, %kv_head] : <?x?x?x128xbf16> -> <64x128xbf16>
  %ring = tile.ring %k[%batch, %kv_head] : !tile.view<?x?x?x128xbf16> -> !tile.ring<64x128xbf16>
  // CHECK: tile.ring %k[%batch, %kv_head] depth(2) at(32768) layout(<panel 256, chunk 1024, pad 0,
  %placed = tile.ring %k[%batch, %kv_head] depth(2) at(32768) layout(<panel 256, chunk 1024, pad 0,
      rows [256, 512, 1024, 2048, 4096, 8192], bytes [1, 2, 4, 8, 16, 32, 64, 128]>)
      : !tile.view<?x?x?x128xbf16> -> !tile.ring<64x128xbf16>
  // CHECK: %q_rows = tile.load %q[%batch, %wave_row, %head] : <?x?x?x128xbf16> -> <128x32xbf16, rhs>
  %rhs = tile.load %q[%batch, %row, %head] : !tile.view<?x?x?x128xbf16> -> !tile.frag<128x32xbf16, rhs>
  // CHECK: tile.load %q[%batch, %wave_row, %head] : <?x?x?x128xbf16> -> <32x128xbf16, lhs>
  %lhs = tile.load %q[%batch, %row, %head] : !tile.view<?x?x?x128xbf16> -> !tile.frag<32x128xbf16, lhs>
  // CHECK: %zero = tile.fill 0.000000e+00 : !tile.frag<128x32xf32, acc>
  %acc = tile.fill 0.0 : !tile.frag<128x32xf32, acc>
  // CHECK: %lowest = tile.fill 0xFF800000 : !tile.rows<32xf32>
  %rows = tile.fill 0xFF800000 : !tile.rows<32xf32>
  // CHECK: tile.store %zero, %q[%batch, %wave_row, %head] : <128x32xf32, acc>, <?x?x?x128xbf16>
  tile.store %acc, %q[%batch, %row, %head] : !tile.frag<128x32xf32, acc>, !tile.view<?x?x?x128xbf16>
  // CHECK: tile.store_rows %lowest, %lse[%batch, %head, %wave_row] : <32xf32>, <?x?x?xf32>
  tile.store_rows %rows, %lse[%batch, %head, %row] : !tile.rows<32xf32>, !tile.view<?x?x?xf32>
}

// CHECK-LABEL: tile.kernel @loop
tile.kernel @loop(%k: !tile.view<?x?x?x128xbf16> {tile.bind = "k"}, %n: i32) target("gfx950") waves(8) {
  // CHECK: %k_ring = tile.ring
  %ring = tile.ring %k[%n, %n] : !tile.view<?x?x?x128xbf16> -> !tile.ring<64x128xbf16>
  %init = tile.fill 0.0 : !tile.rows<32xf32>
  // Results and carried values are called after what is yielded, steps' results after their step.
  // CHECK: %final_total = tile.for_tiles %t = 0 to %{{.*}} init(%old_total = %zero : !tile.rows<32xf32>) schedule(@plain) attributes {note} {
  %last = tile.for_tiles %t = 0 to %n init(%carried = %init : !tile.rows<32xf32>) schedule(@plain) attributes {note} {
    // CHECK: tile.step @fetch_k {
    // CHECK-NEXT: tile.fetch %k_ring[%t] : <64x128xbf16>
    // CHECK-NEXT: }
    tile.step @fetch_k { tile.fetch %ring[%t] : !tile.ring<64x128xbf16> }
    // CHECK: %read_k = tile.step @read_k -> !tile.frag<64x128xbf16, lhs> attributes {note} {
    // CHECK-NEXT: %operand{{.*}} = tile.read %k_ring[%t] : <64x128xbf16> -> <64x128xbf16, lhs>
    %a = tile.step @read_k -> !tile.frag<64x128xbf16, lhs> attributes {note} {
      %x = tile.read %ring[%t] : !tile.ring<64x128xbf16> -> !tile.frag<64x128xbf16, lhs>
      tile.yield %x : !tile.frag<64x128xbf16, lhs>
    }
    // CHECK: %operand, %scaled{{.*}} = tile.step @two -> !tile.frag<128x64xbf16, lhs_acc>, !tile.rows<32xf32> {
    // CHECK: tile.read_transposed %k_ring[%t] : <64x128xbf16> -> <128x64xbf16, lhs_acc>
    %b:2 = tile.step @two -> !tile.frag<128x64xbf16, lhs_acc>, !tile.rows<32xf32> {
      %x = tile.read_transposed %ring[%t] : !tile.ring<64x128xbf16> -> !tile.frag<128x64xbf16, lhs_acc>
      %true = arith.constant true
      %y = tile.rescale %carried by %carried when %true : !tile.rows<32xf32> by !tile.rows<32xf32>
      tile.yield %x, %y : !tile.frag<128x64xbf16, lhs_acc>, !tile.rows<32xf32>
    }
    // CHECK: %total = tile.step @total
    %total = tile.step @total -> !tile.rows<32xf32> {
      tile.yield %b#1 : !tile.rows<32xf32>
    }
    // CHECK: tile.yield %total : !tile.rows<32xf32>
    tile.yield %total : !tile.rows<32xf32>
  }
  // A loop that carries nothing has no yield to print.
  // CHECK: tile.for_tiles %t = 0 to %{{.*}} schedule(@plain) {
  // CHECK-NEXT: }
  tile.for_tiles %t = 0 to %n schedule(@plain) {
  }
  // What the loop says of bounds that cut its tiles.
  // CHECK: tile.for_tiles %t = 0 to %[[N:.*]] cut_left(%[[N]] within 3) cut_right(%[[N]] within 0, %[[D:.*]] within 255) schedule(@plain) {
  %d = arith.addi %n, %n : i32
  tile.for_tiles %t = 0 to %n cut_left(%n within 3) cut_right(%n within 0, %d within 255) schedule(@plain) {
  }
}

// CHECK-LABEL: tile.kernel @compute
tile.kernel @compute(%scale: f32 {tile.bind = "scale"}, %tile: i32, %below: i32, %diagonal: i32)
    target("gfx950") waves(1) {
  %k = tile.fill 0.0 : !tile.frag<64x128xbf16, lhs>
  %q = tile.fill 0.0 : !tile.frag<128x32xbf16, rhs>
  %zero = tile.fill 0.0 : !tile.frag<64x32xf32, acc>
  %rows = tile.fill 0.0 : !tile.rows<32xf32>
  %flip = arith.cmpi eq, %tile, %below : i32
  // CHECK: %signed = tile.negate %{{.*}} when %{{.*}} : <128x32xbf16, rhs>
  %signed = tile.negate %q when %flip : !tile.frag<128x32xbf16, rhs>
  // CHECK: %product = tile.mma %{{.*}}, %signed, %{{.*}} : <64x128xbf16, lhs>, <128x32xbf16, rhs>, <64x32xf32, acc>
  %scores = tile.mma %k, %signed, %zero : !tile.frag<64x128xbf16, lhs>, !tile.frag<128x32xbf16, rhs>, !tile.frag<64x32xf32, acc>
  // CHECK: %masked = tile.mask %product tile(%{{.*}}) below(%{{.*}}) diagonal(%{{.*}}) : <64x32xf32, acc>
  %causal = tile.mask %scores tile(%tile) below(%below) diagonal(%diagonal) : !tile.frag<64x32xf32, acc>
  // CHECK: tile.mask %masked tile(%{{.*}}) below(%{{.*}}) : <64x32xf32, acc>
  %masked = tile.mask %causal tile(%tile) below(%below) : !tile.frag<64x32xf32, acc>
  // CHECK: %max = tile.row_max %{{.*}} : <64x32xf32, acc> -> <32xf32>
  %max = tile.row_max %masked : !tile.frag<64x32xf32, acc> -> !tile.rows<32xf32>
  // CHECK: %new_reference, %new_bound, %factor, %moved = tile.settle %max, %{{.*}}, %{{.*}} scale(%scale) threshold(8.000000e+00) : <32xf32>
  %reference, %bound, %factor, %moved = tile.settle %max, %rows, %rows scale(%scale) threshold(8.0) : !tile.rows<32xf32>
  // CHECK: tile.rescale %{{.*}}, %{{.*}} by %factor when %moved : !tile.frag<64x32xf32, acc>, !tile.rows<32xf32> by <32xf32>
  %scaled:2 = tile.rescale %zero, %rows by %factor when %moved : !tile.frag<64x32xf32, acc>, !tile.rows<32xf32> by !tile.rows<32xf32>
  // CHECK: %part = tile.slice %{{.*}} from 32 : <64x32xf32, acc> -> <32x32xf32, acc>
  %half = tile.slice %masked from 32 : !tile.frag<64x32xf32, acc> -> !tile.frag<32x32xf32, acc>
  // CHECK: %weights = tile.exp2 %part scale(%scale) minus(%new_reference) : <32x32xf32, acc>, !tile.rows<32xf32>{{$}}
  %wide = tile.exp2 %half scale(%scale) minus(%reference) : !tile.frag<32x32xf32, acc>, !tile.rows<32xf32>
  // CHECK: tile.row_sum %weights, %{{.*}} : <32x32xf32, acc>, <32xf32>
  %wide_sum = tile.row_sum %wide, %rows : !tile.frag<32x32xf32, acc>, !tile.rows<32xf32>
  // CHECK: %packed = tile.pack %weights : <32x32xf32, acc> -> <32x32xbf16, rhs_acc>
  %weights = tile.pack %wide : !tile.frag<32x32xf32, acc> -> !tile.frag<32x32xbf16, rhs_acc>
  // CHECK: %whole = tile.concat %packed, %packed : !tile.frag<32x32xbf16, rhs_acc>, !tile.frag<32x32xbf16, rhs_acc> -> <64x32xbf16, rhs_acc>
  %both = tile.concat %weights, %weights : !tile.frag<32x32xbf16, rhs_acc>, !tile.frag<32x32xbf16, rhs_acc> -> !tile.frag<64x32xbf16, rhs_acc>
  // CHECK: %[[SUM:.*]] = tile.row_sum %whole, %{{.*}} : <64x32xbf16, rhs_acc>, <32xf32>
  %sum = tile.row_sum %both, %rows : !tile.frag<64x32xbf16, rhs_acc>, !tile.rows<32xf32>
  // CHECK: %total = tile.unify %[[SUM]] : <32xf32>
  %total = tile.unify %sum : !tile.rows<32xf32>
  // CHECK: %normalized = tile.normalize %{{.*}} by %total : <64x32xf32, acc>, <32xf32>
  %normalized = tile.normalize %zero by %total : !tile.frag<64x32xf32, acc>, !tile.rows<32xf32>
  // CHECK: %log_sum = tile.log_sum %total reference(%new_reference) : <32xf32>
  %log = tile.log_sum %total reference(%reference) : !tile.rows<32xf32>
}

// CHECK-LABEL: tile.kernel @clusters
tile.kernel @clusters(%k: !tile.view<?x?x?x128xbf16>, %n: i32) target("gfx950") waves(8) {
  // CHECK: %[[RING:.*]] = tile.ring
  %ring = tile.ring %k[%n, %n] : !tile.view<?x?x?x128xbf16> -> !tile.ring<64x128xbf16>
  // CHECK: tile.fetch %[[RING]][%{{.*}}] slot(%{{.*}}) : <64x128xbf16>
  tile.fetch %ring[%n] slot(%n) : !tile.ring<64x128xbf16>
  // CHECK: tile.fetch %[[RING]][%{{.*}}] from(%{{.*}}) slot(%{{.*}}) : <64x128xbf16>
  tile.fetch %ring[%n] from(%n) slot(%n) : !tile.ring<64x128xbf16>
  // CHECK: tile.read %[[RING]][%{{.*}}] slot(%{{.*}})
  %a = tile.read %ring[%n] slot(%n) : !tile.ring<64x128xbf16> -> !tile.frag<64x128xbf16, lhs>
  // CHECK: tile.read_transposed %[[RING]][%{{.*}}] slot(%{{.*}})
  %b = tile.read_transposed %ring[%n] slot(%n) : !tile.ring<64x128xbf16> -> !tile.frag<128x64xbf16, lhs_acc>
  // CHECK: tile.wait vm(4) lgkm(0)
  tile.wait vm(4) lgkm(0)
  // CHECK: tile.wait vm(63){{$}}
  tile.wait vm(63)
  // CHECK: tile.wait lgkm(15)
  tile.wait lgkm(15)
  // CHECK: tile.barrier{{$}}
  tile.barrier
  // CHECK: tile.barrier group(1)
  tile.barrier group(1)
  // CHECK: tile.await fetches{{$}}
  tile.await fetches
  // CHECK: tile.await fetches but(%[[RING]], %[[RING]] : !tile.ring<64x128xbf16>, !tile.ring<64x128xbf16>) reads
  tile.await fetches but(%ring, %ring : !tile.ring<64x128xbf16>, !tile.ring<64x128xbf16>) reads
  // CHECK: tile.await reads
  tile.await reads
}

// CHECK-LABEL: tile.kernel @slices
tile.kernel @slices(%k: !tile.view<?x?x?x64xbf16> {tile.bind = "k"}, %n: i32) target("gfx950") waves(8) {
  // CHECK: %[[QUOTIENT:.*]], %{{.*}} = tile.divmod %{{.*}} by %{{.*}}{{$}}
  %quotient, %rest = tile.divmod %n by %n
  // The slice, and a ring over it, are called after the tensor.
  // CHECK: %k_slice = tile.slice_rows %k from %[[QUOTIENT]] size %{{.*}} : <?x?x?x64xbf16>
  %part = tile.slice_rows %k from %quotient size %rest : !tile.view<?x?x?x64xbf16>
  %of_heads = arith.cmpi slt, %quotient, %rest : i32
  // CHECK: %k_lines = tile.rows_along %k[%[[QUOTIENT]], %{{.*}}, %{{.*}}] heads(%{{.*}}) size(%{{.*}}) : <?x?x?x64xbf16>
  %lines = tile.rows_along %k[%quotient, %rest, %rest] heads(%of_heads) size(%rest) : !tile.view<?x?x?x64xbf16>
  // CHECK: tile.rows_along %k[%{{.*}}, %{{.*}}, %{{.*}}] heads(%{{.*}}) size(%{{.*}}) heads_first : <?x?x?x64xbf16>
  %in_heads = tile.rows_along %k[%quotient, %rest, %rest] heads(%of_heads) size(%rest) heads_first : !tile.view<?x?x?x64xbf16>
  // CHECK: %k_ring = tile.ring %k_slice
  %ring = tile.ring %part[%n, %n] : !tile.view<?x?x?x64xbf16> -> !tile.ring<64x64xbf16>
}

// CHECK-LABEL: tile.kernel @combine
tile.kernel @combine(%partial: !tile.view<?x?x?x64xf32>, %partial_lse: !tile.view<?x?x?xf32>, %o: !tile.view<?x?x?x64xbf16>,
    %lse: !tile.view<?x?x?xf32>, %n: i32) target("gfx950") waves(8) {
  // CHECK: tile.combine %{{.*}}, %{{.*}} splits(%{{.*}}) into %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}] rows(4) : <?x?x?x64xf32>, <?x?x?xf32>, <?x?x?x64xbf16>{{$}}
  tile.combine %partial, %partial_lse splits(%n) into %o[%n, %n, %n] rows(4)
      : !tile.view<?x?x?x64xf32>, !tile.view<?x?x?xf32>, !tile.view<?x?x?x64xbf16>
  // CHECK: tile.combine {{.*}} into %{{.*}} and %{{.*}}[%{{.*}}] rows(4) : {{.*}}, !tile.view<?x?x?xf32>{{$}}
  tile.combine %partial, %partial_lse splits(%n) into %o and %lse[%n, %n, %n] rows(4)
      : !tile.view<?x?x?x64xf32>, !tile.view<?x?x?xf32>, !tile.view<?x?x?x64xbf16>, !tile.view<?x?x?xf32>
}

// A hand may write the clauses of a schedule in any order.
// CHECK: tile.schedule @clauses unroll(2) wave_groups(2) waves(4) {
tile.schedule @clauses waves(4) wave_groups(2) unroll(2) {
  tile.cluster compute { a(0) }
}

// What a loop says of the tiles that a wave sees, and what it leaves out of the others.
// CHECK-LABEL: tile.kernel @seen
tile.kernel @seen(%n: i32, %from: i32, %to: i32) target("gfx950") waves(1) {
  // CHECK: tile.for_tiles %{{.*}} = 0 to %{{.*}} cut_right(%{{.*}} within 0) seen(%{{.*}} to %{{.*}}) init(
  %r = tile.for_tiles %t = 0 to %n cut_right(%n within 0) seen(%from to %to) init(%c = %n : i32) schedule(@clauses) {
    %a = tile.step @a -> i32 { tile.yield %t : i32 }
    tile.yield %a : i32
  }
  %sees = arith.cmpi slt, %from, %to : i32
  // CHECK: tile.where %{{.*}} else(%{{.*}}, %{{.*}} : i32, i32) {
  %x:2 = tile.where %sees else(%n, %to : i32, i32) {
    tile.yield %to, %n : i32, i32
  }
  // CHECK: tile.where %{{[a-z0-9_]+}} {
  tile.where %sees {
  }
}
