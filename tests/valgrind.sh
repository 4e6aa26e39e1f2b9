#!/bin/sh
# Nothing is lost, and nothing is read before it is written or after it is freed: train, resume, decode, eval, look and
# plot under valgrind. Exit 77 (skipped) without valgrind.
#
#     tests/valgrind.sh COMMAND SUPPRESSIONS
set -eu
command=$1 suppressions=$2
command -v valgrind >/dev/null || { echo "valgrind is not installed"; exit 77; }
folder=$(mktemp -d "${TMPDIR:-/tmp}/clearhead_valgrind.XXXXXX")
trap 'rm -rf "$folder"' EXIT
# oneDNN writes its own machine code, whose wide loads run past the end of a block on purpose; valgrind follows the
# SSE4.1 paths. They are the library's affair: our own code stays as it was compiled.
export DNNL_MAX_CPU_ISA=SSE41

check() {
    echo "valgrind: clearhead $*"
    code=0
    valgrind --quiet --suppressions="$suppressions" --leak-check=full --show-leak-kinds=definite,indirect,possible \
        --errors-for-leak-kinds=definite,indirect,possible --error-exitcode=99 --log-file="$folder/log" \
        "$command" "$@" >"$folder/out" 2>&1 || code=$?
    [ "$code" = 0 ] && [ ! -s "$folder/log" ] && return
    echo "expected no error, found exit code $code:"
    cat "$folder/out" "$folder/log"
    exit 1
}

tiny='--batch-size 4 --d-model 16 --heads 2 --d-ff 24 --threads 2'
# shellcheck disable=SC2086 # several words
check train reverse $tiny --steps 3 --save-every 2 --out "$folder/run"
check train --resume "$folder/run" --steps 4
# shellcheck disable=SC2086
check train reverse $tiny --steps 2 --log-gradients --out "$folder/signals"
# shellcheck disable=SC2086
check train copy $tiny --steps 1 --attention explicit --rng torch --out "$folder/explicit"
printf '3 1 4 1 5\n7 2 9 0 4 6\n' >"$folder/sources"
check decode "$folder/run" --max-new 4 <"$folder/sources"
check decode "$folder/run" --max-new 4 --no-cache <"$folder/sources"
check eval "$folder/run" --examples 4
check look "$folder/run" --source "7 2 9" --max-new 4 --out "$folder/map.png"
check look "$folder/run" --source "7 2 9" --max-new 4 --numbers --out "$folder/map.svg"
check look "$folder/run" --source "7 2 9" --max-new 4 --json
check dump "$folder/run" --source "7 2 9" --target "9 2 7" --backward --out "$folder/fused.safetensors"
check dump "$folder/run" --source "7 2 9" --target "9 2 7" --backward --attention explicit \
    --out "$folder/explicit.safetensors"
check dump "$folder/run" --source "7 2 9" --target "9 2 7" --show dec.1.cross_attn.weights
check compare "$folder/fused.safetensors" "$folder/explicit.safetensors"
check check data shapes initial-loss masking --model "$folder/run" --batch-size 4
check plot positions --d-model 8 --out "$folder/positions.png"
check plot training "$folder/run" "$folder/signals" --out "$folder/training.pdf"
check plot training "$folder/signals" --layers
check plot weights "$folder/run" --json
check summary
