// RUN: hocket-opt %s --convert-attn-to-tile="schedule=mine target=gfx942" -verify-diagnostics

// expected-error @below {{'eight' has keys of 8 bits, whose values are read transposed, which gfx942 cannot; use bf16 or f16}}
attn.forward @eight element_type(q = f8E4M3FNUZ, o = bf16, k = f8E4M3FNUZ, v = f8E4M3FNUZ) head_dim(128)
