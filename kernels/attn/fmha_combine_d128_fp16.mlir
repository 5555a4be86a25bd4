// The second launch of split KV (docs/SplitKV.md), heads of 128, fp16, log-sum-exp.
attn.combine @fmha_combine_d128_fp16 element_type(f16) head_dim(128) lse
