#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Makes a Debian package of a built binary: scripts/deb.sh [BINARY [FOLDER]]. Prints the package's
# path. The same commit and the same binary give the same bytes: all dates are the commit's.
set -eu
cd "$(dirname "$0")/.."

binary=$(realpath "${1:-target/release/fairground}")
to=${2:-target/packages}
stage=target/deb
PATH="${CARGO_HOME:-$HOME/.cargo}/bin:$PATH"
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
export PATH SOURCE_DATE_EPOCH
umask 022

maintainer=$(sed -n 's/^maintainer = "\(.*\)"$/\1/p' crates/fairground/Cargo.toml)
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml)

# The points of CHANGELOG.md for this version, one per line.
points() {
    awk -v version="$version" '
        /^## / { wanted = ($2 == version || $2 == version ","); next }
        !wanted { next }
        /^- / { if (point) print point; point = substr($0, 3); next }
        /^  / && point { point = point " " substr($0, 3); next }
        { if (point) print point; point = "" }
        END { if (point) print point }
    ' CHANGELOG.md
}

# The same in the form that Debian's tools read.
changelog() {
    printf 'fairground (%s) unstable; urgency=medium\n\n' "$version"
    points | while read -r point; do
        echo "$point" | fold -s -w 74 | sed 's/ *$//; 1s/^/  * /; 2,$s/^/    /'
    done
    printf '\n -- %s  %s\n' "$maintainer" "$(LC_ALL=C date -u -R -d "@$SOURCE_DATE_EPOCH")"
}

rm -rf "$stage"
mkdir -p "$stage/man" "$stage/completions" "$to"
install -m 755 "$binary" "$stage/fairground"
strip "$stage/fairground"
"$binary" doctor manual --output "$stage/man"
gzip -9n "$stage"/man/*
for shell in bash zsh fish; do
    "$binary" doctor completions "$shell" >"$stage/completions/$shell"
done
scripts/third_party.sh | gzip -9n >"$stage/THIRD-PARTY.gz"
changelog | gzip -9n >"$stage/changelog.gz"
gzip -9n <CHANGELOG.md >"$stage/CHANGELOG.md.gz"
mdbook build docs --dest-dir "$PWD/$stage/book" >/dev/null 2>&1 || {
    echo "deb.sh: mdbook build docs failed; scripts/setup.sh packages installs it" >&2
    exit 1
}
CARGO_TARGET_DIR=$PWD/target cargo deb --quiet --no-build --no-strip --locked --compress-type xz \
    --package fairground --output "$to/" >/dev/null
echo "$to/fairground_${version}_$(dpkg --print-architecture).deb"
