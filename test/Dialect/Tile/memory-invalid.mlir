// Malformed loads, stores, additions and places.
// RUN: hocket-opt %s -verify-diagnostics -split-input-file

tile.kernel @value(%c: !tile.view<?x?xf32>, %i: i32) target("gfx950") waves(1) {
  // expected-error @below {{has a value of 'i64', expected a fragment, row or column values, f32, i32, bf16, f16 or i8}}
  %0 = tile.load %c[%i, %i] : <?x?xf32> -> i64
}

// -----

tile.kernel @line(%b: !tile.view<?xbf16>, %i: i32) target("gfx950") waves(1) {
  // expected-error @below {{has a fragment, which has rows and columns, and '!tile.view<?xbf16>'; use '!tile.rows' or '!tile.columns'}}
  %0 = tile.load %b[%i] : <?xbf16> -> <32x16xbf16, lhs>
}

// -----

tile.kernel @indices(%c: !tile.view<?x?x?xbf16>, %i: i32) target("gfx950") waves(1) {
  // expected-error @below {{has 1 indices into '!tile.view<?x?x?xbf16>', expected 3, or one less for column 0}}
  %0 = tile.load %c[%i] : <?x?x?xbf16> -> <32x16xbf16, lhs>
}

// -----

tile.kernel @vector_indices(%c: !tile.view<?x?xf32>, %i: i32) target("gfx950") waves(1) {
  // expected-error @below {{has 1 indices into '!tile.view<?x?xf32>', expected 2}}
  %0 = tile.load %c[%i] : <?x?xf32> -> !tile.rows<32xf32>
}

// -----

tile.kernel @along_number(%c: !tile.view<?x?xf32>, %i: i32) target("gfx950") waves(1) {
  // expected-error @below {{has 'along' for one number, which extends along nothing; leave it out}}
  %0 = tile.load %c[%i, %i] along(0) : <?x?xf32> -> f32
}

// -----

tile.kernel @along_columns(%c: !tile.view<?x?xbf16>, %i: i32) target("gfx950") waves(1) {
  // expected-error @below {{along(1) of '!tile.view<?x?xbf16>', expected 0 to 0: columns lie along the last dimension}}
  %0 = tile.load %c[%i, %i] along(1) : <?x?xbf16> -> <32x16xbf16, lhs>
}

// -----

tile.kernel @along_none(%c: !tile.view<?x?xf32>, %i: i32) target("gfx950") waves(1) {
  // expected-error @below {{along(2) of '!tile.view<?x?xf32>', expected 0 to 1}}
  %0 = tile.load %c[%i, %i] along(2) : <?x?xf32> -> !tile.rows<32xf32>
}

// -----

tile.kernel @load_type(%c: !tile.view<?x?xf32>, %i: i32) target("gfx950") waves(1) {
  // expected-error @below {{loads 'bf16' from a view of 'f32', expected the view's element type, f32 for a narrower float, or i32 for a narrower integer}}
  %0 = tile.load %c[%i, %i] : <?x?xf32> -> <32x16xbf16, lhs>
}

// -----

tile.kernel @store_type(%n: !tile.view<?xi32>, %x: f32, %i: i32) target("gfx950") waves(1) {
  // expected-error @below {{stores 'f32' to a view of 'i32', expected the view's element type, f32 for a narrower float, or i32 for a narrower integer}}
  tile.store %x, %n[%i] : f32, <?xi32>
}

// -----

tile.kernel @add_element(%n: !tile.view<?xi32>, %i: i32) target("gfx950") waves(1) {
  // expected-error @below {{adds to a view of 'i32', expected f32, f16 or bf16}}
  tile.atomic_add %i, %n[%i] : i32, <?xi32>
}

// -----

tile.kernel @add_type(%n: !tile.view<?xf32>, %i: i32) target("gfx950") waves(1) {
  // expected-error @below {{adds 'i32' to a view of 'f32', expected the view's element type, or f32 for a narrower float}}
  tile.atomic_add %i, %n[%i] : i32, <?xf32>
}

// -----

tile.kernel @whole_rows(%q: !tile.view<?x?x?x128xbf16>, %i: i32) target("gfx950") waves(1) {
  // expected-error @below {{has a fragment of 64 memory columns and a view of 128; give it the view's, a multiple of 8, rounded up to a multiple of 32, or write the first column as the last index}}
  %0 = tile.load %q[%i, %i, %i] : <?x?x?x128xbf16> -> <64x32xbf16, rhs>
}

// -----

// With the first column written it is a part of the rows.
tile.kernel @part_of_rows(%q: !tile.view<?x?x?x128xbf16>, %i: i32) target("gfx950") waves(1) {
  %0 = tile.load %q[%i, %i, %i, %i] : <?x?x?x128xbf16> -> <64x32xbf16, rhs>
}

// -----

tile.kernel @select_all(%b: !tile.view<?x?xbf16>, %i: i32) target("gfx950") waves(1) {
  // expected-error @below {{selects 2 dimensions of '!tile.view<?x?xbf16>' as '!tile.view<?xbf16>', expected the dimensions behind the indices, at least one of each}}
  %0 = tile.select %b[%i, %i] : <?x?xbf16> -> <?xbf16>
}

// -----

tile.kernel @entry_of_none(%i: i32) target("gfx950") waves(1) {
  // expected-error @below {{is of no list, expected one or more}}
  %0 = "tile.entry"(%i) : (i32) -> i32
}

// -----

tile.kernel @entry_of_rows(%b: !tile.view<?x?xi32>, %i: i32) target("gfx950") waves(1) {
  // expected-error @below {{is of '!tile.view<?x?xi32>', expected one dimension of i32}}
  %0 = tile.entry %i of %b : !tile.view<?x?xi32>
}

// -----

tile.kernel @entry_written(%b: !tile.view<?x?xi32>, %i: i32) target("gfx950") waves(1) {
  %row = tile.select %b[%i] : <?x?xi32> -> <?xi32>
  // expected-error @below {{is of a list that the kernel writes to; use 'tile.load'}}
  %0 = tile.entry %i of %row : !tile.view<?xi32>
  tile.store %0, %b[%i, %i] : i32, <?x?xi32>
}

// -----

tile.kernel @select_constant(%b: !tile.view<?x64x?xbf16>, %i: i32) target("gfx950") waves(1) {
  // expected-error @below {{makes '!tile.view<64x?xbf16>', whose first extent must be '?': it is 0 where an index is beyond the view}}
  %0 = tile.select %b[%i] : <?x64x?xbf16> -> <64x?xbf16>
}

// -----

tile.kernel @grid() target("gfx950") waves(1) {
  // expected-error @below {{has 4 expressions, expected one for each of one to three dimensions of the grid}}
  %x, %y, %z = tile.workgroup_id ["m", "n", "k", "l"]
}

// -----

tile.kernel @slice_line(%b: !tile.view<?xbf16>, %i: i32) target("gfx950") waves(1) {
  // expected-error @below {{needs a view with rows, found '!tile.view<?xbf16>'}}
  %0 = tile.slice_rows %b from %i size %i : <?xbf16>
}

// -----

tile.kernel @no_source() target("gfx950") waves(1) {
  // expected-error @below {{has neither a view nor a name; write named("...") for a ring that waves fill, without by_columns}}
  %0 = tile.ring : !tile.ring<64x64xbf16>
}

// -----

tile.kernel @two_names(%k: !tile.view<?x?x?x128xbf16>, %i: i32) target("gfx950") waves(1) {
  // expected-error @below {{has a view and a name; it is called after its view, leave the name out}}
  %0 = tile.ring %k[%i, %i] named("k") : <?x?x?x128xbf16> -> <64x128xbf16>
}

// -----

tile.kernel @fetch_nothing(%t: i32) target("gfx950") waves(1) {
  // expected-note @below {{the ring is here}}
  %0 = tile.ring named("ds") : !tile.ring<64x64xbf16>
  // expected-error @below {{takes a tile of ring 'ds', which has no view; put what waves compute into it}}
  tile.fetch %0[%t] : <64x64xbf16>
}

// -----

tile.kernel @from_columns(%k: !tile.view<?x?xbf16>, %t: i32) target("gfx950") waves(1) {
  %0 = tile.ring %k[%t] by_columns : <?x?xbf16> -> <64x64xbf16>
  // expected-error @below {{takes its tile 'from' another place, which needs a ring of rows; leave 'from' out}}
  tile.fetch %0[%t] from(%t) : <64x64xbf16>
}

// -----

tile.kernel @load_nothing(%t: i32) target("gfx942") waves(4) {
  // expected-note @below {{the ring is here}}
  %0 = tile.ring named("ds") : !tile.ring<64x64xbf16>
  // expected-error @below {{takes a tile of ring 'ds', which has no view; put what waves compute into it}}
  %1 = tile.load_part %0[%t] : <64x64xbf16> -> <64x64xbf16, 4>
}

// -----

tile.kernel @put_into_view(%k: !tile.view<?x?x?x64xbf16> {tile.bind = "k"}, %t: i32) target("gfx950") waves(1) {
  %0 = tile.ring %k[%t, %t] : <?x?x?x64xbf16> -> <64x64xbf16>
  %ds = tile.fill 0.0 : !tile.frag<64x64xf32, acc>
  // expected-error @below {{puts a fragment into ring 'k', whose tiles come from a view; use a ring without one}}
  tile.put %ds, %0[%t] : !tile.frag<64x64xf32, acc>, <64x64xbf16>
}

// -----

tile.kernel @put_element(%t: i32) target("gfx950") waves(1) {
  %0 = tile.ring named("ds") : !tile.ring<64x64xbf16>
  %ds = tile.fill 0.0 : !tile.frag<64x64xf16, rhs_acc>
  // expected-error @below {{puts '!tile.frag<64x64xf16, rhs_acc>' into '!tile.ring<64x64xbf16>', expected the ring's element type or f32}}
  tile.put %ds, %0[%t] : !tile.frag<64x64xf16, rhs_acc>, <64x64xbf16>
}

// -----

tile.kernel @put_shape(%t: i32) target("gfx950") waves(2) {
  %0 = tile.ring named("ds") : !tile.ring<64x64xbf16>
  %i, %j = tile.wave_grid rows(2) columns(1)
  %ds = tile.fill 0.0 : !tile.frag<64x64xf32, acc>
  // expected-error @below {{puts 64 x 64 memory rows and columns in each of 2 x 1 parts, the tile is 64 x 64}}
  tile.put %ds, %0[%t] rows_part(%i) : !tile.frag<64x64xf32, acc>, <64x64xbf16>
}

// -----

tile.kernel @put_sides(%t: i32) target("gfx950") waves(4) {
  %0 = tile.ring named("ds") : !tile.ring<64x64xbf16>
  %i, %j = tile.wave_grid rows(2) columns(2)
  %ds = tile.fill 0.0 : !tile.frag<32x32xf32, acc>
  // expected-error @below {{has the same side of the grid of waves for rows and for columns; use both results of 'tile.wave_grid'}}
  tile.put %ds, %0[%t] rows_part(%i) columns_part(%i) : !tile.frag<32x32xf32, acc>, <64x64xbf16>
}

// -----

tile.kernel @put_twice(%t: i32) target("gfx950") waves(4) {
  %0 = tile.ring named("ds") : !tile.ring<64x64xbf16>
  %i, %j = tile.wave_grid rows(2) columns(2)
  %ds = tile.fill 0.0 : !tile.frag<64x32xf32, acc>
  // expected-error @below {{fills a tile by 2 waves, the kernel has 4: several would put the same; give each its part}}
  tile.put %ds, %0[%t] rows_part(%i) : !tile.frag<64x32xf32, acc>, <64x64xbf16>
}

// -----

tile.kernel @put_part(%k: !tile.view<?x?x?x64xbf16>, %t: i32) target("gfx942") waves(4) {
  %0 = tile.ring %k[%t, %t] : <?x?x?x64xbf16> -> <64x64xbf16>
  %i, %j = tile.wave_grid rows(2) columns(2)
  %p = tile.load_part %0[%t] : <64x64xbf16> -> <64x64xbf16, 4>
  // expected-error @below {{has parts of a grid of waves for what 'tile.load_part' has loaded, which is dealt out already; leave them out}}
  tile.put %p, %0[%t] rows_part(%i) : <64x64xbf16, 4>, <64x64xbf16>
}

// -----

tile.kernel @put_any(%t: i32) target("gfx950") waves(2) {
  %0 = tile.ring named("ds") : !tile.ring<64x64xbf16>
  %ds = tile.fill 0.0 : !tile.frag<64x32xf32, acc>
  // expected-error @below {{has a part that is no result of 'tile.wave_grid'}}
  tile.put %ds, %0[%t] rows_part(%t) : !tile.frag<64x32xf32, acc>, <64x64xbf16>
}

// -----

tile.kernel @begins_another_type(%b: !tile.view<?x?xbf16>, %i: i32) target("gfx950") waves(1) {
  // expected-error @below {{loads 'f16' from a view of 'bf16', expected the view's element type, f32 for a narrower float, or i32 for a narrower integer}}
  %p = tile.begin_load %b[%i, %i] tile(%i) : <?x?xbf16> -> <!tile.frag<64x32xf16, acc>>
}

// -----

tile.kernel @ends_another_shape(%b: !tile.view<?x?xbf16>, %i: i32) target("gfx950") waves(1) {
  %p = tile.begin_load %b[%i, %i] tile(%i) : <?x?xbf16> -> <!tile.frag<64x32xbf16, acc>>
  // expected-error @below {{expected the same shape, layout and element type, f32 for a narrower float, or i32 for a narrower integer}}
  %x = tile.end_load %p tile(%i) : <!tile.frag<64x32xbf16, acc>> -> <32x32xf32, acc>
}

// -----

tile.kernel @leaves_no_loads(%k: !tile.view<?x?x?x128xbf16>) target("gfx950") waves(1) {
  // expected-error @below {{leaves 0 loads in flight, expected one or more}}
  tile.await fetches loads(0)
}

// -----

tile.kernel @scales_as_floats(%s: !tile.view<?x?xf8E8M0FNU>, %n: i32) target("gfx950") waves(1) {
  // expected-error @below {{loads 'f32' from a view of 'f8E8M0FNU', expected the view's element type}}
  %x = tile.load %s[%n, %n] : !tile.view<?x?xf8E8M0FNU> -> !tile.frag<32x32xf32, acc>
}

// -----

tile.kernel @pending_scales(%s: !tile.view<?x?xf8E8M0FNU>, %n: i32) target("gfx950") waves(1) {
  // expected-error @below {{of which the pieces do not fill registers; load it with 'tile.load'}}
  %x = tile.begin_load %s[%n, %n] tile(%n) : !tile.view<?x?xf8E8M0FNU> -> !tile.pending<!tile.frag<32x2xf8E8M0FNU, lhs_scale>>
}

// -----

tile.kernel @along_and_over(%q: !tile.view<?x?x128xbf16>, %n: i32) target("gfx950") waves(1) {
  // expected-error @below {{has 'along' and 'over', which both say what rows count; leave one of them out}}
  %x = tile.load %q[%n, %n] along(0) over [0, 1] : <?x?x128xbf16> -> <128x32xbf16, rhs>
}

// -----

tile.kernel @over_columns(%q: !tile.view<?x?x128xbf16>, %n: i32) target("gfx950") waves(1) {
  // expected-error @below {{has 'over' of '!tile.view<?x?x128xbf16>', expected two dimensions of 0 to 1: columns lie along the last}}
  %x = tile.load %q[%n, %n] over [0, 2] : <?x?x128xbf16> -> <128x32xbf16, rhs>
}

// -----

tile.kernel @over_one_dimension(%s: !tile.view<?x?xf32>, %n: i32) target("gfx950") waves(1) {
  // expected-error @below {{has 'over' of '!tile.view<?x?xf32>', expected two dimensions of 0 to 1}}
  %x = tile.load %s[%n, %n] over [0, 0] : <?x?xf32> -> !tile.rows<32xf32>
}

// -----

tile.kernel @pairs_in_columns(%s: !tile.view<?x?xf32>, %n: i32) target("gfx950") waves(1) {
  // expected-error @below {{has 'over' for '!tile.columns<64xf32, acc>', expected a fragment or row values}}
  %x = tile.load %s[%n, %n] over [0, 1] : <?x?xf32> -> !tile.columns<64xf32, acc>
}
