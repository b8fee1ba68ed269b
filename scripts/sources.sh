#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Gets a source tree that a workload builds, and configures it: scripts/sources.sh bzip2
#
# It comes from the Debian mirror that the machine's own apt sources name, through an apt state of
# its own, and stays in Fairground's home. No root. For a tree that the VM builds too it lists what
# its build reads, see `list`.
set -eu

name="${1:-}"
home="${FAIRGROUND_HOME:-${XDG_DATA_HOME:-$HOME/.local/share}/fairground}"
tree="$home/sources/$name"

build=""
case "$name" in
bzip2)
    package=bzip2
    configure=true # its makefile is ready
    build="make -s bzip2 bzip2recover"
    tools=sources
    ;;
postgresql)
    # The release that this Debian calls its own: postgresql-15, postgresql-17 …
    package=$(apt-cache show postgresql |
        sed -n 's/^Depends: \(postgresql-[0-9]*\).*/\1/p' | head -n 1)
    configure="./configure --without-readline --without-zlib --without-icu"
    tools="sources postgresql"
    ;;
*)
    echo "usage: scripts/sources.sh bzip2|postgresql" >&2
    exit 2
    ;;
esac

# list FOLDER: what the VM must have to build the tree, for the code that packs it (trees.rs), from
# a build here. Files of the tree are ./FILE, others have their whole path. Which headers are
# read, the compiler says ($SUNPRO_DEPENDENCIES); what is linked to every program, the linker; what
# a compiler starts by itself, gcc.
list() {
    cd "$tree"
    make -s clean >/dev/null
    SUNPRO_DEPENDENCIES="$1/headers" $build >"$1/build.out" 2>&1 || {
        tail -n 5 "$1/build.out" >&2
        exit 1
    }
    make -s clean >/dev/null
    echo 'int main(void) { return 0; }' >"$1/main.c"
    gcc "$1/main.c" -o "$1/main" -Wl,--dependency-file="$1/linked"
    {
        cat "$1/headers" "$1/linked" | tr -s ' \\:' '\n'
        for part in cc1 collect2 as ld; do command -v "$(gcc -print-prog-name=$part)"; done
        gcc -print-file-name=liblto_plugin.so # ld wants it though nobody asks for LTO
    } | grep '^/' | grep -vF "$1/" | sort -u >"$1/named"
    # Without the compiler's own temporary files, which are gone.
    xargs realpath -es <"$1/named" >"$1/outside" 2>/dev/null || true
    find . -type f ! -name .fairground-files ! -name configure.out >"$1/inside"
    LC_ALL=C sort -u "$1/outside" "$1/inside" >.fairground-files
}

# shellcheck disable=SC2086 # a list of words
"$(dirname "$0")/setup.sh" $tools
if [ -e "$tree/.fairground-version" ]; then
    echo "$tree: $(cat "$tree/.fairground-version") is already here"
    # The compiler may be another one than then.
    if [ -n "$build" ]; then
        work=$(mktemp -d)
        trap 'rm -rf "$work"' EXIT
        (list "$work")
    fi
    exit 0
fi

# The list that names Debian's main archive, with its keys, asked for sources instead of packages;
# it may name other archives too, hence the release.
# shellcheck disable=SC2016 # apt's variables, not the shell's
entry=$(apt-get indextargets --format '$(LABEL)|$(COMPONENT)|$(CODENAME)|$(SOURCESENTRY)' \
    'Created-By: Packages' | sed -n 's/^Debian|main|\(.*\):[0-9]*$/\1/p' | head -n 1)
release="${entry%%|*}" list="${entry#*|}"
if [ -z "$list" ] || [ -z "$package" ]; then
    echo "sources.sh: this machine's apt knows no archive of Debian itself; apt-get update?" >&2
    exit 1
fi
mkdir -p "$home/sources"
work=$(mktemp -d -p "$home/sources")
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/parts" "$work/lists/partial" "$work/cache/archives/partial" "$work/tree"
sed -e 's/^Types:.*/Types: deb-src/' -e 's/^deb /deb-src /' "$list" \
    >"$work/parts/$(basename "$list")"

apt() {
    apt-get -qq -o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts="$work/parts" \
        -o Dir::State::lists="$work/lists" -o Dir::Cache="$work/cache" \
        -o APT::Sandbox::User=root "$@"
}

echo "getting the source of $package"
apt update
(cd "$work" && apt source --download-only "$package/$release" >/dev/null)
tar -xf "$work/$package"_*.orig.tar.* -C "$work/tree" --strip-components=1
version=$(sed -n 's/^Version: //p' "$work/$package"_*.dsc | head -n 1)

# Configured where it stays: the paths are written into its makefiles.
rm -rf "$tree"
mv "$work/tree" "$tree"
echo "configuring it"
(cd "$tree" && $configure >configure.out 2>&1) || {
    tail -n 5 "$tree/configure.out" >&2
    exit 1
}
echo "$package $version" >"$tree/.fairground-version"
[ -z "$build" ] || (list "$work")
echo "$tree: $package $version"
