#!/bin/sh
# clearhead-bench: every short case is right, and a bad word is wrong usage. How fast it is, is nobody's business here.
#
#     tests/bench.sh BENCH
set -eu
bench=$1
failed=0
work=$(mktemp -d "${TMPDIR:-/tmp}/clearhead_bench.XXXXXX")
trap 'rm -rf "$work"' EXIT

# expect CODE WORDS ARGUMENTS...: the exit code, and words on standard error ("" for any).
expect() {
    code=$1 words=$2 got=0
    shift 2
    said=$("$bench" "$@" 2>&1 >/dev/null) || got=$?
    if [ "$got" != "$code" ]; then
        echo "clearhead-bench $*: expected exit code $code, found $got: $said"
        failed=1
    fi
    case $said in
        *"$words"*) ;;
        *) echo "clearhead-bench $*: expected '$words', found: $said" && failed=1 ;;
    esac
}

expect 0 "" --help
expect 0 "" --list
expect 0 "" --list 'attention/*/T4/*' train
expect 2 "found 'gem'" gem
expect 2 "found 'nothing'" gemm nothing
expect 2 "found 'x'" --seconds x
expect 2 "found '-1'" --seconds=-1
expect 2 "found '2.5'" --threads 2.5
expect 2 "fast" --fast

expect 0 "" --seconds 0 --threads 1 gemm/lesson 'rows/*/lesson' 'attention/*/T[1-9]/*' 'attention/*/T[1-6][0-9]/*' \
    attention/fused/T512 train/lesson
expect 0 "" --seconds 0 --threads 2 --json gemm/lesson/out train/lesson
# what scores do besides being causal comes with its multiple of the causal case's time, where that was timed, too
"$bench" --seconds 0 --json attention/fused/T4/causal attention/fused/T4/full >"$work/both"
"$bench" --seconds 0 --json attention/fused/T4/full >"$work/alone"
[ "$(grep -c '"of_plain":' "$work/both")" = 2 ] || { echo "expected 2 cases with of_plain" && failed=1; }
! grep '"of_plain":' "$work/alone" || failed=1
lines=$("$bench" --seconds 0 --json gemm/lesson/out | grep -c '^{.*}$')
[ "$lines" = 5 ] || { echo "expected 5 lines of JSON, found $lines" && failed=1; }
# a text that a case has written goes with it
mkdir "$work/texts"
TMPDIR=$work/texts expect 0 "" --seconds 0 --threads 1 train/tinyshakespeare
TMPDIR=$work/none expect 1 "$work/none" --seconds 0 --threads 1 train/tinyshakespeare
[ -z "$(ls -A "$work/texts")" ] || { echo "left behind: $(ls -A "$work/texts")" && failed=1; }
exit "$failed"
