attn.forward @plain element_type(bf16) head_dim(128)
