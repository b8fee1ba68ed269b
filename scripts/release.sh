#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Makes everything that a release has: scripts/release.sh [FOLDER]. The folder, target/dist unless
# named, gets the Debian package, the book, the list of components (CycloneDX) and SHA256SUMS.
#
# The same commit, compilers and Debian release give the same bytes for each user and in each
# folder: paths are replaced in the binary, and all dates are the commit's.
# PROFILE=dev compiles in a fifth of the time, and BINARY=FILE compiles nothing, for tests of this
# script.
set -eu
cd "$(dirname "$0")/.."

to=${1:-target/dist}
mkdir -p "$to"
to=$(realpath "$to")
here=$PWD
PATH="${CARGO_HOME:-$HOME/.cargo}/bin:$PATH"
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
export PATH SOURCE_DATE_EPOCH
umask 022
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml)
base=fairground-$version
profile=${PROFILE:-release}
case "$profile" in
dev) built=target/release-build/debug ;;
*) built=target/release-build/$profile ;;
esac

# In a target folder of its own, because other flags would build everything anew in the usual one.
binary() {
    cargo fetch --locked --quiet
    # Paths of this repository are relative in the binary already. To replace them would give cargo
    # other flags, and so other names of symbols, in each folder.
    # The linker strips: names of symbols differ, and its identity of the build is a hash of them
    # too.
    rust="-Cstrip=symbols" c=""
    for registry in "${CARGO_HOME:-$HOME/.cargo}"/registry/src/*; do
        rust="$rust --remap-path-prefix=$registry=/crates"
        c="$c -ffile-prefix-map=$registry=/crates"
    done
    RUSTFLAGS=$rust CFLAGS=$c CARGO_TARGET_DIR=$here/target/release-build CARGO_INCREMENTAL=0 \
        cargo build --profile "$profile" --locked --package fairground
}

book() {
    rm -rf "target/$base-book"
    mdbook build docs --dest-dir "$here/target/$base-book" >/dev/null 2>&1
    tar --create --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner \
        --format=gnu --directory target "$base-book" | gzip -9n >"$to/$base-book.tar.gz"
}

components() {
    cargo cyclonedx --quiet --manifest-path crates/fairground/Cargo.toml --format json \
        --spec-version 1.5 --describe binaries --target x86_64-unknown-linux-gnu --no-build-deps
    sed "s|path+file://$here/|path+file:///|g" crates/fairground/fairground_bin.cdx.json \
        >"$to/$base.cdx.json"
    # The tool writes next to each manifest.
    rm -f crates/*/*.cdx.json
}

if [ -z "${BINARY:-}" ]; then
    binary
    BINARY=$built/fairground
fi
scripts/deb.sh "$BINARY" "$to"
book
components
(cd "$to" && LC_ALL=C sha256sum fairground[_-]"$version"* >SHA256SUMS)
echo "$to/SHA256SUMS"
