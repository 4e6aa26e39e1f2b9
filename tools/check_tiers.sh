#!/bin/sh
# Who may include whom, and a few habits of the house that a compiler does not check.
#
#     tools/check_tiers.sh [ROOT]     the tree to check; this one unless said otherwise
#
# Prints file:line and the rule for every offence; exit 1 if there is one. tests/check_tiers.sh plants offences.
set -eu

# ---- the rule -----------------------------------------------------------------------------------------------
# folder: what its files may include beside their own folder's headers and clearhead.h. A name is a folder of src/,
# folder/file.h is one header of it, * is everything in src/. A folder that has no row here is an offence.
tiers='
include
base
kernels   base
nn        base kernels
data      base
plot      base io/temporary.h
optim     base kernels nn
io        base nn/params.h
recipe    base kernels nn data optim io/file.h plot/format.h
model     base kernels nn data io recipe
decode    base kernels nn data io recipe model
train     base kernels nn data io optim recipe model decode
inspect   base kernels nn data io optim recipe model decode
check     base kernels nn data io optim recipe model decode train inspect
api       *
cli
tests     * cli/lines.h bench/bench.h
bench     *
'
# A file <family>_<variant>.c is a variant: it knows its family's header, never another variant's.
families='norm position ffn attention init optimizer schedule task tokens framing stage gemm parallel'
# The library never prints, exits or allocates: calls that only these two files may make, and pieces of them.
speakers='src/base/error.c src/base/memory.c'
calls='printf vprintf puts putchar perror exit _exit _Exit quick_exit abort malloc calloc realloc reallocarray free
aligned_alloc posix_memalign memalign strdup strndup asprintf vasprintf'
# No static state, but where a library offers no other way.
stateful='src/base/json.c src/kernels/gemm_cblas.c'
# Floating point stays IEEE, and one binary runs anywhere.
flags='fast-math|Ofast|funsafe-math|ffinite-math|march=native|mcpu=native'
longest=700
# The one header that a user includes holds every declaration, and most of it is their documentation.
header=include/clearhead.h longest_header=1000
# -------------------------------------------------------------------------------------------------------------

root=${1:-$(dirname "$0")/..}
cd "$root"
[ -d src ] || { echo "check_tiers: expected a source tree in $root, and it has no src/" >&2; exit 2; }

# Names of this project's files have no blanks; a name that has one is told, not skipped.
c_files=$(find include src cli tests bench -name '*.[ch]' 2>/dev/null | LC_ALL=C sort)
build_files=$(find . \( -path ./build -o -path ./runs -o -path ./.git \) -prune -o \
    \( -name CMakeLists.txt -o -name '*.cmake' -o -name 'CMake*.json' -o -name '*.sh' -o -path './scripts/*' \
    -o -path './.ci/*' \) -type f ! -name check_tiers.sh -print | LC_ALL=C sort)
blank=$(printf '%s\n%s\n' "$c_files" "$build_files" | grep ' ' || true)
[ -z "$blank" ] || { echo "$blank:1: a file's name has no blanks"; exit 1; }

# shellcheck disable=SC2086 # a list of files without blanks
LC_ALL=C awk -v tiers="$tiers" -v families="$families" -v speakers="$speakers" -v calls="$calls" -v flags="$flags" \
    -v stateful="$stateful" -v longest="$longest" -v public="$header" -v longest_public="$longest_header" '
function listed(list, name) {
    return index(" " list " ", " " name " ") > 0
}
function offence(line, rule) {
    print file ":" line ": " rule
    offences++
}

# ---- includes ----
function may_include(folder, header,    parts) {
    split(header, parts, "/")
    return header == "clearhead.h" || parts[1] == folder ||
           listed(allowed[folder], parts[1]) || listed(allowed[folder], header) ||
           (listed(allowed[folder], "*") && parts[1] in source_tier)
}
function variant_of(name,    parts) { # "norm_rms" is a variant of "norm"
    sub(/\.[ch]$/, "", name)
    split(name, parts, "_")
    return parts[2] != "" && parts[1] in family ? name : ""
}
function check_variants(header,    parts, n, mine, other) {
    mine = variant_of(base_name)
    n = split(header, parts, "/")
    other = variant_of(parts[n])
    if (mine != "" && other != "" && mine != other)
        offence(FNR, "a variant includes another variant: " mine " and " other " share their family\047s header only")
}
function check_include(line,    header, quoted, parts) {
    quoted = line ~ /^[ \t]*#[ \t]*include[ \t]*"/
    header = line
    sub(/^[ \t]*#[ \t]*include[ \t]*["<]/, "", header)
    sub(/[">].*$/, "", header)
    split(header, parts, "/")
    if (!quoted && !(parts[1] in source_tier) && header != "clearhead.h") return # a system header
    if (header ~ /\.\./) offence(FNR, "an include names a folder of src/, not .. : \"" header "\"")
    else if (header !~ /\// && header != "clearhead.h") {
        if (place == "src")
            offence(FNR, "an include in src/ says its folder: \"" tier "/" header "\", not \"" header "\"")
    } else if (!(place == "tests" && header ~ /^data\//) && !may_include(tier, header))
        offence(FNR, tier " may include only itself, clearhead.h" allowed_text[tier] ": found \"" header "\"")
    if (place == "src") check_variants(header)
}

# ---- code without comments, texts and characters ----
function strip(line,    out, c, two) {
    out = ""
    while (line != "") {
        c = substr(line, 1, 1)
        two = substr(line, 1, 2)
        if (in_comment) {
            if (two == "*/") { in_comment = 0; line = substr(line, 3) } else line = substr(line, 2)
        } else if (two == "/*") { in_comment = 1; line = substr(line, 3); out = out " " }
        else if (two == "//") break
        else if (c == "\"" || c == "\047") { line = skip_text(line, c); out = out c c }
        else { out = out c; line = substr(line, 2) }
    }
    return out
}
function skip_text(line, quote,    i) { # past the closing quote
    for (i = 2; i <= length(line); i++) {
        if (substr(line, i, 1) == "\\") i++
        else if (substr(line, i, 1) == quote) break
    }
    return substr(line, i + 1)
}
function check_calls(code,    rest, name, before) {
    rest = code
    while (match(rest, /[A-Za-z_][A-Za-z_0-9]*[ \t]*\(/)) {
        name = substr(rest, RSTART, RLENGTH - 1)
        sub(/[ \t]+$/, "", name)
        before = RSTART > 1 ? substr(rest, RSTART - 1, 1) : ""
        if (name in forbidden && before != "." && before != ">")
            offence(FNR, "the library never prints, exits or allocates by itself (base/error.h, base/memory.h): " name)
        rest = substr(rest, RSTART + RLENGTH)
    }
    if (code ~ /printf[ \t]*\([ \t]*std(err|out)/ || code ~ /(puts|putc|fwrite|fflush)[ \t]*\(.*std(err|out)/)
        offence(FNR, "the library never prints: stdout and stderr belong to the program")
}

# ---- statements: what stands between ; { and } ----
function check_statement(text, end) {
    gsub(/[ \t]+/, " ", text)
    sub(/^ /, "", text)
    sub(/ $/, "", text)
    if (depth == 0 && end == "{" && base_name ~ /\.h$/ && text ~ /\)$/ && text !~ /^VECTOR_HELPER /)
        offence(FNR, "a header of src/ declares; the body belongs into a .c file: " text)
    if ((end == ";" || text ~ /=/) && text ~ /^static / && text !~ /(^| )const( |$)/ && text !~ /^[^=]*\(/ &&
        !listed(stateful, file))
        offence(FNR, "no static state: " text)
}
function check_code(code,    c) {
    while (match(code, /[;{}]/)) {
        c = substr(code, RSTART, 1)
        check_statement(statement substr(code, 1, RSTART - 1), c)
        statement = ""
        if (c == "{") depth++
        if (c == "}" && depth > 0) depth--
        code = substr(code, RSTART + 1)
    }
    statement = statement code " "
}

function start_file(    parts, n) {
    finish_file()
    file = FILENAME
    sub(/^\.\//, "", file)
    n = split(file, parts, "/")
    base_name = parts[n]
    place = parts[1]
    tier = place == "src" ? parts[2] : place
    is_c = base_name ~ /\.[ch]$/
    in_comment = depth = macro = 0
    statement = ""
    lines = 0
    if (is_c && place == "src" && n < 3) offence(1, "a source file lies in a folder of src/")
    else if (is_c && !(tier in known)) {
        offence(1, tier " is in no tier: give it a row in tools/check_tiers.sh")
        known[tier] = 1
        allowed[tier] = "*" # told once
    }
}
function finish_file() {
    most = file ~ public "$" ? longest_public : longest
    if (file != "" && lines > most) offence(lines, "a file has at most " most " lines: found " lines)
}

BEGIN {
    n = split(tiers, row, "\n")
    for (i = 1; i <= n; i++) {
        if (row[i] == "") continue
        split(row[i], word, /[ \t]+/)
        name = word[1]
        known[name] = 1
        if (name !~ /^(include|cli|tests|bench)$/) source_tier[name] = 1
        rest = row[i]
        sub(/^[^ \t]+[ \t]*/, "", rest)
        allowed_text[name] = rest == "" ? "" : " and " rest
        allowed[name] = rest
    }
    n = split(families, word, " ")
    for (i = 1; i <= n; i++) family[word[i]] = 1
    n = split(calls, word, /[ \n]+/)
    for (i = 1; i <= n; i++) forbidden[word[i]] = 1
}

FNR == 1 { start_file() }
{ lines = FNR }

!is_c { # build files and scripts: a comment may name what is banned
    text = $0
    sub(/(^|[ \t])#.*$/, "", text)
    if (text ~ flags) offence(FNR, "floating point stays IEEE and binaries portable: no " flags)
    next
}

{
    code = strip($0)
    if (code ~ /^[ \t]*#[ \t]*include/) check_include($0)
    if ($0 ~ flags && (code ~ /pragma|__attribute__|_Pragma/))
        offence(FNR, "floating point stays IEEE and binaries portable: no " flags)
    if (place != "src") next
    if (listed(speakers, file)) next
    check_calls(code)
    if (!macro && code !~ /^[ \t]*#/) check_code(code)
    macro = (macro || code ~ /^[ \t]*#/) && $0 ~ /\\$/
}

END {
    finish_file()
    if (offences) {
        print offences (offences == 1 ? " offence" : " offences") " against the rules in tools/check_tiers.sh"
        exit 1
    }
}' $c_files $build_files
echo "tiers: every include and habit of the house holds"
