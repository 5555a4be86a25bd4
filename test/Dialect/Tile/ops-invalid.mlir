// Every refusal of an op of the tile dialect, by its verifier or its parser.
// RUN: hocket-opt %s -verify-diagnostics -split-input-file

// expected-error @below {{has 0 waves, a workgroup has 1 to 16}}
tile.kernel @no_waves() target("gfx950") waves(0) {
}

// -----

// expected-error @below {{has 17 waves, a workgroup has 1 to 16}}
tile.kernel @many_waves() target("gfx950") waves(17) {
}

// -----

// expected-error @below {{argument 1 has type 'index', expected a view, i32, i64 or f32}}
tile.kernel @index(%a: i32, %b: index) target("gfx950") waves(1) {
}

// -----

// expected-error @below {{cannot be named 'a b', use letters, digits, '_', '.' and '$'}}
tile.kernel @"a b"() target("gfx950") waves(1) {
}

// -----

// expected-error @below {{cannot be named '1st'}}
tile.kernel @"1st"() target("gfx950") waves(1) {
}

// -----

// expected-error @below {{cannot be named ''}}
tile.kernel @""() target("gfx950") waves(1) {
}

// -----

// expected-error @below {{returns values, a kernel has none}}
"tile.kernel"() <{sym_name = "returns", function_type = () -> i32, target = "gfx950", waves = 1 : i64}> ({
  "tile.return"() : () -> ()
}) : () -> ()

// -----

// expected-error @below {{expected the target's name as a string}}
tile.kernel @target() target(950) waves(1) {
}

// -----

// expected-error @below {{expected 'target'}}
tile.kernel @no_target() waves(1) {
}

// -----

// expected-error @below {{expected the number of waves as an integer}}
tile.kernel @waves() target("gfx950") waves("8") {
}

// -----

tile.kernel @outer() target("gfx950") waves(1) {
  // expected-error @below {{'tile.kernel' op expects parent op 'builtin.module'}}
  tile.kernel @inner() target("gfx950") waves(1) {
  }
}

// -----

tile.kernel @dim(%q: !tile.view<?x?x?x128xbf16>) target("gfx950") waves(1) {
  // expected-error @below {{dimension 4 of a view of rank 4}}
  %0 = tile.dim %q, 4 : !tile.view<?x?x?x128xbf16>
}

// -----

tile.kernel @negative_dim(%q: !tile.view<?x?x?x128xbf16>) target("gfx950") waves(1) {
  // expected-error @below {{dimension -1 of a view of rank 4}}
  %0 = tile.dim %q, -1 : !tile.view<?x?x?x128xbf16>
}

// -----

tile.kernel @block_rows(%q: !tile.view<?x?x?x128xbf16>) target("gfx950") waves(1) {
  // expected-error @below {{rows(0), expected 1 to 65536}}
  %b, %h, %r = tile.block_id %q rows(0) : !tile.view<?x?x?x128xbf16>
}

// -----

tile.kernel @block_rank(%q: !tile.view<?x?x128xbf16>) target("gfx950") waves(1) {
  // expected-error @below {{'tile.block_id' op needs a (batch, sequence, head, head dimension) view, found rank 3}}
  %b, %h, %r = tile.block_id %q rows(256) : !tile.view<?x?x128xbf16>
}

// -----

tile.kernel @wave_rows(%n: i32) target("gfx950") waves(1) {
  // expected-error @below {{rows(-32), expected 1 to 65536}}
  %r = tile.wave_row %n rows(-32)
}

// -----

tile.kernel @group_query(%q: !tile.view<?x?x128xbf16>, %k: !tile.view<?x?x?x128xbf16>, %h: i32) target("gfx950") waves(1) {
  // expected-error @below {{'tile.group_head' op needs a (batch, sequence, head, head dimension) view, found rank 3}}
  %0 = tile.group_head %h of %q in %k : !tile.view<?x?x128xbf16>, !tile.view<?x?x?x128xbf16>
}

// -----

tile.kernel @group_kv(%q: !tile.view<?x?x?x128xbf16>, %k: !tile.view<?xbf16>, %h: i32) target("gfx950") waves(1) {
  // expected-error @below {{'tile.group_head' op needs a (batch, sequence, head, head dimension) view, found rank 1}}
  %0 = tile.group_head %h of %q in %k : !tile.view<?x?x?x128xbf16>, !tile.view<?xbf16>
}

// -----

tile.kernel @ring_rank(%k: !tile.view<?x?x128xbf16>, %n: i32) target("gfx950") waves(1) {
  // expected-error @below {{'tile.ring' op needs a (batch, sequence, head, head dimension) view, found rank 3}}
  %0 = tile.ring %k[%n, %n] : !tile.view<?x?x128xbf16> -> !tile.ring<64x128xbf16>
}

// -----

tile.kernel @ring_dynamic(%k: !tile.view<?x?x?x?xbf16>, %n: i32) target("gfx950") waves(1) {
  // expected-error @below {{needs a view whose head dimension is known, found '!tile.view<?x?x?x?xbf16>'; write a number for its last '?'}}
  %0 = tile.ring %k[%n, %n] : !tile.view<?x?x?x?xbf16> -> !tile.ring<64x128xbf16>
}

// -----

tile.kernel @ring_indices(%k: !tile.view<?x?x?x128xbf16>, %n: i32) target("gfx950") waves(1) {
  // expected-error @below {{has 1 indices, expected batch and head}}
  %0 = tile.ring %k[%n] : !tile.view<?x?x?x128xbf16> -> !tile.ring<64x128xbf16>
}

// -----

tile.kernel @ring_element(%k: !tile.view<?x?x?x128xbf16>, %n: i32) target("gfx950") waves(1) {
  // expected-error @below {{ring of 'f16' over a view of 'bf16'}}
  %0 = tile.ring %k[%n, %n] : !tile.view<?x?x?x128xbf16> -> !tile.ring<64x128xf16>
}

// -----

tile.kernel @ring_columns(%k: !tile.view<?x?x?x128xbf16>, %n: i32) target("gfx950") waves(1) {
  // expected-error @below {{ring tile has 64 columns, the view has 128; give it the view's, a multiple of 8, rounded up to a multiple of 32}}
  %0 = tile.ring %k[%n, %n] : !tile.view<?x?x?x128xbf16> -> !tile.ring<64x64xbf16>
}

// -----

tile.kernel @ring_depth(%k: !tile.view<?x?x?x128xbf16>, %n: i32) target("gfx950") waves(1) {
  // expected-error @below {{depth(0), expected 1 to 1024}}
  %0 = tile.ring %k[%n, %n] depth(0) : !tile.view<?x?x?x128xbf16> -> !tile.ring<64x128xbf16>
}

// -----

tile.kernel @ring_huge_depth(%k: !tile.view<?x?x?x128xbf16>, %n: i32) target("gfx950") waves(1) {
  // expected-error @below {{depth(9223372036854775807), expected 1 to 1024}}
  %0 = tile.ring %k[%n, %n] depth(9223372036854775807) : !tile.view<?x?x?x128xbf16> -> !tile.ring<64x128xbf16>
}

// -----

tile.kernel @ring_offset(%k: !tile.view<?x?x?x128xbf16>, %n: i32) target("gfx950") waves(1) {
  // expected-error @below {{at(-16), expected a multiple of 16 from 0 to 1048576}}
  %0 = tile.ring %k[%n, %n] at(-16) : !tile.view<?x?x?x128xbf16> -> !tile.ring<64x128xbf16>
}

// -----

tile.kernel @ring_unaligned(%k: !tile.view<?x?x?x128xbf16>, %n: i32) target("gfx950") waves(1) {
  // expected-error @below {{at(8), expected a multiple of 16 from 0 to 1048576}}
  %0 = tile.ring %k[%n, %n] at(8) : !tile.view<?x?x?x128xbf16> -> !tile.ring<64x128xbf16>
}

// -----

// Two bits of the row contribute the same offset: two rows would share their bytes.
tile.kernel @ring_not_bijective(%k: !tile.view<?x?x?x128xbf16>, %n: i32) target("gfx950") waves(1) {
  // expected-error @below {{has a layout that does not fit '!tile.ring<64x128xbf16>': the linear part of an LDS tile must map every (row, byte) of a panel to an offset of its own}}
  %0 = tile.ring %k[%n, %n] layout(<panel 256, chunk 1024, pad 0, rows [256, 256, 1024, 2048, 4096, 8192], bytes [1, 2, 4, 8, 16, 32, 64, 128]>)
    : !tile.view<?x?x?x128xbf16> -> !tile.ring<64x128xbf16>
}

// -----

tile.kernel @ring_huge_base(%k: !tile.view<?x?x?x128xbf16>, %n: i32) target("gfx950") waves(1) {
  // expected-error @below {{has a layout that does not fit '!tile.ring<64x128xbf16>'}}
  %0 = tile.ring %k[%n, %n] layout(<panel 256, chunk 1024, pad 0, rows [9223372036854775807, 512, 1024, 2048, 4096, 8192], bytes [1, 2, 4, 8, 16, 32, 64, 128]>)
    : !tile.view<?x?x?x128xbf16> -> !tile.ring<64x128xbf16>
}

// -----

tile.kernel @ring_few_rows(%k: !tile.view<?x?x?x128xbf16>, %n: i32) target("gfx950") waves(1) {
  // expected-error @below {{has a layout that does not fit '!tile.ring<64x128xbf16>'}}
  %0 = tile.ring %k[%n, %n] layout(<panel 256, chunk 1024, pad 0, rows [256, 512], bytes [1, 2, 4, 8, 16, 32, 64, 128]>)
    : !tile.view<?x?x?x128xbf16> -> !tile.ring<64x128xbf16>
}

// -----

tile.kernel @slice_constant(%k: !tile.view<?x64x?x128xbf16>, %n: i32) target("gfx950") waves(1) {
  // expected-error @below {{needs a view with a run-time number of rows, found '!tile.view<?x64x?x128xbf16>'; write '?' for its extent 1}}
  %0 = tile.slice_rows %k from %n size %n : !tile.view<?x64x?x128xbf16>
}

// -----

tile.kernel @rows_view(%o: !tile.view<?x?x?xbf16>, %n: i32) target("gfx950") waves(1) {
  %0 = tile.fill 0.0 : !tile.rows<32xf32>
  // expected-error @below {{stores to '!tile.view<?x?x?xbf16>', expected a (batch, head, row) view of f32}}
  tile.store_rows %0, %o[%n, %n, %n] : !tile.rows<32xf32>, !tile.view<?x?x?xbf16>
}

// -----

tile.kernel @read_layout(%k: !tile.view<?x?x?x128xbf16>, %n: i32) target("gfx950") waves(1) {
  %0 = tile.ring %k[%n, %n] : !tile.view<?x?x?x128xbf16> -> !tile.ring<64x128xbf16>
  // expected-error @below {{reads a fragment in layout lhs_acc, expected lhs}}
  %1 = tile.read %0[%n] : !tile.ring<64x128xbf16> -> !tile.frag<64x128xbf16, lhs_acc>
}

// -----

tile.kernel @read_shape(%k: !tile.view<?x?x?x128xbf16>, %n: i32) target("gfx950") waves(1) {
  %0 = tile.ring %k[%n, %n] : !tile.view<?x?x?x128xbf16> -> !tile.ring<64x128xbf16>
  // expected-error @below {{reads '!tile.frag<32x128xbf16, lhs>' from '!tile.ring<64x128xbf16>', expected the ring's shape and element type}}
  %1 = tile.read %0[%n] : !tile.ring<64x128xbf16> -> !tile.frag<32x128xbf16, lhs>
}

// -----

tile.kernel @transposed_layout(%k: !tile.view<?x?x?x128xbf16>, %n: i32) target("gfx950") waves(1) {
  %0 = tile.ring %k[%n, %n] : !tile.view<?x?x?x128xbf16> -> !tile.ring<64x128xbf16>
  // expected-error @below {{reads a fragment in layout lhs, expected lhs_acc or rhs_acc}}
  %1 = tile.read_transposed %0[%n] : !tile.ring<64x128xbf16> -> !tile.frag<128x64xbf16, lhs>
}

// -----

tile.kernel @transposed_shape(%k: !tile.view<?x?x?x128xbf16>, %n: i32) target("gfx950") waves(1) {
  %0 = tile.ring %k[%n, %n] : !tile.view<?x?x?x128xbf16> -> !tile.ring<64x128xbf16>
  // expected-error @below {{expected the transposed shape and the same element type}}
  %1 = tile.read_transposed %0[%n] : !tile.ring<64x128xbf16> -> !tile.frag<64x128xbf16, lhs_acc>
}

// -----

tile.kernel @no_wait() target("gfx950") waves(1) {
  // expected-error @below {{waits for nothing; give vm(n), lgkm(n) or both}}
  tile.wait
}

// -----

tile.kernel @wait_vm() target("gfx950") waves(1) {
  // expected-error @below {{vm(64) cannot be encoded, expected 0 to 63}}
  tile.wait vm(64)
}

// -----

tile.kernel @wait_lgkm() target("gfx950") waves(1) {
  // expected-error @below {{lgkm(-1) cannot be encoded, expected 0 to 15}}
  tile.wait lgkm(-1)
}

// -----

tile.kernel @await_nothing() target("gfx950") waves(1) {
  // expected-error @below {{waits for nothing; write fetches, reads or both}}
  tile.await
}

// -----

tile.kernel @await_reads_but(%k: !tile.view<?x?x?x128xbf16>, %n: i32) target("gfx950") waves(1) {
  %0 = tile.ring %k[%n, %n] : !tile.view<?x?x?x128xbf16> -> !tile.ring<64x128xbf16>
  // expected-error @below {{lists fetches that may stay in flight, but does not wait for fetches}}
  tile.await but(%0 : !tile.ring<64x128xbf16>) reads
}

// -----

tile.kernel @barrier_group() target("gfx950") waves(2) {
  // expected-error @below {{group(2), expected 0 or 1}}
  tile.barrier group(2)
}

// -----

tile.kernel @combine_rank(%p: !tile.view<?x?x64xf32>, %l: !tile.view<?x?x?xf32>, %o: !tile.view<?x?x?x64xbf16>, %n: i32) target("gfx950") waves(1) {
  // expected-error @below {{needs a (batch, sequence, head, head dimension) view, found rank 3}}
  tile.combine %p, %l splits(%n) into %o[%n, %n, %n] rows(4) : !tile.view<?x?x64xf32>, !tile.view<?x?x?xf32>, !tile.view<?x?x?x64xbf16>
}

// -----

tile.kernel @combine_types(%p: !tile.view<?x?x?x64xbf16>, %l: !tile.view<?x?x?xf32>, %o: !tile.view<?x?x?x64xbf16>, %n: i32) target("gfx950") waves(1) {
  // expected-error @below {{folds '!tile.view<?x?x?x64xbf16>' into '!tile.view<?x?x?x64xbf16>', expected partial results in f32 and an output of floats}}
  tile.combine %p, %l splits(%n) into %o[%n, %n, %n] rows(4) : !tile.view<?x?x?x64xbf16>, !tile.view<?x?x?xf32>, !tile.view<?x?x?x64xbf16>
}

// -----

tile.kernel @combine_columns(%p: !tile.view<?x?x?x128xf32>, %l: !tile.view<?x?x?xf32>, %o: !tile.view<?x?x?x64xbf16>, %n: i32) target("gfx950") waves(1) {
  // expected-error @below {{folds rows of 128 elements into rows of 64, expected the same number}}
  tile.combine %p, %l splits(%n) into %o[%n, %n, %n] rows(4) : !tile.view<?x?x?x128xf32>, !tile.view<?x?x?xf32>, !tile.view<?x?x?x64xbf16>
}

// -----

tile.kernel @combine_wide(%p: !tile.view<?x?x?x264xf32>, %l: !tile.view<?x?x?xf32>, %o: !tile.view<?x?x?x264xbf16>, %n: i32) target("gfx950") waves(1) {
  // expected-error @below {{folds rows of 264 elements, expected a multiple of 8 up to 256}}
  tile.combine %p, %l splits(%n) into %o[%n, %n, %n] rows(1) : !tile.view<?x?x?x264xf32>, !tile.view<?x?x?xf32>, !tile.view<?x?x?x264xbf16>
}

// -----

tile.kernel @combine_lse(%p: !tile.view<?x?x?x64xf32>, %l: !tile.view<?x?x?xbf16>, %o: !tile.view<?x?x?x64xbf16>, %n: i32) target("gfx950") waves(1) {
  // expected-error @below {{has LSE in '!tile.view<?x?x?xbf16>', expected a (batch, head, row) view of f32, or of what is written (row, 1)}}
  tile.combine %p, %l splits(%n) into %o[%n, %n, %n] rows(4) : !tile.view<?x?x?x64xf32>, !tile.view<?x?x?xbf16>, !tile.view<?x?x?x64xbf16>
}

// -----

tile.kernel @combine_rows(%p: !tile.view<?x?x?x64xf32>, %l: !tile.view<?x?x?xf32>, %o: !tile.view<?x?x?x64xbf16>, %n: i32) target("gfx950") waves(1) {
  // expected-error @below {{rows(8), a wave folds 4 rows of 64 elements at a time}}
  tile.combine %p, %l splits(%n) into %o[%n, %n, %n] rows(8) : !tile.view<?x?x?x64xf32>, !tile.view<?x?x?xf32>, !tile.view<?x?x?x64xbf16>
}

// -----

tile.kernel @combine_at_once(%p: !tile.view<?x?x?x64xf32>, %l: !tile.view<?x?x?xf32>, %o: !tile.view<?x?x?x64xbf16>, %n: i32) target("gfx950") waves(1) {
  // expected-error @below {{at_once(0), expected 1 to 64 slices}}
  tile.combine %p, %l splits(%n) into %o[%n, %n, %n] rows(4) at_once(0) : !tile.view<?x?x?x64xf32>, !tile.view<?x?x?xf32>, !tile.view<?x?x?x64xbf16>
}

// -----

tile.kernel @rows_along(%q: !tile.view<?x64x?x128xbf16>, %n: i32) target("gfx950") waves(1) {
  %some = arith.cmpi slt, %n, %n : i32
  // expected-error @below {{expected (batch, query, head, element) or (batch, head, query) with extents '?' for batch, query and head}}
  %rows = tile.rows_along %q[%n, %n, %n] heads(%some) size(%n) : !tile.view<?x64x?x128xbf16>
}

// -----

tile.kernel @rows_along_heads_first(%l: !tile.view<?x?x?xf32>, %n: i32) target("gfx950") waves(1) {
  %some = arith.cmpi slt, %n, %n : i32
  // expected-error @below {{expected (batch, head, query, element) for heads_first}}
  %rows = tile.rows_along %l[%n, %n, %n] heads(%some) size(%n) heads_first : !tile.view<?x?x?xf32>
}

// -----

tile.kernel @computed(%q: !tile.view<?x?x?x128xbf16>) target("gfx950") waves(8) {
  %n = tile.dim %q, 1 : !tile.view<?x?x?x128xbf16>
  // expected-error @below {{counts the rows of something that is computed; the launcher sizes the grid, so of(...) takes an argument of the kernel}}
  %batch, %head, %row = tile.block_id %q rows(256) of(%n) : !tile.view<?x?x?x128xbf16>
}

// -----

tile.kernel @along(%k: !tile.view<?x?xf32>, %n: i32) target("gfx950") waves(8) {
  // expected-error @below {{along(2) of a view of rank 2, expected 0 to 1}}
  %0 = tile.slice_rows %k from %n size %n along(2) : !tile.view<?x?xf32>
}

// -----

// A wave's part of a tile's columns is that of a place in the grid of waves, and of a tile that is cut evenly.
tile.kernel @part_of_columns(%t: i32) target("gfx950") waves(4) {
  %i, %j = tile.wave_grid rows(4) columns(1)
  %ring = tile.ring named("x") : !tile.ring<64x128xbf16>
  // expected-error @below {{reads '!tile.frag<64x64xbf16, lhs_acc>' from '!tile.ring<64x128xbf16>' by 4 waves, expected all rows, 32 of 128 columns and the same element type}}
  %x = tile.read_transposed %ring[%t] part(%i) : <64x128xbf16> -> <64x64xbf16, lhs_acc>
}

// -----

tile.kernel @part_of_odd_columns(%t: i32) target("gfx950") waves(2) {
  %i, %j = tile.wave_grid rows(2) columns(1)
  %ring = tile.ring named("x") : !tile.ring<64x192xbf16>
  // expected-error @below {{reads one of 2 parts of '!tile.ring<64x192xbf16>', expected a power of two of columns; read all of them}}
  %x = tile.read_transposed %ring[%t] part(%i) : <64x192xbf16> -> <96x64xbf16, lhs_acc>
}

// -----

tile.kernel @relabel_more(%x: f32) target("gfx950") waves(1) {
  %a = tile.fill 0.0 : !tile.frag<32x32xf32, acc>
  // expected-error @below {{takes '!tile.frag<32x32xf32, acc>', of which a lane holds 16 numbers, as '!tile.frag<1x2048xf32, lines(1)>', of which it holds 32; the same numbers of the same type are needed}}
  %b = tile.relabel %a : !tile.frag<32x32xf32, acc> -> !tile.frag<1x2048xf32, lines(1x64)>
}

// -----

tile.kernel @shares_beside(%p: !tile.view<?x?x?x64xf32>, %l: !tile.view<?x?x?xf32>, %o: !tile.view<?x?x?x64xbf16>, %n: i32) target("gfx950") waves(4) {
  // expected-error @below {{at(8), expected a multiple of 16 from 0 to}}
  tile.combine %p, %l splits(%n) into %o[%n, %n, %n] rows(4) split_waves at(8) : !tile.view<?x?x?x64xf32>, !tile.view<?x?x?xf32>, !tile.view<?x?x?x64xbf16>
}

// -----

tile.kernel @shares_unevenly(%p: !tile.view<?x?x?x64xf32>, %l: !tile.view<?x?x?xf32>, %o: !tile.view<?x?x?x64xbf16>, %n: i32) target("gfx950") waves(4) {
  // expected-error @below {{rows(3) of 4 waves that share them, expected a divisor}}
  tile.combine %p, %l splits(%n) into %o[%n, %n, %n] rows(3) split_waves : !tile.view<?x?x?x64xf32>, !tile.view<?x?x?xf32>, !tile.view<?x?x?x64xbf16>
}

// -----

tile.kernel @shares_apart(%p: !tile.view<?x?x?x64xf32>, %l: !tile.view<?x?x?xf32>, %o: !tile.view<?x?x?x64xbf16>, %n: i32) target("gfx950") waves(4) {
  %row = tile.wave_row %n rows(4)
  %some = arith.cmpi slt, %row, %n : i32
  // expected-note @below {{this one}}
  scf.if %some {
    // expected-error @below {{stands in 'scf.if', where waves may go different ways, but all must meet; move it out}}
    tile.combine %p, %l splits(%n) into %o[%n, %n, %n] rows(4) split_waves : !tile.view<?x?x?x64xf32>, !tile.view<?x?x?xf32>, !tile.view<?x?x?x64xbf16>
  }
}
