// The second launch of split KV, heads of 128, fp16: folds what the producers left in the workspace into O and LSE.
//
// This is what kernels/attn/fmha_combine_d128_fp16.mlir expands to, with comments; a test keeps the two
// equal. docs/SplitKV.md has the whole.
tile.kernel @fmha_combine_d128_fp16(
    // O of each slice of the keys, normalised, and its log-sum-exp; the slices of a batch follow one another.
    %partial: !tile.view<?x?x?x128xf32> {tile.bind = "partial", tile.address = "workspace",
         tile.sizes = ["batch * num_splits", "seq_q", "heads"],
         tile.strides = ["heads * seq_q * head_dim_v", "head_dim_v", "seq_q * head_dim_v"]},
    %partial_lse: !tile.view<?x?x?xf32> {tile.bind = "partial_lse",
         tile.address = "workspace + 4 * batch * num_splits * heads * seq_q * head_dim_v",
         tile.sizes = ["batch * num_splits", "heads", "seq_q"],
         tile.strides = ["heads * seq_q", "seq_q"]},
    %o: !tile.view<?x?x?x128xf16> {tile.bind = "o",
         tile.sizes = ["batch", "seq_q", "heads"],
         tile.strides = ["o_stride_b", "o_stride_s", "o_stride_h"]},
    %lse: !tile.view<?x?x?xf32> {tile.bind = "lse",
         tile.sizes = ["batch", "heads", "seq_q"],
         tile.strides = ["heads * seq_q", "seq_q"]},
    %num_splits: i32 {tile.bind = "num_splits"}) target("gfx950") waves(4) attributes {
    tile.requires = [
      ["head_dim_v == 128", "head_dim_v must be 128"],
      ["o_stride_b % 8 == 0", "o_stride_b must be a multiple of 8 elements"],
      ["o_stride_s % 8 == 0", "o_stride_s must be a multiple of 8 elements"],
      ["o_stride_h % 8 == 0", "o_stride_h must be a multiple of 8 elements"]],
    tile.workspace = "4 * batch * num_splits * heads * seq_q * (head_dim_v + 1)"} {
  // Two rows of 128 elements fill the lanes of a wave, four elements each: eight rows a workgroup.
  %batch, %head, %row = tile.block_id %o rows(8) : <?x?x?x128xf16>
  %wave_row = tile.wave_row %row rows(2)
  // O = sum over slices of exp(LSE - max) O_slice, divided by the sum of the weights; LSE = max + log of that sum.
  tile.combine %partial, %partial_lse splits(%num_splits) into %o and %lse[%batch, %wave_row, %head] rows(2)
      : <?x?x?x128xf32>, <?x?x?xf32>, <?x?x?x128xf16>, !tile.view<?x?x?xf32>
}
