"""What each swap does to the loss on a text, for docs/swaps.md, and the bands of the recipes.

    python3 tools/measure_swaps.py COMMAND TEXT --runs FOLDER [--seeds N ...] [--swaps NAME ...]
    python3 tools/measure_swaps.py --runs FOLDER --page docs/swaps.md
    python3 tools/measure_swaps.py --runs FOLDER --bands

The first form trains, seed by seed and one run after the other: both recipes, and the plain one with one thing changed
(SWAPS). What a run says goes to FOLDER/NAME-SEED.jsonl, and a run that is there is not done again, so that the tool can
be stopped and called again with the same words. The other two take what is there: --page writes the tables between the
marks of the page, --bands the bands of five seeds into the recipes. TEXT is tiny-Shakespeare for both.
"""
import argparse
import json
import math
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
PLAIN, MODERN = "plain", "modern"
RECIPES = {PLAIN: ROOT / "recipes/tinyshakespeare.json", MODERN: ROOT / "recipes/tinyshakespeare-modern.json"}
MARKS = (250, 500, 1000, 1500, 2000)  # the steps that have bands; the last is the run's
BAND_SEEDS, PAGE_SEEDS = (0, 1, 2, 3, 4), (0, 1, 2)

# name of the run: (section of the page, what is changed on the command line)
SWAPS = {
    "rope": ("position", "--position rope"),
    "alibi": ("position", "--position alibi"),
    "relative-bias": ("position", "--position relative-bias"),
    "no-position": ("position", "--position none"),
    "sinusoidal": ("position", "--position sinusoidal"),
    "rope-interleaved": ("position", "--position rope-interleaved"),
    "rmsnorm": ("norm", "--norm rmsnorm"),
    "post": ("placement", "--norm-placement post"),
    "post-cold": ("placement", "--norm-placement post --warmup 0"),
    "pre-cold": ("placement", "--warmup 0"),
    "relu": ("ffn", "--ffn relu"),
    "gelu-tanh": ("ffn", "--ffn gelu-tanh"),
    "swiglu": ("ffn", "--ffn swiglu --d-ff 341"),
    "geglu": ("ffn", "--ffn geglu --d-ff 341"),
    "two-kv-heads": ("kv-heads", "--kv-heads 2"),
    "one-kv-head": ("kv-heads", "--kv-heads 1"),
    "narrow-heads": ("d-head", "--d-head 16"),
    "wide-heads": ("d-head", "--d-head 64"),
    "biases": ("bias", "--bias all"),
    "qk-norm": ("qk-norm", "--qk-norm"),
    "window": ("window", "--window 16"),
    "soft-cap": ("soft-cap", "--soft-cap 30"),
    "untied": ("tie", "--tie none"),
    "xavier": ("init", "--init xavier"),
    "xavier-relu": ("init", "--init xavier --ffn relu"),
    "scaled-embedding": ("embedding-scale", "--embedding-scale sqrt"),
    "sinusoidal-scaled": ("embedding-scale", "--position sinusoidal --embedding-scale sqrt"),
    "no-decay": ("weight-decay", "--weight-decay 0"),
    "average": ("average", "--average 32"),
}


def stop(sentence):
    sys.exit(f"measure_swaps.py: {sentence}")


# ---- runs ----


def command_line(name):
    if name in RECIPES:
        return ["--recipe", str(RECIPES[name])]
    return ["--recipe", str(RECIPES[PLAIN]), *SWAPS[name][1].split()]


def run(arguments, name, seed):
    kept = arguments.runs / f"{name}-{seed}.jsonl"
    if kept.exists():
        return
    with tempfile.TemporaryDirectory() as folder:
        print(f"{name}, seed {seed}", file=sys.stderr, flush=True)
        done = subprocess.run([arguments.command, "train", *command_line(name), "--text", arguments.text, "--seed",
                               str(seed), "--threads", "1", "--json", "--quiet", "--out", f"{folder}/run"],
                              stdout=subprocess.PIPE, text=True)
        if done.returncode:  # it has said why
            stop(f"{name}, seed {seed}: expected exit code 0, found {done.returncode}")
        unfinished = kept.with_suffix(".unfinished")
        unfinished.write_text(done.stdout)
        unfinished.rename(kept)


def run_all(arguments):
    arguments.runs.mkdir(parents=True, exist_ok=True)
    for seed in arguments.seeds:
        for name in arguments.swaps:
            run(arguments, name, seed)


def read_run(folder, name, seed):
    """({step: validation loss}, number of parameters), or None where there is no such run."""
    path = folder / f"{name}-{seed}.jsonl"
    if not path.exists():
        return None
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    loss = {line["step"]: line["validation_loss"] for line in lines if line.get("validation_loss") is not None}
    parameters = [line["parameters"] for line in lines if "parameters" in line]
    if MARKS[-1] not in loss or not parameters:
        stop(f"{path}: expected a validation loss at step {MARKS[-1]} and a result, found a run that did not finish")
    return loss, parameters[0]


def read_runs(folder, name, seeds):
    """{seed: read_run} of those that are there."""
    runs = {seed: read_run(folder, name, seed) for seed in seeds}
    return {seed: found for seed, found in runs.items() if found}


def last_losses(runs):
    return [loss[MARKS[-1]] for loss, _ in runs.values()]


# ---- the page ----


def row(folder, name, what, seeds):
    """Against the plain recipe's runs of the same seeds."""
    runs = read_runs(folder, name, seeds)
    if not runs:
        return f"| {what} | | not measured | | | |"
    plain = read_runs(folder, PLAIN, runs)
    if len(plain) < len(runs):
        stop(f"{folder}: expected runs of {PLAIN} with seeds {list(runs)}, found {list(plain)}")
    found, parameters = last_losses(runs), list(runs.values())[0][1]
    difference = statistics.mean(found) - statistics.mean(last_losses(plain))
    cells = [what, f"{parameters:,}", f"{statistics.mean(found):.3f}", "" if name == PLAIN else f"{difference:+.3f}",
             f"{max(found) - min(found):.3f}" if len(found) > 1 else "", ", ".join(map(str, runs))]
    return f"| {' | '.join(cells)} |"


def table(folder, rows, seeds):
    """rows: pairs of a run's name and the words for it."""
    head = ["| changed | parameters | val_loss | difference | spread | seeds |", "|---|---:|---:|---:|---:|---|"]
    return "\n".join(head + [row(folder, name, what, seeds) for name, what in rows])


def sections(folder):
    """{section: its table}"""
    tables = {"recipe": table(folder, [(PLAIN, "nothing")], PAGE_SEEDS),
              "modern": table(folder, [(PLAIN, "nothing"), (MODERN, "`recipes/tinyshakespeare-modern.json`")],
                              BAND_SEEDS)}
    for section in dict.fromkeys(section for section, _ in SWAPS.values()):
        rows = [(name, f"`{options}`") for name, (of, options) in SWAPS.items() if of == section]
        tables[section] = table(folder, rows, PAGE_SEEDS)
    return tables


def write_page(folder, path):
    page = path.read_text()
    for section, text in sections(folder).items():
        begin, end = f"<!-- measured: {section} -->", "<!-- end -->"
        head, mark, rest = page.partition(begin)
        if page.count(begin) != 1 or end not in rest:
            stop(f"{path}: expected one line '{begin}' with '{end}' behind it, found {page.count(begin)}")
        page = f"{head}{mark}\n{text}\n{end}{rest.partition(end)[2]}"
    path.write_text(page)


# ---- bands ----


def bands_of(folder, name):
    """At each mark the mean of the seeds, four deviations wide to both sides. One deviation serves all marks, the root
    of the mean of their variances: five seeds give a single mark's too poorly."""
    runs = read_runs(folder, name, BAND_SEEDS)
    if len(runs) < len(BAND_SEEDS):
        stop(f"{folder}: expected runs of {name} with seeds {list(BAND_SEEDS)}, found {list(runs)}")
    at = {step: [loss[step] for loss, _ in runs.values()] for step in MARKS}
    deviation = math.sqrt(statistics.mean(statistics.variance(found) for found in at.values()))
    bands = []
    for step, found in at.items():
        mean = statistics.mean(found)
        bands.append({"step": step, "low": math.floor(100 * (mean - 4 * deviation)) / 100,
                      "high": math.ceil(100 * (mean + 4 * deviation)) / 100})
        print(f"{name}, step {step}: {min(found):.4f} to {max(found):.4f}, mean {mean:.4f}, "
              f"deviation {statistics.stdev(found):.4f} (of all marks {deviation:.4f})", file=sys.stderr)
    return bands


def write_bands(folder):
    for name, path in RECIPES.items():
        recipe = json.loads(path.read_text())
        recipe.pop("bands", None)
        lines = ",\n".join(f"    {json.dumps(band)}" for band in bands_of(folder, name))
        options = json.dumps(recipe, indent=2).removesuffix("\n}")
        path.write_text(f'{options},\n  "bands": [\n{lines}\n  ]\n}}\n')


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("command", nargs="?", help="clearhead")
    parser.add_argument("text", nargs="?")
    parser.add_argument("--runs", type=pathlib.Path, required=True, help="the folder of what runs said")
    names = [*RECIPES, *SWAPS]
    parser.add_argument("--seeds", nargs="+", type=int, default=PAGE_SEEDS)
    parser.add_argument("--swaps", nargs="+", default=names, choices=names, metavar="NAME",
                        help=f"default: all of {', '.join(names)}")
    parser.add_argument("--page", type=pathlib.Path, help="write the tables between the marks of this file")
    parser.add_argument("--bands", action="store_true", help="write bands into the recipes")
    arguments = parser.parse_args()
    if bool(arguments.command) != bool(arguments.text):
        parser.error("expected COMMAND and TEXT, or neither")
    if not (arguments.command or arguments.page or arguments.bands):
        parser.error("expected COMMAND and TEXT to train, --page or --bands, found none of them")
    if arguments.command:
        run_all(arguments)
    if arguments.page:
        write_page(arguments.runs, arguments.page)
    if arguments.bands:
        write_bands(arguments.runs)


if __name__ == "__main__":
    main()
