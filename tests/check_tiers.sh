#!/bin/sh
# tools/check_tiers.sh finds what it is for: each offence below is planted alone in a small clean tree, and must be
# told with its file and line.
#
#     tests/check_tiers.sh ROOT
set -eu
checker=$(cd "$1" && pwd)/tools/check_tiers.sh
folder=$(mktemp -d "${TMPDIR:-/tmp}/check_tiers.XXXXXX")
trap 'rm -rf "$folder"' EXIT
failed=0

# A tree that keeps every rule, with what looks like an offence and is none.
# shellcheck disable=SC1003 # a line of C that ends in a backslash
clean_tree() {
    rm -rf "$folder/tree"
    mkdir -p "$folder/tree"
    cd "$folder/tree"
    mkdir -p include src/base src/kernels src/nn src/io src/data src/api cli tests/data scripts
    echo 'int ch_x(void);' >include/clearhead.h
    printf '%s\n' '#include "clearhead.h"' '#define TWICE(x) \' '    { (x) + (x); }' 'struct s { int n; };' \
        'int f(int printf_count);' >src/base/error.h
    printf '%s\n' '#include "base/error.h"' '#include <stdio.h>' 'void g(void) { fprintf(stderr, "x"); abort(); }' \
        >src/base/error.c
    printf '%s\n' '#include "base/error.h"' '/* exit(1); "free(x)" */ // malloc(3)' \
        'static const int table[] = {1, 2}; /* static int n; */' 'static int f(int n) {' \
        '    static const char *const text = "free(x); static int n;";' '    pool.free(text), pool->malloc(n);' \
        '    int quote = '"'\"'"'; return table[n] + quote;' '}' >src/kernels/add.c
    printf '%s\n' '#include "base/error.h"' >src/nn/params.h
    printf '%s\n' '#include "nn/norm.h"' >src/nn/norm_rms.c
    : >src/nn/norm.h
    : >src/nn/norm_layernorm.h
    : >src/data/task.h
    printf '%s\n' '#include "nn/params.h"' >src/io/file.c
    printf '%s\n' '#include "clearhead.h"' '#include "command.h"' 'int main(void) { printf("free"); return 0; }' \
        >cli/main.c
    : >cli/command.h
    printf '%s\n' '#include "nn/norm.h"' '#include "data/golden.h"' '#include "data/task.h"' >tests/test_nn.c
    : >tests/data/golden.h
    echo '# never -Ofast' >CMakeLists.txt
}

# expect NAME PLACE: the tree is refused, and a line starts with PLACE.
expect() {
    if "$checker" "$folder/tree" >"$folder/out" 2>&1; then
        echo "not found: $1"
        failed=1
    elif ! grep -q "^$2: " "$folder/out"; then
        echo "$1: expected a line that starts with $2, found:"
        cat "$folder/out"
        failed=1
    else
        echo "found: $1"
    fi
}

# plant NAME FILE LINE...: adds lines to a file of the clean tree; the first of them is the offence.
plant() {
    name=$1 file=$2
    shift 2
    clean_tree
    touch "$file"
    line=$(($(wc -l <"$file") + 1))
    printf '%s\n' "$@" >>"$file"
    expect "$name" "$file:$line"
}

clean_tree
if "$checker" "$folder/tree" >"$folder/out" 2>&1; then
    echo "found: nothing in a clean tree"
else
    echo "a clean tree is refused:"
    cat "$folder/out"
    failed=1
fi

plant 'a kernel that includes a layer' src/kernels/add.c '#include "nn/norm.h"'
plant 'the same in angle brackets' src/kernels/add.c '#include <nn/norm.h>'
plant 'base that includes a kernel' src/base/text.c '#  include "kernels/kernels.h"'
plant 'io that includes more of nn than the parameter table' src/io/file.c '#include "nn/norm.h"'
plant 'a layer that includes data' src/nn/norm.h '#include "data/task.h"'
plant 'the command that includes an inner header' cli/main.c '#include "base/error.h"'
plant 'a layer that includes the command' src/nn/norm_rms.c '#include "cli/command.h"'
plant 'the library that includes a test' src/nn/norm_rms.c '#include "tests/support.h"'
plant 'the public header that includes an inner one' include/clearhead.h '#include "base/error.h"'
plant 'a way around by ..' src/nn/norm_rms.c '#include "../data/task.h"'
plant 'an include without its folder' src/nn/norm_rms.c '#include "norm.h"'
plant 'a variant that includes another' src/nn/norm_rms.c '#include "nn/norm_layernorm.h"'
plant 'printf' src/nn/norm_rms.c 'void f(void) { printf("x"); }'
plant 'fprintf to stderr' src/nn/norm_rms.c 'void f(void) { fprintf(stderr, "x"); }'
plant 'exit' src/nn/norm_rms.c 'void f(void) { exit (1); }'
plant 'malloc' src/nn/norm_rms.c 'void *f(void) { return malloc(3); }'
plant 'free behind a comment' src/nn/norm_rms.c '/* gone */ void f(void *x) { free(x); }'
plant 'a body in a header' src/nn/norm.h 'static inline int f(int n) { return n; }'
plant 'a static variable in a kernel' src/kernels/add.c 'static int calls;'
plant 'a static array with a start' src/kernels/add.c 'static float scratch[2] = {0};'
plant 'a static variable in a function' src/kernels/add.c 'int h(void) { static int n; return n++; }'
plant 'fast floating point' CMakeLists.txt 'add_compile_options(-O3 -ffast-math)'
plant 'this machine only' scripts/build 'cmake -DCMAKE_C_FLAGS=-march=native'
plant 'fast floating point by pragma' src/kernels/add.c '#pragma GCC optimize ("Ofast")'

clean_tree
mkdir src/doctor
: >src/doctor/rules.h
echo 'int x;' >src/doctor/rules.h
expect 'a folder of no tier' src/doctor/rules.h:1

clean_tree
yes '/* long */' | head -701 >src/nn/long.c
expect 'a file of 701 lines' src/nn/long.c:701

exit "$failed"
