"""Dumps of the lesson's model from PyTorch against clearhead's: equal as they are; and with a mistake planted in the
PyTorch side, `compare` must name the tensor at which the mistake enters, in whatever order a writer puts the tensors.
And what the tools say of inputs that are none. Called by plants.sh.

    plants.py ROOT COMMAND
"""
import contextlib
import io
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

def attention(scale=True, softmax=lambda scores: torch.softmax(scores, dim=-1), split=lesson.MultiHeadAttention.split,
              used=lambda weights: weights, merge=lambda heads: heads.transpose(1, 2)):
    def forward(self, q, k, v, mask=None):
        query, key = self.record("query", self.W_q(q)), self.record("key", self.W_k(k))
        value = self.record("value", self.W_v(v))
        scores = split(self, query) @ split(self, key).transpose(-2, -1) / (math.sqrt(self.d_k) if scale else 1)
        self.record("scores", scores)
        if mask is not None:
            scores = scores.masked_fill(~mask, -1e9)
        weights = self.record("weights", softmax(scores))
        heads = merge(used(weights) @ split(self, value)).reshape(*q.shape[:2], self.h * self.d_k)
        return self.record("out", self.W_o(self.record("heads", heads))), weights
    return mock.patch.object(lesson.MultiHeadAttention, "forward", forward)


class SoftmaxNoMean(torch.autograd.Function):
    """A softmax whose backward was written by hand, and forgets what the row's sum does."""
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(y := torch.softmax(x, dim=-1))
        return y

    @staticmethod
    def backward(ctx, dy):
        return ctx.saved_tensors[0] * dy


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
    ("softmax over the queries", "enc.0.attn.weights", attention(softmax=lambda scores: torch.softmax(scores, dim=-2))),
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
    ("weights cut off from the gradient", "grad.dec.0.cross_attn.weights", attention(used=torch.Tensor.detach)),
    ("softmax's backward without the mean", "grad.dec.0.cross_attn.scores", attention(softmax=SoftmaxNoMean.apply)),
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
    dump_lesson.save(path, dump_lesson.dump(model, SOURCE, TARGET, backward=True))


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


# ---- files in another order -----------------------------------------------------------------------------------

def sorted_by_name(tensors):
    """As safetensors' own writer puts them."""
    return dict(sorted(tensors.items()))


def wide_last(tensors):
    """What is computed last becomes F64, which safetensors_io.save puts first."""
    names = list(tensors)
    return {name: tensors[name].double() if i >= len(names) // 2 else tensors[name] for i, name in enumerate(names)}


def check_order(folder, wrong, first, plant):
    """The plant once more, named whichever of the files it stands in, and with one of them stating the order."""
    theirs, ours, moved = folder / "planted.safetensors", folder / "fused.safetensors", folder / "moved.safetensors"
    with plant:
        dump_theirs(theirs)
    tensors, metadata = safetensors_io.load(theirs)
    right = True
    for change, kept in ((sorted_by_name, None), (sorted_by_name, metadata), (wide_last, metadata)):
        safetensors_io.save(moved, change(tensors), kept)
        assert names(moved) != names(ours)
        for a, b in ((ours, moved), (moved, ours)):
            report = compare(a, b)
            found = report["first_difference"]["name"]
            right = right and found == first and report["ordered"]
            print(f"{'ok' if found == first else 'WRONG':5}  {wrong}, {change.__name__}, {a.stem} against {b.stem}: "
                  f"{found}")
    return right


# ---- inputs that are none -------------------------------------------------------------------------------------

def bad_inputs(folder):
    """(exit code, words of the sentence, program, arguments)"""
    tensors, _ = safetensors_io.load(MODEL)

    def model(name, change, metadata=None):
        changed = dict(tensors)
        change(changed)
        safetensors_io.save(folder / name, changed, metadata or {"heads": 2})
        return folder / name

    def other(name, value):
        torch.save(value, folder / name)
        return folder / name

    def raw(name, content):
        (folder / name).write_bytes(content)
        return folder / name

    def narrow(state):
        state["dec.0.ff.net.3.bias"] = torch.zeros(3)

    def headed(text):
        return len(text).to_bytes(8, "little") + text

    out, source = ["--out", folder / "o.safetensors"], ["--source", "3 1"]
    header = b'{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}'
    for file, *parts in (
            [folder / "none.safetensors", "none.safetensors", "No such file"],
            [folder / "none.pt", "none.pt", "No such file"],
            [raw("text.pt", b"not a model"), "text.pt", "torch.save"],
            [raw("empty.pt", b""), "empty.pt", "torch.save"],
            [raw("empty.safetensors", b""), "empty.safetensors", "no safetensors file"],
            [raw("text.safetensors", b"{}{}{}{}{}{}"), "text.safetensors", "no safetensors file"],
            [raw("cut.safetensors", headed(header) + b"1234"), "bytes 0 to 8 of 4"],
            [raw("list.safetensors", (2).to_bytes(8, "little") + b"[]"), "list.safetensors", "no JSON object"],
            [raw("dtype.safetensors", headed(header.replace(b"F32", b"F31")) + b"12345678"), "unknown dtype 'F31'"],
            [raw("key.safetensors", headed(header.replace(b"shape", b"shade")) + b"12345678"), "has no 'shape'"],
            [raw("short.safetensors", headed(header.replace(b"[2]", b"[3]")) + b"12345678"), "short.safetensors", "[3]"],
            [other("list.pt", [1, 2]), "list.pt", "something other than a state_dict"],
            [other("checkpoint.pt", {"model": dict(tensors)}), "checkpoint.pt", "something other than a state_dict"],
            [other("another.pt", {"x": torch.ones(2)}), "another.pt: expected", "'src_emb.weight'", "no tensor"],
            [model("narrow.safetensors", narrow), "'dec.0.ff.net.3.bias' of shape (32,)", "found shape (3,)"],
            [model("more.safetensors", lambda state: state.update(x=torch.ones(1))), "'x'", "does not have"],
            [model("less.safetensors", lambda state: state.pop("dec.0.n1.bias")), "'dec.0.n1.bias'", "found none"],
            [model("flat.safetensors", lambda state: state.update({"src_emb.weight": torch.ones(4)})), "2 dimensions"],
            [model("rows.safetensors", lambda state: state.update({"src_emb.weight": torch.ones(9, 32)})), "13 rows"],
            [model("heads.safetensors", dict.copy, {"heads": "two"}), "'heads'", "found 'two'"],
            [model("gelu.safetensors", dict.copy, {"config": '{"ffn":"gelu"}'}), "the lesson's parts, ffn relu", "gelu"],
            [model("config.safetensors", dict.copy, {"config": "{"}), "'config': expected JSON"],
            [model("five.safetensors", dict.copy, {"heads": 5}), "5 heads divide", "found 32"]):
        yield 1, parts, "dump_lesson.py", [file, *(["--heads", "2"] if file.suffix == ".pt" else []), *source, *out]
    for words_, *arguments in (
            ["found 'x'", "--source", "3 x"], ["found '-1'", "--source", "3 -1"], ["found '1_0'", "--source", "1_0"],
            ["--source: token 2 is 12; expected 0 to 9", "--source", "3 12"],
            ["--source: expected 1 to 24 tokens, found 0", "--source", ""],
            ["--source: expected 1 to 24 tokens, found 25", "--source", "1 " * 25],
            ["--target: token 1 is 10; expected 0 to 9", *source, "--target", "10"],
            ["--target: expected 0 to 23 tokens, found 24", *source, "--target", "1 " * 24],
            ["has 2 heads, and --heads says 4", *source, "--heads", "4"],
            ["at least 1, found '0'", *source, "--heads", "0"], ["at least 1, found 'x'", *source, "--heads", "x"]):
        yield 2, [words_], "dump_lesson.py", [MODEL, *arguments, *out]
    yield 2, ["give --heads"], "dump_lesson.py", [other("model.pt", dict(tensors)), *source, *out]
    yield 1, ["cannot write", "No such file"], "dump_lesson.py", [MODEL, *source, "--out", folder / "no" / "o"]
    yield 1, ["cannot read", "No such file"], "safetensors_io.py", [folder / "none.pt", folder / "o"]
    yield 1, ["something other than a state_dict"], "safetensors_io.py", [folder / "list.pt", folder / "o"]
    yield 1, ["c: expected a dense tensor", "complex64"], "safetensors_io.py", [
        other("complex.pt", {"c": torch.ones(1, dtype=torch.complex64)}), folder / "o"]
    yield 1, ["cannot write"], "safetensors_io.py", [folder / "model.pt", folder / "no" / "o"]
    yield 2, ["at least 1, found '-2'"], "safetensors_io.py", [folder / "model.pt", folder / "o", "--heads=-2"]
    for name in same_files(folder, folder / "model.pt"):
        yield 2, [f"{name} is the file to read"], "safetensors_io.py", [folder / "model.pt", name]
    for name in same_files(folder, model("same.safetensors", dict.copy)):
        yield 2, [f"{name} is the file to read"], "dump_lesson.py", [folder / "same.safetensors", *source, "--out", name]


def same_files(folder, path):
    """Names of one file: its own, one with a detour, a hard and a symbolic link."""
    hard, symbolic = folder / f"hard_{path.name}", folder / f"symbolic_{path.name}"
    hard.hardlink_to(path)
    symbolic.symlink_to(path)
    return [path, f"{folder}/../{folder.name}/{path.name}", hard, symbolic]


def run_tool(program, arguments):
    """(exit code, lines on standard error) of a tool, in this process: PyTorch takes seconds to start."""
    module, talk, code = {"dump_lesson.py": dump_lesson, "safetensors_io.py": safetensors_io}[program], io.StringIO(), 0
    with mock.patch.object(sys, "argv", [program, *map(str, arguments)]), contextlib.redirect_stderr(talk):
        try:
            safetensors_io.run(module.main)
        except SystemExit as end:
            code = end.code
    # A text as the code is what Python prints before it ends with 1.
    return (1, code.splitlines()) if isinstance(code, str) else (code or 0, talk.getvalue().splitlines())


def check_bad_input(code, parts, program, arguments):
    found, lines = run_tool(program, arguments)
    last = lines[-1] if lines else ""
    right = (found == code and last.startswith(program + ": ") and all(part in last for part in parts)
             and (code == 2 or len(lines) == 1))  # wrong usage is shown the right one first
    print(f"{'ok' if right else 'WRONG':5}  exit {found}: {last}")
    return right


def check_process(folder):
    """One of them as a program."""
    result = subprocess.run([sys.executable, root / "tools" / "dump_lesson.py", folder / "none.pt", "--source", "1",
                             "--out", folder / "o"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            check=False)
    right = result.returncode == 1 and result.stdout == "" and result.stderr.count("\n") == 1
    print(f"{'ok' if right else 'WRONG':5}  as a program: exit {result.returncode}: {result.stderr}", end="")
    return right


def main():
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        dump_theirs(folder / "theirs.safetensors")
        results = [check_equal(folder, core) for core in ("fused", "explicit")]
        results += [check_plant(folder, *plant) for plant in PLANTS]
        results.append(check_order(folder, "causal mask missing", "dec.0.self_attn.weights", causal(lambda ones: ones)))
        results += [check_bad_input(*case) for case in bad_inputs(folder)]
        results.append(check_process(folder))
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
