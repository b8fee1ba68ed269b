#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Shows what a campaign on Slurm gives and costs, with a cluster on this machine alone: simulated
# trials and boots, at home and on the cluster, with and without accidents.
#
#   slurm_demonstration.sh FAIRGROUND DIR [BLOCKS [BOOTS]]
#
# A block has 200 simulated trials, of two schedulers in 100 cells, and there is one trial in each
# boot; without numbers 100 and 12. DIR is new.
set -eu

fairground=$(realpath "$1")
scripts=$(dirname "$(realpath "$0")")
blocks=${3:-100}
boots=${4:-12}
mkdir "$2"
cd "$2"

cat >tiny.toml <<'END'
about = "two hogs and a sleeper for a moment"
duration_us = 50000

[parameters]
# The sleeper's work, µs.
work_us = 100

[[task]]
name = "hog"
count = 2
steps = [{ run_us = 1000 }]

[[task]]
name = "sleeper"
steps = [{ run_us = "= work_us" }, { sleep_us = 2000 }]
END

workload="./tiny.toml work_us=$(seq -s , 10 10 1000)"
simulated="--on sim --scheduler vtime --scheduler fifo --blocks $blocks"
booted="--on vm --machine uniprocessor --workload ./tiny.toml --scheduler vtime --blocks $boots
    --exploratory"

milliseconds() { date +%s%3N; }

# The CPU time of this script with all that it starts, Slurm included, where control groups say it:
# other work on the machine changes it little.
group=""
for folder in /sys/fs/cgroup/cpuacct /sys/fs/cgroup; do
    if [ -z "$group" ] && [ -e "$folder/cgroup.procs" ] &&
        mkdir "$folder/fairground-$$" 2>/dev/null; then
        group=$folder/fairground-$$
        echo $$ >"$group/cgroup.procs"
    fi
done

cpu_milliseconds() {
    if [ -e "$group/cpuacct.usage" ]; then
        echo $(($(cat "$group/cpuacct.usage") / 1000000))
    elif [ -e "$group/cpu.stat" ]; then
        awk '$1 == "usage_usec" { print int($2 / 1000) }' "$group/cpu.stat"
    else
        echo 0
    fi
}

# Runs a plan and prints the time that it took.
timed() { # timed NAME OPTION...
    name=$1
    shift
    began=$(milliseconds)
    cpu_before=$(cpu_milliseconds)
    "$fairground" run --store "$name.db" "$@" >"$name.out" 2>"$name.err" || {
        tail -n 5 "$name.err" >&2
        exit 1
    }
    took=$(($(milliseconds) - began))
    cpu=$(($(cpu_milliseconds) - cpu_before))
    echo "$name: $took ms, of CPU time $cpu ms"
}

# Two campaigns of one plan next to each other.
side_by_side() { # side_by_side WHAT TRIALS
    awk -v what="$1" -v trials="$2" -v here="$here" -v there="$took" -v here_cpu="$here_cpu" \
        -v there_cpu="$cpu" 'BEGIN {
        printf "%s: here %.1f trials/s, fleet %.1f trials/s\n", what, trials * 1000 / here,
            trials * 1000 / there
        printf "%s: overhead %.2f ms a trial, of CPU time %.2f ms\n", what,
            (there - here) / trials, (there_cpu - here_cpu) / trials
    }'
}

# Waits until a task runs on a node, and prints its name.
running_on() { # running_on NODE
    tries=0
    until task=$(squeue -h -r -t RUNNING -w "$1" -o %i | head -n 1) && [ -n "$task" ]; do
        tries=$((tries + 1))
        [ "$tries" -lt 300 ] || { echo "nothing runs on $1: take more BLOCKS" >&2; exit 1; }
        sleep 0.2
    done
    echo "$task"
}

# The simulated plan again, while a job, a node and the program itself are killed.
accidents() {
    # shellcheck disable=SC2086 # a list of words
    setsid "$fairground" run --store accidents.db --workload "$workload" $simulated --fleet slurm \
        >accidents.out 2>accidents.err &
    program=$!
    sleep 5
    task=$(running_on n2)
    scancel --signal=KILL --batch "$task" && echo "accident: killed job $task"
    running_on n1 >/dev/null
    kill -9 "$(cat cluster/slurmd.n1.number)" && echo "accident: killed slurmd of n1"
    sleep 5
    "$scripts/slurm_loopback.sh" node cluster n1
    kill -TERM "$program" && echo "accident: cancelled the campaign"
    wait "$program" || echo "its exit code: $?"
    # shellcheck disable=SC2086
    timed accidents --workload "$workload" $simulated --fleet slurm --resume
    grep 'already in the store' accidents.err
}

trap '"$scripts/slurm_loopback.sh" stop cluster' EXIT
"$scripts/slurm_loopback.sh" start cluster >/dev/null
export SLURM_CONF="$PWD/cluster/slurm.conf"

# shellcheck disable=SC2086
timed here --workload "$workload" $simulated
here=$took here_cpu=$cpu
# shellcheck disable=SC2086
timed fleet --workload "$workload" $simulated --fleet slurm
side_by_side "simulated" $((blocks * 200))
"$fairground" compare --identical here.db fleet.db

# Some of what a boot needs is kept for the next one.
# shellcheck disable=SC2086
timed first_boots $booted
# shellcheck disable=SC2086
timed here_boots $booted
here=$took here_cpu=$cpu
# shellcheck disable=SC2086
timed fleet_boots $booted --fleet slurm
side_by_side "boots" "$boots"
"$fairground" compare --identical here_boots.db fleet_boots.db

accidents
"$fairground" compare --identical here.db accidents.db
