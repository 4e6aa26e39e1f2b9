"""Dumps of the lesson's model from PyTorch against clearhead's: equal as they are; and with a mistake planted in the
PyTorch side, `compare` must name the tensor at which the mistake enters. Called by plants.sh.

    plants.py ROOT COMMAND
"""
import json
import math
import pathlib
import subprocess
import sys
import tempfile
from unittest import mock

import torch

root, command = pathlib.Path(sys.argv[1]), sys.argv[2]
sys.path.insert(0, str(root / "tools"))
import dump_lesson  # noqa: E402
import lesson  # noqa: E402
import safetensors_io  # noqa: E402

MODEL = root / "tests" / "data" / "lesson_tiny_model.safetensors"
SOURCE, TARGET = [3, 1, 4, 1], [1, 4, 1]  # four tokens read on both sides, so that no mistake is found by shapes


# ---- the lesson's parts, each with room for a mistake ---------------------------------------------------------

def attention(scale=True, axis=-1, split=lesson.MultiHeadAttention.split, merge=lambda heads: heads.transpose(1, 2)):
    def forward(self, q, k, v, mask=None):
        query, key = self.record("query", self.W_q(q)), self.record("key", self.W_k(k))
        value = self.record("value", self.W_v(v))
        scores = split(self, query) @ split(self, key).transpose(-2, -1) / (math.sqrt(self.d_k) if scale else 1)
        self.record("scores", scores)
        if mask is not None:
            scores = scores.masked_fill(~mask, -1e9)
        weights = self.record("weights", torch.softmax(scores, dim=axis))
        heads = merge(weights @ split(self, value)).reshape(*q.shape[:2], self.d_model)
        return self.record("out", self.W_o(self.record("heads", heads))), weights
    return mock.patch.object(lesson.MultiHeadAttention, "forward", forward)


def encoder_layer(forward):
    return mock.patch.object(lesson.EncoderLayer, "forward", forward)


def pre_norm(self, x, mask=None):
    y = self.n1(x)
    x = self.record("n1.out", x + self.attn(y, y, y, mask)[0])
    return self.record("n2.out", x + self.ff(self.n2(x)))


def no_residual(self, x, mask=None):
    x = self.record("n1.out", self.n1(self.attn(x, x, x, mask)[0]))
    return self.record("n2.out", self.n2(x + self.ff(x)))


def cross(arguments):
    """arguments(x, memory): what cross-attention is called with."""
    def forward(self, x, memory, tgt_mask=None, src_mask=None):
        x = self.record("n1.out", self.n1(x + self.self_attn(x, x, x, tgt_mask)[0]))
        attended, weights = self.cross_attn(*arguments(x, memory), src_mask)
        x = self.record("n2.out", self.n2(x + attended))
        return self.record("n3.out", self.n3(x + self.ff(x))), weights
    return mock.patch.object(lesson.DecoderLayer, "forward", forward)


def no_relu(self, x):
    return self.record("out", self.net[3](self.record("hidden", self.net[0](x))))


def no_sqrt(self, table, tokens, site):
    return self.record(site, self.pos.add(table(tokens)))


def causal(keep):
    def mask(x):
        return keep(torch.ones(x.size(1), x.size(1), dtype=torch.bool))[None, None]
    return mock.patch.object(lesson, "target_mask", mask)


def unsplit(self, x):
    return x.view(x.size(0), self.h, x.size(1), self.d_k)


def wide_epsilon(model):
    for module in model.modules():
        if isinstance(module, torch.nn.LayerNorm):
            module.eps = 1e-3


def exchange_keys_and_values(model):
    for module in model.modules():
        if isinstance(module, lesson.MultiHeadAttention):
            module.W_k, module.W_v = module.W_v, module.W_k


def part(owner, name, replacement):
    return mock.patch.object(owner, name, replacement)


# (what is wrong, the first tensor that it must show in, a patch of the code or a change of the model)
PLANTS = [
    ("embeddings without sqrt(D)", "src.embedded", part(lesson.MiniTransformer, "embed", no_sqrt)),
    ("positions off by one", "src.embedded",
     part(lesson.PositionalEncoding, "add", lambda self, x: x + self.pe[:, 1:x.size(1) + 1])),
    ("norm before the sublayer", "enc.0.attn.query", encoder_layer(pre_norm)),
    ("keys and values exchanged", "enc.0.attn.key", exchange_keys_and_values),
    ("scores without 1 / sqrt(Dh)", "enc.0.attn.scores", attention(scale=False)),
    ("heads split without moving the axis", "enc.0.attn.scores", attention(split=unsplit)),
    ("softmax over the queries", "enc.0.attn.weights", attention(axis=-2)),
    ("heads joined without moving the axis back", "enc.0.attn.heads", attention(merge=lambda heads: heads)),
    ("no residual", "enc.0.n1.out", encoder_layer(no_residual)),
    ("epsilon 1e-3 in the norms", "enc.0.n1.out", wide_epsilon),
    ("no ReLU", "enc.0.ff.hidden", part(lesson.FeedForward, "forward", no_relu)),
    ("causal mask inverted", "dec.0.self_attn.weights", causal(torch.triu)),
    ("causal mask missing", "dec.0.self_attn.weights", causal(lambda ones: ones)),
    ("cross-attention asks from the memory", "dec.0.cross_attn.query", cross(lambda x, memory: (memory, x, x))),
    ("cross-attention reads the target", "dec.0.cross_attn.key", cross(lambda x, memory: (x, x, x))),
    ("loss summed, not averaged", "loss",
     part(dump_lesson.F, "cross_entropy", lambda logits, labels:
          torch.nn.functional.nll_loss(logits.log_softmax(-1), labels, reduction="sum"))),
    ("memory cut off from the gradient", "grad.memory", cross(lambda x, memory: (x, memory.detach(), memory.detach()))),
]


# ---- dumping and comparing ------------------------------------------------------------------------------------

def words(tokens):
    return " ".join(map(str, tokens))


def dump_ours(path, core):
    subprocess.run([command, "dump", MODEL, "--source", words(SOURCE), "--target", words(TARGET), "--backward",
                    "--attention", core, "--out", path], check=True, stderr=subprocess.DEVNULL)


def dump_theirs(path, change=None):
    model = dump_lesson.build(*dump_lesson.load_state(MODEL))
    if change:
        change(model)
    safetensors_io.save(path, dump_lesson.dump(model, SOURCE, TARGET, backward=True))


def compare(a, b):
    result = subprocess.run([command, "compare", a, b, "--json"], stdout=subprocess.PIPE, check=False)
    report = json.loads(result.stdout)
    assert result.returncode == (0 if report["same"] else 1), result.returncode
    return report


def names(path):
    return list(safetensors_io.load(path)[0])


def check_plant(folder, wrong, first, plant):
    theirs = folder / "planted.safetensors"
    if callable(plant) and not hasattr(plant, "__enter__"):
        dump_theirs(theirs, plant)
    else:
        with plant:
            dump_theirs(theirs)
    report = compare(folder / "fused.safetensors", theirs)
    found = report["first_difference"] and report["first_difference"]["name"]
    print(f"{'ok' if found == first else 'WRONG':5}  {wrong}: {found}" + ("" if found == first else f", not {first}"))
    return found == first


def check_equal(folder, core):
    ours, theirs = folder / f"{core}.safetensors", folder / "theirs.safetensors"
    dump_ours(ours, core)
    report = compare(ours, theirs)
    same = report["same"] and names(ours) == names(theirs)
    worst = report["worst_that_agrees"]
    print(f"{'ok' if same else 'WRONG':5}  {core}: {report['agree']} tensors agree to {report['tolerance']}, "
          f"{worst['worst']:.1e} apart at worst ({worst['name']})")
    return same


def main():
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        dump_theirs(folder / "theirs.safetensors")
        results = [check_equal(folder, core) for core in ("fused", "explicit")]
        results += [check_plant(folder, *plant) for plant in PLANTS]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
