// O = (Q K^T) V in f32 of one wave: the first product's accumulator is an operand of the second. Q is 32 x 64, K and V keys x
// 64, O 32 x 64, any number of keys: rows that do not exist are zero.
tile.kernel @two_products_f32(
    %q: !tile.view<?x?xf32> {tile.bind = "q", tile.sizes = ["32", "64"], tile.strides = ["64"]},
    %k: !tile.view<?x?x?x64xf32> {tile.bind = "k", tile.sizes = ["1", "keys", "1"], tile.strides = ["64 * keys", "64", "64"]},
    %v: !tile.view<?x?x?x64xf32> {tile.bind = "v", tile.sizes = ["1", "keys", "1"], tile.strides = ["64 * keys", "64", "64"]},
    %o: !tile.view<?x?xf32> {tile.bind = "o", tile.sizes = ["32", "64"], tile.strides = ["64"]})
    target("gfx950") waves(1) attributes {tile.requires = [["keys <= 1048576", "there may be at most 1048576 keys"]]} {
  %x, %y, %z = tile.workgroup_id ["1"]
  %first = arith.constant 0 : i32
  %k_ring = tile.ring %k[%first, %first] : <?x?x?x64xf32> -> <64x64xf32>
  %v_ring = tile.ring %v[%first, %first] : <?x?x?x64xf32> -> <64x64xf32>
  %query = tile.load %q[%first, %first] : <?x?xf32> -> <64x32xf32, rhs bits(32)>
  %keys = tile.dim %k, 1 : <?x?x?x64xf32>
  %tile_less_1 = arith.constant 63 : i32
  %rounded_up = arith.addi %keys, %tile_less_1 : i32
  %tile = arith.constant 64 : i32
  %tiles = arith.divui %rounded_up, %tile : i32
  %zero = tile.fill 0.000000e+00 : !tile.frag<64x32xf32, acc>
  %output = tile.for_tiles %t = 0 to %tiles init(%sum = %zero : !tile.frag<64x32xf32, acc>) schedule(@gemm_sequential) {
    tile.step @fetch_b {
      tile.fetch %k_ring[%t] : <64x64xf32>
    }
    tile.step @fetch_a {
      tile.fetch %v_ring[%t] : <64x64xf32>
    }
    %key = tile.step @read_b -> !tile.frag<64x64xf32, lhs bits(32)> {
      %operand = tile.read %k_ring[%t] : <64x64xf32> -> <64x64xf32, lhs bits(32)>
      tile.yield %operand : !tile.frag<64x64xf32, lhs bits(32)>
    }
    %value = tile.step @read_a -> !tile.frag<64x64xf32, lhs_acc bits(32)> {
      %operand = tile.read_transposed %v_ring[%t] : <64x64xf32> -> <64x64xf32, lhs_acc bits(32)>
      tile.yield %operand : !tile.frag<64x64xf32, lhs_acc bits(32)>
    }
    %weights = tile.step @multiply_low -> !tile.frag<64x32xf32, rhs_acc bits(32)> {
      %none = tile.fill 0.000000e+00 : !tile.frag<64x32xf32, acc>
      %scores = tile.mma %key, %query, %none : <64x64xf32, lhs bits(32)>, <64x32xf32, rhs bits(32)>, <64x32xf32, acc>
      %packed = tile.pack %scores : <64x32xf32, acc> -> <64x32xf32, rhs_acc bits(32)>
      tile.yield %packed : !tile.frag<64x32xf32, rhs_acc bits(32)>
    }
    %whole = tile.step @multiply_high -> !tile.frag<64x32xf32, acc> {
      %next = tile.mma %value, %weights, %sum
          : <64x64xf32, lhs_acc bits(32)>, <64x32xf32, rhs_acc bits(32)>, <64x32xf32, acc>
      tile.yield %next : !tile.frag<64x32xf32, acc>
    }
    tile.yield %whole : !tile.frag<64x32xf32, acc>
  }
  tile.store %output, %o[%first, %first] : !tile.frag<64x32xf32, acc>, !tile.view<?x?xf32>
}
