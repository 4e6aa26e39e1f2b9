#!/usr/bin/env bash
# Runs every command of a document's console blocks, in order and in a folder of its own, and holds what it prints
# against what stands there: line by line, any number standing for any number, "..." for any lines or, within a line, any
# text. `cc` finds the library and the examples as if they were installed; the recipes and README.md, a text, lie there.
# Compiles and runs the document's C program, if it has one.
#   docs.sh SOURCE-FOLDER DOCUMENT COMMAND LIBRARY COMPILER
set -euo pipefail
source=$1 document=$2 command=$3 library=$4 compiler=$5
work=$(mktemp -d "${TMPDIR:-/tmp}/clearhead_docs.XXXXXX")
trap 'rm -rf "$work"' EXIT
mkdir "$work/bin" "$work/runs"
ln -s "$command" "$work/bin/clearhead"
ln -s "$(command -v "$compiler")" "$work/bin/cc"
ln -s "$source/examples" "$source/recipes" "$source/README.md" "$work/"
folder=$(dirname "$library")
export PATH="$work/bin:$PATH" CPATH="$source/include" LIBRARY_PATH="$folder" LD_LIBRARY_PATH="$folder"
cd "$work"

# block LANGUAGE: the lines between its fences.
block() {
    awk -v fence="\`\`\`$1" '$0 == fence { inside = 1; next } /^```/ { inside = 0 } inside' "$source/$document"
}

# Numbers become #, with their sign and the blanks before it; blanks at the end go. Documents show the build that
# multiplies with oneDNN.
plain() {
    sed -E 's/(OpenBLAS|reference) float/oneDNN float/; s/(^|[ (])-([0-9])/\1\2/g; s/[0-9][0-9,]*(\.[0-9]+)?(e[-+][0-9]+)?/#/g; s/ +#/ #/g; s/[[:space:]]+$//'
}

# matches EXPECTED PRINTED
matches() {
    awk -v expected="$1" '
        function same(text, wanted, at) {
            at = index(wanted, "...")
            if (!at) return text == wanted
            if (substr(text, 1, at - 1) != substr(wanted, 1, at - 1)) return 0
            for (wanted = substr(wanted, at + 3); at <= length(text) + 1; at++)
                if (same(substr(text, at), wanted)) return 1
            return 0
        }
        { line[++count] = $0 }
        END {
            at = 1
            while ((getline wanted < expected) > 0) {
                if (wanted == "...") { anywhere = 1; continue }
                while (anywhere && at <= count && !same(line[at], wanted)) at++
                if (at > count || !same(line[at], wanted)) { print "expected: " wanted; print "found:    " line[at]; exit 1 }
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
    matches expected.plain printed.plain || { printf 'not what %s says: %s\n' "$document" "$1"; exit 1; }
}

# A folder holds one run, so that documents which are followed one after the other have their own.
twice=$(sed -n 's/^\$ clearhead train .*--out \([^ ]*\).*/\1/p' "$source"/README.md "$source"/docs/*.md | sort | uniq -d)
[ -z "$twice" ] || { printf 'two documents, or one twice, train into %s\n' "$twice"; exit 1; }

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
[ "$commands" -gt 5 ] || { echo "$document has no console blocks"; exit 1; }

block c >program.c
program=none
if [ -s program.c ]; then
    cc -std=c11 -Wall -Wextra -Werror program.c -lclearhead -o program
    [ "$(./program)" = "5 1 4 1 3 " ] || { echo "the program of $document printed: $(./program)"; exit 1; }
    program=one
fi
echo "$commands commands, programs: $program"
