#!/usr/bin/env bash
# tools/measure_swaps.py: the command takes every swap that it knows; in a copy of the tree with tiny recipes it trains,
# leaves alone what is there, and writes page and bands, the same again when asked again. Exit 77 without python3.
#   swaps.sh SOURCE-FOLDER COMMAND
set -euo pipefail
source=$1 command=$2
command -v python3 >/dev/null || { echo "no python3: tools are not tested"; exit 77; }
work=$(mktemp -d "${TMPDIR:-/tmp}/clearhead_swaps.XXXXXX")
trap 'rm -rf "$work"' EXIT
export PYTHONDONTWRITEBYTECODE=1
mkdir "$work/tools" "$work/recipes"
cp "$source/tools/measure_swaps.py" "$work/tools/"
for file in "$source"/recipes/*.json; do
    sed -E -e '/"bands_text"/d' -e 's/"(d-model|d-ff)": [0-9]+/"\1": 8/' -e 's/"(layers|batch-size)": [0-9]+/"\1": 1/' "$file" \
        >"$work/recipes/$(basename "$file")"
done
cp "$source/docs/swaps.md" "$work/page.md"
cd "$work"

fail() {
    printf '%s\n' "$*"
    exit 1
}

measure() {
    python3 tools/measure_swaps.py "$@" >said 2>&1
}

# ---- every swap is one ----
python3 -c '
import sys
sys.path.insert(0, "tools")
import measure_swaps
for name in measure_swaps.SWAPS:
    print(*measure_swaps.command_line(name))' >swaps
while read -r options; do
    # shellcheck disable=SC2086
    "$command" summary $options --text "$source/README.md" >said 2>&1 || fail "$options: $(cat said)"
done <swaps

# ---- training ----
measure "$command" "$source/README.md" --runs runs --seeds 0 1 2 3 4 --swaps plain modern || fail "$(cat said)"
measure "$command" "$source/README.md" --runs runs --seeds 0 --swaps rope plain || fail "$(cat said)"
[ "$(cat said)" = "rope, seed 0" ] || fail "what was there was done again: $(cat said)"
found=(runs/*)
[ ${#found[@]} = 11 ] || fail "expected 11 runs, found ${found[*]}"

# ---- the page ----
# has_row PATTERN: of what stands between the first and the last bar.
has_row() {
    grep -E "^\\| $1 \\|\$" page.md >row || fail "no row like '$1': $(grep '^|' page.md)"
}
number='[-+]?[0-9][0-9,.]*'
measure --runs runs --page page.md || fail "$(cat said)"
has_row ".--position rope. \\| $number \\| $number \\| $number \\|  \\| 0"
has_row "nothing \\| $number \\| $number \\|  \\| $number \\| 0, 1, 2, 3, 4"
has_row ".--position none. \\| \\| not measured \\| \\| \\|"
cp page.md again.md
measure --runs runs --page again.md || fail "$(cat said)"
cmp page.md again.md || fail "the page is another when it is written again"
sed '/measured: norm /d' page.md >torn.md
! measure --runs runs --page torn.md || fail "a page without a mark was written"
grep "torn.md: expected one line '<!-- measured: norm -->'" said >row || fail "$(cat said)"

# ---- bands ----
measure --runs runs --bands || fail "$(cat said)"
[ "$(grep -c '{"step": [0-9]*, "low": [0-9.]*, "high": [0-9.]*}' recipes/tinyshakespeare-modern.json)" = 5 ] ||
    fail "no five bands: $(cat recipes/tinyshakespeare-modern.json)"
"$command" train --recipe recipes/tinyshakespeare.json --text "$source/README.md" --out run >log 2>said || fail "$(cat said)"
! grep band said >row || fail "one of the five seeds is outside of their bands: $(cat said)"
rm runs/plain-3.jsonl
! measure --runs runs --bands || fail "bands of four seeds"
grep 'expected runs of plain with seeds \[0, 1, 2, 3, 4\], found \[0, 1, 2, 4\]' said >row || fail "$(cat said)"
echo "$(wc -l <swaps) swaps are taken; runs, page and bands as they should be"
