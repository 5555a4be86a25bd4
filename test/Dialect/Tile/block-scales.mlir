// Scales of blocks from words of four: what is taken and what is refused.
// RUN: hocket-opt %s -split-input-file -verify-diagnostics | FileCheck %s

// CHECK-LABEL: tile.kernel @words(
tile.kernel @words(%s: !tile.view<?x2xi32>) target("gfx950") waves(1) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %first = tile.load %s[%zero, %zero] along(0) : <?x2xi32> -> !tile.rows<64xi32>
  %second = tile.load %s[%zero, %one] along(0) : <?x2xi32> -> !tile.rows<64xi32>
  // CHECK: tile.block_scales %{{.*}}, %{{.*}} : !tile.rows<64xi32>, !tile.rows<64xi32> -> <64x8xf8E8M0FNU, lhs_scale>
  %keys = tile.block_scales %first, %second : !tile.rows<64xi32>, !tile.rows<64xi32> -> !tile.frag<64x8xf8E8M0FNU, lhs_scale>
  // CHECK: tile.block_scales %{{.*}} : !tile.rows<64xi32> -> <2x64xf8E8M0FNU, rhs_scale>
  %begun = tile.block_scales %first : !tile.rows<64xi32> -> !tile.frag<2x64xf8E8M0FNU, rhs_scale>
}

// -----

tile.kernel @few(%s: !tile.view<?x2xi32>) target("gfx950") waves(1) {
  %zero = arith.constant 0 : i32
  %first = tile.load %s[%zero, %zero] along(0) : <?x2xi32> -> !tile.rows<64xi32>
  // expected-error @below {{has 1 words for 8 blocks, expected 2, one for each 4}}
  %keys = tile.block_scales %first : !tile.rows<64xi32> -> !tile.frag<64x8xf8E8M0FNU, lhs_scale>
}

// -----

tile.kernel @rows(%s: !tile.view<?x2xi32>) target("gfx950") waves(1) {
  %zero = arith.constant 0 : i32
  %first = tile.load %s[%zero, %zero] along(0) : <?x2xi32> -> !tile.rows<32xi32>
  // expected-error @below {{makes '!tile.frag<64x4xf8E8M0FNU, lhs_scale>' of '!tile.rows<32xi32>', expected '!tile.rows<64xi32>'}}
  %keys = tile.block_scales %first : !tile.rows<32xi32> -> !tile.frag<64x4xf8E8M0FNU, lhs_scale>
}
