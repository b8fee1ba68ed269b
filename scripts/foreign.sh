#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Uses each package of a release on systems without apt, as scripts/chroot.sh has them, and writes
# the table of docs/src/how-to/install.md: scripts/foreign.sh [FOLDER], target/dist unless named.
# Arch's package is made of the PKGBUILD first. Exit code 77: this machine cannot do it.
set -eu
cd "$(dirname "$0")/.."

to=$(realpath "${1:-target/dist}")
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml)
archive=fairground-$version-x86_64-linux.tar.gz

# makepkg refuses to be root.
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
trap 'exit 130' INT TERM
cp "$to/PKGBUILD" "$to/$archive" "$made/"
nobody=""
if [ "$(id -u)" -eq 0 ]; then
    chown -R 65534:65534 "$made"
    nobody="setpriv --reuid=65534 --regid=65534 --clear-groups"
fi
(cd "$made" && HOME=$made PKGEXT=.pkg.tar.zst $nobody makepkg --nodeps >makepkg.log 2>&1) || {
    tail -n 20 "$made/makepkg.log" >&2
    exit 1
}

nix-instantiate --parse flake.nix >/dev/null

rows=""
use() { # use SYSTEM PACKAGE WORDS: a line of the table, if everything works there
    scripts/chroot.sh "$1" "$2"
    size=$(du --apparent-size --block-size=100K "$2" | awk '{ printf "%.1f MB", $1 / 10 }')
    rows="$rows
| $3 | \`$(basename "$2")\` | $size | yes | yes | yes |"
}

use bare "$to/$archive" "busybox, without a C library and clang"
use nixos "$to/$archive" "NixOS and others"
use fedora "$to/fairground-$version-1.x86_64.rpm" Fedora
use opensuse "$to/fairground-$version-1.x86_64.rpm" openSUSE
use arch "$made/fairground-$version-1-x86_64.pkg.tar.zst" "Arch Linux"

page=docs/src/how-to/install.md
awk -v rows="| system | package | size | installs | simulates | \`doctor\` |
|---|---|---|---|---|---|$rows" '
    /^<!-- end -->$/ { inside = 0 }
    !inside
    /^<!-- scripts\/foreign.sh -->$/ { print "\n" rows "\n"; inside = 1 }' "$page" >"$made/page"
cat "$made/page" >"$page"
