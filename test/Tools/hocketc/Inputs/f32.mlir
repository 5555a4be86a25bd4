attn.forward @wide element_type(f32) head_dim(128)
