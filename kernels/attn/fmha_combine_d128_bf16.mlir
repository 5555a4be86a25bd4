// The second launch of split KV (docs/SplitKV.md), heads of 128, bf16, log-sum-exp.
attn.combine @fmha_combine_d128_bf16 element_type(bf16) head_dim(128) lse
