"""Writes tests/data/torch_rng.h: numbers of PyTorch's CPU generator as C tables (part of make_goldens.py).

Short beginnings are there to read; FNV-1a hashes over the bits of longer stretches leave no number out. "after"
is the 32-bit draw that follows, which tells how many draws were taken.
"""
import struct
import textwrap

from pytorch import torch

SEEDS = (0, 1, 12345, 2**40 + 7)
NORMAL_CALLS = (3, 16, 1, 15, 17, 2, 100, 3, 4000, 1)
FIRST, LATE = 8, 1244  # a few words from the start, and a few around the second renewal of the state


def draws(count):
    """Raw 32-bit draws: an int64 over its whole range takes two, the first on top."""
    wide = torch.empty((count + 1) // 2, dtype=torch.int64).random_(-2**63, None).tolist()
    words = [word for value in wide for word in (value >> 32 & 0xffffffff, value & 0xffffffff)]
    return words[:count]


def after():
    return draws(1)[0]


def fnv1a(tensor):
    value = 0xcbf29ce484222325
    for number in tensor.flatten().tolist():
        for byte in struct.pack("<f", number):
            value = (value ^ byte) * 0x100000001b3 % 2**64
    return f"0x{value:016x}u"


def floats(values):
    return "{" + ", ".join(f"{value.hex()}f" for value in values) + "}"


def words(values):
    return "{" + ", ".join(f"0x{value:08x}u" for value in values) + "}"


def integers(values):
    return "{" + ", ".join(str(int(value)) for value in values) + "}"


def raw_rows():
    for seed in SEEDS:
        torch.manual_seed(seed)
        drawn = draws(LATE + FIRST)
        yield f"{{{seed}u, {words(drawn[:FIRST])}, {words(drawn[LATE:])}}}"


def uniform_rows():
    for low, high in ((0.0, 1.0), (-0.3, 1.1), (-1 / 3, 1 / 3), (-(12 ** -0.5), 12 ** -0.5)):
        torch.manual_seed(1)
        drawn = torch.empty(5000).uniform_(low, high)
        yield f"{{{low.hex()}, {high.hex()}, {floats(drawn[:FIRST].tolist())}, {fnv1a(drawn)}}}"


def below_rows():
    for low, high in ((0, 10), (4, 11)):
        torch.manual_seed(12345)
        yield f"{{{low}, {high}, {integers(torch.randint(low, high, (64,)))}}}"


def bernoulli_rows():
    for p in (0.9, 0.5):
        torch.manual_seed(2)
        drawn = torch.empty(64).bernoulli_(p)
        yield f"{{{p}, {integers(drawn)}, {words([after()])[1:-1]}}}"


def normal_rows():
    calls = [(n, 0, 0) for n in (*range(1, 41), 832)]
    calls += [(1, 1, 0), (3, 3, 0), (1, 16, 2), (5, 40, 1), (2, 1, 15)]  # a spare number outlives its call
    for sizes in calls:
        torch.manual_seed(5)
        for n in sizes:
            torch.empty(n).normal_()
        yield f"{{{integers(sizes)}, {words([after()])[1:-1]}}}"


def normal_value_rows():
    """Values, in hashes over all calls: a number that was kept comes out in a later call."""
    for deviation in (1.0, 0.02):
        torch.manual_seed(9)
        drawn = torch.cat([torch.empty(n).normal_(0, deviation) for n in NORMAL_CALLS])
        yield f"{{{deviation.hex()}, {floats(drawn[:FIRST].tolist())}, {fnv1a(drawn)}, {words([after()])[1:-1]}}}"


def init_row():
    torch.manual_seed(3)
    linear = torch.nn.Linear(64, 13)
    kaiming, bias = linear.weight.detach().clone(), linear.bias.detach()
    xavier = torch.nn.init.xavier_uniform_(linear.weight.detach())
    parts = [f"{floats(part.flatten()[:FIRST].tolist())}, {fnv1a(part)}" for part in (kaiming, bias, xavier)]
    return "{" + ", ".join(parts + [words([after()])[1:-1]]) + "}"


def table(fields, name, rows):
    wrapped = (textwrap.fill(row, 110, break_on_hyphens=False, initial_indent="    ", subsequent_indent="     ")
               for row in rows)
    return f"static const struct {{\n    {fields}\n}} {name}[] = {{\n" + ",\n".join(wrapped) + "};\n"


def write(path):
    parts = [
        f"/* Numbers of PyTorch's CPU generator, written by tools/make_goldens.py: do not edit. */\n"
        f"#ifndef CH_TEST_TORCH_RNG_H\n#define CH_TEST_TORCH_RNG_H\n\n#include <stdint.h>\n\n/* clang-format off */\n"
        f"enum {{ FIRST = {FIRST}, LATE = {LATE}, UNIFORMS = 5000 }};\n",
        table("uint64_t seed;\n    uint32_t first[FIRST], late[FIRST];", "raw_golden", raw_rows()),
        table("double low, high;\n    float first[FIRST];\n    uint64_t hash;", "uniform_golden", uniform_rows()),
        table("int low, high, value[64];", "below_golden", below_rows()),
        table("double p;\n    int value[64];\n    uint32_t after;", "bernoulli_golden", bernoulli_rows()),
        table("int size[3];\n    uint32_t after;", "normal_golden", normal_rows()),
        f"static const int normal_calls[] = {integers(NORMAL_CALLS)};\n" +
        table("double deviation;\n    float first[FIRST];\n    uint64_t hash;\n    uint32_t after;",
              "normal_value_golden", normal_value_rows()),
        "/* nn.Linear(64, 13), then xavier_uniform_ of its weight. */\n" +
        table("float kaiming[FIRST];\n    uint64_t kaiming_hash;\n    float bias[FIRST];\n    uint64_t bias_hash;\n"
              "    float xavier[FIRST];\n    uint64_t xavier_hash;\n    uint32_t after;", "init_golden", [init_row()]),
        "#endif\n"]
    path.write_text("\n".join(parts))
