// SPDX-License-Identifier: GPL-2.0-only
//! Campaigns on a real Slurm: one controller and two nodes on loopback. What comes back is what a
//! local run measures, whatever dies on the way.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::common::{Bench, guest, project, simulated, stderr};
use testing::need;

/// A cluster that ends with its test.
struct Cluster {
    folder: tempfile::TempDir,
}

impl Cluster {
    fn start() -> Result<Cluster, String> {
        let programs = ["munged", "slurmctld", "slurmd", "sbatch"];
        let is_here = |program: &&str| {
            ["/usr/sbin", "/usr/bin"].iter().any(|folder| Path::new(folder).join(program).exists())
        };
        if let Some(program) = programs.iter().find(|program| !is_here(program)) {
            return Err(format!("{program} is not installed (scripts/setup.sh slurm)"));
        }
        let cluster = Cluster { folder: tempfile::tempdir().expect("a temporary folder") };
        cluster.script("start");
        Ok(cluster)
    }

    fn script(&self, what: &str) {
        let mut command = Command::new(project("scripts/slurm_loopback.sh"));
        let output = command.arg(what).arg(self.folder.path()).output().expect("a shell");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    fn conf(&self) -> PathBuf {
        self.folder.path().join("slurm.conf")
    }

    /// What one of Slurm's commands prints.
    fn ask(&self, words: &[&str]) -> String {
        let mut command = Command::new(words[0]);
        let output = command.args(&words[1..]).env("SLURM_CONF", self.conf()).output();
        String::from_utf8_lossy(&output.expect("the command").stdout).trim().to_owned()
    }

    /// Waits until a task runs, and returns its name and its node.
    fn running(&self, node: &str) -> (String, String) {
        eventually("a running task", || {
            let words = ["squeue", "-h", "-r", "-t", "RUNNING", "-o", "%i %N"];
            let printed = self.ask(&words);
            let own = |line: &&str| line.ends_with(node) && !line.ends_with(' ');
            let (task, on) = printed.lines().find(own)?.split_once(' ')?;
            Some((task.to_owned(), on.to_owned()))
        })
    }

    /// What happens when the power of a node fails.
    fn kill_node(&self, node: &str) {
        let number = self.folder.path().join(format!("slurmd.{node}.number"));
        let number = std::fs::read_to_string(number).expect("a number");
        end(number.trim().parse().expect("a number"));
        let jobs = processes_with(&[
            &format!("SLURM_CONF={}", self.conf().display()),
            &format!("SLURMD_NODENAME={node}"),
        ]);
        // Their parent would report how they ended.
        jobs.iter().filter_map(|job| parent(*job)).for_each(end);
        jobs.into_iter().for_each(end);
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.script("stop");
    }
}

fn eventually<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(180) {
        if let Some(found) = look() {
            return found;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("{what} did not come");
}

fn end(process: i32) {
    // It may have ended by itself.
    let _ = kill(Pid::from_raw(process), Signal::SIGKILL);
}

/// The processes whose environment has these lines.
fn processes_with(lines: &[&str]) -> Vec<i32> {
    let entries = std::fs::read_dir("/proc").expect("processes").flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let has_all = |process: &i32| {
        let environment = std::fs::read(format!("/proc/{process}/environ")).unwrap_or_default();
        let own: Vec<&[u8]> = environment.split(|byte| *byte == 0).collect();
        lines.iter().all(|line| own.contains(&line.as_bytes()))
    };
    numbers.filter(has_all).collect()
}

fn parent(process: i32) -> Option<i32> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with("PPid:"))?;
    line.split_whitespace().nth(1)?.parse().ok().filter(|parent| *parent > 1)
}

/// A workload whose chunks take a second with any build.
fn slow() -> String {
    let duration_us = if cfg!(debug_assertions) { 40_000_000 } else { 800_000_000 };
    crate::common::TINY.replace("duration_us = 50000", &format!("duration_us = {duration_us}"))
}

/// A folder where a plan of 64 slow trials has run at once.
fn bench() -> Bench {
    let bench = Bench::new();
    bench.write("slow.toml", &slow());
    bench.run(&slow_run("local.db")).success();
    bench
}

/// That plan, with a store for its records.
fn slow_run(store: &'static str) -> Vec<&'static str> {
    [&["run", "--store", store], &simulated("./slow.toml", "fifo", "32")[..]].concat()
}

fn far(bench: &Bench, cluster: &Cluster, more: &[&str]) -> Child {
    let mut command =
        bench.process(&[&slow_run("far.db")[..], &["--fleet", "slurm:chunk=8"], more].concat());
    command.env("SLURM_CONF", cluster.conf());
    command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("the program")
}

fn finished(child: Child) -> String {
    let output = child.wait_with_output().expect("an end");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    said
}

fn expect_identical(bench: &Bench) {
    bench.run(&["compare", "--identical", "local.db", "far.db"]).success();
    assert_eq!(bench.records("far.db").len(), bench.records("local.db").len());
}

fn expect_tidy(bench: &Bench, cluster: &Cluster) {
    assert!(!bench.path("far.db.fleet-1").exists());
    eventually("an empty queue", || cluster.ask(&["squeue", "-h"]).is_empty().then_some(()));
}

#[test]
fn a_campaign_is_the_same_as_at_home() {
    testing::beyond_cargo_test!("needs Slurm");
    let cluster = need!(Cluster::start());
    let bench = bench();
    let run = [&slow_run("far.db")[..], &["--fleet", "slurm"]].concat();
    bench.fairground(&run).env("SLURM_CONF", cluster.conf()).assert().success();
    expect_identical(&bench);
    expect_tidy(&bench, &cluster);
}

#[test]
fn boots_are_the_same_as_at_home() {
    testing::beyond_cargo_test!("needs Slurm");
    let cluster = need!(Cluster::start());
    need!(guest(&[]));
    let bench = Bench::new();
    // The guests of all chunks carry both schedulers, as those at home do.
    bench.line(&format!("{BOOTS} --store local.db")).success();
    far_boots(&bench).env("SLURM_CONF", cluster.conf()).assert().success();
    expect_identical(&bench);
}

/// Two boots, one of them with two schedulers.
const BOOTS: &str = "run --on vm --machine uniprocessor --workload ./tiny.toml --scheduler vtime \
                     --scheduler fifo --scheduler kernel:6.1 --blocks 1 --exploratory --offline";

fn far_boots(bench: &Bench) -> assert_cmd::Command {
    let run = format!("{BOOTS} --store far.db --fleet slurm:chunk=1");
    bench.fairground(&run.split(' ').collect::<Vec<_>>())
}

#[test]
fn a_killed_job_and_a_killed_node_lose_nothing() {
    testing::beyond_cargo_test!("needs Slurm");
    let cluster = need!(Cluster::start());
    let bench = bench();
    let child = far(&bench, &cluster, &[]);
    let (task, _) = cluster.running("n2");
    // A signal to a job whose script has not begun yet is lost.
    eventually("its end", || {
        cluster.ask(&["scancel", "--signal=KILL", "--batch", &task]);
        cluster.ask(&["squeue", "-h", "-r", "-t", "RUNNING", "-j", &task]).is_empty().then_some(())
    });
    cluster.running("n1");
    cluster.kill_node("n1");
    let said = finished(child);
    assert!(said.contains("did not come back"), "{said}");
    expect_identical(&bench);
    // Nobody cancels what ran there, so Slurm must have put it back and run it elsewhere.
    expect_tidy(&bench, &cluster);
}

#[test]
fn an_interrupted_campaign_goes_on() {
    testing::beyond_cargo_test!("needs Slurm");
    let cluster = need!(Cluster::start());
    let bench = bench();
    // One chunk after the other, so that there is something left to interrupt on any host.
    let child = far(&bench, &cluster, &["--jobs", "1"]);
    eventually("a record", || (!bench.try_records("far.db").is_empty()).then_some(()));
    kill(Pid::from_raw(child.id() as i32), Signal::SIGINT).expect("a process");
    let output = child.wait_with_output().expect("an end");
    assert_eq!(output.status.code(), Some(130));
    assert_eq!(cluster.ask(&["squeue", "-h"]), "", "Ctrl-C cancels");
    let first = bench.records("far.db").len();
    assert!((1..64).contains(&first), "{first}");

    // The program is killed and cannot cancel anything; the next one takes what is there.
    let mut child = far(&bench, &cluster, &["--jobs", "1", "--resume"]);
    eventually("more records", || (bench.try_records("far.db").len() > first).then_some(()));
    child.kill().expect("a process");
    child.wait().expect("an end");
    let said = finished(far(&bench, &cluster, &["--resume"]));
    assert!(said.contains("already in the store"), "{said}");
    expect_identical(&bench);
    expect_tidy(&bench, &cluster);
}

#[test]
fn a_chunk_that_never_comes_back_is_named() {
    testing::beyond_cargo_test!("needs Slurm");
    need!(guest(&[]));
    let cluster = need!(Cluster::start());
    let bench = Bench::new();
    // The jobs find Slurm's commands, and no QEMU.
    std::fs::create_dir(bench.path("bin")).expect("a folder");
    for name in ["sacct", "sbatch", "scancel", "scontrol", "sinfo", "squeue"] {
        let path = Path::new("/usr/bin").join(name);
        std::os::unix::fs::symlink(path, bench.path("bin").join(name)).expect("a link");
    }
    let mut program = far_boots(&bench);
    let assert = program.env("SLURM_CONF", cluster.conf()).env("PATH", bench.path("bin")).assert();
    let said = stderr(&assert.code(3));
    assert!(said.contains("chunk 4 (1 of 1 trials left, first "), "{said}");
    assert!(said.contains("never came back: FAILED, NonZeroExitCode on n"), "{said}");
    assert!(said.contains("qemu-system-x86_64"), "{said}");
}

#[test]
fn without_slurm_nothing_begins() {
    testing::beyond_cargo_test!("needs Slurm");
    let bench = Bench::new();
    let plan = simulated("./tiny.toml", "fifo", "6");
    let run = [&["run", "--fleet", "slurm"], &plan[..]].concat();
    let said = stderr(&bench.fairground(&run).env("PATH", "/missing").assert().code(2));
    assert!(said.contains("sinfo is not installed"), "{said}");
    let said = stderr(&bench.run(&["run", "quick", "--fleet", "pbs"]).code(2));
    assert!(said.contains("there is no fleet 'pbs'"), "{said}");
}
