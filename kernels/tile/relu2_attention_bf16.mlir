// ReLU-squared attention, heads of 128, bf16: O = sum over keys of max(scale q.k, 0)^2 v. No softmax, so nothing is
// carried from tile to tile but the sum.
//
// Beside the products there is one `tile.map`: what becomes of each score.
tile.kernel @relu2_attention_bf16(
    %q: !tile.view<?x?x?x128xbf16> {tile.bind = "q", tile.sizes = ["batch", "seq_q", "heads"],
         tile.strides = ["q_stride_b", "q_stride_s", "q_stride_h"]},
    %k: !tile.view<?x?x?x128xbf16> {tile.bind = "k", tile.sizes = ["batch", "seq_kv", "kv_heads"],
         tile.strides = ["k_stride_b", "k_stride_s", "k_stride_h"]},
    %v: !tile.view<?x?x?x128xbf16> {tile.bind = "v", tile.sizes = ["batch", "seq_kv", "kv_heads"],
         tile.strides = ["v_stride_b", "v_stride_s", "v_stride_h"]},
    %o: !tile.view<?x?x?x128xbf16> {tile.bind = "o", tile.sizes = ["batch", "seq_q", "heads"],
         tile.strides = ["o_stride_b", "o_stride_s", "o_stride_h"]},
    %scale: f32 {tile.bind = "scale"}) target("gfx950") waves(8) attributes {
    tile.requires = [
      ["heads % kv_heads == 0", "heads must be a multiple of kv_heads"],
      ["max(seq_q, seq_kv) <= 1073741824", "seq_q and seq_kv may be at most 1073741824"],
      ["q_stride_b % 8 == 0 && q_stride_s % 8 == 0 && q_stride_h % 8 == 0", "q's strides must be multiples of 8 elements"],
      ["k_stride_b % 8 == 0 && k_stride_s % 8 == 0 && k_stride_h % 8 == 0", "k's strides must be multiples of 8 elements"],
      ["v_stride_b % 8 == 0 && v_stride_s % 8 == 0 && v_stride_h % 8 == 0", "v's strides must be multiples of 8 elements"],
      ["o_stride_b % 8 == 0 && o_stride_s % 8 == 0 && o_stride_h % 8 == 0", "o's strides must be multiples of 8 elements"]]} {
  // 256 rows of one head for the workgroup, 32 of them for this wave.
  %batch, %head, %row = tile.block_id %q rows(256) xcds(8) : <?x?x?x128xbf16>
  %wave_row = tile.wave_row %row rows(32)
  %kv_head = tile.group_head %head of %q in %k : <?x?x?x128xbf16>, <?x?x?x128xbf16>
  %k_ring = tile.ring %k[%batch, %kv_head] : <?x?x?x128xbf16> -> <64x128xbf16>
  %v_ring = tile.ring %v[%batch, %kv_head] : <?x?x?x128xbf16> -> <64x128xbf16>
  %queries = tile.load %q[%batch, %wave_row, %head] : <?x?x?x128xbf16> -> <128x32xbf16, rhs>

  %seq_kv = tile.dim %k, 1 : <?x?x?x128xbf16>
  %tile_keys_less_1 = arith.constant 63 : i32
  %rounded_up = arith.addi %seq_kv, %tile_keys_less_1 : i32
  %tile_keys = arith.constant 64 : i32
  %tiles = arith.divui %rounded_up, %tile_keys : i32
  %no_scores = tile.fill 0.000000e+00 : !tile.frag<64x32xf32, acc>
  %no_output = tile.fill 0.000000e+00 : !tile.frag<128x32xf32, acc>
  %output = tile.for_tiles %t = 0 to %tiles init(%sum = %no_output : !tile.frag<128x32xf32, acc>) schedule(@next_tile) {
    tile.step @fetch_k {
      tile.fetch %k_ring[%t] : <64x128xbf16>
    }
    tile.step @fetch_v {
      tile.fetch %v_ring[%t] : <64x128xbf16>
    }
    // S = K Q^T: a query is one lane's column. Keys beyond the end arrive as zero, and so do their scores.
    %keys = tile.step @read_k -> !tile.frag<64x128xbf16, lhs> {
      %operand = tile.read %k_ring[%t] : <64x128xbf16> -> <64x128xbf16, lhs>
      tile.yield %operand : !tile.frag<64x128xbf16, lhs>
    }
    %scores = tile.step @qk -> !tile.frag<64x32xf32, acc> {
      %product = tile.mma %keys, %queries, %no_scores : <64x128xbf16, lhs>, <128x32xbf16, rhs>, <64x32xf32, acc>
      tile.yield %product : !tile.frag<64x32xf32, acc>
    }
    %weights = tile.step @relu2 -> !tile.frag<64x32xbf16, rhs_acc> {
      %squares = tile.map(%score = %scores : !tile.frag<64x32xf32, acc>, %factor = %scale : f32)
          -> !tile.frag<64x32xf32, acc> {
        %zero = arith.constant 0.000000e+00 : f32
        %scaled = arith.mulf %score, %factor : f32
        %positive = arith.maximumf %scaled, %zero : f32
        %square = arith.mulf %positive, %positive : f32
        tile.yield %square : f32
      }
      %rounded = tile.pack %squares : <64x32xf32, acc> -> <64x32xbf16, rhs_acc>
      tile.yield %rounded : !tile.frag<64x32xbf16, rhs_acc>
    }
    // O += V^T P: the packed weights are the right operand as they lie.
    %values = tile.step @read_v -> !tile.frag<128x64xbf16, lhs_acc> {
      %operand = tile.read_transposed %v_ring[%t] : <64x128xbf16> -> <128x64xbf16, lhs_acc>
      tile.yield %operand : !tile.frag<128x64xbf16, lhs_acc>
    }
    %more = tile.step @pv -> !tile.frag<128x32xf32, acc> {
      %product = tile.mma %values, %weights, %sum : <128x64xbf16, lhs_acc>, <64x32xbf16, rhs_acc>, <128x32xf32, acc>
      tile.yield %product : !tile.frag<128x32xf32, acc>
    }
    tile.yield %more : !tile.frag<128x32xf32, acc>
  }
  tile.store %output, %o[%batch, %wave_row, %head] : <128x32xf32, acc>, <?x?x?x128xbf16>
}

// Two wave groups: while one computes, the other reads and fetches.
tile.schedule @next_tile unroll(2) wave_groups(2) {
  tile.cluster memory { read_k(0) fetch_v(+1) }
  tile.cluster compute priority(1) { qk(0) relu2(0) }
  tile.cluster memory { read_v(0) fetch_k(+2) }
  tile.cluster compute priority(1) { pv(0) }
}
