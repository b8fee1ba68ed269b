// SPDX-License-Identifier: GPL-2.0-only
//! Live trials with control groups that are killed or interrupted leave nothing in the hierarchy.
//!
//! In a guest, because a host's hierarchy is not ours, and in virtual time, so that the moments are
//! the same on every host. `FAIRGROUND_KILLS=1000 FAIRGROUND_SEED=2` for more and other moments.

use std::fmt::Write as _;
use std::process::Command;

use model::Seed;

use crate::common::folder::Folder;
use crate::common::guest;
use testing::need;

/// How often a trial is ended, half of the times by SIGKILL; and the seed of the moments.
const KILLS: (&str, u64) = ("FAIRGROUND_KILLS", 20);
const SEED: (&str, u64) = ("FAIRGROUND_SEED", 1);
/// How many ends a guest has time for.
const ENDS_OF_A_GUEST: usize = 250;
/// Longer than a whole trial takes in the guest.
const LATEST_MS: u64 = 300;

/// Groups in groups, a quota, a group that comes and goes, processes, and a program whose child
/// does not end with it.
const LOAD: &str = r#"# SPDX-License-Identifier: GPL-2.0-only
about = "control groups with everything in them"
duration_us = 60000

[[group]]
name = "outer"
quota_us = 50000

[[group]]
name = "outer/inner"
weight = 50
cpus = [0]

[[group]]
name = "outer/inner/program"

[[group]]
name = "comes"
absent = true

[[task]]
name = "hog"
group = "outer/inner"
count = 2
steps = [{ run_us = 1000 }]

[[task]]
name = "maker"
group = "outer"
steps = [{ make_group = "comes" }, { sleep_us = 3000 }, { remove_group = "comes" }]

[[task]]
name = "parent"
group = "outer/inner"
steps = [{ fork = { task = "child", count = 1 } }, "wait_children"]

[[task]]
name = "child"
template = true
steps = [{ run_us = 2000 }, { sleep_us = 1000 }]

[program]
command = ["sh", "-c", "sleep 1000 & sleep 1000"]
parser = "none"
group = "outer/inner/program"
"#;

/// After each interrupt nothing of its trial is there. What a kill leaves is there until the next
/// trial. Folders of others, and of our own that have no number, stay.
const SCRIPT: &str = r#"
exec 2> /tmp/errors
here=/sys/fs/cgroup
mount -t cgroup2 none $here
mkdir $here/other $here/fairground-mine
cd /tmp
controllers=$(cat $here/cgroup.subtree_control)
trial() { HELD trial --trusted < TRIAL > said 2> told; }
left() { for folder in $here/fairground-[0-9]*; do [ ! -d $folder ] || echo ${folder##*/}; done; }
number() { name=${1#fairground-}; echo ${name%%-*}; }
in_the_middle=0
ends=0
while read -r signal seconds; do
    ends=$((ends + 1))
    HELD trial --trusted < TRIAL > said 2> told &
    process=$!
    sleep $seconds
    for folder in $(left); do
        [ $(number $folder) -lt $process ] || in_the_middle=$((in_the_middle + 1))
    done
    kill -$signal $process
    wait $process
    [ $signal = KILL ] || for folder in $(left); do
        [ $(number $folder) -lt $process ] || fail "$ends: SIG$signal at $seconds s: $folder" told
    done
done < MOMENTS
[ $in_the_middle -ge $((ends / 5)) ] || fail "only $in_the_middle of $ends had groups" told
trial || fail "the last trial" told
[ -z "$(left)" ] || fail "left are $(left)" told
[ "$(cat $here/cgroup.subtree_control)" = "$controllers" ] || fail "controllers stay on" told
[ -d $here/other ] && [ -d $here/fairground-mine ] || fail "what is not ours was removed" told
for process in /proc/[0-9]*; do
    # What the guest's first process has not asked for is no process any more.
    case "$(cat $process/stat)" in *") Z "*) ;; *) cat $process/comm ;; esac
done | tr '\n' ' ' > processes
case "$(cat processes)" in *held* | *sleep* | *child*) fail "left are processes" processes ;; esac
"#;

fn number((variable, usual): (&str, u64)) -> u64 {
    std::env::var(variable).ok().and_then(|number| number.parse().ok()).unwrap_or(usual)
}

/// A line for each end: the signal, and when it is sent.
fn moments(seed: u64, kills: u64) -> String {
    let mut seed = Seed(seed).derive("moments");
    (0..kills).fold(String::new(), |mut text, kill| {
        let signal = if kill % 2 == 0 { "KILL" } else { "INT" };
        let _ = writeln!(text, "{signal} 0.{:03}", seed.below(LATEST_MS));
        text
    })
}

#[test]
fn a_trial_that_is_killed_or_interrupted_leaves_no_group() {
    testing::beyond_cargo_test!("boots a kernel");
    let programs = ["mkdir", "mount"];
    need!(guest(&[&["sh", "cat", "tr", "sleep"][..], &programs].concat()));
    let (seed, kills) = (number(SEED), number(KILLS));
    println!("seed {seed}, {kills} ends");
    let folder = Folder::new();
    let load = folder.write("load.toml", LOAD);
    let planned = Command::new(folder.path("held"))
        .args(["plan", "--on", "live", "--scheduler", "policy:other", "--workload", &load])
        .args(["--blocks", "1", "--no-probes", "--exploratory"])
        .output()
        .expect("a plan");
    assert!(planned.status.success(), "{planned:?}");
    let trial = folder.write("trial.json", &String::from_utf8_lossy(&planned.stdout));
    let moments = moments(seed, kills);
    let moments: Vec<&str> = moments.split_inclusive('\n').collect();
    for of_a_guest in moments.chunks(ENDS_OF_A_GUEST) {
        let moments = folder.write("moments", &of_a_guest.concat());
        let held = folder.path("held").display().to_string();
        let named = [("HELD", &held), ("TRIAL", &trial), ("MOMENTS", &moments)];
        let script =
            named.iter().fold(SCRIPT.to_owned(), |text, (name, path)| text.replace(name, path));
        folder.ask(&script, &[&trial, &moments], &programs);
    }
}
