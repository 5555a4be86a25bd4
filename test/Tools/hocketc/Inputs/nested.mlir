module {
  module {
    attn.forward @inside element_type(bf16) head_dim(128)
  }
}
