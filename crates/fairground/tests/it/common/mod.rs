// SPDX-License-Identifier: GPL-2.0-only
//! The binary as users meet it, in a folder of its own.

// Every test program uses its part of this.
#![allow(dead_code)]

use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use assert_cmd::Command;
use assert_cmd::assert::Assert;
use store::{Filter, Session, Store};
use vm::Kernel;
use vm::emulator::Emulator;

pub mod folder;
pub mod hogs;

/// A folder where one test works.
pub struct Bench {
    folder: tempfile::TempDir,
}

/// A workload that takes 50 ms and needs nothing.
pub const TINY: &str = r#"# SPDX-License-Identifier: GPL-2.0-only
about = "two hogs and a sleeper for a moment"
duration_us = 50000

[[task]]
name = "hog"
count = 2
steps = [{ run_us = 1000 }]

[[task]]
name = "sleeper"
steps = [{ run_us = 100 }, { sleep_us = 2000 }]
"#;

pub const TAPES: &str =
    "task 1 worker\nr1000000 p1 s2000000 r1000000\ntask 2 worker\nw0 r2000000\n";

/// A plan for the simulator: a workload under `vtime` and another scheduler, in so many blocks.
pub const fn simulated(
    workload: &'static str,
    other: &'static str,
    blocks: &'static str,
) -> [&'static str; 10] {
    let [on, sim, named, first, second] =
        ["--on", "sim", "--workload", "--scheduler", "--scheduler"];
    [on, sim, named, workload, first, "vtime", second, other, "--blocks", blocks]
}

impl Bench {
    pub fn new() -> Bench {
        let bench = Bench { folder: tempfile::tempdir().expect("a temporary folder") };
        bench.write("tiny.toml", TINY);
        bench
    }

    /// A workload with a recording: `NAME.toml` and `NAME.tapes`.
    pub fn write_recording(&self, name: &str, tapes: &str) {
        let file = Path::new(name).file_name().expect("a name").display();
        let sha256 = model::trial::sha256_hex(tapes.as_bytes());
        let group = "[[task]]\nname = 'worker'\ncount = 2\nrepeat = 1\nsteps = ['tape']\n";
        let text = format!(
            "duration_us = 50000\n{group}[recording]\nsource = 'a test'\ncpus = 2\n\
             length_us = 50000\ntapes = '{file}.tapes'\nsha256 = '{sha256}'\n"
        );
        self.write(&format!("{name}.toml"), &text);
        self.write(&format!("{name}.tapes"), tapes);
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).expect("a file");
    }

    /// A description of a machine with these costs.
    pub fn write_machine(&self, name: &str, cpus: u32, costs: &model::Costs) {
        let costs = toml::to_string(costs).expect("plain data");
        self.write(name, &format!("cpus = {cpus}\nhz = 1000\n\n[costs]\n{costs}"));
    }

    /// `fairground ARGUMENTS`, in this folder.
    pub fn fairground(&self, arguments: &[&str]) -> Command {
        Command::from_std(self.process(arguments))
    }

    /// The same for a test that looks after the process itself. `FAIRGROUND_UNDER_TEST` names
    /// another build, such as a release, which reads many more damaged files in an hour.
    pub fn process(&self, arguments: &[&str]) -> std::process::Command {
        let own = || env!("CARGO_BIN_EXE_fairground").into();
        let program = std::env::var_os("FAIRGROUND_UNDER_TEST").unwrap_or_else(own);
        let mut command = std::process::Command::new(program);
        command.current_dir(self.folder.path()).args(arguments);
        command.env("NO_COLOR", "1").env_remove("COLUMNS").env_remove("RUST_BACKTRACE");
        command
    }

    pub fn run(&self, arguments: &[&str]) -> Assert {
        self.fairground(arguments).assert()
    }

    /// The same with the words of a line, as in a shell without quotes.
    pub fn line(&self, line: &str) -> Assert {
        self.run(&line.split(' ').collect::<Vec<_>>())
    }

    /// What git prints in this folder. Commits have one author and one date.
    pub fn git(&self, words: &[&str]) -> String {
        let mut git = std::process::Command::new("git");
        git.current_dir(self.path("")).args(["-c", "init.defaultBranch=main"]).args(words);
        for who in ["AUTHOR", "COMMITTER"] {
            git.env(format!("GIT_{who}_NAME"), "author");
            git.env(format!("GIT_{who}_EMAIL"), "author@localhost");
            git.env(format!("GIT_{who}_DATE"), "2026-01-31T12:00:00Z");
        }
        let output = git.output().expect("git runs");
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("text")
    }

    /// The records that a store has now; none if it cannot be read yet.
    pub fn try_records(&self, name: &str) -> Vec<model::Record> {
        let store = Store::open_readonly(&self.path(name)).ok();
        store.and_then(|store| store.records(&Filter::default()).ok()).unwrap_or_default()
    }

    pub fn records(&self, name: &str) -> Vec<model::Record> {
        let store = Store::open_readonly(&self.path(name)).expect("a store");
        store.records(&Filter::default()).expect("records")
    }

    /// Waits until a store has at least `wanted` records. Returns how many it has.
    pub fn wait_for_records(&self, name: &str, wanted: usize) -> usize {
        let patience = Instant::now() + Duration::from_secs(300);
        loop {
            let found = self.try_records(name).len();
            if found >= wanted {
                return found;
            }
            assert!(Instant::now() < patience, "only {found} records");
            sleep(Duration::from_millis(5));
        }
    }

    pub fn first_session(&self, name: &str) -> Session {
        let store = Store::open_readonly(&self.path(name)).expect("a store");
        store.sessions().expect("sessions").remove(0)
    }

    /// A new store with a session of records.
    pub fn store(&self, name: &str, session: &Session, records: Vec<model::Record>) {
        let store = Store::open(&self.path(name)).expect("a store");
        let id = store.begin(session).expect("a session");
        records.iter().for_each(|record| store.append(id, record).expect("appended"));
    }

    /// The records of a store's first session in a new one, each changed.
    pub fn copied(&self, from: &str, to: &str, change: impl Fn(&mut model::Record)) {
        let mut records = self.records(from);
        records.iter_mut().for_each(change);
        self.store(to, &self.first_session(from), records);
    }
}

/// QEMU, a kernel with sched_ext, and the programs that a guest takes along.
pub fn guest(programs: &[&str]) -> Result<(), String> {
    installed(&["qemu-system-x86_64"])?;
    installed(programs)?;
    let is_here = kernels().iter().any(|kernel| kernel.sched_ext);
    is_here
        .then_some(())
        .ok_or("there is no kernel with sched_ext (`fairground kernel pull`)".into())
}

fn kernels() -> Vec<Kernel> {
    let home = fairground::execution::locations::data_folder().expect("a home");
    vm::kernels::list(&home).unwrap_or_default()
}

/// What gives guests several CPUs in virtual time.
pub fn emulator() -> Result<Emulator, String> {
    let home = fairground::execution::locations::data_folder().expect("a home");
    let found = vm::emulator::find(&home).expect("an emulator that is as it was");
    found.ok_or_else(|| format!("there is no emulator (`{}`)", vm::emulator::COMMAND))
}

pub fn installed(programs: &[&str]) -> Result<(), String> {
    programs.iter().try_for_each(|program| testing::program(program).map(drop))
}

pub fn stdout(assert: &Assert) -> String {
    String::from_utf8_lossy(&assert.get_output().stdout).into_owned()
}

pub fn stderr(assert: &Assert) -> String {
    String::from_utf8_lossy(&assert.get_output().stderr).into_owned()
}

pub fn project(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// One of the broken or foreign schedulers of these tests.
pub fn scheduler(name: &str) -> String {
    let path = format!("{}/tests/schedulers/{name}.bpf.c", env!("CARGO_MANIFEST_DIR"));
    assert!(Path::new(&path).exists(), "{path}");
    path
}

/// One of the files that mean harm.
pub fn hostile(name: &str) -> String {
    let path = format!("{}/tests/hostile/{name}", env!("CARGO_MANIFEST_DIR"));
    assert!(Path::new(&path).exists(), "{path}");
    path
}
