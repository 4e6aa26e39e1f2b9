#!/usr/bin/env bash
# The comments of the public header are complete: doxygen, for which a warning is an error, has nothing to say.
#   doxygen.sh SOURCE-FOLDER
set -euo pipefail
command -v doxygen >/dev/null || { echo "skipped: needs doxygen"; exit 77; }
work=$(mktemp -d "${TMPDIR:-/tmp}/clearhead_doxygen.XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$1"

# read_header HEADER: what doxygen says of it.
read_header() {
    printf '@INCLUDE = docs/Doxyfile\nOUTPUT_DIRECTORY = %s\nINPUT = %s\nHAVE_DOT = NO\n' "$work" "$1" |
        doxygen - >"$work/log" 2>&1
}

read_header include/clearhead.h || { cat "$work/log"; exit 1; }
[ -s "$work/html/clearhead_8h.html" ] || { echo "doxygen wrote nothing"; exit 1; }

# It would have something to say: of a header with one comment less.
sed '0,/^CH_API void ch_model_free/{/Frees a model/d}' include/clearhead.h >"$work/clearhead.h"
! read_header "$work/clearhead.h" || { echo "a function without a comment was not noticed"; exit 1; }
grep -q 'ch_model_free.*not documented' "$work/log" || { cat "$work/log"; exit 1; }
echo "every name of the public header has its comment"
