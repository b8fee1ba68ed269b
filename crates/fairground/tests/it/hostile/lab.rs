// SPDX-License-Identifier: GPL-2.0-only
//! Machines that lack something: the lab fails, and no scheduler is blamed.

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::sys::signal::{SigHandler, Signal, kill};
use nix::unistd::Pid;

use crate::common::{Bench, project, stderr};

const TINY: [&str; 8] =
    ["run", "--on", "sim", "--workload", "./tiny.toml", "--blocks", "2", "--exploratory"];

/// `fairground ARGUMENTS` below a limit that the shell sets.
fn limited(bench: &Bench, limit: &str, arguments: &[&str]) -> std::process::Output {
    Command::new("sh")
        .current_dir(bench.path(""))
        .args(["-c", &format!("{limit}; exec \"$0\" \"$@\"")])
        .arg(env!("CARGO_BIN_EXE_fairground"))
        .args(arguments)
        .output()
        .expect("a shell")
}

#[test]
fn a_machine_without_descriptors_is_the_lab_s_fault() {
    let bench = Bench::new();
    let arguments = [&TINY[..], &["--scheduler", "rr", "--resume"]].concat();
    let output = limited(&bench, "ulimit -n 8", &arguments);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("Too many open files"), "{said}");
    let store = bench.path("fairground.db");
    assert!(!store.exists() || bench.records("fairground.db").iter().all(|r| r.outcome.is_ok()));
    bench.run(&arguments).success();
    assert_eq!(bench.records("fairground.db").len(), 2);
}

#[test]
fn the_simulator_needs_no_home() {
    let bench = Bench::new();
    let arguments = [&TINY[..], &["--scheduler", "rr"]].concat();
    let mut command = bench.fairground(&arguments);
    for name in ["HOME", "FAIRGROUND_HOME", "XDG_DATA_HOME"] {
        command.env_remove(name);
    }
    command.assert().success();
}

#[test]
fn a_path_may_have_spaces() {
    let bench = Bench::new();
    std::fs::create_dir(bench.path("my own")).expect("a folder");
    let text = std::fs::read_to_string(project("schedulers/fifo.bpf.c")).expect("a scheduler");
    bench.write("my own/a b.bpf.c", &text);
    let plan = ["plan", "--on", "sim", "--workload", "./tiny.toml", "--blocks", "1", "--scheduler"];
    let with = |option: &'static str| bench.run(&[&plan[..], &[option]].concat());
    with("./my own/a b.bpf.c slice_us=3000").success();
    let said = stderr(&with("./my own/no.bpf.c").code(2));
    assert!(said.contains("./my own/no.bpf.c"), "{said}");
}

#[test]
fn a_full_disk_is_named() {
    let bench = Bench::new();
    bench.run(&[&TINY[..], &["--scheduler", "rr"]].concat()).success();
    let said = stderr(&bench.run(&["export", "json", "-o", "/dev/full"]).code(3));
    assert!(said.contains("/dev/full: No space left"), "{said}");
}

#[test]
fn a_file_that_may_not_grow_is_named_and_nothing_is_lost() {
    let bench = Bench::new();
    let arguments = ["run", "--on", "sim", "--workload", "./tiny.toml", "--blocks", "100"];
    let arguments = [&arguments[..], &["--exploratory", "--scheduler", "rr", "--resume"]].concat();
    // In blocks of 512 bytes.
    let output = limited(&bench, "ulimit -f 800", &arguments);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(3), "{:?}: {said}", output.status);
    assert!(said.contains("may not grow beyond the limit for files here (`ulimit -f`)"), "{said}");
    let kept = bench.records("fairground.db").len();
    assert!((1..100).contains(&kept), "{kept} records");
    bench.run(&arguments).success();
    assert_eq!(bench.records("fairground.db").len(), 100);
    let output = limited(&bench, "ulimit -f 100", &["export", "json", "-o", "all.json"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(3), "{:?}: {said}", output.status);
    assert!(said.contains("all.json: File too large") && said.contains("`ulimit -f`"), "{said}");
}

/// The children of a process that lead a session of their own, as the fork server does.
fn leaders(parent: u32) -> Vec<i32> {
    let fields = |pid: &str| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let (_, rest) = stat.rsplit_once(") ").unwrap_or_default();
        let numbers = rest.split(' ').skip(1).map_while(|word| word.parse::<i32>().ok());
        numbers.take(3).collect::<Vec<_>>()
    };
    let pids = std::fs::read_dir("/proc").expect("a list").flatten();
    let pids = pids.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let pids = pids.filter_map(|name| name.parse::<i32>().ok());
    // Parent, group, session.
    let leads = |pid: &i32| fields(&pid.to_string())[..] == [parent as i32, *pid, *pid];
    pids.filter(leads).collect()
}

#[test]
fn the_first_interrupt_ends_a_run_whose_fork_server_was_stopped() {
    let bench = Bench::new();
    let arguments = [&TINY[..5], &["--blocks", "5000", "--scheduler", "rr", "--exploratory"]];
    let mut run = bench.process(&arguments.concat());
    let run = run.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it starts");
    bench.wait_for_records("fairground.db", 1);
    // A trial's process has a session of its own, too; the server is the first.
    let server = *leaders(run.id()).iter().min().expect("a server");
    kill(Pid::from_raw(server), Signal::SIGSTOP).expect("a signal");
    sleep(Duration::from_millis(500));
    let before = bench.try_records("fairground.db").len();
    sleep(Duration::from_millis(500));
    assert_eq!(bench.try_records("fairground.db").len(), before, "it stands");
    kill(Pid::from_raw(run.id() as i32), Signal::SIGINT).expect("a signal");
    let asked = Instant::now();
    let end = run.wait_with_output().expect("an end");
    assert!(asked.elapsed() < Duration::from_secs(8), "it took {:?}", asked.elapsed());
    let said = String::from_utf8_lossy(&end.stderr);
    assert_eq!(end.status.code(), Some(130), "{said}");
    assert!(said.contains("to continue: fairground run"), "{said}");
}

/// The end of a pipe that nobody reads and that nothing more fits into.
fn full_pipe() -> (std::io::PipeReader, std::io::PipeWriter) {
    let (read, mut write) = std::io::pipe().expect("a pipe");
    fcntl(&write, FcntlArg::F_SETFL(OFlag::O_NONBLOCK)).expect("a flag");
    while write.write(&[b'x'; 4096]).is_ok() {}
    while write.write(b"x").is_ok() {}
    fcntl(&write, FcntlArg::F_SETFL(OFlag::empty())).expect("a flag");
    (read, write)
}

#[test]
fn the_first_interrupt_ends_what_comes_after_the_trials() {
    let bench = Bench::new();
    let (_read, write) = full_pipe();
    let mut run = bench.process(&[&TINY[..], &["--scheduler", "rr"]].concat());
    let mut run = run.stdout(write).stderr(Stdio::null()).spawn().expect("it starts");
    bench.wait_for_records("fairground.db", 2);
    // It waits for somebody who reads its table.
    sleep(Duration::from_secs(3));
    assert_eq!(run.try_wait().expect("a child"), None);
    kill(Pid::from_raw(run.id() as i32), Signal::SIGINT).expect("a signal");
    let asked = Instant::now();
    while run.try_wait().expect("a child").is_none() && asked.elapsed() < Duration::from_secs(20) {
        sleep(Duration::from_millis(20));
    }
    let ended = run.try_wait().expect("a child");
    let _ = run.kill();
    assert_eq!(ended.and_then(|status| status.code()), Some(130));
}

/// Ctrl-C in this command, which waits: its exit code, and how many temporary folders it leaves.
fn interrupted(bench: &Bench, words: &[&str], output: impl Into<Stdio>) -> (Option<i32>, usize) {
    let temporary = bench.path("temporary");
    std::fs::create_dir_all(&temporary).expect("a folder");
    let mut command = bench.process(words);
    command.env("TMPDIR", &temporary).stdin(Stdio::piped()).stdout(output).stderr(Stdio::null());
    // Below `nohup`, or in the background of a shell's script, these are ignored.
    let usual = || {
        for signal in [Signal::SIGINT, Signal::SIGHUP] {
            // SAFETY: no handler is installed.
            unsafe { nix::sys::signal::signal(signal, SigHandler::SigDfl)? };
        }
        Ok(())
    };
    // SAFETY: it is async-signal-safe.
    unsafe { command.pre_exec(usual) };
    let mut child = command.spawn().expect("it starts");
    sleep(Duration::from_millis(1500));
    assert_eq!(child.try_wait().expect("a child"), None, "{words:?} waits");
    kill(Pid::from_raw(child.id() as i32), Signal::SIGINT).expect("a signal");
    let asked = Instant::now();
    while child.try_wait().expect("a child").is_none() && asked.elapsed().as_secs() < 20 {
        sleep(Duration::from_millis(20));
    }
    assert!(asked.elapsed() < Duration::from_secs(4), "{words:?}: {:?}", asked.elapsed());
    let code = child.wait().expect("its end").code();
    (code, std::fs::read_dir(&temporary).expect("a folder").count())
}

#[test]
fn the_first_interrupt_ends_every_wait_and_leaves_nothing() {
    let bench = Bench::new();
    let slow = "#include <scx/common.bpf.h>\nasm(\".rept 2000000000\\n.long 1\\n.endr\");\n";
    bench.write("slow.bpf.c", slow);
    let with_slow = ["--scheduler", "./slow.bpf.c"];
    let plan = ["plan", "--on", "sim", "--workload", "./tiny.toml", "--blocks", "1"];
    for compiling in [
        &[&TINY[..], &with_slow].concat()[..],
        &[&plan[..], &with_slow].concat(),
        &["check", "./slow.bpf.c"],
        &["check", "./slow.bpf.c", "--no-boot"],
        &["load", "./slow.bpf.c"],
        // It waits for a trial.
        &["trial"],
    ] {
        let ended = interrupted(&bench, compiling, Stdio::null());
        assert_eq!(ended, (Some(130), 0), "{compiling:?}");
    }
    bench.run(&[&TINY[..], &["--scheduler", "rr"]].concat()).success();
    for reading in [&["compare"][..], &["export", "json"], &["history"], &["doctor", "store"]] {
        let (_read, write) = full_pipe();
        assert_eq!(interrupted(&bench, reading, write), (Some(130), 0), "{reading:?}");
    }
}

#[test]
fn long_names_become_names_of_files() {
    let bench = Bench::new();
    bench.run(&[&TINY[..], &["--scheduler", "rr"]].concat()).success();
    bench.copied("fairground.db", "b.db", |record| record.trial.contestant.name = "x".repeat(390));
    bench.run(&["export", "hgrm", "--store", "b.db", "-o", "h"]).success();
    assert!(std::fs::read_dir(bench.path("h")).expect("a folder").count() > 0);
}

/// A table of entries, whose number a side file sets.
const WITH_MAP: &str = r#"#include <scx/common.bpf.h>
char _license[] SEC("license") = "GPL";
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4);
	__type(key, u32);
	__type(value, u64);
} table SEC(".maps");
void BPF_STRUCT_OPS(mine_enqueue, struct task_struct *p, u64 flags)
{
	bpf_map_lookup_elem(&table, &p->pid);
	scx_bpf_dsq_insert(p, SCX_DSQ_GLOBAL, SCX_SLICE_DFL, flags);
}
SCX_OPS_DEFINE(mine_ops, .enqueue = (void *)mine_enqueue, .name = "mine");
"#;

#[test]
fn a_map_that_no_memory_holds_is_named() {
    let bench = Bench::new();
    bench.write("mine.bpf.c", WITH_MAP);
    bench.write("mine.toml", "[maps]\ntable = 4000000000\n");
    let ended = bench.run(&[&TINY[..], &["--scheduler", "./mine.bpf.c"]].concat());
    let said = stderr(&ended);
    assert!(said.contains("the map table: no memory for 4000000000 entries of 8 bytes"), "{said}");
}
