# Importing it makes torch.ops.hocket.attention_forward known.
