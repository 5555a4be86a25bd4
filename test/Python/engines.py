"""The vLLM plug-in and the SGLang backend against small stand-ins of those engines: prefill, chunks of it, decode and batches of
all, against attention of each request in float32."""
import math
import types
import unittest

import torch

import engine_stand_ins as stand_ins
import small_float_numbers as small_floats

VLLM, SGLANG = stand_ins.vllm(), stand_ins.sglang()

from hocket import Unsupported  # noqa: E402
from hocket.integrations import sglang, vllm  # noqa: E402

H, HK, D, PAGE = 4, 2, 64, 16
SCALE = 0.2


class Stored:
    """What a cache of 8 bits holds of tensors: the patterns of the nearest numbers to `x / scale`, and what these count."""

    def __init__(self, name, scale):
        kind, self.scale = "e5m2" if name == "fp8_e5m2" else "e4m3", torch.as_tensor(scale, dtype=torch.float32).reshape(-1, 1)
        self.rounded, self.numbers = small_floats.rounding(kind), torch.tensor(small_floats.numbers(kind))

    def bits(self, x):
        return torch.tensor(self.rounded((x.float() / self.scale).numpy()))

    def __call__(self, x):
        return self.numbers[self.bits(x).long()].float() * self.scale


class Requests:
    """What a model computes and an engine schedules: random tokens of requests, and where their keys are."""

    def __init__(self, pages, page, entries):
        self.generator = torch.Generator().manual_seed(0)
        self.page, self.free = page, torch.randperm(pages - 1, generator=self.generator).add(1).tolist()  # 0 is for padding
        self.tables = torch.zeros(8, entries, dtype=torch.int32)
        self.keys, self.values = {}, {}
        self.store = [lambda x: x.float()] * 2  # what caches make of keys and of values

    def random(self, *shape):
        return torch.randn(shape, generator=self.generator).to(torch.bfloat16)

    def step(self, scheduled):
        """New tokens of requests, {request: how many}: q, k, v of all, and the slot of each token."""
        slots = []
        q, k, v = (self.random(sum(scheduled.values()), heads, D) for heads in (H, HK, HK))
        begin = 0
        for request, count in scheduled.items():
            old = self.keys.get(request, k[:0])
            for token in range(len(old), len(old) + count):
                if token % self.page == 0:
                    self.tables[request, token // self.page] = self.free.pop()
                slots.append(int(self.tables[request, token // self.page]) * self.page + token % self.page)
            self.keys[request] = torch.cat([old, k[begin: begin + count]])
            self.values[request] = torch.cat([self.values.get(request, v[:0]), v[begin: begin + count]])
            begin += count
        return q, k, v, torch.tensor(slots)

    def lengths(self, scheduled):
        return torch.tensor([len(self.keys[request]) for request in scheduled])

    def attention(self, scheduled, q, window=None, cap=None, sinks=None, slopes=None):
        made, begin = [], 0
        for request, count in scheduled.items():
            k, v = (store(t[request]).repeat_interleave(H // HK, 1) for store, t in zip(self.store, (self.keys, self.values)))
            scores = torch.einsum("qhd,khd->hqk", q[begin: begin + count].float(), k) * SCALE
            if cap:
                scores = torch.tanh(scores / cap) * cap
            rows = torch.arange(count)[:, None] + len(k) - count
            columns = torch.arange(len(k))
            if slopes is not None:
                scores = scores - slopes[:, None, None] * (rows - columns).abs()
            hidden = columns > rows
            if window is not None:
                hidden |= columns <= rows - window
            scores = scores.masked_fill(hidden, -math.inf)
            if sinks is not None:
                scores = torch.cat([scores, sinks[:, None, None].expand(-1, count, 1)], -1)
            weights = scores.softmax(-1)[..., : len(k)]
            made.append(torch.einsum("hqk,khd->qhd", weights, v))
            begin += count
        return torch.cat(made)


def error(made, wanted):
    return float((made.float() - wanted).norm() / wanted.norm())


#: Prefill of two, a chunk beside a decode, decode of both, a third comes in, all decode.
STEPS = ({0: 21, 1: 30}, {0: 1, 1: 19}, {0: 1, 1: 1}, {0: 1, 2: 40, 1: 1}, {0: 1, 1: 1, 2: 1})


class Vllm(unittest.TestCase):
    def setUp(self):
        vllm.register()
        vllm.register()
        path = VLLM[stand_ins.sys.modules["vllm.v1.attention.backends.registry"].AttentionBackendEnum.CUSTOM]
        module, _, name = path.rpartition(".")
        self.backend = getattr(stand_ins.sys.modules[module], name)

    def serve(self, padding=0, reference=None, scales=None, tolerance=8e-3, unit=None, **options):
        """With `unit` outputs are e4m3, and count so much."""
        requests = Requests(20, PAGE, 4)
        given = {} if unit is None else {"output_scale": torch.tensor(unit)}
        name = options.get("kv_cache_dtype", "auto")
        layer = None
        if name.startswith("fp8"):
            layer = types.SimpleNamespace(_k_scale=scales[0], _v_scale=scales[1])
            requests.store = [Stored(name, scale) for scale in scales]
        impl = self.backend.get_impl_cls()(H, D, SCALE, HK, **options)
        builder = self.backend.get_builder_cls()(None, ["layer"], None, torch.device("cpu"))
        shape = self.backend.get_kv_cache_shape(20, PAGE, HK, D)
        cache = torch.full(shape, 0x7f, dtype=torch.uint8) if layer else torch.full(shape, float("nan"), dtype=torch.bfloat16)
        for scheduled in STEPS:
            q, k, v, slots = requests.step(scheduled)
            counts, lengths = torch.tensor(list(scheduled.values())), requests.lengths(scheduled)
            common = stand_ins.CommonAttentionMetadata(
                torch.nn.functional.pad(counts.cumsum(0), (1, 0)).int(), lengths.int(), len(scheduled), len(q), int(counts.max()),
                int(lengths.max()), requests.tables[list(scheduled)], slots)
            metadata = builder.build(0, common)
            padded = [torch.cat([t, t.new_full((padding, *t.shape[1:]), 7)]) for t in (q, k, v)]
            out = torch.full((len(q) + padding, H * D), 5, dtype=torch.bfloat16 if unit is None else torch.uint8)
            self.assertIs(impl.forward(layer, *padded, cache, metadata, out, **given), out)
            wanted = requests.attention(scheduled, q, **reference or {})
            made = out if unit is None else torch.tensor(small_floats.numbers("e4m3"))[out.long()] * unit
            self.assertLess(error(made[: len(q)].view(-1, H, D), wanted), tolerance, scheduled)
            self.assertTrue(bool((out[len(q):] == 5).all()))
            written = cache.view(2, -1, HK, D)[:, slots]
            kept = [k, v] if layer is None else [store.bits(t) for store, t in zip(requests.store, (k, v))]
            self.assertTrue(torch.equal(written, torch.stack(kept)))
        return requests, impl, cache, builder

    def test_steps(self):
        requests, _, cache, _ = self.serve(padding=3)
        tokens = sum(map(len, requests.keys.values()))
        self.assertEqual(int((~cache[0, ..., 0, 0].isnan()).sum()), tokens)  # nothing else is written

    def test_caches_of_8_bits(self):
        for name, scales in (("fp8", (torch.tensor(0.02), torch.tensor([0.5]))), ("fp8_e4m3", (1.0, 0.25)),
                             ("fp8_e5m2", (torch.tensor([0.5, 0.003]), torch.tensor([1.0])))):
            self.serve(padding=2, kv_cache_dtype=name, scales=scales)

    def test_outputs_of_8_bits(self):
        self.serve(padding=2, unit=0.01, tolerance=4e-2)
        self.serve(unit=0.02, tolerance=4e-2, kv_cache_dtype="fp8", scales=(torch.tensor(0.02), torch.tensor([0.5])))

    def test_windows_caps_and_sinks(self):
        sinks = torch.linspace(-1, 1, H)
        self.serve(sliding_window=17, logits_soft_cap=3.0, sinks=sinks.bfloat16(),
                   reference={"window": 17, "cap": 3.0, "sinks": sinks.bfloat16().float()})

    def test_alibi(self):
        self.serve(alibi_slopes=[0.1, 0.2, 0.3, 0.4], reference={"slopes": torch.tensor([0.1, 0.2, 0.3, 0.4])})

    def test_layers_that_share_keys_write_none(self):
        requests, _, cache, builder = self.serve()
        impl = self.backend.get_impl_cls()(H, D, SCALE, HK, kv_sharing_target_layer_name="other")
        before = cache.clone()
        q = requests.random(2, H, D)
        common = stand_ins.CommonAttentionMetadata(torch.tensor([0, 1, 2]).int(), requests.lengths((0, 1)).int(), 2, 2, 1, 64,
                                                   requests.tables[:2], None)
        out = torch.zeros(2, H, D, dtype=torch.bfloat16)
        impl.forward(None, q, requests.random(2, HK, D), requests.random(2, HK, D), cache, builder.build(0, common), out)
        self.assertLess(error(out, requests.attention({0: 1, 1: 1}, q)), 8e-3)
        self.assertTrue(torch.equal(cache.nan_to_num(9), before.nan_to_num(9)))

    def test_what_it_says_and_refuses(self):
        self.assertTrue(self.backend.supports_head_size(64) and not self.backend.supports_head_size(60))
        self.assertTrue(self.backend.supports_sink() and self.backend.supports_attn_type("decoder"))
        make = self.backend.get_impl_cls()
        with self.assertRaisesRegex(Unsupported, "argument 'kv_cache_dtype' is 'fp8_ds_mla', wanted one of auto, .*fp8_e5m2"):
            make(H, D, SCALE, kv_cache_dtype="fp8_ds_mla")
        with self.assertRaisesRegex(Unsupported, "argument 'attn_type' is 'encoder_only'"):
            make(H, D, SCALE, attn_type="encoder_only")
        out = torch.ones(3, H, D)
        self.assertEqual(float(make(H, D, SCALE).forward(None, out, out, out, None, None, out).sum()), 0)
        with self.assertRaisesRegex(Unsupported, "argument 'output_block_scale' is given"):
            make(H, D, SCALE).forward(None, out, out, out, None, None, out, output_block_scale=out)


class Sglang(unittest.TestCase):
    def runner(self, requests, page, **more):
        tokens = torch.zeros(8, 64, dtype=torch.int32)
        return types.SimpleNamespace(req_to_token_pool=types.SimpleNamespace(req_to_token=tokens), page_size=page,
                                     model_config=types.SimpleNamespace(context_len=64), server_args=None, **more)

    def serve(self, page, reference=None, graphs=False, layer=None, **more):
        sglang.register()
        requests = Requests(320 // page, page, 64 // page)
        runner = self.runner(requests, page)
        backend = SGLANG["hocket"](runner)
        pool = stand_ins.TokenPool(320, HK, D, torch.bfloat16)
        layer = types.SimpleNamespace(layer_id=0, tp_q_head_num=H, tp_k_head_num=HK, qk_head_dim=D, v_head_dim=D, scaling=SCALE,
                                      **layer or {})
        if graphs:
            backend.init_cuda_graph_state(4, 4)
        for scheduled in STEPS:
            q, k, v, slots = requests.step(scheduled)
            counts, lengths = torch.tensor(list(scheduled.values())), requests.lengths(scheduled)
            indices = torch.tensor(list(scheduled))
            for request in scheduled:  # what SGLang's scheduler writes
                place = torch.arange(len(requests.keys[request]))
                runner.req_to_token_pool.req_to_token[request, place] = (
                    requests.tables[request, place // page] * page + place % page).int()
            decodes = int(counts.max()) == 1
            mode = stand_ins.ForwardMode.DECODE if decodes else stand_ins.ForwardMode.EXTEND
            batch = types.SimpleNamespace(forward_mode=mode, req_pool_indices=indices, seq_lens=lengths, seq_lens_cpu=lengths,
                                          extend_seq_lens=counts, extend_seq_lens_cpu=counts.tolist(), out_cache_loc=slots,
                                          token_to_kv_pool=pool, spec_info=None)
            if graphs and decodes:
                size = len(scheduled)
                backend.init_forward_metadata_capture_cuda_graph(size, size, torch.zeros_like(indices), torch.ones_like(lengths),
                                                                 None, mode, None)
                backend.init_forward_metadata_replay_cuda_graph(size, indices, lengths, int(lengths.sum()), None, mode, None,
                                                                lengths)
            else:
                backend.init_forward_metadata(batch)
            out = backend.forward(q.flatten(1), k.flatten(1), v.flatten(1), layer, batch, **more)
            wanted = requests.attention(scheduled, q, **reference or {})
            self.assertLess(error(out.view(-1, H, D), wanted), 8e-3, scheduled)
        return backend, batch, layer

    def test_rows_are_pages(self):
        self.serve(1)

    def test_pages_and_graphs(self):
        self.serve(16, graphs=True)

    def test_windows_caps_and_sinks(self):
        sinks = torch.linspace(-1, 1, H).bfloat16()
        self.serve(16, {"window": 17, "cap": 3.0, "sinks": sinks.float()}, sinks=sinks,
                   layer={"sliding_window_size": 16, "logit_cap": 3.0})

    def test_what_it_refuses(self):
        backend, batch, layer = self.serve(16)
        with self.assertRaisesRegex(Unsupported, "argument 'q_rope' is given"):
            backend.forward(batch, None, None, layer, batch, q_rope=1)
        batch.forward_mode, batch.spec_info = stand_ins.ForwardMode.TARGET_VERIFY, object()
        with self.assertRaisesRegex(Unsupported, "'forward_mode' is ForwardMode.TARGET_VERIFY"):
            backend.init_forward_metadata(batch)
        with self.assertRaisesRegex(Unsupported, "latent attention"):
            SGLANG["hocket"](self.runner(None, 1, use_mla_backend=True))


if __name__ == "__main__":
    unittest.main()
