"""Trains one attention layer, forward and backward by Hocket, on a toy task: say the token before.

    PYTHONPATH=build/python python3 docs/examples/train_attention.py [STEPS]

numpy does the layer's projections and the loss; attention runs in the simulator, in fp16. The same training, with
attention written out in float64, goes on beside it: both losses are printed, and must fall together.
"""
import sys

import numpy

import hocket

BATCH, LENGTH, HEADS, HEAD_DIM, TOKENS, WIDTH = 4, 48, 2, 32, 12, 64
RATE, MOMENTUM = 0.3, 0.9
#: By how much the losses may differ, relative to that of float64: fp16 has 11 bits, and steps feed on one another.
TOLERANCE = 0.02


def hocket_forward(q, k, v):
    halves = [tensor.astype(numpy.float16) for tensor in (q, k, v)]
    out, lse = hocket.flash_attn_func(*halves, causal=True, return_lse=True)
    return out.astype(numpy.float64), (*halves, out, lse)


def hocket_backward(dout, kept):
    gradients = hocket.flash_attn_backward(dout.astype(numpy.float16), *kept, causal=True)
    return [gradient.astype(numpy.float64) for gradient in gradients]


def plain_forward(q, k, v):
    scores = numpy.einsum("bihd,bjhd->bhij", q, k) / numpy.sqrt(HEAD_DIM)
    scores[..., numpy.triu(numpy.ones((LENGTH, LENGTH), bool), 1)] = -numpy.inf
    weights = softmax(scores)
    out = numpy.einsum("bhij,bjhd->bihd", weights, v)
    return out, (q, k, v, out, weights)


def plain_backward(dout, kept):
    q, k, v, out, weights = kept
    of_weights = numpy.einsum("bihd,bjhd->bhij", dout, v)
    of_rows = numpy.einsum("bihd,bihd->bhi", dout, out)[..., None]
    of_scores = weights * (of_weights - of_rows) / numpy.sqrt(HEAD_DIM)
    return [numpy.einsum("bhij,bjhd->bihd", of_scores, k), numpy.einsum("bhij,bihd->bjhd", of_scores, q),
            numpy.einsum("bhij,bihd->bjhd", weights, dout)]


def softmax(x):
    powers = numpy.exp(x - x.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def make_task():
    """What the layer reads, [BATCH, LENGTH, WIDTH]: a token and its position; and the token that it is to say."""
    generator = numpy.random.default_rng(0)
    tokens = generator.integers(0, TOKENS, (BATCH, LENGTH))
    angles = numpy.arange(LENGTH)[:, None] / 100.0 ** (numpy.arange(WIDTH // 2) / (WIDTH // 2))
    positions = numpy.stack([numpy.sin(angles), numpy.cos(angles)], 2).reshape(LENGTH, WIDTH)
    embedded = generator.standard_normal((TOKENS, WIDTH))[tokens] * 3 / numpy.sqrt(WIDTH)
    return embedded + positions, numpy.roll(tokens, 1, axis=1)


class Layer:
    """Four projections with attention between them, trained by gradient descent with momentum."""

    def __init__(self, forward, backward):
        generator = numpy.random.default_rng(1)
        inner = HEADS * HEAD_DIM
        self.weights = {name: generator.standard_normal((WIDTH, inner)) / numpy.sqrt(WIDTH) for name in "qkv"}
        self.weights["out"] = generator.standard_normal((inner, TOKENS)) / numpy.sqrt(inner) / 2
        self.moved = {name: numpy.zeros_like(weight) for name, weight in self.weights.items()}
        self.forward, self.backward = forward, backward

    def step(self, x, targets):
        """One step; returns the loss before it. The first token follows none, and does not count."""
        heads = (BATCH, LENGTH, HEADS, HEAD_DIM)
        out, kept = self.forward(*((x @ self.weights[name]).reshape(heads) for name in "qkv"))
        flat = out.reshape(BATCH, LENGTH, -1)
        said = softmax(flat @ self.weights["out"])
        right = numpy.eye(TOKENS)[targets]
        loss = -numpy.log((said * right).sum(-1)[:, 1:]).mean()

        error = (said - right) / (BATCH * (LENGTH - 1))
        error[:, 0] = 0
        gradients = {"out": numpy.einsum("bti,btj->ij", flat, error)}
        dout = (error @ self.weights["out"].T).reshape(heads)
        for name, gradient in zip("qkv", self.backward(dout, kept)):
            gradients[name] = numpy.einsum("bti,btj->ij", x, gradient.reshape(BATCH, LENGTH, -1))
        for name, gradient in gradients.items():
            self.moved[name] = MOMENTUM * self.moved[name] + gradient
            self.weights[name] -= RATE * self.moved[name]
        return loss


def main(steps):
    x, targets = make_task()
    layer, plain = Layer(hocket_forward, hocket_backward), Layer(plain_forward, plain_backward)
    first = worst = None
    for step in range(steps):
        loss, wanted = layer.step(x, targets), plain.step(x, targets)
        first = wanted if first is None else first
        worst = max(worst or 0, abs(loss - wanted) / wanted)
        print(f"step {step:2}: loss {loss:.5f}, in float64 {wanted:.5f}")
        assert abs(loss - wanted) <= TOLERANCE * wanted, "the losses part"
    print(f"the loss fell from {first:.3f} to {loss:.3f}, at most {100 * worst:.2f} % from float64's")
    assert steps < 48 or loss < first / 20, "the layer learns nothing"


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 48)
