#!/usr/bin/env bash
# Runs every command of the README's console blocks, in order and in a folder of its own, and holds what it prints
# against what stands there: line by line, any number standing for any number, "..." for any lines. Compiles and runs the
# README's C program too.
#   docs.sh SOURCE-FOLDER COMMAND LIBRARY COMPILER
set -euo pipefail
source=$1 command=$2 library=$3 compiler=$4
work=$(mktemp -d "${TMPDIR:-/tmp}/clearhead_docs.XXXXXX")
trap 'rm -rf "$work"' EXIT
mkdir "$work/bin" "$work/runs"
ln -s "$command" "$work/bin/clearhead"
export PATH="$work/bin:$PATH"
cd "$work"

# block LANGUAGE: the lines between its fences.
block() {
    awk -v fence="\`\`\`$1" '$0 == fence { inside = 1; next } /^```/ { inside = 0 } inside' "$source/README.md"
}

# Numbers become #, blanks at the end go.
plain() {
    sed -E 's/[0-9][0-9,]*(\.[0-9]+)?(e[-+][0-9]+)?/#/g; s/ +#/ #/g; s/[[:space:]]+$//'
}

# matches EXPECTED PRINTED
matches() {
    awk -v expected="$1" '
        { line[++count] = $0 }
        END {
            at = 1
            while ((getline wanted < expected) > 0) {
                if (wanted == "...") { anywhere = 1; continue }
                while (anywhere && at <= count && line[at] != wanted) at++
                if (at > count || line[at] != wanted) { print "expected: " wanted; print "found:    " line[at]; exit 1 }
                at++
                anywhere = 0
            }
        }' "$2"
}

run() {
    printf '%s\n' "$1"
    if ! bash -c "$1" >printed 2>said; then
        cat printed said
        printf 'failed: %s\n' "$1"
        exit 1
    fi
    plain <printed >printed.plain
    plain <expected >expected.plain
    matches expected.plain printed.plain || { printf 'not what the README says: %s\n' "$1"; exit 1; }
}

commands=0 line="" pending=""
: >expected
while IFS= read -r line || [ -n "$line" ]; do
    if [ "${line#\$ }" != "$line" ]; then
        [ -z "$pending" ] || run "$pending"
        pending=${line#\$ } commands=$((commands + 1))
        : >expected
    else
        printf '%s\n' "$line" >>expected
    fi
done < <(block console)
[ -z "$pending" ] || run "$pending"
[ "$commands" -gt 5 ] || { echo "the README has no console blocks"; exit 1; }

block c >program.c
"$compiler" -std=c11 -Wall -Wextra -Werror -I"$source/include" program.c "$library" -Wl,-rpath,"$(dirname "$library")" -o program
[ "$(./program)" = "5 1 4 1 3 " ] || { echo "the README's program printed: $(./program)"; exit 1; }
echo "$commands commands and a program"
