attn.forward @sequential element_type(bf16) head_dim(128) schedule(@sequential)
