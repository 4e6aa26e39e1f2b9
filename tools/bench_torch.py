"""The work of clearhead-bench's whole-model cases in PyTorch: the lesson's model and loop, its greedy decoding, and
training on a text.

    python3 tools/bench_torch.py CASE [--model lesson.safetensors]
    python3 tools/bench_torch.py CASE --recipe FILE --text FILE [--losses N]

CASE is train/lesson, train/small, train/base, decode/lesson-500, decode/lesson-1 or decode/small-50; with a recipe the
name behind train/ is free. Reads lines "THREADS SECONDS" from standard input and answers each with a line of JSON: the seconds of every run, at least one,
that were taken with so many threads, and the useful arithmetic of each (see bench/models.c: real tokens only). The
first line that it writes names the build. With --losses it takes N steps instead, and writes one line of JSON: their
losses and gradient norms. tools/bench_peers.py speaks to it.
"""
import argparse
import json
import os
import sys
import time

from pytorch import torch

import gpt
import lesson
import safetensors_io

# width, heads, hidden, layers, symbols, shortest, longest, batch
SIZES = {
    "lesson": (64, 4, 256, 2, 10, 4, 10, 64),
    "small": (256, 8, 1024, 4, 8000, 10, 60, 64),
    "base": (512, 8, 2048, 6, 32000, 10, 60, 32),
}
# size, sources, sources of a batch, tokens with SOS at most
DECODING = {"lesson-500": ("lesson", 500, 50, 20), "lesson-1": ("lesson", 1, 1, 20), "small-50": ("small", 50, 50, 62)}


def new_model(size):
    width, heads, hidden, layers, symbols = SIZES[size][:5]
    lesson.PAD, lesson.SOS, lesson.EOS = symbols, symbols + 1, symbols + 2
    torch.manual_seed(0)
    return lesson.MiniTransformer(symbols + 3, width, heads, hidden, layers)


def sources(size, count):
    symbols, shortest, longest = SIZES[size][4:7]
    lengths = torch.randint(shortest, longest + 1, (count,)).tolist()
    return [torch.randint(0, symbols, (length,)) for length in lengths]


def forward_flop(size, s, t):
    """Arithmetic of a forward pass over a source of s tokens and t decoder rows."""
    d, _, f, layers, symbols = SIZES[size][:5]
    encoder = 2 * s * d * (4 * d + 2 * f) + 4 * s * s * d
    decoder = 2 * t * d * (6 * d + 2 * f) + 4 * s * d * d + 4 * (t * (t + 1) / 2 + t * s) * d
    return layers * (encoder + decoder) + 2 * t * d * (symbols + 3)


def training(size, _arguments):
    """A function that takes a step and returns its arithmetic."""
    batch_flop = 0

    def batch():
        nonlocal batch_flop
        drawn = sources(size, SIZES[size][7])
        batch_flop = 3 * sum(forward_flop(size, len(x), len(x) + 1) for x in drawn)
        return lesson.pad_batch(drawn)

    steps = lesson.train(new_model(size), steps=10 ** 9, batch=batch)

    def run():
        next(steps)
        return batch_flop

    return run


def generated(row):
    """Tokens behind SOS, the first EOS included."""
    tokens = row[1:].tolist()
    return tokens.index(lesson.EOS) + 1 if lesson.EOS in tokens else len(tokens)


def text_steps(arguments, **settings):
    """(recipe, vocabulary, steps of training on the text). settings: of the loop."""
    with open(arguments.recipe, encoding="utf-8") as file:
        recipe = {"steps": 3000, **json.load(file)}
    unknown = gpt.check(recipe)
    if unknown:
        raise safetensors_io.Fault(f"{arguments.recipe}: {unknown}")
    tokens, vocab = gpt.read(arguments.text)
    torch.manual_seed(0)
    return recipe, vocab, gpt.train(gpt.Model(recipe, vocab), tokens, recipe, **settings)


def text_training(_, arguments):
    """A function that takes a step and returns its arithmetic."""
    recipe, vocab, steps = text_steps(arguments)
    flop = 3 * recipe["batch-size"] * gpt.forward_flop(recipe, vocab)

    def run():
        next(steps)
        return flop

    return run


def show_losses(arguments):
    steps = text_steps(arguments, clip=gpt.clip_and_measure)[2]
    taken = [next(steps) for _ in range(arguments.losses)]
    print(json.dumps({"loss": [loss.item() for loss, _ in taken], "grad_norm": [norm.item() for _, norm in taken]}))


def decoding(name, arguments):
    """A function that decodes everything and returns the arithmetic of the answers."""
    size, count, batch, longest = DECODING[name]
    model = new_model(size)
    if arguments.model:
        model.load_state_dict(safetensors_io.load(arguments.model)[0], strict=False)
    drawn = sources(size, count)
    batches = [lesson.pad_batch(drawn[i:i + batch])[0] for i in range(0, count, batch)]

    def run():
        answers = [row for src in batches for row in lesson.greedy_decode(model, src, longest)[0]]
        return sum(forward_flop(size, len(x), generated(row)) for x, row in zip(drawn, answers))

    return run


def sample(run, threads, seconds):
    torch.set_num_threads(threads)
    taken, flop = [], []
    run()  # warm
    while not taken or sum(taken) < seconds:
        started = time.perf_counter()
        work = run()
        taken.append(time.perf_counter() - started)
        flop.append(work)
    return {"threads": threads, "seconds": taken, "flop": flop}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("case")
    parser.add_argument("--model", help="a safetensors file with the model that decodes; its own otherwise")
    parser.add_argument("--recipe", help="what is trained on the text")
    parser.add_argument("--text", help="what a model by that recipe learns from")
    parser.add_argument("--losses", type=safetensors_io.whole_number, help="take so many steps, and tell their losses")
    arguments = parser.parse_args()
    if bool(arguments.recipe) != bool(arguments.text) or (arguments.losses and not arguments.recipe):
        parser.error("expected --recipe and --text together, and --losses with them")
    if arguments.losses:
        return show_losses(arguments)
    kind, _, name = arguments.case.partition("/")
    kinds = {"train": (text_training, [name]) if arguments.recipe else (training, SIZES), "decode": (decoding, DECODING)}
    if kind not in kinds or name not in kinds[kind][1]:
        parser.error(f"expected train or decode, a slash and a size, found '{arguments.case}'")
    words = torch.__config__.show().replace(",", " ").split()
    blas = next((word for word in words if word.startswith("BLAS_INFO=")), "=unknown")
    print(json.dumps({"peer": f"PyTorch {torch.__version__}", "blas": blas.partition("=")[2],
                      "OPENBLAS_CORETYPE": os.environ.get("OPENBLAS_CORETYPE", "")}), flush=True)
    run = kinds[kind][0](name, arguments)
    for line in sys.stdin:
        threads, seconds = line.split()
        print(json.dumps(sample(run, int(threads), float(seconds))), flush=True)
    return None


safetensors_io.run(main)
