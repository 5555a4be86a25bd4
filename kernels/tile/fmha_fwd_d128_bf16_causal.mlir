// Forward attention of head dimension 128 in bf16, causal mask, log-sum-exp: O = softmax(scale Q K^T) V.
//
// This is what kernels/attn/fmha_fwd_d128_bf16_causal.mlir expands to, with names and
// comments; a test keeps the two equal.
// Copy it, edit it, and compile it with hocketc.
tile.kernel @fmha_fwd_d128_bf16_causal(
    %q: !tile.view<?x?x?x128xbf16> {tile.bind = "q",
         tile.sizes = ["batch", "seq_q", "heads"],
         tile.strides = ["q_stride_b", "q_stride_s", "q_stride_h"]},
    %k: !tile.view<?x?x?x128xbf16> {tile.bind = "k",
         tile.sizes = ["batch", "seq_kv", "kv_heads"],
         tile.strides = ["k_stride_b", "k_stride_s", "k_stride_h"]},
    %v: !tile.view<?x?x?x128xbf16> {tile.bind = "v",
         tile.sizes = ["batch", "seq_kv", "kv_heads"],
         tile.strides = ["v_stride_b", "v_stride_s", "v_stride_h"]},
    %o: !tile.view<?x?x?x128xbf16> {tile.bind = "o",
         tile.sizes = ["batch", "seq_q", "heads"],
         tile.strides = ["o_stride_b", "o_stride_s", "o_stride_h"]},
    %lse: !tile.view<?x?x?xf32> {tile.bind = "lse",
         tile.sizes = ["batch", "heads", "seq_q"],
         tile.strides = ["heads * seq_q", "seq_q"]},
    %scale: f32 {tile.bind = "scale"}) target("gfx950") waves(8) attributes {
    tile.requires = [
      ["head_dim == 128", "head_dim must be 128"],
      ["head_dim_v == 128", "head_dim_v must be 128"],
      ["causal == 1", "the kernel is causal"],
      ["heads % kv_heads == 0", "heads must be a multiple of kv_heads"],
      ["max(seq_q, seq_kv) <= 1073741824", "seq_q and seq_kv may be at most 1073741824"],
      ["q_stride_b % 8 == 0", "q_stride_b must be a multiple of 8 elements"],
      ["q_stride_s % 8 == 0", "q_stride_s must be a multiple of 8 elements"],
      ["q_stride_h % 8 == 0", "q_stride_h must be a multiple of 8 elements"],
      ["k_stride_b % 8 == 0", "k_stride_b must be a multiple of 8 elements"],
      ["k_stride_s % 8 == 0", "k_stride_s must be a multiple of 8 elements"],
      ["k_stride_h % 8 == 0", "k_stride_h must be a multiple of 8 elements"],
      ["v_stride_b % 8 == 0", "v_stride_b must be a multiple of 8 elements"],
      ["v_stride_s % 8 == 0", "v_stride_s must be a multiple of 8 elements"],
      ["v_stride_h % 8 == 0", "v_stride_h must be a multiple of 8 elements"],
      ["o_stride_b % 8 == 0", "o_stride_b must be a multiple of 8 elements"],
      ["o_stride_s % 8 == 0", "o_stride_s must be a multiple of 8 elements"],
      ["o_stride_h % 8 == 0", "o_stride_h must be a multiple of 8 elements"]]} {
  // Which 256 rows of which head this workgroup works on, and which 32 of them are this wave's.
  %batch, %head, %row = tile.block_id %q rows(256) last_rows_first xcds(8) : <?x?x?x128xbf16>
  %wave_row = tile.wave_row %row rows(32)
  %kv_head = tile.group_head %head of %q in %k : <?x?x?x128xbf16>, <?x?x?x128xbf16>

  // K and V pass through LDS, 64 keys at a time. Where, and in which layout, is for tile-allocate-lds to find.
  %k_ring = tile.ring %k[%batch, %kv_head] : <?x?x?x128xbf16> -> <64x128xbf16>
  %v_ring = tile.ring %v[%batch, %kv_head] : <?x?x?x128xbf16> -> <64x128xbf16>

  // Scores are scaled in f32 after the product, in log2 units. A negative scale moves its sign into Q, so that
  // the largest score stays the largest; 0 becomes tiny, so that a hidden score (-inf) stays hidden.
  %zero_scale = arith.constant 0.000000e+00 : f32
  %negative_scale = arith.cmpf olt, %scale, %zero_scale : f32
  %opposite = arith.negf %scale : f32
  %magnitude = arith.select %negative_scale, %opposite, %scale : f32
  %log2_e = arith.constant 1.44269502 : f32
  %log2_scale = arith.mulf %magnitude, %log2_e : f32
  %tiny = arith.constant 7.88860905E-31 : f32
  %safe_scale = arith.maxnumf %log2_scale, %tiny : f32

  // Q stays in registers for the whole loop: the right operand, one query for each lane pair.
  %loaded = tile.load %q[%batch, %wave_row, %head] : <?x?x?x128xbf16> -> <128x32xbf16, rhs>
  %queries = tile.negate %loaded when %negative_scale : <128x32xbf16, rhs>

  // Bottom-right: row i sees key j when j <= i + shift. Tiles that no row of the workgroup sees are not visited.
  %seq_kv = tile.dim %k, 1 : <?x?x?x128xbf16>
  %seq_q = tile.dim %q, 1 : <?x?x?x128xbf16>
  %shift = arith.subi %seq_kv, %seq_q : i32
  %diagonal = arith.addi %wave_row, %shift : i32
  %block_rows = arith.constant 256 : i32
  %block_end = arith.addi %row, %block_rows : i32
  %visible = arith.addi %block_end, %shift : i32
  %nothing = arith.constant 0 : i32
  %visible_or_none = arith.maxsi %visible, %nothing : i32
  %end = arith.minsi %visible_or_none, %seq_kv : i32
  %tile_keys_less_1 = arith.constant 63 : i32
  %rounded_up = arith.addi %end, %tile_keys_less_1 : i32
  %tile_keys = arith.constant 64 : i32
  %tiles = arith.divui %rounded_up, %tile_keys : i32

  // What the loop starts from: no scores, no output, and rows that have seen nothing.
  %no_scores = tile.fill 0.000000e+00 : !tile.frag<64x32xf32, acc>
  %no_output = tile.fill 0.000000e+00 : !tile.frag<128x32xf32, acc(8)>
  %zero_rows = tile.fill 0.000000e+00 : !tile.rows<32xf32>
  %lowest = tile.fill 0xFF800000 : !tile.rows<32xf32>

  // One iteration for each tile of 64 keys. kernels/schedules says which step runs when.
  // Tiles are counted to the last key that a row of the workgroup sees, at most 255 keys behind the first row's last:
  // the loop says so of the bounds that masks cut at, and tiles before that run without masks.
  %final_pv, %final_reference, %final_bound, %final_sum, %final_exact_sum = tile.for_tiles %t = 0 to %tiles
      cut_right(%seq_kv within 0, %diagonal within 255)
      init(%old_pv = %no_output : !tile.frag<128x32xf32, acc(8)>,
           %old_reference = %zero_rows : !tile.rows<32xf32>,
           %old_bound = %lowest : !tile.rows<32xf32>,
           %old_sum = %zero_rows : !tile.rows<32xf32>,
           %old_exact_sum = %zero_rows : !tile.rows<32xf32>)
      schedule(@sequential) {
    // Global memory to LDS, past the registers.
    tile.step @fetch_k {
      tile.fetch %k_ring[%t] : <64x128xbf16>
    }
    tile.step @fetch_v {
      tile.fetch %v_ring[%t] : <64x128xbf16>
    }
    // S = K Q^T, keys x queries: a query is one lane's column.
    %read_k = tile.step @read_k -> !tile.frag<64x128xbf16, lhs> {
      %operand = tile.read %k_ring[%t] : <64x128xbf16> -> <64x128xbf16, lhs>
      tile.yield %operand : !tile.frag<64x128xbf16, lhs>
    }
    %qk = tile.step @qk -> !tile.frag<64x32xf32, acc> {
      %product = tile.mma %read_k, %queries, %no_scores : <64x128xbf16, lhs>, <128x32xbf16, rhs>, <64x32xf32, acc>
      tile.yield %product : !tile.frag<64x32xf32, acc>
    }
    // Keys beyond the diagonal or the end are hidden; only tiles that they cut pay for it.
    %mask = tile.step @mask -> !tile.frag<64x32xf32, acc> {
      %masked = tile.mask %qk tile(%t) below(%seq_kv) diagonal(%diagonal) : <64x32xf32, acc>
      tile.yield %masked : !tile.frag<64x32xf32, acc>
    }
    // The reference point moves rarely, and then by a power of two: what was summed before rescales exactly.
    %reference, %bound, %factor, %moved, %scaled_sum, %scaled_exact_sum = tile.step @settle
        -> !tile.rows<32xf32>, !tile.rows<32xf32>, !tile.rows<32xf32>, i1, !tile.rows<32xf32>, !tile.rows<32xf32> {
      %max = tile.row_max %mask : <64x32xf32, acc> -> <32xf32>
      %new_reference, %new_bound, %new_factor, %has_moved = tile.settle %max, %old_reference, %old_bound scale(%safe_scale) threshold(2.000000e+01)
          : <32xf32>
      %shrunk:2 = tile.rescale %old_sum, %old_exact_sum by %new_factor when %has_moved
          : !tile.rows<32xf32>, !tile.rows<32xf32> by <32xf32>
      tile.yield %new_reference, %new_bound, %new_factor, %has_moved, %shrunk#0, %shrunk#1
          : !tile.rows<32xf32>, !tile.rows<32xf32>, !tile.rows<32xf32>, i1, !tile.rows<32xf32>, !tile.rows<32xf32>
    }
    // P = exp2(S scale - reference), in two halves, so that a schedule can put work between them. O is divided by
    // the sum of the rounded weights, so that rounding cancels; the log-sum-exp is that of the exact ones.
    %head_weights, %head_sum, %head_exact_sum = tile.step @head
        -> !tile.frag<32x32xbf16, rhs_acc>, !tile.rows<32xf32>, !tile.rows<32xf32> {
      %part = tile.slice %mask from 0 : <64x32xf32, acc> -> <32x32xf32, acc>
      %weights = tile.exp2 %part scale(%safe_scale) minus(%reference) : <32x32xf32, acc>, !tile.rows<32xf32>
      %rounded = tile.pack %weights : <32x32xf32, acc> -> <32x32xbf16, rhs_acc>
      %new_sum = tile.row_sum %rounded, %scaled_sum : <32x32xbf16, rhs_acc>, <32xf32>
      %new_exact_sum = tile.row_sum %weights, %scaled_exact_sum : <32x32xf32, acc>, <32xf32>
      tile.yield %rounded, %new_sum, %new_exact_sum
          : !tile.frag<32x32xbf16, rhs_acc>, !tile.rows<32xf32>, !tile.rows<32xf32>
    }
    %tile_weights, %row_sum, %exact_sum = tile.step @tail
        -> !tile.frag<64x32xbf16, rhs_acc>, !tile.rows<32xf32>, !tile.rows<32xf32> {
      %part = tile.slice %mask from 32 : <64x32xf32, acc> -> <32x32xf32, acc>
      %weights = tile.exp2 %part scale(%safe_scale) minus(%reference) : <32x32xf32, acc>, !tile.rows<32xf32>
      %rounded = tile.pack %weights : <32x32xf32, acc> -> <32x32xbf16, rhs_acc>
      %new_sum = tile.row_sum %rounded, %head_sum : <32x32xbf16, rhs_acc>, <32xf32>
      %new_exact_sum = tile.row_sum %weights, %head_exact_sum : <32x32xf32, acc>, <32xf32>
      %all = tile.concat %head_weights, %rounded
          : !tile.frag<32x32xbf16, rhs_acc>, !tile.frag<32x32xbf16, rhs_acc> -> <64x32xbf16, rhs_acc>
      tile.yield %all, %new_sum, %new_exact_sum
          : !tile.frag<64x32xbf16, rhs_acc>, !tile.rows<32xf32>, !tile.rows<32xf32>
    }
    // What was accumulated against the old reference.
    %rescale = tile.step @rescale -> !tile.frag<128x32xf32, acc(8)> {
      %shrunk = tile.rescale %old_pv by %factor when %moved : !tile.frag<128x32xf32, acc(8)> by <32xf32>
      tile.yield %shrunk : !tile.frag<128x32xf32, acc(8)>
    }
    // O += V^T P: the packed scores are the right operand as they lie; the transposed read of V follows their order.
    %read_v = tile.step @read_v -> !tile.frag<128x64xbf16, lhs_acc(8)> {
      %operand = tile.read_transposed %v_ring[%t] : <64x128xbf16> -> <128x64xbf16, lhs_acc(8)>
      tile.yield %operand : !tile.frag<128x64xbf16, lhs_acc(8)>
    }
    %pv = tile.step @pv -> !tile.frag<128x32xf32, acc(8)> {
      %product = tile.mma %read_v, %tile_weights, %rescale : <128x64xbf16, lhs_acc(8)>, <64x32xbf16, rhs_acc>, <128x32xf32, acc(8)>
      tile.yield %product : !tile.frag<128x32xf32, acc(8)>
    }
    tile.yield %pv, %reference, %bound, %row_sum, %exact_sum
        : !tile.frag<128x32xf32, acc(8)>, !tile.rows<32xf32>, !tile.rows<32xf32>, !tile.rows<32xf32>, !tile.rows<32xf32>
  }

  // The sum over the lanes that share a query, once; then O = O / sum and, where asked for, the log-sum-exp.
  %total = tile.unify %final_sum : <32xf32>
  %normalized = tile.normalize %final_pv by %total : <128x32xf32, acc(8)>, <32xf32>
  tile.store %normalized, %o[%batch, %wave_row, %head] : <128x32xf32, acc(8)>, <?x?x?x128xbf16>
  %exact_total = tile.unify %final_exact_sum : <32xf32>
  %log_sum = tile.log_sum %exact_total reference(%final_reference) : <32xf32>
  tile.store_rows %log_sum, %lse[%batch, %head, %wave_row] : <32xf32>, <?x?x?xf32>
}
