"""hocket.integrations.transformers: small random models of Transformers where it is installed, else its mask and attention functions
in a stand-in, against attention in float32."""
import copy
import importlib.util
import math
import types
import unittest

import torch

import engine_stand_ins as stand_ins

REAL = importlib.util.find_spec("transformers") is not None
if not REAL:
    REGISTERED = stand_ins.transformers()

from hocket import Unsupported  # noqa: E402
from hocket.integrations import transformers as integration  # noqa: E402
from transformers import masking_utils  # noqa: E402

B, H, HK, D = 2, 4, 2, 64
#: (model, further settings of its configuration): what models differ in.
MODELS = (("llama", {}), ("gemma2", {"sliding_window": 24, "attn_logit_softcapping": 20.0}), ("gemma3_text", {"sliding_window": 24}),
          ("gpt_oss", {"sliding_window": 24, "num_local_experts": 2, "num_experts_per_tok": 1}))


def random(*shape, seed=0):
    generator = torch.Generator().manual_seed(seed + sum(shape))
    return torch.randn(shape, generator=generator).to(torch.bfloat16)


class Module:
    is_causal = True


class Functions(unittest.TestCase):
    """A step of a model: a mask, then attention, beside float32 with the mask of booleans that Transformers makes."""

    def step(self, function, queries=40, keys=40, kept=None, sinks=None, kind=None, module=Module, **options):
        integration.register()
        q, k, v = random(B, H, queries, D), random(B, HK, keys, D), random(B, HK, keys, D, seed=1)
        own = {"batch_size": B, "q_length": queries, "kv_length": keys, "q_offset": keys - queries, "mask_function": function,
               "attention_mask": kept}
        mask = integration.mask(**own)
        self.assertEqual("none" if mask is None else {2: "padding", 4: "booleans"}[mask.dim()], kind)
        options = {"scaling": 0.2, **options}
        out, weights = integration.attend(module, q, k, v, mask, s_aux=sinks, **options)
        self.assertIsNone(weights)
        seen = masking_utils.sdpa_mask(**own, allow_is_causal_skip=False).expand(B, 1, queries, keys)
        k, v = (tensor.float().repeat_interleave(H // HK, 1) for tensor in (k, v))
        scores = q.float() @ k.transpose(2, 3) * options["scaling"]
        if options.get("softcap"):
            scores = torch.tanh(scores / options["softcap"]) * options["softcap"]
        scores = scores.masked_fill(~seen, -math.inf)
        if sinks is not None:
            scores = torch.cat([scores, sinks.float()[None, :, None, None].expand(B, H, queries, 1)], -1)
        wanted = (scores.softmax(-1)[..., :keys].nan_to_num(0) @ v).transpose(1, 2)
        if kept is not None:  # what is padding is nobody's
            rows = kept[:, keys - queries:, None, None]
            out, wanted = out * rows, wanted * rows
        self.assertLess(float((out.float() - wanted).norm() / wanted.norm()), 8e-3)

    def padding(self, keys=40):
        return torch.arange(keys) >= torch.tensor([[0], [13]])

    def test_causal(self):
        causal = masking_utils.causal_mask_function
        self.step(causal, kind="none")
        self.step(causal, queries=1, kind="none")
        self.step(causal, queries=7, kind="none", kept=torch.ones(B, 40, dtype=torch.bool))

    def test_windows_and_sinks(self):
        window = masking_utils.sliding_window_causal_mask_function(9)
        self.step(window, sliding_window=9, kind="none")
        self.step(window, sliding_window=9, sinks=torch.linspace(-1, 1, H).bfloat16(), softcap=2.0, kind="none")

    def test_padding(self):
        causal = masking_utils.causal_mask_function
        for queries in (40, 1):
            self.step(causal, queries=queries, kept=self.padding(), kind="padding")
        both = types.SimpleNamespace(is_causal=False)
        self.step(masking_utils.bidirectional_mask_function, kept=self.padding(), module=both, kind="padding")

    def test_other_masks(self):
        def blocks(batch, head, query, key):
            return query // 16 == key // 16

        self.step(blocks, kind="booleans")
        self.step(masking_utils.and_masks(masking_utils.causal_mask_function, blocks), kept=self.padding(), kind="booleans")
        sinks = torch.linspace(-1, 1, H).bfloat16()
        self.step(blocks, sinks=sinks, softcap=2.0, kind="booleans")

    def test_keys_that_are_not_there_yet(self):
        """A static cache: queries are not the last ones."""
        causal = masking_utils.causal_mask_function
        mask = integration.mask(B, 4, 40, q_offset=10, mask_function=causal)
        self.assertEqual(tuple(mask.shape), (B, 1, 4, 40))
        self.assertTrue(torch.equal(mask[0, 0], torch.arange(40) <= torch.arange(10, 14)[:, None]))

    def test_packed_sequences(self):
        q, k, v = random(1, H, 20, D), random(1, HK, 20, D), random(1, HK, 20, D, seed=1)
        starts = torch.tensor([0, 13, 20]).int()
        out, _ = integration.attend(Module, q, k, v, None, 0.2, cu_seq_lens_q=starts, cu_seq_lens_k=starts, max_length_q=13,
                                    max_length_k=13)
        for begin, end in ((0, 13), (13, 20)):
            own, _ = integration.attend(Module, *(t[:, :, begin:end] for t in (q, k, v)), None, 0.2)
            self.assertLess(float((out[:, begin:end] - own).float().norm() / own.float().norm()), 8e-3)

    def test_what_is_refused(self):
        q = random(1, H, 20, D)
        with self.assertRaisesRegex(Unsupported, "argument 'position_bias' is a tensor"):
            integration.attend(Module, q, q, q, None, position_bias=q)
        with self.assertRaisesRegex(Unsupported, "argument 'sliding_window' is given without a mask"):
            integration.attend(types.SimpleNamespace(is_causal=False), q, q, q, None, sliding_window=4)


@unittest.skipUnless(REAL, "Transformers is not installed")
class Models(unittest.TestCase):
    def model(self, kind, settings):
        from transformers import CONFIG_MAPPING, AutoModelForCausalLM

        torch.manual_seed(0)
        config = CONFIG_MAPPING[kind](hidden_size=256, intermediate_size=256, num_hidden_layers=2, num_attention_heads=4,
                                      num_key_value_heads=2, head_dim=64, vocab_size=512, max_position_embeddings=512, **settings)
        return AutoModelForCausalLM.from_config(config, attn_implementation="eager").to(torch.bfloat16).eval()

    def test_models(self):
        integration.register()
        for kind, settings in MODELS:
            with self.subTest(kind):
                self.compare(self.model(kind, settings), has_experts="num_local_experts" in settings)

    def compare(self, model, has_experts):
        """Beside the same model in float32: about as close as with `eager`. Experts may be chosen otherwise, and tokens with
        them."""
        ids = torch.randint(1, 512, (2, 70), generator=torch.Generator().manual_seed(0))
        kept, labels = torch.ones_like(ids), ids.clone()
        kept[1, :20] = 0  # padded on the left
        labels[1, :21] = -100  # no loss of what padding predicts
        own, made = copy.deepcopy(model), {}
        for implementation, one in (("float32", model.float()), ("eager", own), ("hocket", own)):
            one.set_attn_implementation("hocket" if implementation == "hocket" else "eager")
            one.zero_grad()
            result = one(ids, attention_mask=kept, labels=labels)
            result.loss.backward()
            gradient = torch.cat([p.grad.float().flatten() for p in one.parameters() if p.grad is not None])
            tokens = one.generate(ids, attention_mask=kept, max_new_tokens=5, do_sample=False, pad_token_id=0)
            made[implementation] = result.logits.float()[kept.bool()].detach(), gradient, tokens[:, 70:].tolist()
        for what, number in (("logits", 0), ("gradients", 1)):
            errors = [float((made[name][number] - made["float32"][number]).norm() / made["float32"][number].norm())
                      for name in ("hocket", "eager")]
            print(f"{model.config.model_type} {what}: {errors[0]:.2e}, eager {errors[1]:.2e}")
            self.assertLess(errors[0], 1.5 * errors[1], what)
        if not has_experts:
            self.assertEqual(made["hocket"][2], made["eager"][2])


if __name__ == "__main__":
    unittest.main()
