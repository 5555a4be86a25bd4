"""How FlashInfer makes scores of queries and keys: rotary embedding, slopes by distance, scales."""
import functools
import math

import torch

from .._errors import InvalidInput, Unsupported

#: What `pos_encoding_mode` may be.
MODES = ("NONE", "ROPE_LLAMA", "ALIBI")

#: FlashInfer's bias grows with the key's position from the query's number on, past the diagonal too. Its soft cap is of what is
#: scaled once more.
_ALIBI = """attn.score_mod @alibi_by_number(%score: f32, %batch: i32, %head: i32, %query: i32, %key: i32,
    %slopes_of_heads: tensor<?xf32> {attn.sizes = ["heads"]}CAP_ARGUMENT) {
  %slope = attn.read %slopes_of_heads[%head] : tensor<?xf32> -> f32
  %distance = arith.subi %key, %query : i32
  %keys = arith.sitofp %distance : i32 to f32
  %biased = math.fma %slope, %keys, %score : f32
CAP
}
"""
_NO_CAP = "  attn.yield %biased : f32"
_CAP_ARGUMENT = """,
    %caps: tensor<?xf32> {attn.sizes = ["2"]}"""
_CAP = """  %first = arith.constant 0 : i32
  %second = arith.constant 1 : i32
  %factor = attn.read %caps[%first] : tensor<?xf32> -> f32
  %cap = attn.read %caps[%second] : tensor<?xf32> -> f32
  %scaled = arith.mulf %biased, %factor : f32
  %bounded = math.tanh %scaled : f32
  %result = arith.mulf %bounded, %cap : f32
  attn.yield %result : f32"""


def check_mode(mode):
    if mode not in MODES:
        raise InvalidInput(f"argument 'pos_encoding_mode' is {mode!r}, wanted one of {', '.join(MODES)}")


@functools.lru_cache(64)
def alibi(heads, device, scale, soft_cap):
    """The modification for `heads` heads, whose scores have been multiplied by `scale`; with a soft cap unless that is 0."""
    text = _ALIBI.replace("CAP_ARGUMENT", _CAP_ARGUMENT if soft_cap else "").replace("CAP", _CAP if soft_cap else _NO_CAP)
    caps = [("caps", torch.tensor([scale / soft_cap, soft_cap], dtype=torch.float32, device=device))] if soft_cap else []
    return "pos_encoding_mode", text, ("slopes_of_heads", _slopes(heads, device)), *caps


def _slopes(heads, device):
    """Powers of 2^(-8 / n), n the greatest power of two up to `heads`; beyond n every second one of 2n heads."""
    n = 1 << (heads.bit_length() - 1)
    powers = [-8 * (head + 1) / n if head < n else -4 * (2 * (head - n) + 1) / n for head in range(heads)]
    return torch.tensor([2.0 ** power for power in powers], dtype=torch.float32, device=device)


class Rotary:
    """Rotary embedding of heads in two halves: element i of a half is turned by position / (scale * theta^(i / half))."""

    def __init__(self, scale=None, theta=None):
        self.scale = 1.0 if scale is None else float(scale)
        self.theta = 1e4 if theta is None else float(theta)
        for name, value in (("rope_scale", self.scale), ("rope_theta", self.theta)):
            if not (math.isfinite(value) and value > 0):
                raise InvalidInput(f"argument '{name}' is {value}, wanted a positive number")

    def turn(self, rows, positions, dtype=None):
        """A copy of `rows` [.., heads, head_dim] turned by `positions` [..], of their type or `dtype`; computed in float32."""
        half = rows.shape[-1] // 2
        if 2 * half != rows.shape[-1]:
            raise InvalidInput(f"argument 'pos_encoding_mode' is ROPE_LLAMA, and heads have {rows.shape[-1]} elements, which are no two "
                               f"halves")
        elements = torch.arange(half, dtype=torch.float32, device=rows.device)
        angles = positions.float()[..., None] / (self.scale * self.theta ** (elements / half))
        cos, sin = (made[..., None, :] for made in (angles.cos(), angles.sin()))
        a, b = rows.float().split(half, -1)
        return torch.cat([a * cos - b * sin, b * cos + a * sin], -1).to(dtype or rows.dtype)


def number_of(name, scale):
    """The scale that argument `name` gives, as a number; of none, or of an empty tensor, it is 1."""
    if scale is None or hasattr(scale, "numel") and scale.numel() == 0:
        return 1.0
    if hasattr(scale, "numel") and scale.numel() != 1:
        raise Unsupported(f"argument '{name}' has {scale.numel()} numbers; give one, or call hocket's functions with their descales")
    return float(scale)


class Scores:
    """How scores are made of queries and keys, as FlashInfer's arguments say."""

    def __init__(self, causal=False, sm_scale=None, window_left=-1, logits_soft_cap=None, pos_encoding_mode="NONE", rope_scale=None,
                 rope_theta=None):
        check_mode(pos_encoding_mode)
        self.causal, self.window_left, self._scale, self._cap = causal, window_left, sm_scale, max(logits_soft_cap or 0.0, 0.0)
        self.rotary = Rotary(rope_scale, rope_theta) if pos_encoding_mode == "ROPE_LLAMA" else None
        self.has_alibi = pos_encoding_mode == "ALIBI"

    def options(self, q, factor=1.0, is_masked=False):
        """hocket's arguments; a custom mask stands in for the diagonal."""
        return {"causal": self.causal and not is_masked, "softmax_scale": self._scale_of(q) * factor,
                "softcap": 0.0 if self.has_alibi else self._cap, "window_size": (self.window_left, -1)}

    def _scale_of(self, q):
        return q.shape[-1] ** -0.5 if self._scale is None else self._scale

    def modifications(self, q, factor=1.0):
        """What hocket's arguments do not say."""
        return [alibi(q.shape[1], q.device, self._scale_of(q) * factor, self._cap)] * self.has_alibi
