attn.forward @wide element_type(f64) head_dim(128)
