// Ops on values, printed as they are parsed.
// RUN: hocket-opt %s | hocket-opt | FileCheck %s

// CHECK-LABEL: tile.kernel @maps
tile.kernel @maps(%s: f32, %n: i32) target("gfx950") waves(1) {
  // CHECK: %[[X:.*]] = tile.map() at(%[[R:.*]] = %{{.*}}, %[[C:.*]]) -> !tile.frag<64x32xf32, acc> {
  // CHECK-NEXT: arith.addi %[[R]], %[[C]] : i32
  %x = tile.map() at(%r = %n, %c) -> !tile.frag<64x32xf32, acc> {
    %sum = arith.addi %r, %c : i32
    %f = arith.sitofp %sum : i32 to f32
    tile.yield %f : f32
  }
  // CHECK: tile.reduce max %[[X]] over columns : !tile.frag<64x32xf32, acc> -> !tile.rows<32xf32>
  %max = tile.reduce max %x over columns : !tile.frag<64x32xf32, acc> -> !tile.rows<32xf32>
  // CHECK: tile.reduce sum %[[X]] over rows : !tile.frag<64x32xf32, acc> -> !tile.columns<64xf32, acc>
  %sums = tile.reduce sum %x over rows : !tile.frag<64x32xf32, acc> -> !tile.columns<64xf32, acc>
  // Broadcasts, several results, other element types.
  // CHECK: %[[Y:.*]]:2 = tile.map(%{{.*}} = %[[X]] : !tile.frag<64x32xf32, acc>, %{{.*}} : !tile.rows<32xf32>, %{{.*}} : !tile.columns<64xf32, acc>, %{{.*}} : f32) -> (!tile.frag<64x32xbf16, acc>, !tile.frag<64x32xi32, acc>) {
  %y:2 = tile.map(%e = %x : !tile.frag<64x32xf32, acc>, %m = %max : !tile.rows<32xf32>,
      %k = %sums : !tile.columns<64xf32, acc>, %f = %s : f32)
      -> (!tile.frag<64x32xbf16, acc>, !tile.frag<64x32xi32, acc>) {
    %a = arith.subf %e, %m : f32
    %b = math.exp2 %a : f32
    %c = math.fma %b, %k, %f : f32
    %d = arith.truncf %c : f32 to bf16
    %i = arith.fptosi %c : f32 to i32
    tile.yield %d, %i : bf16, i32
  }
  // CHECK: tile.reduce any %[[Y]]#1 over columns
  %any = tile.reduce any %y#1 over columns : !tile.frag<64x32xi32, acc> -> !tile.rows<32xi32>
  // Row values alone, and a number of them.
  // CHECK: tile.map(%{{.*}} : !tile.rows<32xi32>) -> !tile.rows<32xf32> {
  %rows = tile.map(%v = %any : !tile.rows<32xi32>) -> !tile.rows<32xf32> {
    %w = arith.sitofp %v : i32 to f32
    tile.yield %w : f32
  }
  // CHECK: tile.reduce sum %{{.*}} over rows : !tile.rows<32xf32> -> f32
  %total = tile.reduce sum %rows over rows : !tile.rows<32xf32> -> f32
  // CHECK: tile.map(%{{.*}} = %{{.*}} : f32) -> f32 {
  %root = tile.map(%t = %total : f32) -> f32 {
    %u = math.sqrt %t : f32
    tile.yield %u : f32
  }
  // CHECK: %[[COUNTS:.*]] = tile.map() at(%{{.*}}, %{{.*}}) -> !tile.rows<64xi32, lines(4x1)> {
  %counts = tile.map() at(%row, %column) -> !tile.rows<64xi32, lines(4x1)> {
    tile.yield %row : i32
  }
  // CHECK: tile.running_sum %[[COUNTS]] : <64xi32, lines(4x1)>
  %running = tile.running_sum %counts : !tile.rows<64xi32, lines(4x1)>
}

// Operands laid aside in LDS, and halves of them.
// CHECK-LABEL: tile.kernel @aside
tile.kernel @aside(%q: !tile.view<?x?x?x64xbf16>, %n: i32) target("gfx950") waves(1) {
  %x = tile.load %q[%n, %n, %n] : !tile.view<?x?x?x64xbf16> -> !tile.frag<64x32xbf16, rhs>
  // CHECK: %aside = tile.stash %{{.*}} : <64x32xbf16, rhs>
  %y = tile.stash %x : !tile.frag<64x32xbf16, rhs>
  // CHECK: tile.stash %{{.*}} at(4096) : <64x32xbf16, rhs>
  %placed = tile.stash %x at(4096) : !tile.frag<64x32xbf16, rhs>
  // CHECK: %recalled = tile.recall %aside : <!tile.frag<64x32xbf16, rhs>> -> <64x32xbf16, rhs>
  %z = tile.recall %y : !tile.stash<!tile.frag<64x32xbf16, rhs>> -> !tile.frag<64x32xbf16, rhs>
  // CHECK: tile.recall %aside from 32 : <!tile.frag<64x32xbf16, rhs>> -> <32x32xbf16, rhs>
  %half = tile.recall %y from 32 : !tile.stash<!tile.frag<64x32xbf16, rhs>> -> !tile.frag<32x32xbf16, rhs>
}
