#!/bin/sh
# Where python3 has no PyTorch, every tool says so in one sentence and exits with 1. Exit 77 (skipped) without python3.
#
#     tests/no_torch.sh ROOT
set -eu
command -v python3 >/dev/null || { echo "no python3: no tool to run"; exit 77; }
work=$(mktemp -d "${TMPDIR:-/tmp}/clearhead_no_torch.XXXXXX")
trap 'rm -rf "$work"' EXIT
echo "raise ImportError('there is no torch')" >"$work/torch.py"
count=0
# shellcheck disable=SC2013 # names of ours, without blanks
for tool in $(grep -lE '^(import|from) (torch|pytorch|lesson|safetensors_io)' "$1"/tools/*.py); do
    code=0
    PYTHONPATH="$work" PYTHONDONTWRITEBYTECODE=1 python3 "$tool" >"$work/said" 2>&1 || code=$?
    if [ "$code" != 1 ] || [ "$(wc -l <"$work/said")" != 1 ] ||
        ! grep "^$(basename "$tool"): expected a Python that has PyTorch" "$work/said" >/dev/null; then
        echo "$tool: exit code $code, and it said:"
        cat "$work/said"
        exit 1
    fi
    count=$((count + 1))
done
[ "$count" -ge 7 ] || { echo "only $count tools of seven that need PyTorch were found"; exit 1; }
echo "$count tools: one sentence each"
