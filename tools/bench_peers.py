"""Whole models, ours beside PyTorch's: the same work, taken in turns in one run, and the ratios as one table.

    python3 tools/bench_peers.py BENCH COMMAND [--python PYTHON] [--cases CASE ...] [--rounds N] [--results FILE]
                                 [--markdown FILE]
    python3 tools/bench_peers.py BENCH COMMAND [--python PYTHON] [--cases CASE ...] --check

BENCH is clearhead-bench and COMMAND is clearhead; PYTHON has PyTorch. A round times ours, then PyTorch with each
setting: numbers of threads, and the processors that OpenBLAS is told to work for, as it does not always know best. What
is quoted is the median over all runs of all rounds, PyTorch's of its best setting. Rates are of useful arithmetic, so
that batches need not be the same. Models of text are only timed once both sides have had the same losses and gradient
norms over a few steps from the same seed; --check compares them and times nothing. scripts/bench --peers calls this.
"""
import argparse
import datetime
import json
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile

# case, seconds of each turn of ours and of PyTorch's
CASES = [("train/lesson", 2, 2), ("train/small", 3, 4), ("train/base", 8, 12),
         ("train/tinyshakespeare", 2, 3), ("train/gpt2", 8, 8),
         ("decode/lesson-500", 1, 2), ("decode/lesson-1", 0.5, 0.5), ("decode/small-50", 2, 10)]
TRAINED = "600"  # steps of the model that bench/decode.c decodes with
TOOLS = pathlib.Path(__file__).parent
# models of text, as in bench/train.c: recipe, distinct characters, steps that are compared
TEXTS = {"train/tinyshakespeare": (TOOLS.parent / "recipes/tinyshakespeare.json", 65, 20),
         "train/gpt2": (TOOLS.parent / "bench/gpt2.json", 50257, 3)}
TOLERANCE = 1e-5  # of losses, relative above 1, and of gradient norms


def ours(bench, case, seconds):
    """(the line of the machine, that of the case)."""
    lines = subprocess.run([bench, "--json", "--seconds", str(seconds), case], check=True, stdout=subprocess.PIPE,
                           text=True).stdout.splitlines()
    return [json.loads(line) for line in lines]


class Torch:
    """A process that has loaded one case and times it when it is asked to."""

    def __init__(self, python, case, inputs, core):
        self.process = subprocess.Popen([python, TOOLS / "bench_torch.py", case, *inputs], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True,
                                        env={**os.environ, **({"OPENBLAS_CORETYPE": core} if core else {})})
        first = self.process.stdout.readline()
        if not first:  # it has said why
            sys.exit(f"bench_peers.py: {python} could not run {case} in PyTorch")
        self.build = json.loads(first)

    def sample(self, threads, seconds):
        print(threads, seconds, file=self.process.stdin, flush=True)
        return json.loads(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def core_types():
    """What OPENBLAS_CORETYPE says, or nothing, and what a processor with AVX-512 should be."""
    wide = pathlib.Path("/proc/cpuinfo").exists() and "avx512f" in pathlib.Path("/proc/cpuinfo").read_text()
    return sorted({os.environ.get("OPENBLAS_CORETYPE", ""), *(["SkylakeX"] if wide else [])})


# ---- models of text: what both sides read, and whether they are the same model ----

def write_text(path, characters):
    """Each of so many characters, and behind them as many as make a text, at random."""
    known = [chr(ord("!") + i) for i in range(characters)]
    drawn = random.Random(1).choices(known, k=max(3 * characters, 20000))
    pathlib.Path(path).write_text("".join(known + drawn), encoding="utf-8")


def check_steps(case, ours_taken, theirs):
    for step, line in enumerate(ours_taken):
        for key in ("loss", "grad_norm"):
            found, expected = line[key], theirs[key][step]
            if not abs(found - expected) <= TOLERANCE * (max(1, expected) if key == "loss" else expected):
                sys.exit(f"bench_peers.py: {case} is not timed: {key} of step {step + 1}: PyTorch has {expected:.9g}, "
                         f"Clearhead {found:.9g}")


def verify(arguments, case, inputs, folder):
    """The first steps from seed 0 with PyTorch's random numbers, by both."""
    steps = TEXTS[case][2]
    subprocess.run([arguments.command, "train", *inputs, "--rng", "torch", "--seed", "0", "--steps", str(steps),
                    "--log-every", "1", "--validation", "0", "--quiet", "--out", folder], check=True)
    taken = [json.loads(line) for line in (pathlib.Path(folder) / "log.jsonl").read_text().splitlines()]
    theirs = subprocess.run([arguments.python, TOOLS / "bench_torch.py", case, *inputs, "--losses", str(steps)],
                            check=True, stdout=subprocess.PIPE, text=True).stdout
    check_steps(case, taken, json.loads(theirs))
    print(f"{case}: {steps} steps as PyTorch's", file=sys.stderr, flush=True)


def prepare(arguments, case, folder):
    """What PyTorch's side of a case is told, as arguments."""
    if case.startswith("decode/lesson"):
        run = pathlib.Path(folder) / "lesson"
        if not run.exists():
            subprocess.run([arguments.command, "train", "reverse", "--steps", TRAINED, "--validation", "0", "--quiet",
                            "--out", run], check=True)
        return ["--model", run / "model.safetensors"]
    if case not in TEXTS:
        return []
    recipe, characters, _ = TEXTS[case]
    name = case.replace("/", "-")
    write_text(f"{folder}/{name}.txt", characters)
    inputs = ["--recipe", str(recipe), "--text", f"{folder}/{name}.txt"]
    with tempfile.TemporaryDirectory() as run:
        verify(arguments, case, inputs, f"{run}/run")
    return inputs


# ---- timing ----

def medians(seconds, rates):
    return {"median": statistics.median(seconds), "rate": statistics.median(rates)}


def compare(arguments, case, our_seconds, their_seconds, inputs):
    torches = {core: Torch(arguments.python, case, inputs, core) for core in core_types()}
    counts = sorted({1, os.cpu_count() or 1})
    own, theirs, machine = [], {(core, threads): [] for core in torches for threads in counts}, None
    for _ in range(arguments.rounds):
        machine, result = ours(arguments.bench, case, our_seconds)
        own.append(result)
        for (core, threads), turns in theirs.items():
            turns.append(torches[core].sample(threads, their_seconds))
    peers = {setting: medians([s for turn in turns for s in turn["seconds"]],
                              [f / s for turn in turns for s, f in zip(turn["seconds"], turn["flop"])])
             for setting, turns in theirs.items()}
    best = max(peers, key=lambda setting: peers[setting]["rate"])
    build = torches[best[0]].build
    for torch in torches.values():
        torch.close()
    row = {"case": case, **medians([r["median"] for r in own], [r["rate"] for r in own]),
           "limit": statistics.median(r["limit"] for r in own), "rounds": arguments.rounds, **build,
           "peer_threads": best[1], "peer_median": peers[best]["median"], "peer_rate": peers[best]["rate"],
           "peer_rates": {f"{core or 'default'}, {threads}": figures["rate"]
                          for (core, threads), figures in peers.items()}}
    row["ratio"] = row["rate"] / row["peer_rate"]
    row["share"] = row["rate"] / row["limit"]
    return machine, row


def in_words(seconds):
    for unit, size in (("s", 1), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size or unit == "us":
            return f"{seconds / size:.3g} {unit}"
    return ""


def table(machine, rows, stamp):
    lines = ["| work | Clearhead | PyTorch | ratio | of the limit |", "|---|---|---|---|---|"]
    for row in rows:
        threads = f"{row['peer_threads']} thread{'s' if row['peer_threads'] > 1 else ''}"
        lines.append(f"| {row['case']} | {in_words(row['median'])} | {in_words(row['peer_median'])} ({threads}, "
                     f"{row['OPENBLAS_CORETYPE'] or 'default'}) | {row['ratio']:.1f} | {100 * row['share']:.0f} % |")
    first = rows[0]
    limit = machine["gemm_flop_per_second_all_threads"] / 1e9
    lines += ["", f"{stamp['date']}, commit {stamp['commit']}, {machine['processor']}, {machine['threads']} threads "
              f"(load {machine['load']:.1f} at the last turn). Clearhead {machine['version']} with {machine['gemm']}, "
              f"compiler {machine['compiler']}; {first['peer']} (BLAS_INFO {first['blas']}), the best of its numbers "
              f"of threads and values of OPENBLAS_CORETYPE. Limit: {limit:.0f} GFLOP/s, products of 1024 x 1024 x 1024 "
              f"on all threads in the same run. Medians of {first['rounds']} rounds taken in turns; ratios are of "
              f"useful arithmetic per second."]
    return "\n".join(lines)


BEGIN, END = "<!-- bench: begin -->", "<!-- bench: end -->"


def put_between_marks(path, text):
    page = pathlib.Path(path).read_text()
    if page.count(BEGIN) != 1 or page.count(END) != 1:
        sys.exit(f"bench_peers.py: {path}: expected one line '{BEGIN}' and one '{END}'")
    head, _, rest = page.partition(BEGIN)
    pathlib.Path(path).write_text(f"{head}{BEGIN}\n{text}\n{END}{rest.partition(END)[2]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("bench")
    parser.add_argument("command")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--check", action="store_true", help="only compare the steps of models of text")
    parser.add_argument("--commit", default="unknown")
    parser.add_argument("--results", help="append the rows as lines of JSON")
    parser.add_argument("--markdown", help="write the table between the marks of this file")
    names = [case for case, *_ in CASES]
    parser.add_argument("--cases", nargs="+", default=names, choices=names)
    arguments = parser.parse_args()
    stamp = {"date": datetime.date.today().isoformat(), "commit": arguments.commit}
    rows, machine = [], None
    with tempfile.TemporaryDirectory() as folder:
        for case, our_seconds, their_seconds in CASES:
            if case not in arguments.cases:
                continue
            inputs = prepare(arguments, case, folder)
            if arguments.check:
                continue
            machine, row = compare(arguments, case, our_seconds, their_seconds, inputs)
            print(f"{case}: {in_words(row['median'])}, PyTorch {in_words(row['peer_median'])}, "
                  f"ratio {row['ratio']:.1f}", file=sys.stderr, flush=True)
            rows.append(row)
    if arguments.check:
        return
    if arguments.results:
        with open(arguments.results, "a") as file:
            for line in ({**stamp, **machine}, *({**stamp, **row} for row in rows)):
                print(json.dumps(line), file=file)
    text = table(machine, rows, stamp)
    print(text)
    if arguments.markdown:
        put_between_marks(arguments.markdown, text)


main()
