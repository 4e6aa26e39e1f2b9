#!/bin/sh
# The model of text that PyTorch is timed with is ours: the same losses and gradient norms, step by step; and another
# one is not timed. Exit 77 (skipped) where no python3 has torch.
#
#     tests/bench_peers.sh ROOT BENCH COMMAND
set -eu
for python in python3 /usr/bin/python3; do
    "$python" -c 'import torch' 2>/dev/null && break
    python=
done
[ -n "$python" ] || { echo "no python3 with torch: nothing to compare with"; exit 77; }
export PYTHONDONTWRITEBYTECODE=1
work=$(mktemp -d "${TMPDIR:-/tmp}/clearhead_peers.XXXXXX")
trap 'rm -rf "$work"' EXIT
check() { "$python" "$1/tools/bench_peers.py" "$2" "$3" --python "$python" --cases train/tinyshakespeare --check; }

check "$1" "$2" "$3"

# the same tools, whose model's branches end as wide as they begin
mkdir "$work/recipes"
cp -r "$1/tools" "$work/tools"
cp "$1/recipes/tinyshakespeare.json" "$work/recipes"
sed 's/narrow = 0.02 .*/narrow = 0.02/' "$1/tools/gpt.py" >"$work/tools/gpt.py"
if said=$(check "$work" "$2" "$3" 2>&1); then
    echo "another model was not noticed: $said" && exit 1
fi
case $said in
    *"train/tinyshakespeare is not timed: loss of step 1: PyTorch has "*) ;;
    *) echo "another model: expected the loss of step 1, found: $said" && exit 1 ;;
esac
