# Importing it makes torch.ops.hocket.attention_forward and attention_backward known.
