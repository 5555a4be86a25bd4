attn.forward @broken element_type(bf16 head_dim(128)
