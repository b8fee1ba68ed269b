// SPDX-License-Identifier: GPL-2.0-only
//! Ctrl-C in a terminal, in commands of many steps: each ends with 130, and goes on when it is
//! started again.
//!
//! A policy that starves tasks, as its original does: what a trial, its record and the report say
//! of it. One body, two arms: the simulator and a real kernel.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::{Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use model::{Outcome, Record};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use testing::need;

use crate::common::{Bench, guest, stderr, stdout};

/// Starts a command as a shell does, and presses Ctrl-C once it waits.
fn interrupted(command: &mut Command, mut waits: impl FnMut() -> bool) -> Output {
    command.process_group(0).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("it starts");
    while !waits() {
        assert_eq!(child.try_wait().expect("a child"), None, "{command:?} ended before");
        sleep(Duration::from_millis(10));
    }
    killpg(Pid::from_raw(child.id() as i32), Signal::SIGINT).expect("a signal");
    let asked = Instant::now();
    let ended = child.wait_with_output().expect("its end");
    assert!(asked.elapsed() < Duration::from_secs(10), "{command:?}: {:?}", asked.elapsed());
    let said = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(130), "{command:?}: {said}");
    ended
}

/// A tool of a kernel's build. The one that `step` names waits.
const TOOL: &str = r#"#!/bin/sh
name=$(basename "$0")
echo "$name $*" >> "$BENCH/calls"
if [ "$name" = "$(cat "$BENCH/step")" ]; then : > "$BENCH/waits"; exec sleep 60; fi
case "$name $*" in
    *indextargets*) echo "http://d|Debian|Debian|trixie|main|$BENCH/sources.list:1" ;;
    apt-get*download*) : > linux-source-6.12_1_all.deb ;;
    dpkg-deb*) mkdir -p "$3/usr/src" && : > "$3/usr/src/linux-source-6.12.tar.xz" ;;
    tar*) echo one > "$4/a.c" ;;
    patch*) exec /usr/bin/patch "$@" ;;
    make*) exit 1 ;;
esac
"#;

#[test]
fn ctrl_c_in_each_step_of_a_kernel_s_build() {
    let bench = Bench::new();
    fs::create_dir(bench.path("bin")).expect("a folder");
    let mut tools = vec!["apt-get", "dpkg-deb", "tar", "patch", "make"];
    tools.extend(["apt-cache", "flex", "bison", "bc", "pahole", "xz", "rsync", "cpio", "kmod"]);
    for name in tools {
        let path = bench.path(&format!("bin/{name}"));
        fs::write(&path, TOOL).expect("a program");
        fs::set_permissions(&path, Permissions::from_mode(0o755)).expect("it may run");
    }
    bench.write("sources.list", "deb http://d trixie main\n");
    bench.write("p.patch", "--- a/a.c\n+++ b/a.c\n@@ -1 +1 @@\n-one\n+two\n");
    let build = || {
        let words = ["kernel", "build", "--base", "base-6.12", "--patch", "p.patch"];
        let mut build = bench.process(&[&words[..], &["--name", "mine"]].concat());
        let path = std::env::var("PATH").unwrap_or_default();
        build.env("PATH", format!("{}:{path}", bench.path("bin").display()));
        build.env("FAIRGROUND_HOME", bench.path("home")).env("BENCH", bench.path(""));
        build
    };
    for step in ["apt-get", "dpkg-deb", "tar", "patch", "make"] {
        bench.write("step", step);
        let said = interrupted(&mut build(), || bench.path("waits").exists()).stderr;
        let said = String::from_utf8_lossy(&said);
        assert!(said.contains("the same command continues where it stopped"), "{step}: {said}");
        fs::remove_file(bench.path("waits")).expect("it waited");
    }
    bench.write("step", "none");
    bench.write("calls", "");
    let end = assert_cmd::Command::from_std(build()).assert().code(2);
    assert!(stderr(&end).contains("the kernel does not compile"), "{}", stderr(&end));
    let calls = fs::read_to_string(bench.path("calls")).expect("calls");
    assert!(!calls.contains("tar ") && calls.contains("make "), "what is unpacked stays: {calls}");
    let folder = bench.path("home/kernel-builds");
    let left = fs::read_dir(&folder).expect("a folder").flatten().map(|entry| entry.file_name());
    assert!(!left.into_iter().any(|name| name.to_string_lossy().starts_with(".new-")));
    let source = fs::read_to_string(folder.join("linux-source-6.12_1/src/a.c"));
    assert_eq!(source.expect("the source"), "two\n");
}

/// Ends a command that measures once its store has a record; what it says.
fn cut(bench: &Bench, words: &[&str]) -> (usize, String) {
    let has_records = || !bench.try_records("fairground.db").is_empty();
    let ended = interrupted(&mut bench.process(words), has_records);
    let kept = bench.try_records("fairground.db").len();
    (kept, String::from_utf8_lossy(&ended.stderr).into_owned())
}

/// Hogs for longer than Ctrl-C takes, in every trial.
const LONG: &str = "duration_us = 2000000\nheadline = [\"jain_index hog\"]\n\n\
    [[task]]\nname = \"hog\"\ncount = 6\nsteps = [{ run_us = 1000 }]\n";

const CARE: &str = "about = \"a test\"\nschedulers = [\"fifo\", \"rr\", \"vtime\"]\n\n\
    [[workload]]\nname = \"./long.toml\"\n\n[decides]\nworkload = \"./long.toml\"\n\
    measure = \"jain_index hog\"\nwords = \"how even it is\"\npercent = 10\n";

#[test]
fn ctrl_c_in_commands_that_measure_keeps_what_was_measured() {
    let bench = Bench::new();
    bench.write("long.toml", LONG);
    bench.write("care.toml", CARE);
    for line in [
        "soak soak_short --on sim --scheduler rr --workload ./long.toml --blocks 20 --jobs 1",
        "recommend --on sim --care ./care.toml --machine uniprocessor --jobs 1",
    ] {
        let (kept, said) = cut(&bench, &line.split(' ').collect::<Vec<_>>());
        assert!(said.contains("interrupted; to continue: fairground "), "{line}: {said}");
        let again = bench.line(&format!("{line} --resume")).success();
        let whole = bench.records("fairground.db").len();
        assert!((1..whole).contains(&kept), "{line}: {kept} of {whole}: {}", stdout(&again));
        fs::remove_file(bench.path("fairground.db")).expect("a store");
    }
}

/// Runs bmq under a hog of nice 0 and one of nice 2, which shall end with this exit code.
fn run(bench: &Bench, on: &str, seconds: u32, code: i32) -> Record {
    let workload = format!("starving seconds={seconds}");
    let what = ["run", "--on", on, "--scheduler", "bmq", "--workload", &workload];
    let how = ["--machine", "one_cpu", "--timeout", "200", "--blocks", "1", "--trace"];
    bench.run(&[&what[..], &how, &["--offline", "--exploratory"]].concat()).code(code);
    bench.records("fairground.db").pop().expect("a record")
}

/// The page of the last session, without line ends that its source has.
fn page(bench: &Bench) -> String {
    bench.run(&["report", "-o", "page.html"]).code(0);
    std::fs::read_to_string(bench.path("page.html")).expect("a page")
}

/// For some seconds the starved task waits, and the record has how long.
fn starves(on: &str) {
    let bench = Bench::new();
    let record = run(&bench, on, 5, 0);
    let longest = record.measured.value("longest_wait_ns", "starved");
    assert!(longest > Some(3e9), "on {on}: {longest:?}");
    assert!(record.measured.value("longest_wait_ns", "hog") < Some(1e9));
}

/// In the end the kernel throws bmq out, and names the starved task; so does the report.
fn is_thrown_out(on: &str) {
    let bench = Bench::new();
    let record = run(&bench, on, 60, 1);
    let Outcome::Ejected { reason, .. } = &record.outcome else { panic!("{:?}", record.outcome) };
    assert!(reason.contains("runnable task stall (starved["), "on {on}: {reason}");
    let page = page(&bench);
    assert!(page.contains("Starvation: starved could run, and the scheduler ran others for"));
    assert!(page.contains("Bad at"));
    if on == "sim" {
        assert!(page.contains("meanwhile its CPU ran hog 100"), "who ran instead");
    }
}

#[test]
fn the_simulator_shows_starvation() {
    starves("sim");
    is_thrown_out("sim");
}

#[test]
fn a_real_kernel_shows_starvation() {
    testing::beyond_cargo_test!("boots a kernel");
    need!(guest(&[]));
    starves("vm");
    is_thrown_out("vm");
}
