#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Makes everything that a release has: scripts/release.sh [FOLDER]. The folder, target/dist unless
# named, gets a portable archive, the Debian package, the RPM, Arch's PKGBUILD, the book, the list
# of components (CycloneDX) and SHA256SUMS. All have one program. It is static: it needs no library,
# so it runs on each distribution.
#
# The same commit, compilers and Debian release give the same bytes for each user and in each
# folder: paths are replaced in the binary, and all dates are the commit's.
# PROFILE=dev compiles in a fifth of the time, BINARY=FILE compiles nothing, and FLAGS=1 only writes
# the flags of a static program, for tests of this script.
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
portable=$base-x86_64-linux
triple=x86_64-unknown-linux-gnu
profile=${PROFILE:-release}
case "$profile" in
dev) built=target/release-build/$triple/debug ;;
*) built=target/release-build/$triple/$profile ;;
esac

# What makes a program static. The linker strips: names of symbols differ, and its identity of the
# build is a hash of them too.
static_flags() {
    printf '%s' "-Cstrip=symbols -Ctarget-feature=+crt-static"
    # libelf may need further libraries, which come last. By the names of their archives: with a
    # shared one among them the linker makes a binary that crashes before `main`.
    for library in $(pkg-config --static --libs-only-l libelf); do
        printf ' %s' "-Clink-arg=-l:lib${library#-l}.a"
    done
}

if [ -n "${FLAGS:-}" ]; then
    static_flags
    exit
fi

# In a target folder of its own, because other flags would build everything anew in the usual one.
binary() {
    cargo fetch --locked --quiet
    # Paths of this repository are relative in the binary already. To replace them would give cargo
    # other flags, and so other names of symbols, in each folder.
    rust=$(static_flags) c=""
    for registry in "${CARGO_HOME:-$HOME/.cargo}"/registry/src/*; do
        rust="$rust --remap-path-prefix=$registry=/crates"
        c="$c -ffile-prefix-map=$registry=/crates"
    done
    RUSTFLAGS=$rust CFLAGS=$c CARGO_TARGET_DIR=$here/target/release-build CARGO_INCREMENTAL=0 \
        cargo build --profile "$profile" --locked --package fairground --target "$triple"
}

archive() { # archive FOLDER: of target
    tar --create --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner \
        --format=gnu --directory target "$1" | gzip -9n >"$to/$1.tar.gz"
}

book() {
    rm -rf "target/$base-book"
    cp -a target/deb/book "target/$base-book"
    archive "$base-book"
}

# What deb.sh has staged, as below /usr.
portable() {
    tree=target/$portable
    share=$tree/share
    rm -rf "$tree"
    install -D -m 755 target/deb/fairground "$tree/bin/fairground"
    install -D -m 644 -t "$share/man/man1" target/deb/man/*
    install -D -m 644 target/deb/completions/bash "$share/bash-completion/completions/fairground"
    install -D -m 644 target/deb/completions/zsh "$share/zsh/site-functions/_fairground"
    install -D -m 644 target/deb/completions/fish \
        "$share/fish/vendor_completions.d/fairground.fish"
    install -D -m 644 -t "$tree/lib/systemd/system" packaging/fairground-scheduler@.service
    install -D -m 644 -t "$share/doc/fairground" COPYING target/deb/*.gz
    cp -a target/deb/book "$share/doc/fairground/book"
    archive "$portable"
}

# Both pack the portable archive.
rpm_and_pkgbuild() {
    sha256=$(sha256sum <"$to/$portable.tar.gz" | cut -d' ' -f1)
    sed "s/@VERSION@/$version/; s/@SHA256@/$sha256/" packaging/PKGBUILD >"$to/PKGBUILD"
    sed "s/@VERSION@/$version/" packaging/fairground.spec >target/fairground.spec
    rpmbuild -bb --quiet --define "_topdir $here/target/rpm" --define "_sourcedir $to" \
        --define "_rpmdir $to" --define "_build_name_fmt $base-1.%%{ARCH}.rpm" \
        --define "_buildhost fairground" --define "use_source_date_epoch_as_buildtime 1" \
        --define "clamp_mtime_to_source_date_epoch 1" target/fairground.spec
}

components() {
    cargo cyclonedx --quiet --manifest-path crates/fairground/Cargo.toml --format json \
        --spec-version 1.5 --describe binaries --target "$triple" --no-build-deps
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
portable
rpm_and_pkgbuild
book
components
(cd "$to" && LC_ALL=C sha256sum PKGBUILD fairground[_-]"$version"* >SHA256SUMS)
echo "$to/SHA256SUMS"
