#!/usr/bin/env bash
# Manual pages and completions: every command has a page, which roff reads without a warning and which names every
# option; completions load in the shells that are there, and complete commands, options, values, folders and files.
#   pages.sh COMMAND PAGES
set -euo pipefail
command=$1 pages=$2
work=$(mktemp -d "${TMPDIR:-/tmp}/clearhead_pages.XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work"
mkdir runs && touch runs_note.txt

fail() {
    printf '%s\n' "$*"
    exit 1
}

# ---- manual pages ----
names=$("$command" help | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p')
[ "$(wc -w <<<"$names")" -ge 12 ] || fail "help lists too few commands: $names"
[ "$(find "$pages/man1" -name '*.1' | wc -l)" = $(($(wc -w <<<"$names") + 1)) ] ||
    fail "not one page for each command: $(ls "$pages/man1")"
for name in $names; do
    page=$pages/man1/clearhead-$name.1
    grep -q "clearhead\\\\-$name.*(1)" "$pages/man1/clearhead.1" || fail "clearhead.1 does not name $name"
    for option in $("$command" help "$name" | sed -n 's/^  --\([a-z0-9-]*\).*/\1/p'); do
        grep -qF -- "\\fB\\-\\-${option//-/\\-}\\fR" "$page" || fail "$page does not name --$option"
    done
done
for page in "$pages"/man1/*.1; do
    ! grep -nE "(^|[^\\])-" "$page" || fail "$page has a hyphen where a minus is meant"
    if command -v groff >/dev/null; then
        warnings=$(groff -man -ww -Tutf8 "$page" 2>&1 >text)
        [ -z "$warnings" ] || fail "$page: $warnings"
        [ "$(wc -l <text)" -gt 20 ] || fail "$page says too little"
    fi
    if command -v mandoc >/dev/null; then
        warnings=$(mandoc -T lint -W warning "$page" | grep -v "missing date" || true)
        [ -z "$warnings" ] || fail "$page: $warnings"
    fi
done

# ---- completions: ask WORD... gives what may stand for the last word, in order, on one line ----
ask_bash() {
    bash --norc -c '. "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _clearhead; printf "%s\n" "${COMPREPLY[@]}"' \
        "$pages/clearhead" "$@"
}
ask_fish() {
    HOME=$work fish --no-config -c 'source $argv[1]; complete -C "$argv[2]"' "$pages/clearhead.fish" "$*" | cut -f 1
}
# A zsh on a terminal of its own, whose compadd, which takes what completion comes to, notes it down.
cat >ask.zsh <<END
PROMPT= fpath=($pages \$fpath)
autoload -Uz compinit && compinit -D -u
compadd() {
    local -a found
    if [[ " \$* " != *" -"[OAD]" "* ]]; then
        builtin compadd -O found "\$@"
        print -l -- \$found >>$work/found
    fi
    builtin compadd "\$@"
}
ask() { _main_complete; print "is \$?"; print "it was as""ked" }
zle -C ask complete-word ask
bindkey '^T' ask
print "it is rea""dy"
END
ask_zsh() {
    rm -f found
    timeout 60 zsh -f -c 'zmodload zsh/zpty
        zpty shell TERM=dumb zsh -f -i
        zpty -w shell "source ./ask.zsh"
        zpty -r shell reply "*it is ready*"
        zpty -w -n shell "$*"$'"'\\x14'"'
        zpty -r shell reply "*it was asked*"
        zpty -d shell' zsh "$@" >/dev/null
    grep . found | sort -u
}

# expect SHELL "WANTED" WORD...: exactly these.
expect() {
    local shell=$1 wanted=$2 got
    shift 2
    got=$("ask_$shell" "$@" | sed 's,/$,,' | sort | tr '\n' ' ')
    [ "$got" = "$wanted " ] || fail "$shell completes '$*' to '$got', not to '$wanted'"
}

checked=
for shell in bash zsh fish; do
    command -v "$shell" >/dev/null || continue
    expect "$shell" train clearhead tr
    expect "$shell" --d-model clearhead train --d-m
    expect "$shell" "philox torch" clearhead train --rng ""
    expect "$shell" "brackets copy reverse" clearhead data ""
    expect "$shell" "initial-loss" clearhead check init
    expect "$shell" runs clearhead train --out r
    expect "$shell" "runs runs_note.txt" clearhead decode r
    checked="$checked $shell"
done
[ "$(ask_bash clearhead train --rng = t)" = torch ] || fail "bash does not complete --rng=t"
[ "$(ask_bash clearhead train --rng =)" = $'philox\ntorch' ] || fail "bash does not complete --rng="
[ -z "$(ask_bash clearhead train --steps "")" ] || fail "bash completes a number"
echo "pages of$(printf ' %s' $names); completions in$checked: as they should be"
