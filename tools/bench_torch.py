"""The work of clearhead-bench's whole-model cases in PyTorch: the lesson's model and loop, and its greedy decoding.

    python3 tools/bench_torch.py CASE [--model lesson.safetensors]

CASE is train/lesson, train/small, train/base, decode/lesson-500, decode/lesson-1 or decode/small-50. Reads lines
"THREADS SECONDS" from standard input and answers each with a line of JSON: the seconds of every run, at least one,
that were taken with so many threads, and the useful arithmetic of each (see bench/models.c: real tokens only). The
first line that it writes names the build. tools/bench_peers.py speaks to it.
"""
import argparse
import json
import os
import sys
import time

from pytorch import torch

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


def training(size, _):
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


def decoding(name, path):
    """A function that decodes everything and returns the arithmetic of the answers."""
    size, count, batch, longest = DECODING[name]
    model = new_model(size)
    if path:
        model.load_state_dict(safetensors_io.load(path)[0], strict=False)
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
    arguments = parser.parse_args()
    kind, _, name = arguments.case.partition("/")
    kinds = {"train": (training, SIZES), "decode": (decoding, DECODING)}
    if kind not in kinds or name not in kinds[kind][1]:
        parser.error(f"expected train or decode, a slash and a size, found '{arguments.case}'")
    words = torch.__config__.show().replace(",", " ").split()
    blas = next((word for word in words if word.startswith("BLAS_INFO=")), "=unknown")
    print(json.dumps({"peer": f"PyTorch {torch.__version__}", "blas": blas.partition("=")[2],
                      "OPENBLAS_CORETYPE": os.environ.get("OPENBLAS_CORETYPE", "")}), flush=True)
    run = kinds[kind][0](name, arguments.model)
    for line in sys.stdin:
        threads, seconds = line.split()
        print(json.dumps(sample(run, int(threads), float(seconds))), flush=True)


safetensors_io.run(main)
