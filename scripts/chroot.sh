#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Installs a package of Fairground in a fresh system and uses it there:
#
#     scripts/chroot.sh CODENAME PACKAGE [simulator|all]
#
# CODENAME is a Debian release, such as bookworm, for a .deb; or, for an .rpm, a .pkg.tar.zst or the
# portable .tar.gz, a foreign system: arch, fedora, opensuse and nixos have their /etc/os-release,
# clang, the C library of Debian 12, and neither apt nor dpkg; bare has busybox and nothing else.
# Packages of Debian come from the mirror that this machine's apt uses. `simulator` installs a
# compiler and asks the simulator; `all` (usual, and never on a foreign system) also installs QEMU
# and boots a kernel, one of $KERNELS if that names a folder with kernels, else one from the mirror.
# It prints how many seconds each step took. Exit code 77: this machine cannot do
# it, because it needs root, mmdebstrap and a mirror.
set -eu

codename=$1 package=$(realpath "$2") part=${3:-all}
here=$(cd "$(dirname "$0")/.." && pwd)
folder=$here/target/chroots
mkdir -p "$folder"

cannot() { # nothing is wrong with the package
    echo "skipped: $*" >&2
    exit 77
}

fail() {
    echo "chroot.sh: $*" >&2
    exit 1
}
# What such a system's /etc/os-release says, and how the hints for it begin.
base=$codename compiler=clang ids="" hint=""
case "$codename" in
bookworm) compiler=clang-19 ;; # its `clang` is too old
arch) ids="ID=arch" hint="pacman -S" ;;
fedora | bare) ids="ID=fedora" hint="dnf install" ;;
opensuse) ids='ID="opensuse-tumbleweed"\nID_LIKE="opensuse suse"' hint="zypper install" ;;
nixos) ids="ID=nixos" hint="this system's package manager" ;;
esac
if [ -n "$ids" ]; then base=bookworm compiler=clang-19 part=simulator; fi

[ "$(id -u)" -eq 0 ] || cannot "a chroot needs root"
command -v mmdebstrap >/dev/null || cannot "no mmdebstrap: scripts/setup.sh packages"

unshare --mount --pid --fork true 2>/dev/null || cannot "this system permits no mounts"

# Mounts and processes of this script are its own, and gone when it ends.
if [ -z "${FAIRGROUND_CHROOT:-}" ]; then
    FAIRGROUND_CHROOT=1 exec unshare --mount --pid --fork --kill-child "$0" "$@"
fi

mirror=$(apt-get indextargets --format '$(ORIGIN) $(LABEL) $(REPO_URI)' 'Identifier: Packages' |
    awk '$1 == "Debian" && $2 == "Debian" { print $3; exit }')
[ -n "$mirror" ] || cannot "this machine's apt names no mirror of Debian; run apt-get update"

release=${mirror%/}/dists/$base/Release
/usr/lib/apt/apt-helper download-file "$release" "$folder/Release" >/dev/null 2>&1 ||
    cannot "the mirror does not answer, or has no $base"

root=$(mktemp -d --tmpdir="$folder")
log=$root.log
clean() {
    umount -l "$root/proc" "$root/sys" 2>/dev/null || true
    rm -rf "$root" "$log" "$root.tar"
}
trap clean EXIT
trap 'exit 130' INT TERM

seconds() { # seconds WORDS COMMAND...: how long a command took; its output, if it fails
    what=$1
    shift
    begin=$(date +%s.%N)
    # Where a command's failure is asked for, as by `if`, the shell would go on after errors in it.
    set +e
    (
        set -e
        "$@"
    ) >"$log" 2>&1
    status=$?
    set -e
    if [ "$status" -ne 0 ]; then
        tail -n 40 "$log" >&2
        fail "$codename: $what: exit code $status"
    fi
    awk -v what="$what" -v name="$codename" -v begin="$begin" -v end="$(date +%s.%N)" \
        'BEGIN { printf "%s: %6.1f s  %s\n", name, end - begin, what }'
}

# PATH is set here: that of the caller may lack the folders of the system in the chroot.
inside() {
    chroot "$root" /usr/bin/env -i HOME=/root LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
        PATH=/opt/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
        ${http_proxy:+http_proxy="$http_proxy"} ${https_proxy:+https_proxy="$https_proxy"} "$@"
}

in_folder() { # in_folder COMMAND...: in an empty folder of the chroot, where a user would be
    inside sh -c 'cd /srv && exec "$@"' sh "$@"
}

system() {
    # A system without packages of ours is kept for a day: its mirror changes as often.
    tar=$folder/$base${ids:+-foreign}.tar with="--variant=minbase"
    if [ -n "$ids" ]; then with="--variant=essential --include=$compiler"; fi
    if [ "$codename" = bare ]; then
        mkdir -p "$root/bin" "$root/usr/bin" "$root/etc" "$root/srv" "$root/tmp" "$root/proc" \
            "$root/sys" "$root/root"
        cp "$(command -v busybox)" "$root/bin/busybox"
        for name in sh env; do ln -s /bin/busybox "$root/usr/bin/$name"; done
    else
        if [ -z "$(find "$tar" -mtime -1 2>/dev/null)" ]; then
            # shellcheck disable=SC2086 # a list of words
            mmdebstrap --quiet $with --mode=root --format=tar "$base" "$root.tar" "$mirror"
            mv "$root.tar" "$tar"
        fi
        tar -xf "$tar" -C "$root"
        cp /etc/resolv.conf "$root/etc/resolv.conf"
    fi
    if [ -n "$ids" ]; then
        rm -rf "$root"/usr/bin/apt* "$root"/usr/bin/dpkg* "$root"/usr/lib/apt "$root"/var/lib/dpkg \
            "$root"/var/lib/apt "$root"/etc/apt "$root"/etc/os-release "$root"/usr/lib/os-release
        printf '%b\n' "$ids" >"$root/etc/os-release"
    fi
    cp "$package" "$root/srv/"
    mount -t proc proc "$root/proc"
    mount -t sysfs -o ro sys "$root/sys"
}

stranger() {
    cat >"$root/srv/mine.bpf.c" <<'END'
#include <scx/common.bpf.h>

char _license[] SEC("license") = "GPL";

void BPF_STRUCT_OPS(mine_enqueue, struct task_struct *p, u64 enq_flags)
{
	scx_bpf_dsq_insert(p, SCX_DSQ_GLOBAL, 3000000, enq_flags);
}

SCX_OPS_DEFINE(mine, .enqueue = (void *)mine_enqueue, .name = "mine");
END
    if [ "$codename" = bare ]; then
        if own; then return 1; fi
        grep -q "no clang of version 16 or newer.*$hint clang" "$log"
    else
        own
        grep -q mine "$log"
    fi
}

own() {
    in_folder fairground run quick --on sim --workload messaging --scheduler ./mine.bpf.c \
        --store stranger.db
}

doctor() {
    in_folder fairground doctor
    grep -q '^yes  simulator ' "$log"
    if [ -n "$hint" ]; then
        grep -q "^ *$hint.*qemu" "$log"
        if grep -q "apt install" "$log"; then return 1; fi
    fi
}

# Into a foreign system, which has no programs of its own for it.
unpack() {
    case "$package" in
    *.rpm) rpm --root "$root" --force-debian --install "$package" ;;
    *.pkg.tar.*)
        mkdir -p "$root/var/lib/pacman"
        pacman --root "$root" --noconfirm --upgrade "$package"
        ;;
    *) mkdir -p "$root/opt" && tar -xf "$package" -C "$root/opt" --strip-components=1 ;;
    esac
}

install_with() { # install_with PACKAGE...: and not the graphical interface that QEMU recommends
    inside apt-get update -q
    inside apt-get install -q -y --no-install-recommends "/srv/$(basename "$package")" "$@"
}

files() { # everything is where a user looks for it, and no service is enabled
    inside sh -ec 'test -s /usr/share/doc/fairground/book/index.html
        test -s /usr/share/man/man1/fairground-run.1.gz
        test -s /usr/share/bash-completion/completions/fairground
        test -s "/usr/lib/systemd/system/fairground-scheduler@.service"
        test -z "$(find /etc/systemd -name "fairground*")"
        dpkg --verify fairground'
}

trial_in_vm() {
    if [ -n "${KERNELS:-}" ]; then
        mkdir -p "$root/root/.local/share/fairground"
        cp -a "$KERNELS" "$root/root/.local/share/fairground/kernels"
    else
        in_folder fairground kernel pull
    fi
    in_folder fairground run --on vm --workload wake_under_hogs --scheduler vtime --blocks 1 \
        --store vm.db
    in_folder fairground export csv --store vm.db | grep -q ',ok,'
}

# The steps of action.yml in a repository with a pull request that changes the stranger's slice.
pull_request() { # pull_request SLICE CODE: the last step's exit code must be CODE
    mkdir -p "$root/srv/action"
    cp -a "$here/action.yml" "$here/scripts" "$root/srv/action/"
    cat >"$root/srv/pull_request.sh" <<'END'
slice=$1 expected=$2
rm -rf repository summary.md
mkdir repository
cd repository
git init --quiet .
git config user.name author
git config user.email author@localhost
cp ../mine.bpf.c .
git add .
git commit --quiet --message "a scheduler"
BASE=$(git rev-parse HEAD)
sed -i "s/3000000/$slice/" mine.bpf.c
git commit --quiet --all --message "another slice"
export BASE SCHEDULER=mine.bpf.c WORKLOADS=frames VM_BLOCKS=1 CI=true
export GITHUB_STEP_SUMMARY=/srv/summary.md GITHUB_PATH=/srv/path GITHUB_ACTION_PATH=/srv/action
status=0
for step in install base measure report gate; do
    /srv/action/scripts/action.sh "$step" || { status=$?; break; }
done
cat /srv/summary.md
[ "$step" = gate ] && [ "$status" -eq "$expected" ]
test -s fairground-results/sim.html
END
    in_folder env VM_WORKLOADS="$vm_workloads" PACKAGE="/srv/$(basename "$package")" \
        sh -eu pull_request.sh "$1" "$2"
}

purge() {
    case "$package" in
    *.deb) inside apt-get purge -q -y fairground ;;
    *.rpm) rpm --root "$root" --force-debian --erase fairground ;;
    *.pkg.tar.*) pacman --root "$root" --noconfirm --remove fairground ;;
    *) rm -r "$root/opt" ;;
    esac
    test ! -e "$root/usr/bin/fairground"
}

is_foreign() { [ -n "$ids" ]; }

seconds "make the system" system
vm_workloads=""
case "$part" in
simulator) with="" ;;
all) with=qemu-system-x86 vm_workloads=wake_under_hogs ;;
*) fail "unknown part '$part': simulator or all" ;;
esac
if is_foreign; then
    seconds "install $(basename "$package")" unpack
else
    # shellcheck disable=SC2086 # one word or none
    seconds "install the package, $compiler, git $with" install_with "$compiler" git $with
    seconds "look at the files" files
fi
seconds "fairground run quick --on sim" in_folder fairground run quick --on sim --store race.db
seconds "fairground recommend --on sim" in_folder fairground recommend --care games --on sim --yes \
    --machine laptop_4 --store advice.db
seconds "a stranger's file with $compiler" stranger
seconds "fairground doctor" doctor
if [ "$part" = all ]; then
    seconds "one boot in QEMU" trial_in_vm
fi
if ! is_foreign; then
    seconds "the action, with a planted regression" pull_request 30000000 1
    seconds "the action, with a harmless change" pull_request "(3 * 1000 * 1000)" 0
fi
seconds "purge" purge
