#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Makes two releases of the last commit, in folders whose paths differ in length too, and compares
# them byte by byte:
#
#     scripts/reproducible.sh [FOLDER]
#
# The releases are in FOLDER/one and FOLDER/two, target/dist unless named. With SHARED=1
# the second build takes the compiled dependencies of the first: only what this repository contains
# is compiled twice.
set -eu
cd "$(dirname "$0")/.."

to=${1:-target/dist}
mkdir -p "$to"
to=$(realpath "$to")
sources=$(mktemp -d)
trap 'rm -rf "$sources"' EXIT
trap 'exit 130' INT TERM

commit=$(git rev-parse HEAD)
for name in one two; do
    clone=$sources/$name-source
    if [ "$name" = two ]; then clone=$sources/$name/deeper/source; fi
    git clone --quiet . "$clone"
    git -C "$clone" checkout --quiet --detach "$commit"
    if [ "$name" != one ] && [ -n "${SHARED:-}" ]; then
        mkdir -p "$clone/target"
        cp -a "$sources/one-source/target/release-build" "$clone/target/"
    fi
    rm -rf "${to:?}/$name"
    "$clone/scripts/release.sh" "$to/$name"
done

if ! cmp "$to/one/SHA256SUMS" "$to/two/SHA256SUMS"; then
    diff "$to/one/SHA256SUMS" "$to/two/SHA256SUMS" >&2 || true
    echo "reproducible.sh: the two releases differ" >&2
    exit 1
fi
echo "the two releases are the same:"
cat "$to/one/SHA256SUMS"
