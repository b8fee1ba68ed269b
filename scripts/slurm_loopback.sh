#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# A Slurm cluster on this machine alone: one controller and two nodes of two CPUs, on loopback.
#
#   slurm_loopback.sh start DIR    then: export SLURM_CONF=DIR/slurm.conf
#   slurm_loopback.sh stop DIR
#
# Everything is in DIR: keys, state, logs, numbers of processes. Needs no root, no systemd and no
# control groups; `setup.sh slurm` installs what it starts.
set -eu

usage() {
    sed -n '5,6s/^# *//p' "$0" >&2
    exit 2
}

[ $# -ge 2 ] || usage
command=$1
mkdir -p "$2"
dir=$(cd "$2" && pwd)
SLURM_CONF=$dir/slurm.conf
export SLURM_CONF
PATH=$PATH:/usr/sbin:/sbin
export PATH

# Ports that no other cluster of this script has: FAIRGROUND_SLURM_PORT is the first of four.
port=${FAIRGROUND_SLURM_PORT:-$((20000 + $$ % 10000 * 4))}

configure() {
    user=$(id -un)
    cat >"$SLURM_CONF" <<END
ClusterName=loopback
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort=$port
SlurmUser=$user
SlurmdUser=$user
AuthType=auth/munge
AuthInfo=socket=$dir/munge/socket
StateSaveLocation=$dir/state
SlurmdSpoolDir=$dir/spool.%n
SlurmctldPidFile=$dir/slurmctld.pid
SlurmdPidFile=$dir/slurmd.%n.pid
SlurmctldLogFile=$dir/slurmctld.log
SlurmdLogFile=$dir/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=1,sched_interval=2,batch_sched_delay=0,sched_min_interval=0
# A node that dies is noticed at once, and one that comes back is used again.
SlurmdTimeout=6
SlurmctldTimeout=6
TCPTimeout=2
KillWait=2
ReturnToService=2
NodeName=DEFAULT CPUs=2 RealMemory=8000
NodeName=n1 NodeHostname=localhost NodeAddr=127.0.0.1 Port=$((port + 1))
NodeName=n2 NodeHostname=localhost NodeAddr=127.0.0.1 Port=$((port + 2))
PartitionName=all Nodes=n1,n2 Default=YES MaxTime=INFINITE State=UP OverSubscribe=NO
END
}

# Starts a daemon in the background and notes its number.
daemon() { # daemon NAME PROGRAM ARGUMENT...
    name=$1
    shift
    setsid "$@" >"$dir/$name.out" 2>&1 </dev/null &
    echo $! >"$dir/$name.number"
}

start_munge() {
    mkdir -p "$dir/munge" "$dir/state" "$dir/spool.n1" "$dir/spool.n2"
    chmod 700 "$dir/munge"
    if ! [ -e "$dir/munge/key" ]; then
        (umask 077 && head -c 1024 /dev/urandom >"$dir/munge/key")
    fi
    daemon munged munged --foreground --force --num-threads=2 --key-file="$dir/munge/key" \
        --socket="$dir/munge/socket" --pid-file="$dir/munge/pid" --log-file="$dir/munge/log" \
        --seed-file="$dir/munge/seed"
    until [ -S "$dir/munge/socket" ]; do
        alive munged || fail munged
        sleep 0.1
    done
}

alive() { # alive NAME
    number=$(cat "$dir/$1.number" 2>/dev/null) && [ -n "$number" ] && kill -0 "$number" 2>/dev/null
}

fail() { # fail NAME
    echo "slurm_loopback.sh: $1 did not start:" >&2
    tail -n 5 "$dir/$1.out" >&2
    exit 1
}

node() { # node NAME
    daemon "slurmd.$1" slurmd -D -N "$1" -f "$SLURM_CONF"
}

idle_nodes() {
    sinfo --noheader --Node --format=%T 2>/dev/null | grep -c '^idle$' || true
}

start() {
    for program in munged slurmctld slurmd sbatch; do
        command -v "$program" >/dev/null || {
            echo "slurm_loopback.sh: $program is not installed: scripts/setup.sh slurm" >&2
            exit 1
        }
    done
    configure
    start_munge
    daemon slurmctld slurmctld -D -f "$SLURM_CONF"
    node n1
    node n2
    seconds=0
    until [ "$(idle_nodes)" = 2 ]; do
        for name in slurmctld slurmd.n1 slurmd.n2; do
            alive "$name" || fail "$name"
        done
        seconds=$((seconds + 1))
        [ "$seconds" -lt 60 ] || fail slurmctld
        sleep 0.5
    done
    echo "export SLURM_CONF=$SLURM_CONF"
}

stop() {
    if alive slurmctld; then
        # Its jobs end before it does.
        scancel --user="$(id -un)" 2>/dev/null || true
        sleep 1
    fi
    for name in slurmd.n1 slurmd.n2 slurmctld munged; do
        if alive "$name"; then kill "$number" 2>/dev/null || true; fi
    done
    for name in slurmd.n1 slurmd.n2 slurmctld munged; do
        tries=0
        while alive "$name" && [ "$tries" -lt 50 ]; do
            tries=$((tries + 1))
            sleep 0.1
        done
        if alive "$name"; then kill -9 "$number" 2>/dev/null || true; fi
        rm -f "$dir/$name.number"
    done
}

case "$command" in
start) start ;;
stop) stop ;;
*) usage ;;
esac
