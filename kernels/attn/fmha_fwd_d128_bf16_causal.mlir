attn.forward @fmha_fwd_d128_bf16_causal element_type(bf16) head_dim(128) mask(causal) lse
