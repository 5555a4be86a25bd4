"""flash-attn 2's layers, as far as attention needs them."""
