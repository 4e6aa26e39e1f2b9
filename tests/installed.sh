#!/usr/bin/env bash
# The installed tree: manual pages and completions are there (pages.sh reads them), and every recipe, as the command
# reads it; the examples build against it by pkg-config and by CMake, shared and static, and run; nothing but ch_* is
# visible in either library, so a program's own `add` stays its own.
# Absolute folders for libraries and headers stand in clearhead.pc as they are.
#   installed.sh SOURCE-FOLDER BUILD-FOLDER COMPILER
set -euo pipefail
source=$1 build=$2 compiler=$3
work=$(mktemp -d "${TMPDIR:-/tmp}/clearhead_installed.XXXXXX")
trap 'rm -rf "$work"' EXIT
cmake --build "$build" --target clearhead ch_shared ch_static ch_pages >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
cmake --install "$build" --prefix "$work/tree" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
library=$(dirname "$(find "$work/tree" -name libclearhead.a)")
export PKG_CONFIG_PATH="$library/pkgconfig" LD_LIBRARY_PATH="$library"
cd "$work"

fail() {
    printf '%s\n' "$*"
    exit 1
}

# ---- names ----
seen=$(nm -D --defined-only "$library/libclearhead.so" | awk '{ print $NF }' | grep -v '^ch_' || true)
[ -z "$seen" ] || fail "the shared library shows other names than ch_*: $seen"
seen=$(nm --extern-only --defined-only "$library/libclearhead.a" | awk 'NF == 3 { print $3 }' | grep -v '^ch_' || true)
[ -z "$seen" ] || fail "the static library shows other names than ch_*: $seen"

# ---- manual pages, completions ----
for name in $("$work/tree/bin/clearhead" help | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/-\1/p') ""; do
    [ -s "$work/tree/share/man/man1/clearhead$name.1" ] || fail "the manual page clearhead$name(1) was not installed"
done
for file in bash-completion/completions/clearhead zsh/site-functions/_clearhead \
    fish/vendor_completions.d/clearhead.fish; do
    grep -q clearhead "$work/tree/share/$file" || fail "share/$file was not installed"
done

# ---- recipes ----
for recipe in "$source"/recipes/*.json; do
    file=$work/tree/share/clearhead/recipes/$(basename "$recipe")
    cmp -s "$recipe" "$file" || fail "$file was not installed as $recipe has it"
    "$work/tree/bin/clearhead" summary --recipe "$file" --text "$source/README.md" >log 2>&1 || { cat log; fail "$file is not read"; }
done

# ---- examples ----
warnings="-std=c11 -Wall -Wextra -pedantic -Werror" # nothing but C11 and the library is asked for
examples="train_and_decode attention_map decode_threads claims"
model="$source/tests/data/lesson_tiny_model.safetensors"

# check_examples FOLDER: what they print.
check_examples() {
    [ "$("$1/train_and_decode" | tail -1)" = "3 1 4 1 5 -> 5 1 4 1 3" ] || fail "$1: train_and_decode: $("$1/train_and_decode")"
    "$1/attention_map" "$model" 3 1 4 1 | tail -1 | grep '^reversing: ' >/dev/null || fail "$1: attention_map: $("$1/attention_map" "$model" 3 1 4 1)"
    [ "$("$1/decode_threads" "$model" | grep -c ': 100 of 100 reversed')" = 4 ] || fail "$1: decode_threads: $("$1/decode_threads" "$model")"
    "$1/claims" >"$1/claims.out" || fail "$1: claims: $(cat "$1/claims.out")"
}

# by_pkg_config FOLDER OPTIONS-FOR-PKG-CONFIG LINK-OPTIONS
by_pkg_config() {
    mkdir "$1"
    for example in $examples; do
        # shellcheck disable=SC2046,SC2086
        "$compiler" $warnings $(pkg-config --cflags clearhead) "$source/examples/$example.c" $3 \
            $(pkg-config --libs $2 clearhead) -pthread -lm -o "$1/$example"
    done
    check_examples "$1"
}
by_pkg_config shared "" ""
mkdir static_only && cp "$library/libclearhead.a" static_only/
by_pkg_config static --static -Lstatic_only

# by_cmake FOLDER COMPONENTS TARGET
by_cmake() {
    mkdir "$1"
    cat >"$1/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.25)
project(outside LANGUAGES C)
find_package(clearhead 0.1 REQUIRED $2)
find_package(Threads REQUIRED)
foreach(example $examples)
  add_executable(\${example} $source/examples/\${example}.c)
  target_link_libraries(\${example} $3 Threads::Threads m)
endforeach()
END
    {
        cmake -G Ninja -S "$1" -B "$1" -DCMAKE_PREFIX_PATH="$work/tree" -DCMAKE_C_COMPILER="$compiler" &&
            cmake --build "$1"
    } >log 2>&1 || { cat log; exit 1; }
    check_examples "$1"
}
by_cmake cmake_shared "" clearhead::clearhead
by_cmake cmake_static "COMPONENTS static" clearhead::clearhead_static
# A project without C is told so: the static library's own libraries are found in C.
mkdir no_c
printf '%s\n' 'cmake_minimum_required(VERSION 3.25)' 'project(outside LANGUAGES NONE)' \
    'find_package(clearhead 0.1 REQUIRED COMPONENTS static)' >no_c/CMakeLists.txt
! cmake -G Ninja -S no_c -B no_c -DCMAKE_PREFIX_PATH="$work/tree" >log 2>&1 || fail "a project without C found the static library"
grep 'the static library needs the language C' log >/dev/null || { cat log; fail "no word about the language C"; }
# (grep without -q: it would leave before ldd is done, which counts as a failure of ldd)
for folder in shared cmake_shared; do
    ldd "$folder/attention_map" | grep "$library/libclearhead.so.0" >/dev/null || fail "$folder: the shared library was not used"
done
for folder in static cmake_static; do
    ! ldd "$folder/attention_map" | grep libclearhead >/dev/null || fail "$folder: the program needs the shared library"
done

# ---- absolute folders ----
# check_pc LIBDIR INCLUDEDIR EXPECTED-LIBDIR EXPECTED-INCLUDEDIR: what clearhead.pc of a build configured so says.
mkdir -p absolute/lib absolute/headers
cp -a "$library"/libclearhead.* absolute/lib/
cp "$work/tree/include/clearhead.h" absolute/headers/
check_pc() {
    cmake -G Ninja -S "$source" -B configured -DCMAKE_C_COMPILER="$compiler" -DCMAKE_INSTALL_PREFIX="$work/prefix" \
        -DCMAKE_INSTALL_LIBDIR="$1" -DCMAKE_INSTALL_INCLUDEDIR="$2" >log 2>&1 || { cat log; exit 1; }
    mkdir -p pc/lib/pkgconfig && cp configured/clearhead.pc pc/lib/pkgconfig/
    local name
    for name in "libdir $3" "includedir $4"; do
        found=$(PKG_CONFIG_PATH="$work/pc/lib/pkgconfig" pkg-config --variable="${name% *}" clearhead)
        [ "$(realpath -m "$found")" = "${name#* }" ] || fail "clearhead.pc of $1, $2: ${name% *}: expected ${name#* }, found $found"
    done
}
check_pc lib include "$work/pc/lib" "$work/pc/include"
check_pc lib "$work/absolute/headers" "$work/pc/lib" "$work/absolute/headers"
check_pc "$work/absolute/lib" include "$work/absolute/lib" "$work/prefix/include"
check_pc "$work/absolute/lib" "$work/absolute/headers" "$work/absolute/lib" "$work/absolute/headers"
# shellcheck disable=SC2046,SC2086
PKG_CONFIG_PATH="$work/pc/lib/pkgconfig" "$compiler" $warnings "$source/examples/attention_map.c" \
    $(PKG_CONFIG_PATH="$work/pc/lib/pkgconfig" pkg-config --cflags --libs clearhead) -o absolute/attention_map
LD_LIBRARY_PATH="$work/absolute/lib" absolute/attention_map "$model" 3 1 4 1 | grep '^reversing: ' >/dev/null ||
    fail "the program built with absolute folders does not run"

# ---- a program with an `add` of its own ----
cat >own_add.c <<'END'
#include <clearhead.h>
int add(int a, int b);
int calls;
int add(int a, int b) { return calls++, a + b; }
int main(void) {
    ch_error error;
    ch_recipe *recipe;
    ch_trainer *trainer;
    ch_step step;
    if (ch_recipe_new(&recipe, &error) || ch_trainer_new(recipe, NULL, &trainer, &error)) return 1;
    if (ch_trainer_step(trainer, &step, &error)) return 1;
    ch_trainer_free(trainer);
    ch_recipe_free(recipe);
    return calls;
}
END
for link in "" -Lstatic_only; do
    # shellcheck disable=SC2046,SC2086
    "$compiler" $(pkg-config --cflags clearhead) own_add.c $link $(pkg-config --libs --static clearhead) -o own_add
    ./own_add || fail "the library called the program's own add"
done
echo "names, pages, pkg-config and CMake (shared, static), own names: as they should be"
