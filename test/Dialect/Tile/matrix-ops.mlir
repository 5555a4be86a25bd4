// Ops of kernels over matrices, printed as they are parsed, custom and generic.
// RUN: hocket-opt %s | hocket-opt | FileCheck %s
// RUN: hocket-opt %s --mlir-print-op-generic | hocket-opt | FileCheck %s

// CHECK-LABEL: tile.kernel @matrices
tile.kernel @matrices(%a: !tile.view<?x?xbf16> {tile.bind = "a"}, %c: !tile.view<?x?xbf16> {tile.bind = "c"}, %n: i32)
    target("gfx950") waves(8) {
  // CHECK: %row, %column = tile.block_tile %c rows(256) columns(128) : <?x?xbf16>
  %row, %column = tile.block_tile %c rows(256) columns(128) : !tile.view<?x?xbf16>
  // CHECK: tile.block_tile %c rows(256) columns(256) band(4) xcds(8) : <?x?xbf16>
  %row2, %column2 = tile.block_tile %c rows(256) columns(256) band(4) xcds(8) : !tile.view<?x?xbf16>
  // CHECK: %wave_i, %wave_j = tile.wave_grid rows(2) columns(4)
  %i, %j = tile.wave_grid rows(2) columns(4)
  // CHECK: %wave_row = tile.wave_row %row rows(64) part(%wave_j)
  %first = tile.wave_row %row rows(64) part(%j)
  // CHECK: %a_ring = tile.ring %a[%row] by_columns unpadded : <?x?xbf16> -> <256x64xbf16>
  %ring = tile.ring %a[%row] by_columns unpadded : !tile.view<?x?xbf16> -> !tile.ring<256x64xbf16>
  // CHECK: tile.ring %a[%row] by_columns depth(2) at(65536) : <?x?xbf16> -> <256x64xbf16>
  %placed = tile.ring %a[%row] by_columns depth(2) at(65536) : !tile.view<?x?xbf16> -> !tile.ring<256x64xbf16>
  // CHECK: %operand = tile.read %a_ring[%{{.*}}] part(%wave_i) : <256x64xbf16> -> <128x64xbf16, lhs>
  %lhs = tile.read %ring[%n] part(%i) : !tile.ring<256x64xbf16> -> !tile.frag<128x64xbf16, lhs>
  // CHECK: tile.read %a_ring[%{{.*}}] part(%wave_j) slot(%{{.*}}) : <256x64xbf16> -> <64x64xbf16, rhs>
  %rhs = tile.read %ring[%n] part(%j) slot(%n) : !tile.ring<256x64xbf16> -> !tile.frag<64x64xbf16, rhs>
  // Without parts: all of the tile, as a right operand.
  // CHECK: tile.read %a_ring[%{{.*}}] : <256x64xbf16> -> <64x256xbf16, rhs>
  %all = tile.read %ring[%n] : !tile.ring<256x64xbf16> -> !tile.frag<64x256xbf16, rhs>
  // CHECK: %masked = tile.mask_depth %operand tile(%{{.*}}) below(%{{.*}}) : <128x64xbf16, lhs>
  %masked = tile.mask_depth %lhs tile(%n) below(%n) : !tile.frag<128x64xbf16, lhs>
  // CHECK: %part = tile.slice_depth %masked from 32 : <128x64xbf16, lhs> -> <128x32xbf16, lhs>
  %left = tile.slice_depth %masked from 32 : !tile.frag<128x64xbf16, lhs> -> !tile.frag<128x32xbf16, lhs>
  // CHECK: tile.slice_depth %{{.*}} from 0 : <64x64xbf16, rhs> -> <32x64xbf16, rhs>
  %right = tile.slice_depth %rhs from 0 : !tile.frag<64x64xbf16, rhs> -> !tile.frag<32x64xbf16, rhs>
  %zero = tile.fill 0.0 : !tile.frag<128x64xf32, acc>
  %sum = tile.mma %left, %right, %zero : !tile.frag<128x32xbf16, lhs>, !tile.frag<32x64xbf16, rhs>, !tile.frag<128x64xf32, acc>
  // CHECK: tile.store_block %product, %c[%wave_row, %column] : <128x64xf32, acc>, <?x?xbf16>
  tile.store_block %sum, %c[%first, %column] : !tile.frag<128x64xf32, acc>, !tile.view<?x?xbf16>
}
