#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Installs what is missing, and says what before it does. Groups: build, vm, test, full, docs,
# packages, foreign, bench, kernels, emulator, slurm, sources, postgresql, programs.
#
# With apt it installs (through sudo if not root). Without apt it prints the command that installs,
# with this distribution's names, and stops: `--like FILE GROUP…` prints that of the system whose
# /etc/os-release is FILE.
set -eu

system=/etc/os-release has_apt=""
if [ "${1:-}" = --like ]; then
    system=$2
    shift 2
elif command -v apt-get >/dev/null 2>&1; then
    has_apt=yes
fi
[ -e "$system" ] || system=/usr/lib/os-release

packages=""
crates=""
wheels=""

need() { # need PROGRAM PACKAGE: the package is missing if the program is
    command -v "$1" >/dev/null 2>&1 || packages="$packages $2"
}

need_header() { # need_header FILE PACKAGE
    for directory in /usr/include /usr/include/*-linux-gnu /usr/local/include; do
        [ -e "$directory/$1" ] && return
    done
    packages="$packages $2"
}

need_clang() { # clang 16 and later compile BPF well enough
    for version in 22 21 20 19 18 17 16; do
        command -v "clang-$version" >/dev/null 2>&1 && return
    done
    if command -v clang >/dev/null 2>&1; then
        major=$(clang -dumpversion | cut -d. -f1)
        [ "$major" -ge 16 ] && return
    fi
    packages="$packages clang-19"
}

need_crate() { # need_crate PROGRAM CRATE
    if ! command -v "$1" >/dev/null 2>&1 && ! [ -x "${CARGO_HOME:-$HOME/.cargo}/bin/$1" ]; then
        crates="$crates $2"
    fi
}

# What installs these packages on that system. crates/process/src/packages.rs does the same.
command_for() { # command_for PACKAGE...
    awk -v wanted="$*" '
        FNR == NR {
            if (sub(/^ID(_LIKE)?=/, "")) { gsub(/["\047]/, ""); ids = ids " " $0 }
            next
        }
        /^#/ { next }
        { cells = split($0, cell, /  +/) }
        ++row == 1 {
            for (i = split(ids, id, " "); i; i--)
                for (c = 1; c <= cells; c++) if (cell[c] == id[i]) column = c
            next
        }
        row == 2 { command = cell[column]; next }
        { name[cell[1]] = cell[column] }
        END {
            if (!column) {
                print "this system\047s package manager (Debian\047s names):", wanted
                exit
            }
            count = split(wanted, package, " ")
            for (i = 1; i <= count; i++) {
                here = package[i] in name ? name[package[i]] : package[i]
                if (here == "-") absent = absent " " package[i]
                else if (!seen[here]++) command = command " " here
            }
            print command (absent ? " # no package for" absent : "")
        }' "$system" "${0%/*}/../packaging/names.txt"
}

for group in "$@"; do
    case "$group" in
    build)
        need cc gcc
        need make make
        need pkg-config pkg-config
        need_clang
        need_header libelf.h libelf-dev
        need_header zlib.h zlib1g-dev
        ;;
    vm)
        need qemu-system-x86_64 qemu-system-x86
        need hackbench rt-tests
        ;;
    test)
        need stress-ng stress-ng
        need perf linux-perf
        need chromium chromium
        need rt-app rt-app
        need sqlite3 sqlite3
        /usr/bin/python3 -c 'import pandas' 2>/dev/null || packages="$packages python3-pandas"
        if ! /usr/bin/python3 -c 'import duckdb' 2>/dev/null; then
            wheels="$wheels duckdb"
            /usr/bin/python3 -c 'import pip' 2>/dev/null || packages="$packages python3-pip"
        fi
        need xz xz-utils
        need cpio cpio
        need systemctl systemd
        ;;
    full) # besides, for `make test-all`
        need tbench dbench
        need_crate scx_bpfland scx_bpfland
        ;;
    docs)
        need_crate mdbook mdbook
        ;;
    packages)
        need dpkg-shlibdeps dpkg-dev
        need lintian lintian
        need mmdebstrap mmdebstrap
        need strip binutils
        need systemctl systemd
        need xz xz-utils
        need rpmbuild rpm
        need_crate mdbook mdbook
        need_crate cargo-deb cargo-deb
        need_crate cargo-cyclonedx cargo-cyclonedx
        ;;
    foreign) # besides, for scripts/foreign.sh
        need rpm rpm
        need makepkg makepkg
        need bsdtar libarchive-tools
        need fakeroot fakeroot
        need zstd zstd
        need pacman pacman-package-manager
        need nix-instantiate nix-bin
        need busybox busybox-static
        ;;
    bench)
        need valgrind valgrind
        ;;
    kernels) # what `fairground kernel build` starts
        need bc bc
        need bison bison
        need flex flex
        need gcc gcc
        need make make
        need pahole dwarves
        need patch patch
        need perl perl
        need tar tar
        need xz xz-utils
        need_header gelf.h libelf-dev
        ;;
    emulator) # what `fairground kernel emulator build` starts
        need gcc gcc
        need ninja ninja-build
        need patch patch
        need pkg-config pkg-config
        need strip binutils
        need tar tar
        need xz xz-utils
        need_header glib-2.0/glib.h libglib2.0-dev
        need_header zlib.h zlib1g-dev
        /usr/bin/python3 -c 'import ensurepip' 2>/dev/null || packages="$packages python3-venv"
        ;;
    slurm) # a cluster on this machine
        need munged munge
        need sbatch slurm-client
        need slurmctld slurmctld
        need slurmd slurmd
        ;;
    sources) # for the trees of sources.sh
        need gcc gcc
        need make make
        ;;
    postgresql) # for its tree
        need bison bison
        need flex flex
        need bzip2 bzip2
        ;;
    programs) # what the workloads name; a workload also says what it lacks
        need 7zz 7zip
        need chromium chromium
        need ffmpeg ffmpeg
        need jitterdebugger jitterdebugger
        need mplayer mplayer
        need perf linux-perf
        need pgbench postgresql-client
        need ps procps
        need redis-benchmark redis-tools
        need redis-server redis-server
        ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1 || packages="$packages postgresql"
        need smbclient smbclient
        need smbd samba
        need setpriv util-linux
        need stress-ng stress-ng
        need sysbench sysbench
        need tbench dbench
        ;;
    *)
        groups="build vm test full docs packages foreign bench kernels emulator slurm sources"
        echo "setup.sh: unknown group '$group'; the groups are: $groups postgresql programs" >&2
        exit 2
        ;;
    esac
done

if ! command -v cargo >/dev/null 2>&1; then
    echo "Fairground is written in Rust: install Rust 1.91 or later (rustup) first." >&2
    exit 1
fi

if [ -n "$packages" ]; then
    if [ -z "$has_apt" ]; then
        # shellcheck disable=SC2086 # a list of words
        echo "Please run as root, then make again: $(command_for $packages)" >&2
        exit 1
    fi
    as_root=""
    if [ "$(id -u)" -ne 0 ]; then
        if ! command -v sudo >/dev/null 2>&1; then
            echo "Please run as root: apt-get install$packages" >&2
            exit 1
        fi
        as_root="sudo"
    fi
    echo "Fairground needs these packages and installs them now through apt:$packages"
    wait="DPkg::Lock::Timeout=300" # another installation may be under way
    $as_root apt-get -o $wait update -qq
    # shellcheck disable=SC2086 # a list of words
    DEBIAN_FRONTEND=noninteractive $as_root apt-get -o $wait install -y -qq \
        --no-install-recommends $packages >/dev/null
fi

for crate in $crates; do
    echo "Fairground needs the program $crate and installs it now through cargo."
    case "$crate" in
    # Without optimisation and the built-in server it compiles in half of the time, and still
    # builds the book in seconds.
    mdbook)
        CARGO_PROFILE_DEV_DEBUG=0 cargo install --locked --quiet --debug \
            --no-default-features --features search mdbook
        ;;
    cargo-cyclonedx | cargo-deb) # their work is small
        CARGO_PROFILE_DEV_DEBUG=0 cargo install --locked --quiet --debug "$crate"
        ;;
    *) # its work is in the kernel
        clang=$(basename -a /usr/bin/clang-[0-9]* | grep -x 'clang-[0-9]*' | sort -V | tail -n 1)
        CARGO_PROFILE_DEV_DEBUG=0 BPF_CLANG="${BPF_CLANG:-${clang:-clang}}" \
            cargo install --locked --quiet --debug "$crate"
        ;;
    esac
done

for wheel in $wheels; do
    echo "Fairground needs Python's $wheel and installs it now through pip."
    # Debian's pip keeps its hands off the system without this option.
    /usr/bin/python3 -m pip install --user --quiet --break-system-packages \
        --root-user-action=ignore "$wheel" ||
        echo "without it a test of the book is skipped" >&2
done
