#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Prints what the binary is linked with: each crate's name, version, licence, and the licences'
# texts as the crates bring them, each text once; and, as Debian has them, those of the libraries
# that a release contains because it is static.
set -eu
cd "$(dirname "$0")/.."

registry="${CARGO_HOME:-$HOME/.cargo}/registry/src"
seen=$(mktemp)
trap 'rm -f "$seen"' EXIT INT TERM

texts() { # texts FOLDER NAME: its licences' texts, unless another crate has brought the same
    for text in "$1"/[Ll][Ii][Cc][Ee][Nn][SsCc][Ee]* "$1"/COPYING* "$1"/UNLICENSE* \
        "$1"/libbpf/LICENSE*; do
        [ -f "$text" ] || continue
        sum=$(sha256sum <"$text" | cut -d' ' -f1)
        first=$(sed -n "s/^$sum //p" "$seen")
        if [ -n "$first" ]; then
            printf '\n%s: the text above, of %s\n' "${text#"$1"/}" "$first"
        else
            echo "$sum $2" >>"$seen"
            printf '\n%s:\n\n' "${text#"$1"/}"
            cat "$text"
        fi
    done
}

echo "What Fairground is linked with. Each crate's licence, then the texts that it brings."
cargo tree --locked --package fairground --edges normal --prefix none --no-dedupe \
    --target x86_64-unknown-linux-gnu --format '{p}|{l}' |
    sed 's/ (proc-macro)//' | grep -v '^fairground' | LC_ALL=C sort -u |
    while IFS='|' read -r crate licence; do
        name=${crate% v*} version=${crate##* v}
        printf '\n======== %s %s: %s\n' "$name" "$version" "$licence"
        for folder in "$registry"/*/"$name-$version"; do
            if [ -d "$folder" ]; then texts "$folder" "$name $version"; fi
        done
    done

for package in libc6-dev libgcc-*-dev libelf-dev zlib1g-dev; do
    for text in /usr/share/doc/$package/copyright; do
        [ -e "$text" ] || continue
        printf '\n======== Debian\047s %s\n\n' "$package"
        cat "$text"
    done
done
