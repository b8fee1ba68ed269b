#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Gets a source tree that a workload builds, and configures it: scripts/sources.sh postgresql
#
# It comes from the Debian mirror that the machine's own apt sources name, through an apt state of
# its own, and stays in Fairground's home. No root.
set -eu

name="${1:-}"
home="${FAIRGROUND_HOME:-${XDG_DATA_HOME:-$HOME/.local/share}/fairground}"
tree="$home/sources/$name"

case "$name" in
postgresql)
    # The release that this Debian calls its own: postgresql-15, postgresql-17 …
    package=$(apt-cache show postgresql |
        sed -n 's/^Depends: \(postgresql-[0-9]*\).*/\1/p' | head -n 1)
    configure="./configure --without-readline --without-zlib --without-icu"
    ;;
*)
    echo "usage: scripts/sources.sh postgresql" >&2
    exit 2
    ;;
esac

if [ -e "$tree/.fairground-version" ]; then
    echo "$tree: $(cat "$tree/.fairground-version") is already here"
    exit 0
fi
"$(dirname "$0")/setup.sh" sources

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
echo "$tree: $package $version"
