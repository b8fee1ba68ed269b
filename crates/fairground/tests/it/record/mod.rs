// SPDX-License-Identifier: GPL-2.0-only
//! Recording on the kernel that runs the tests, where that is allowed, and in guests, where it must
//! work.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, geteuid};

mod children;
mod known;
use crate::common::folder::Folder;
use crate::common::{Bench, guest, stderr, stdout};
use testing::need;

/// Counts instructions, so that nothing depends on how busy the host is.
const ROOMY: &str = "about = \"r\"\ncpus = 1\nmemory_mib = 2048\nclock = \"virtual\"\n";

/// Runs the tests of known cases in a guest, then records a command there.
fn in_a_guest(kernel: &str) {
    need!(guest(&["sh", "cat", "tr", "sleep", "grep"]));
    let folder = Folder::new();
    let tests = std::env::current_exe().expect("this program");
    let tests = folder.copy(&tests, "tests");
    let script = format!(
        r#"
cd /tmp
export CI=true FAIRGROUND_TESTS=all
{tests} known:: --test-threads=1 > said 2>&1 || fail "known cases" said
{held} record --only sh -- sh -c 'for i in 1 2 3; do sleep 0.01; done' > said 2>&1 ||
    fail "a command" said
has said "0 events lost"
[ "$(grep -c '^task [0-9]* sleep' load.tapes)" = 3 ] || fail "three children" load.tapes
"#,
        held = folder.path("held").display(),
    );
    folder.ask_on(kernel, ROOMY, &script, &[], &[&tests, "grep"]);
}

/// Kernels that only `make test-all` boots.
mod full {
    use super::in_a_guest;

    #[test]
    fn known_cases_are_recorded_on_6_1() {
        testing::beyond_cargo_test!("boots a kernel");
        in_a_guest("kernel:6.1");
    }

    #[test]
    fn known_cases_are_recorded_on_6_12() {
        testing::beyond_cargo_test!("boots a kernel");
        in_a_guest("kernel:6.12");
    }
}

#[test]
fn known_cases_are_recorded_on_7() {
    testing::beyond_cargo_test!("boots a kernel");
    in_a_guest("kernel:7");
}

#[test]
fn who_may_not_record_is_told_which_capabilities_and_what_to_do() {
    let bench = Bench::new();
    let mut process = bench.process(&["record", "--for", "1s"]);
    process.current_dir("/");
    if geteuid().is_root() {
        process.uid(65_534).gid(65_534);
    }
    let refused = assert_cmd::Command::from_std(process).assert();
    if refused.get_output().status.success() {
        return testing::skip("this user may record without being root");
    }
    let said = stderr(&refused.code(2));
    assert!(said.contains("CAP_BPF and CAP_PERFMON: run it with sudo"), "{said}");
    assert!(said.contains("setcap cap_bpf,cap_perfmon+ep"), "{said}");
}

#[test]
fn bad_options_are_refused_before_anything_runs() {
    let bench = Bench::new();
    for (words, said) in [
        (&["--limit", "many"][..], "write a size: 500kB, 64MB or 2GB"),
        (&["--for", "0s"], "write a time: 90s, 10m or 2h"),
        (&["--buffer", "5GB"], "write a size from 60kB to 1GB"),
        (&["--only", "4294967295"], "there is no process 4294967295"),
        (&["--only", "/no/such/group"], ""),
        (&["-o", "load.trace"], ""),
    ] {
        let refused = bench.run(&[&["record"], words, &["--", "touch", "ran"]].concat()).code(2);
        assert_eq!(stdout(&refused), "", "{words:?}");
        assert!(stderr(&refused).contains(said), "{}", stderr(&refused));
    }
    bench.write("mine.toml", "kept");
    bench.run(&["record", "-o", "mine.toml", "--", "touch", "ran"]).code(2);
    assert_eq!(fs::read_to_string(bench.path("mine.toml")).expect("the file"), "kept");
    assert!(!bench.path("ran").exists());
}

#[test]
fn a_command_is_recorded_to_its_end_and_its_failure_is_told() {
    testing::beyond_cargo_test!("records this kernel");
    need!(known::can_record());
    let bench = Bench::new();
    let recorded = bench.run(&["record", "--", "sh", "-c", "sleep 0.05; exit 7"]).code(1);
    let said = stderr(&recorded);
    assert!(said.contains("ended with exit code 7; the recording is written"), "{said}");
    assert!(said.contains(" wake-ups, 0 events lost") && said.contains("cost: "), "{said}");
    let text = fs::read_to_string(bench.path("load.tapes")).expect("the recording");
    assert!(text.contains(" sleep\n"), "the command's child ran");
    let missing = bench.run(&["record", "-o", "none.toml", "--", "no-such-program"]).code(2);
    assert!(stderr(&missing).contains("no-such-program: cannot be run"), "{missing}");
}

#[test]
fn a_recording_is_a_workload_that_the_simulator_plays() {
    testing::beyond_cargo_test!("records this kernel");
    need!(known::can_record());
    let bench = Bench::new();
    let loops = "for i in 1 2 3 4 5; do sleep 0.01; done";
    let said = stderr(&bench.run(&["record", "--only", "sh", "--", "sh", "-c", loops]).success());
    assert!(said.contains("to play it: fairground run --workload ./load.toml"), "{said}");
    let listed = stdout(&bench.run(&["list", "workloads", "./load.toml"]).success());
    assert!(listed.contains("sleep"), "{listed}");
    let play = ["run", "--on", "sim", "--workload", "./load.toml", "--scheduler", "fifo"];
    bench.run(&[&play[..], &["--blocks", "1", "--exploratory"]].concat()).success();
    let records = bench.records("fairground.db");
    assert!(records.iter().all(|record| record.outcome.is_ok()), "{:?}", records[0].outcome);
}

/// Two groups of the controller `cpu`, the first with half the usual weight.
struct Groups(PathBuf);

impl Groups {
    fn make() -> Result<Groups, String> {
        for place in ["/sys/fs/cgroup", "/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct"] {
            let folder = Path::new(place).join(format!("record-test-{}", std::process::id()));
            if fs::create_dir(&folder).is_err() {
                continue;
            }
            let (groups, both) = (Groups(folder), ["a", "b"]);
            let controllers = groups.0.join("cgroup.subtree_control");
            let made = !controllers.exists() || fs::write(controllers, "+cpu").is_ok();
            let made = made && both.iter().all(|own| fs::create_dir(groups.0.join(own)).is_ok());
            let made = made && groups.0.join("b/cgroup.procs").exists();
            let weigh = |(file, weight)| fs::write(groups.0.join("a").join(file), weight).is_ok();
            if made && [("cpu.weight", "50"), ("cpu.shares", "512")].into_iter().any(weigh) {
                return Ok(groups);
            }
        }
        Err("control groups with the controller cpu, and the right to make some".into())
    }
}

impl Drop for Groups {
    fn drop(&mut self) {
        for own in ["a", "b", ""] {
            // Tasks that have ended are there for a moment.
            let folder = self.0.join(own);
            let mut looks = 0..1_000;
            while fs::remove_dir(&folder).is_err() && folder.exists() && looks.next().is_some() {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
    }
}

#[test]
fn tasks_are_in_their_control_groups() {
    testing::beyond_cargo_test!("records this kernel");
    need!(known::can_record());
    let groups = need!(Groups::make());
    let bench = Bench::new();
    let script = "for group in a b; do
            sh -c 'echo $$ > '$0/$group'/cgroup.procs; for i in 1 2 3; do sleep 0.01; done' &
        done; wait";
    let folder = groups.0.display().to_string();
    bench.run(&["record", "--", "sh", "-c", script, &folder]).success();
    let text = fs::read_to_string(bench.path("load.toml")).expect("the recording");
    let load: toml::Table = text.parse().expect("TOML");
    let all = |key: &str| load[key].as_array().expect("tables").clone();
    let weight = |path: &str| {
        let all = all("group");
        let ends = |group: &&toml::Value| group["name"].as_str().is_some_and(|n| n.ends_with(path));
        all.iter().find(ends).expect("the group").get("weight").and_then(toml::Value::as_integer)
    };
    assert_eq!((weight("a"), weight("b")), (Some(50), None), "{text}");
    let is_in = |task: &toml::Value, path: &str| {
        task["name"].as_str().is_some_and(|name| name.starts_with("sleep"))
            && task.get("group").and_then(toml::Value::as_str).is_some_and(|g| g.ends_with(path))
    };
    assert!(
        ["a", "b"].iter().all(|path| all("task").iter().any(|task| is_in(task, path))),
        "{text}"
    );
}

#[test]
fn an_interrupt_ends_it_and_keeps_what_was_recorded() {
    testing::beyond_cargo_test!("records this kernel");
    need!(known::can_record());
    for (words, code) in [(&["record"][..], 0), (&["record", "--for", "1h"], 130)] {
        let bench = Bench::new();
        let mut begun = Begun::new(bench.process(words));
        std::thread::sleep(Duration::from_millis(200));
        begun.signal(Signal::SIGINT);
        let (ended, said) = begun.end();
        assert_eq!(ended, Some(code), "{said}");
        let text = fs::read_to_string(bench.path("load.tapes")).expect("the recording");
        assert!(text.starts_with("task "), "{words:?}");
    }
}

#[test]
fn the_last_part_is_kept_and_written_whenever_it_is_told_to() {
    testing::beyond_cargo_test!("records this kernel");
    need!(known::can_record());
    let bench = Bench::new();
    let words = ["record", "--last", "1s", "--trace", "load.txt"];
    let mut begun = Begun::new(bench.process(&words));
    std::thread::sleep(Duration::from_millis(2_500));
    begun.signal(Signal::SIGUSR1);
    let written = || bench.path("load.txt").exists();
    (0..200).take_while(|_| !written()).for_each(|_| std::thread::sleep(Duration::from_millis(50)));
    begun.signal(Signal::SIGINT);
    let (ended, said) = begun.end();
    assert_eq!(ended, Some(0), "{said}");
    for file in ["load.toml", "load-2.toml"] {
        let text = fs::read_to_string(bench.path(file)).expect("a recording");
        let length = text.lines().find_map(|line| line.strip_prefix("length_us = "));
        let length_us: u64 = length.expect("a length").parse().expect("a number");
        assert!((999_000..=1_000_000).contains(&length_us), "{file}: {length_us}");
        assert!(said.contains(&format!("{file}: 1.0 s on ")), "{said}");
    }
    let said = stdout(&bench.run(&["explain", "load.txt"]).code(0));
    assert!(said.contains("Where the time went"), "{said}");
}

struct Begun {
    child: Child,
    said: BufReader<ChildStderr>,
}

impl Begun {
    fn new(mut process: Command) -> Begun {
        let mut child = process.stderr(Stdio::piped()).spawn().expect("it starts");
        let mut said = BufReader::new(child.stderr.take().expect("a pipe"));
        let mut first = String::new();
        said.read_line(&mut first).expect("a line");
        assert!(first.starts_with("recording"), "{first}");
        Begun { child, said }
    }

    fn signal(&mut self, signal: Signal) {
        kill(Pid::from_raw(self.child.id() as i32), signal).expect("a signal");
    }

    /// The exit code, and what it said since.
    fn end(mut self) -> (Option<i32>, String) {
        let mut said = String::new();
        self.said.read_to_string(&mut said).expect("text");
        (self.child.wait().expect("an end").code(), said)
    }
}

const BUSY: [&str; 3] = ["sh", "-c", "while :; do /bin/true; done"];

#[test]
fn a_full_memory_ends_it() {
    testing::beyond_cargo_test!("records this kernel");
    need!(known::can_record());
    let bench = Bench::new();
    let short = ["record", "--limit", "100kB", "--for", "60s", "--"];
    let said = stderr(&bench.run(&[&short[..], &BUSY].concat()).success());
    assert!(said.contains("the limit of 100 kB was reached; --limit sets another one"), "{said}");
    assert!(bench.path("load.tapes").exists());
}

#[test]
fn lost_events_are_counted_and_refused_with_the_option_that_helps() {
    testing::beyond_cargo_test!("records this kernel");
    need!(known::can_record());
    let bench = Bench::new();
    let short = ["record", "--buffer", "60kB", "--for", "4s", "--"];
    let mut begun = Begun::new(bench.process(&[&short[..], &BUSY].concat()));
    // Nobody reads the buffer while it is stopped.
    begun.signal(Signal::SIGSTOP);
    std::thread::sleep(Duration::from_secs(3));
    begun.signal(Signal::SIGCONT);
    let (ended, said) = begun.end();
    assert_eq!(ended, Some(3), "{said}");
    assert!(said.contains(" events were lost (") && said.contains("--buffer 262kB"), "{said}");
    assert!(!bench.path("load.toml").exists());
}
