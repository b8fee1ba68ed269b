#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# The steps of action.yml: scripts/action.sh install|base|measure|report|gate, in this order. What
# they need to know comes in variables, which action.yml sets from its inputs:
#
#     SCHEDULER          the scheduler's file, below the repository's root
#     BASE               the commit to compare with
#     WORKLOADS MACHINE BLOCKS            what the simulator runs; workloads are one per line
#     VM_WORKLOADS VM_MACHINE VM_BLOCKS   what kernels in QEMU run; no workload: no kernel is booted
#     MARGIN             the smallest change that counts, in percent
#     RESULTS            the folder that everything is written to
#     RUNNER_TEMP        a folder outside of the checkout, for the tree of the base
#     PACKAGE            a Debian package of Fairground, or nothing
#
# Names and paths of workloads and machines mean those of the base: `fairground` runs in the base's
# tree, and of the change it takes the scheduler alone. A change of what is measured is told, and
# counts once it is in the base.
#
# Exit codes are those of `fairground`: 1 if something is worse, 2 if an input is wrong.
set -eu

RESULTS=${RESULTS:-fairground-results}
summary=${GITHUB_STEP_SUMMARY:-/dev/null}
mkdir -p "$RESULTS"
before=$(realpath -m "${RUNNER_TEMP:-$RESULTS}/fairground-base")

wrong() {
    echo "::error::$*"
    printf '**Fairground:** %s\n\n' "$*" >>"$summary"
    exit 2
}

# In a container the repository belongs to another user.
own_git() { git -c safe.directory="$PWD" "$@"; }

install_it() {
    if [ -n "${PACKAGE:-}" ]; then
        as_root=""
        if [ "$(id -u)" -ne 0 ]; then as_root=sudo; fi
        $as_root apt-get update -qq
        $as_root apt-get install -y -qq "$(realpath "$PACKAGE")"
    elif ! command -v fairground >/dev/null; then
        command -v cargo >/dev/null ||
            wrong "install Rust before this step, or name a Debian package: \`package\`"
        make -C "$GITHUB_ACTION_PATH" build
        echo "$GITHUB_ACTION_PATH/target/release" >>"$GITHUB_PATH"
        PATH="$GITHUB_ACTION_PATH/target/release:$PATH"
    fi
    fairground --version
}

# What says what is measured, and how.
DEFINITIONS="workloads machines experiments cares claims kernels .github .fairground"

# The whole tree of the base, so that a scheduler finds the headers next to it.
base() {
    [ -f "$SCHEDULER" ] || wrong "\`scheduler\`: there is no file $SCHEDULER in this repository"
    [ -n "${BASE:-}" ] || wrong "\`base\`: name the commit to compare with; pull requests have one"
    [ -z "$(own_git ls-files -- "$RESULTS" 2>/dev/null)" ] ||
        wrong "\`results\`: the repository has files in $RESULTS; name another folder"
    own_git cat-file -e "$BASE^{commit}" 2>/dev/null ||
        own_git fetch --quiet --depth 1 origin "$BASE" ||
        wrong "\`base\`: there is no commit $BASE; check out with \`fetch-depth: 0\`"
    rm -rf "$before"
    mkdir -p "$before"
    own_git archive "$BASE" | tar -x -C "$before"
    tell_definitions
}

# Says which files of the change say what is measured. A file that an input names is one, too.
tell_definitions() {
    named=$(printf '%s\n' "${WORKLOADS:-}" "${MACHINE:-}" "${VM_WORKLOADS:-}" "${VM_MACHINE:-}" |
        awk '$1 ~ /[/.]/ && $1 !~ /^\/|\.\./ { print $1 }')
    # shellcheck disable=SC2086 # words
    changed=$(own_git diff --name-only "$BASE" -- $DEFINITIONS $named)
    [ -n "$changed" ] || return 0
    {
        printf '### Fairground: this change also changes what is measured\n\n'
        printf '%s\n' "$changed" | tr -d '`' | sed 's/.*/- `&`/'
        printf '\nThe definitions of the base count, until the change is in the base.\n\n'
    } | tee -a "$summary"
}

in_base() { (cd "$before" && fairground "$@" </dev/null); }

from_base() { realpath -m --relative-to="$before" "$1"; }

run() { # run BACKEND SIDE FILE MACHINE BLOCKS WORKLOADS: trials of one side; the verb's exit code
    backend=$1 side=$2 file=./$(from_base "$3") machine=$4 blocks=$5 workloads=$6
    set -- --on "$backend" --scheduler "$file" --machine "$machine" --blocks "$blocks"
    while read -r workload; do
        if [ -n "$workload" ]; then set -- "$@" --workload "$workload"; fi
    done <<END
$workloads
END
    rm -f "$RESULTS/$backend-$side.db"
    echo "::group::$backend, $side"
    status=0
    in_base run "$@" --store "$(from_base "$RESULTS/$backend-$side.db")" || status=$?
    echo "::endgroup::"
    return "$status"
}

# Those of the workloads that the base has; there is nothing to compare the others with.
known() {
    while read -r name parameters; do
        if [ -z "$name" ]; then continue; fi
        if in_base list workloads "$name" >/dev/null 2>&1; then
            echo "$name $parameters"
        elif fairground list workloads "$name" >/dev/null 2>&1; then
            printf 'The workload `%s` is new; it counts once it is in the base.\n\n' "$name" |
                tee -a "$summary" >&2
        else
            wrong "\`workloads\`: \`fairground list workloads $name\` says what is wrong" >&2
        fi
    done
}

both() { # both BACKEND MACHINE BLOCKS WORKLOADS: the change, then its base
    workloads=$(printf '%s\n' "$4" | known)
    if [ -z "$workloads" ]; then return 0; fi
    status=0
    run "$1" now "$SCHEDULER" "$2" "$3" "$workloads" || status=$?
    [ "$status" -le 1 ] || wrong "$SCHEDULER cannot be measured ($1); the log says why"
    if [ "$status" -eq 1 ]; then echo "$1" >>"$RESULTS/misbehaved"; fi
    if [ -f "$before/$SCHEDULER" ]; then
        run "$1" before "$before/$SCHEDULER" "$2" "$3" "$workloads" || {
            # A change may mend a file that could not be compiled.
            [ $? -le 1 ] || rm -f "$RESULTS/$1-before.db"
        }
    fi
}

measure() {
    rm -f "$RESULTS/misbehaved" "$RESULTS"/*.db
    both sim "${MACHINE:-laptop_4}" "${BLOCKS:-8}" "$WORKLOADS"
    if [ -n "${VM_WORKLOADS:-}" ]; then
        in_base kernel pull ||
            echo "::warning::no kernels could be pulled; those that are here are used"
        both vm "${VM_MACHINE:-uniprocessor}" "${VM_BLOCKS:-2}" "$VM_WORKLOADS"
    fi
}

# Whoever can read the repository can download these files: reports and shared files say what was
# left out of them. Stores stay here.
report() {
    for backend in sim vm; do
        if [ -f "$RESULTS/$backend-now.db" ]; then
            fairground report --store "$RESULTS/$backend-now.db" -o "$RESULTS/$backend.html"
        fi
        for side in now before; do
            store=$RESULTS/$backend-$side.db
            if [ -f "$store" ]; then
                fairground share --store "$store" -o "$RESULTS/$backend-$side.fairground"
            fi
        done
    done
}

# The gate's lines as a table in Markdown: what has changed, and how many numbers have not.
table() {
    awk -F '  +' '
        !/^  / { next }
        $2 == "exactly equal" || $2 == "no change" || $2 == "not measured" { same++; next }
        !rows++ { print "| | scheduler | before → now | measure |"; print "|---|---|---|---|" }
        rows <= 20 { gsub(/\|/, "\\|"); print "| **" $2 "** | " $3 " | " $4 " | " $5 " |" }
        END {
            if (rows > 20) print "\n" rows - 20 " more rows are in the log."
            print "\n" same + 0 " numbers without a change.\n"
        }'
}

gate() {
    worst=0 measured=0
    for backend in sim vm; do
        now=$RESULTS/$backend-now.db before=$RESULTS/$backend-before.db
        [ -f "$now" ] || continue
        measured=1
        if [ ! -f "$before" ]; then
            {
                printf '### Fairground, %s: nothing to compare with\n\n' "$backend"
                printf 'The base has no %s that could be measured.\n\n' "$SCHEDULER"
            } | tee -a "$summary"
            if grep -qx "$backend" "$RESULTS/misbehaved" 2>/dev/null; then
                echo "It misbehaved; the report says how." | tee -a "$summary"
                worst=1
            fi
            continue
        fi
        status=0
        fairground history --gate --store "$now" --before "$before" --margin "${MARGIN:-1}" \
            >"$RESULTS/$backend.gate" || status=$?
        [ "$status" -le 1 ] || wrong "the gate cannot compare the $backend trials; the log says why"
        cat "$RESULTS/$backend.gate"
        verdict=$(head -n 1 "$RESULTS/$backend.gate")
        printf '### Fairground, %s: %s\n\n' "$backend" "$verdict" >>"$summary"
        table <"$RESULTS/$backend.gate" >>"$summary"
        if [ "$status" -gt "$worst" ]; then worst=$status; fi
    done
    if [ "$measured" -eq 0 ]; then
        printf '### Fairground: nothing was measured\n\n' | tee -a "$summary"
    fi
    exit "$worst"
}

case "${1:-}" in
install) install_it ;;
base | measure | report | gate) "$1" ;;
*)
    echo "action.sh: unknown step '${1:-}'; the steps are: install base measure report gate" >&2
    exit 2
    ;;
esac
