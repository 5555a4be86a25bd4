// tile-allocate-lds gives rings their layout and place.
// RUN: hocket-opt %s --tile-allocate-lds -split-input-file | FileCheck %s
// RUN: hocket-opt %s --tile-allocate-lds=remarks -split-input-file 2>&1 | FileCheck %s --check-prefix=REMARK

// One after the other, at multiples of 1024 bytes, each in a layout that its reads hit without
// conflicts beyond those that its width costs.
// REMARK: remark: {{[0-9]+}} bytes a tile, {{[0-9]+}} cycles of bank conflicts in one wave's reads of it
// CHECK-LABEL: tile.kernel @two_rings
// CHECK: tile.ring %{{.*}} depth(2) at(0) layout(<panel 256, chunk 1024, pad [[PAD:[0-9]+]], rows[{{.*}}], bytes[1, 2, 4, 8,
// CHECK: tile.ring %{{.*}} depth(1) at({{[1-9][0-9]*}}) layout(<
tile.kernel @two_rings(%k: !tile.view<?x?x?x128xbf16>, %n: i32) target("gfx950") waves(8) {
  %a = tile.ring %k[%n, %n] depth(2) : !tile.view<?x?x?x128xbf16> -> !tile.ring<64x128xbf16>
  %b = tile.ring %k[%n, %n] depth(1) : !tile.view<?x?x?x128xbf16> -> !tile.ring<64x128xbf16>
  %x = tile.read %a[%n] slot(%n) : !tile.ring<64x128xbf16> -> !tile.frag<64x128xbf16, lhs>
  %y = tile.read_transposed %b[%n] slot(%n) : !tile.ring<64x128xbf16> -> !tile.frag<128x64xbf16, lhs_acc>
}

// -----

// What a hand has written stays; the ring without a place goes behind it.
// CHECK-LABEL: tile.kernel @by_hand
// CHECK: tile.ring %{{.*}} depth(1) at(20480) layout(
// CHECK: tile.ring %{{.*}} depth(1) at(4096) layout(<panel 256, chunk 1024, pad 0, rows[256, 512, 1024, 2048, 4096, 8192], bytes[1, 2, 4, 8, 16, 32, 64, 128]>)
tile.kernel @by_hand(%k: !tile.view<?x?x?x128xbf16>, %n: i32) target("gfx950") waves(8) {
  %b = tile.ring %k[%n, %n] depth(1) : !tile.view<?x?x?x128xbf16> -> !tile.ring<64x128xbf16>
  %x = tile.read %b[%n] slot(%n) : !tile.ring<64x128xbf16> -> !tile.frag<64x128xbf16, lhs>
  %a = tile.ring %k[%n, %n] depth(1) at(4096) layout(<panel 256, chunk 1024, pad 0,
    rows [256, 512, 1024, 2048, 4096, 8192], bytes [1, 2, 4, 8, 16, 32, 64, 128]>)
    : !tile.view<?x?x?x128xbf16> -> !tile.ring<64x128xbf16>
}

// -----

// A ring inside of a step counts like any other.
// CHECK-LABEL: tile.kernel @inside
// CHECK: tile.step @a
// CHECK-NEXT: tile.ring %{{.*}} depth(1) at(0) layout(
tile.kernel @inside(%k: !tile.view<?x?x?x128xbf16>, %n: i32) target("gfx950") waves(8) {
  tile.step @a {
    %b = tile.ring %k[%n, %n] depth(1) : !tile.view<?x?x?x128xbf16> -> !tile.ring<64x128xbf16>
    %x = tile.read %b[%n] slot(%n) : !tile.ring<64x128xbf16> -> !tile.frag<64x128xbf16, lhs>
  }
}

// -----

// Does not fire: no rings.
// CHECK-LABEL: tile.kernel @none{{.*}} {
// CHECK-NEXT: }
tile.kernel @none(%n: i32) target("gfx950") waves(8) {
}

// -----

// A tile of 128-byte rows that waves read in parts, as either operand. Free to choose, the search
// keeps lines in order and pads. Without padding no order of rows alone is free of conflicts: an
// XOR swizzle (a bit with two images) is, and a tile takes its own 32 KiB.
// REMARK: remark: 33280 bytes a tile, 0 cycles of bank conflicts
// REMARK: remark: 32768 bytes a tile, 0 cycles of bank conflicts
// CHECK-LABEL: tile.kernel @parts
// CHECK: tile.ring %{{.*}} by_columns depth(1) at(0) layout(<panel 128, chunk 1024, pad 16, rows[{{.*}}], bytes[1, 2, 4, 8, 16, 32, 64]>)
// CHECK: tile.ring %{{.*}} by_columns unpadded depth(1) at(33792) layout(<panel 128, chunk 1024, pad 0, rows[{{.*}}1040{{.*}}], bytes[{{.*}}]>)
tile.kernel @parts(%a: !tile.view<?x?xbf16>, %n: i32) target("gfx950") waves(8) {
  %i, %j = tile.wave_grid rows(2) columns(4)
  %free = tile.ring %a[%n] by_columns depth(1) : !tile.view<?x?xbf16> -> !tile.ring<256x64xbf16>
  %exact = tile.ring %a[%n] by_columns unpadded depth(1) : !tile.view<?x?xbf16> -> !tile.ring<256x64xbf16>
  %x = tile.read %free[%n] part(%i) slot(%n) : !tile.ring<256x64xbf16> -> !tile.frag<128x64xbf16, lhs>
  %y = tile.read %exact[%n] part(%i) slot(%n) : !tile.ring<256x64xbf16> -> !tile.frag<128x64xbf16, lhs>
  %z = tile.read %exact[%n] part(%j) slot(%n) : !tile.ring<256x64xbf16> -> !tile.frag<64x64xbf16, rhs>
}

// -----

// A ring that waves fill with what they compute: a layout that suits stores of 8 bytes, and reads along the rows and
// across them.
// REMARK: remark: {{[0-9]+}} bytes a tile, {{[0-9]+}} cycles of bank conflicts in one wave's accesses to it
// CHECK-LABEL: tile.kernel @computed
// CHECK: tile.ring named("x") depth(1) at(0) layout(
tile.kernel @computed(%n: i32, %x: !tile.view<?x?xf32>) target("gfx950") waves(4) {
  %i, %j = tile.wave_grid rows(2) columns(2)
  %ring = tile.ring named("x") depth(1) : !tile.ring<64x64xbf16>
  %f = tile.fill 1.0 : !tile.frag<32x32xf32, acc>
  tile.put %f, %ring[%n] rows_part(%i) columns_part(%j) slot(%n) : !tile.frag<32x32xf32, acc>, <64x64xbf16>
  %a = tile.read %ring[%n] slot(%n) : <64x64xbf16> -> <64x64xbf16, lhs>
  %b = tile.read_transposed %ring[%n] slot(%n) : <64x64xbf16> -> <64x64xbf16, lhs_acc>
}

// -----

// What waves exchange has a place of its own for each exchange: waves x numbers of a lane x 256 bytes.
// CHECK-LABEL: tile.kernel @exchanges
// CHECK: tile.reduce_waves sum %{{.*}} at(0) : !tile.rows<32xf32>
// CHECK: tile.reduce_waves max %{{.*}} at(1024) : !tile.columns<32xf32, acc>
// CHECK: tile.reduce_waves max %{{.*}} at(17408) : f32
tile.kernel @exchanges(%s: f32) target("gfx950") waves(4) {
  %r = tile.fill 0.0 : !tile.rows<32xf32>
  %c = tile.fill 0.0 : !tile.columns<32xf32, acc>
  %x = tile.reduce_waves sum %r : !tile.rows<32xf32>
  %y = tile.reduce_waves max %c : !tile.columns<32xf32, acc>
  %z = tile.reduce_waves max %s : f32
}

// -----

// Conversions share a place, as large as the largest needs, a part for each wave; those within a lane need none. What is
// placed by hand stays.
// CHECK-LABEL: tile.kernel @conversions
tile.kernel @conversions(%n: i64, %i: i32) target("gfx950") waves(4) {
  %x = tile.fill 0.0 : !tile.frag<64x32xf32, acc>
  %r = tile.fill 0.0 : !tile.rows<32xf32>
  // CHECK: tile.convert_layout %{{.*}} at(34816 by 8704) : !tile.frag<64x32xf32, acc> -> !tile.frag<32x64xf32, lines>
  %a = tile.convert_layout %x : !tile.frag<64x32xf32, acc> -> !tile.frag<32x64xf32, lines>
  // CHECK: tile.convert_layout %{{.*}} at(34816 by 8704) : !tile.frag<64x32xf32, acc> -> !tile.frag<32x64xf32, lhs>
  %b = tile.convert_layout %x : !tile.frag<64x32xf32, acc> -> !tile.frag<32x64xf32, lhs>
  // CHECK: tile.convert_layout %{{[^ ]*}} : !tile.frag<64x32xf32, acc> -> !tile.frag<64x32xf32, rhs_acc>
  %c = tile.convert_layout %x : !tile.frag<64x32xf32, acc> -> !tile.frag<64x32xf32, rhs_acc>
  // CHECK: tile.random_bytes %n, %n at_element(%i, %i) at(34816 by 8704)
  %bytes = tile.random_bytes %n, %n at_element(%i, %i) : !tile.frag<64x32xi8, acc>
  // CHECK: tile.reduce_waves sum %{{.*}} at(69632)
  %s = tile.reduce_waves sum %r : !tile.rows<32xf32>
  // CHECK: tile.convert_layout %{{.*}} at(0 by 8704)
  %d = tile.convert_layout %x at(0 by 8704) : !tile.frag<64x32xf32, acc> -> !tile.frag<32x64xf32, lines>
}
