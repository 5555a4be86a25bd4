attn.forward @fmha_fwd_d128_fp16_none element_type(f16) head_dim(128) mask(none) lse
