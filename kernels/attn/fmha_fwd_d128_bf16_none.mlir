attn.forward @fmha_fwd_d128_bf16_none element_type(bf16) head_dim(128) mask(none) lse
