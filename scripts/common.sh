# shellcheck shell=bash
# shellcheck disable=SC2034 # used by those that source this
# What scripts/demo and scripts/test share: talk, packages, phases with their time. Sourced from the tree's root.

say() { printf '%s\n' "$*"; }
die() {
    printf '%s\n' "$*" >&2
    exit 1
}

# Threads that wait should sleep: on a busy machine those that spin take the processor from those that work.
export OMP_WAIT_POLICY="${OMP_WAIT_POLICY:-passive}"

# ---- packages ----------------------------------------------------------------------------------

# What each is for; the scripts name the ones that they need.
declare -A purpose=(
    [cmake]="configures the build"
    [ninja-build]="runs the build"
    [gcc]="compiles"
    [libc6-dev]="the C library's headers"
    [pkg-config]="finds libraries"
    [libdnnl-dev]="oneDNN: matrix products"
    [libjansson-dev]="JSON"
    [libcairo2-dev]="pictures"
    [libcmocka-dev]="tests"
    [valgrind]="looks for leaks"
    [libopenblas-dev]="matrix products by CBLAS"
    [clang]="the second compiler, and the fuzzers"
    [libclang-rt-dev]="clang's sanitizers and fuzzer"
    [libomp-dev]="clang's OpenMP"
)
build_packages=(cmake ninja-build gcc libc6-dev pkg-config libdnnl-dev libjansson-dev libcairo2-dev libcmocka-dev)

installed() { [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }

is_root() { [ "$(id -u)" = 0 ]; }
as_root() { if is_root; then "$@"; else sudo "$@"; fi; }

apt() { as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300 "$@"; }

# need_packages NAME...: installs those that are missing, and says which and why.
need_packages() {
    local name missing=()
    if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
        say "This is no Debian or Ubuntu, so nothing is installed; what the build needs is known there as: $*"
        return 0
    fi
    for name in "$@"; do
        installed "$name" || missing+=("$name")
    done
    [ ${#missing[@]} -gt 0 ] || return 0
    say "Missing packages:"
    for name in "${missing[@]}"; do
        printf '  %-16s %s\n' "$name" "${purpose[$name]}"
    done
    is_root || command -v sudo >/dev/null ||
        die "Installing them needs root, and there is no sudo here. As root: apt-get install ${missing[*]}"
    # Asks for the password, if it takes one, while the terminal is still there to ask at.
    is_root || sudo -v || die "Installing them needs root, and sudo refused. As root: apt-get install ${missing[*]}"
    mkdir -p build
    logged "Installing them with apt-get" build/packages.log install_packages "${missing[@]}"
}

# Old lists may name packages that the mirror has no more; a mirror that is away may still have left good lists.
install_packages() {
    apt update || say "apt-get update failed; trying with the package lists that are there"
    apt install -y --no-install-recommends "$@"
}

# ---- phases ------------------------------------------------------------------------------------

# logged TITLE LOG COMMAND...: one line with its time; what the command writes goes to LOG and is shown if it fails.
logged() {
    local title=$1 log=$2 start=$SECONDS
    shift 2
    printf '%s ... ' "$title"
    if "$@" >"$log" 2>&1 </dev/null; then
        say "done, $((SECONDS - start)) s"
    else
        say "failed after $((SECONDS - start)) s. The end of $log:"
        tail -n 40 "$log"
        return 1
    fi
}

# Presets of an older CMake mean something else; its own message speaks of an "unrecognized version".
check_cmake() {
    local version
    version=$(cmake --version | sed -n '1s/^cmake version //p')
    [ "$(printf '%s\n3.25\n' "$version" | sort -V | head -n 1)" = 3.25 ] ||
        die "The build needs CMake 3.25 or newer (Debian 12 and Ubuntu 24.04 have it); found $version."
}

processors() { nproc 2>/dev/null || echo 2; }

# Without a home fontconfig has nowhere to keep its cache, and says so.
if [ -z "${HOME:-}" ]; then export XDG_CACHE_HOME="${XDG_CACHE_HOME:-$PWD/build/cache}"; fi
