attn.forward @odd element_type(bf16) head_dim(100)
