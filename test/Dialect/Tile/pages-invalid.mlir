// RUN: hocket-opt %s -split-input-file -verify-diagnostics

tile.kernel @no_pages(%k: !tile.view<?x?x?x128xbf16>, %n: i32) target("gfx950") waves(4) {
  %ring = tile.ring %k[%n, %n] pages(16 rows %n) : <?x?x?x128xbf16> -> <64x128xbf16>
  // expected-error @below {{does not say in which pages the tile's rows are; take them from 'tile.look_up'}}
  tile.fetch %ring[%n] : <64x128xbf16>
}

// -----

tile.kernel @plain_ring(%k: !tile.view<?x?x?x128xbf16>, %table: !tile.view<?xi32>, %n: i32) target("gfx950") waves(4) {
  %ring = tile.ring %k[%n, %n] : <?x?x?x128xbf16> -> <64x128xbf16>
  // expected-error @below {{is for a ring without pages; make it with 'pages(..)'}}
  %pages = tile.look_up %table for %ring[%n] : <?xi32>, <64x128xbf16>
}

// -----

tile.kernel @other_ring(%k: !tile.view<?x?x?x128xbf16>, %table: !tile.view<?xi32>, %n: i32) target("gfx950") waves(4) {
  %ring = tile.ring %k[%n, %n] pages(16 rows %n) : <?x?x?x128xbf16> -> <64x128xbf16>
  %small = tile.ring %k[%n, %n] pages(16 rows %n) : <?x?x?x128xbf16> -> <32x128xbf16>
  %pages = tile.look_up %table for %small[%n] : <?xi32>, <32x128xbf16>
  // expected-error @below {{has '!tile.pages<32>' for a tile of 64 rows}}
  tile.fetch %ring[%n] pages(%pages : !tile.pages<32>) : <64x128xbf16>
}

// -----

tile.kernel @no_rows(%k: !tile.view<?x?x?x128xbf16>, %n: i32) target("gfx950") waves(4) {
  // expected-error @below {{has pages of 0 rows, expected 1 to 65536}}
  %ring = tile.ring %k[%n, %n] pages(0 rows %n) : <?x?x?x128xbf16> -> <64x128xbf16>
}

// -----

tile.kernel @vectors_of_nothing(%k: !tile.view<?x?x?x128xbf16>, %n: i32) target("gfx950") waves(4) {
  // expected-error @below {{has vectors without pages; make it with 'pages(..)'}}
  %ring = tile.ring %k[%n, %n] vectors(rows) : <?x?x?x128xbf16> -> <64x128xbf16>
}

// -----

tile.kernel @cut_vectors(%v: !tile.view<?x?x?x128xbf16>, %n: i32) target("gfx950") waves(4) {
  // expected-error @below {{has vectors of 8 rows in pages of 12; use pages of a multiple of 8 rows}}
  %ring = tile.ring %v[%n, %n] pages(12 rows %n) vectors(rows) : <?x?x?x128xbf16> -> <64x128xbf16>
}

// -----

tile.kernel @along_columns(%v: !tile.view<?x?x?x128xbf16>, %n: i32) target("gfx950") waves(4) {
  %ring = tile.ring %v[%n, %n] pages(16 rows %n) vectors(rows) : <?x?x?x128xbf16> -> <64x128xbf16>
  // expected-error @below {{reads along the columns of a ring that comes in vectors of rows; use 'tile.read_transposed'}}
  %x = tile.read %ring[%n] : <64x128xbf16> -> <64x128xbf16, lhs>
}

// -----

tile.kernel @columns(%k: !tile.view<?x?xbf16>, %n: i32) target("gfx950") waves(4) {
  // expected-error @below {{has pages, which rings of a view's rows alone can}}
  %ring = tile.ring %k[%n] pages(16 rows %n) by_columns : <?x?xbf16> -> <64x64xbf16>
}

// -----

tile.kernel @wrong_table(%k: !tile.view<?x?x?x128xbf16>, %table: !tile.view<?x?xi32>, %n: i32)
    target("gfx950") waves(4) {
  %ring = tile.ring %k[%n, %n] pages(16 rows %n) : <?x?x?x128xbf16> -> <64x128xbf16>
  // expected-error @below {{looks up pages in '!tile.view<?x?xi32>', expected one dimension of i32}}
  %pages = tile.look_up %table for %ring[%n] : <?x?xi32>, <64x128xbf16>
}

// -----

// expected-error @below {{pages of a tile of 48 rows, expected a power of two from 32 to 1024}}
tile.kernel @rows_of_pages(%k: !tile.pages<48>) target("gfx950") waves(4) {
}

// -----

tile.kernel @other_tile(%k: !tile.view<?x?x?x128xbf16>, %table: !tile.view<?xi32>, %n: i32) target("gfx950") waves(4) {
  %ring = tile.ring %k[%n, %n] pages(16 rows %n) : <?x?x?x128xbf16> -> <64x128xbf16>
  %pages = tile.look_up %table for %ring[%n] : <?xi32>, <64x128xbf16>
  // expected-error @below {{'!tile.places<32x128xbf16, 4>' of '!tile.ring<64x128xbf16>', expected the ring's shape and element type}}
  %places = tile.locate %pages for %ring[%n] : !tile.pages<64>, !tile.ring<64x128xbf16> -> !tile.places<32x128xbf16, 4>
}

// -----

tile.kernel @other_waves(%k: !tile.view<?x?x?x128xbf16>, %table: !tile.view<?xi32>, %n: i32) target("gfx950") waves(4) {
  %ring = tile.ring %k[%n, %n] pages(16 rows %n) : <?x?x?x128xbf16> -> <64x128xbf16>
  %pages = tile.look_up %table for %ring[%n] : <?xi32>, <64x128xbf16>
  // expected-error @below {{'!tile.places<64x128xbf16, 8>' is shared by 8 waves, the kernel has 4}}
  %places = tile.locate %pages for %ring[%n] : !tile.pages<64>, !tile.ring<64x128xbf16> -> !tile.places<64x128xbf16, 8>
}

// -----

tile.kernel @located_plain(%k: !tile.view<?x?x?x128xbf16>, %table: !tile.view<?xi32>, %n: i32) target("gfx950") waves(4) {
  %ring = tile.ring %k[%n, %n] : <?x?x?x128xbf16> -> <64x128xbf16>
  %paged = tile.ring %k[%n, %n] pages(16 rows %n) : <?x?x?x128xbf16> -> <64x128xbf16>
  %pages = tile.look_up %table for %paged[%n] : <?xi32>, <64x128xbf16>
  // expected-error @below {{is for a ring without pages; make it with 'pages(..)'}}
  %places = tile.locate %pages for %ring[%n] : !tile.pages<64>, !tile.ring<64x128xbf16> -> !tile.places<64x128xbf16, 4>
}

// -----

tile.kernel @fewer_pages(%k: !tile.view<?x?x?x128xbf16>, %table: !tile.view<?xi32>, %n: i32) target("gfx950") waves(4) {
  %ring = tile.ring %k[%n, %n] pages(16 rows %n) : <?x?x?x128xbf16> -> <64x128xbf16>
  %small = tile.ring %k[%n, %n] pages(16 rows %n) : <?x?x?x128xbf16> -> <32x128xbf16>
  %pages = tile.look_up %table for %small[%n] : <?xi32>, <32x128xbf16>
  // expected-error @below {{has '!tile.pages<32>' for a tile of 64 rows}}
  %places = tile.locate %pages for %ring[%n] : !tile.pages<32>, !tile.ring<64x128xbf16> -> !tile.places<64x128xbf16, 4>
}

// -----

tile.kernel @far_without_pages(%k: !tile.view<?x?x?x128xbf16>, %n: i32) target("gfx950") waves(4) {
  // expected-error @below {{is far without pages; make it with 'pages(..)'}}
  %ring = tile.ring %k[%n, %n] far : <?x?x?x128xbf16> -> <64x128xbf16>
}

// -----

tile.kernel @far_and_cut(%k: !tile.view<?x?x?x72xbf16>, %n: i32) target("gfx950") waves(4) {
  // expected-error @below {{is far and has columns that the view has not, 96 for 72; use pools of less than 2 GiB for such heads}}
  %ring = tile.ring %k[%n, %n] pages(16 rows %n) far : <?x?x?x72xbf16> -> <64x96xbf16>
}

// -----

tile.kernel @far_and_staged(%k: !tile.view<?x?x?x64xbf16>, %table: !tile.view<?xi32>, %n: i32) target("gfx942") waves(4) {
  %ring = tile.ring %k[%n, %n] pages(16 rows %n) far : <?x?x?x64xbf16> -> <32x64xbf16>
  %pages = tile.look_up %table for %ring[%n] : <?xi32>, <32x64xbf16>
  // expected-error @below {{is of a far ring, whose tiles come by 'tile.fetch' alone; use a target that loads 16 bytes to LDS, or pools of less than 2 GiB}}
  %part = tile.load_part %ring[%n] pages(%pages : !tile.pages<32>) : <32x64xbf16> -> <32x64xbf16, 4>
}

// -----

tile.kernel @far_and_located(%k: !tile.view<?x?x?x128xbf16>, %table: !tile.view<?xi32>, %n: i32) target("gfx950") waves(4) {
  %ring = tile.ring %k[%n, %n] pages(16 rows %n) far : <?x?x?x128xbf16> -> <64x128xbf16>
  %pages = tile.look_up %table for %ring[%n] : <?xi32>, <64x128xbf16>
  // expected-error @below {{is for a far ring, whose fetches find places themselves; give them the pages}}
  %places = tile.locate %pages for %ring[%n] : !tile.pages<64>, !tile.ring<64x128xbf16> -> !tile.places<64x128xbf16, 4>
}
