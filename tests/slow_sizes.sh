#!/usr/bin/env bash
# The sizes that SPEED.md measures give the same bits on 1, 2 and 8 threads, more than there are processors or not.
#
#     tests/slow_sizes.sh COMMAND
set -euo pipefail
command=$1
folder=$(mktemp -d "${TMPDIR:-/tmp}/clearhead_sizes.XXXXXX")
trap 'rm -rf "$folder"' EXIT
failed=0

# compare NAME OPTIONS...: trains on each number of threads, by option and by variable, and compares all that is left.
compare() {
    local name=$1 run
    shift
    for threads in 1 2 8; do
        "$command" train reverse "$@" --threads "$threads" --log-every 1 --quiet --out "$folder/$name-$threads"
    done
    OMP_NUM_THREADS=2 "$command" train reverse "$@" --log-every 1 --quiet --out "$folder/$name-variable"
    for run in 2 8 variable; do
        for file in model.safetensors log.jsonl; do
            cmp "$folder/$name-1/$file" "$folder/$name-$run/$file" || failed=1
        done
    done
    echo "$name: compared"
    rm -rf "${folder:?}/$name"-*
}

text=(--min-len 10 --max-len 60)
compare lesson --steps 200
compare small --d-model 256 --heads 8 --d-ff 1024 --layers 4 --symbols 8000 "${text[@]}" --steps 2 --validation 50
compare base --d-model 512 --heads 8 --d-ff 2048 --layers 6 --symbols 32000 "${text[@]}" --batch-size 32 --steps 2 \
    --validation 50
exit "$failed"
