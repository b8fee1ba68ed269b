// SPDX-License-Identifier: GPL-2.0-only
use std::sync::atomic::AtomicBool;
use std::sync::mpsc;
use std::time::Duration;

use serde_json::{Value, json};

use super::supervisor::{Work, supervise_work};
use super::*;

fn trial(scheduler: Value, workload: Value) -> Trial {
    serde_json::from_value(json!({
        "schema": 1, "experiment": "test", "backend": "live", "seed": 1, "block": 0, "boot": 0,
        "position": 0, "timeout_ms": 20_000,
        "contestant": {"name": "c", "scheduler": scheduler},
        "workload": workload,
        "machine": {"name": "here", "cpus": 1},
    }))
    .expect("a trial")
}

fn kernel(workload: Value) -> Trial {
    trial(json!({"kind": "kernel"}), workload)
}

fn answer_to(trial: &Trial) -> Record {
    supervise(trial, &Context::default(), &AtomicBool::new(false))
}

fn hogs(duration_us: Option<u64>) -> Value {
    json!({"name": "hogs", "duration_us": duration_us,
           "task": [{"name": "hog", "count": 3, "steps": [{"run_us": 500}]}]})
}

#[test]
fn a_trial_on_the_running_kernel_has_a_whole_record() {
    testing::alone!();
    let record = answer_to(&kernel(hogs(Some(300_000))));
    assert_eq!(record.outcome, Outcome::Ok, "{:?}", record.provenance);
    let value = |name, group| record.measured.value(name, group);
    assert!(value("iterations_per_second", "hog").unwrap() > 0.0);
    assert!((0.1..=1.0).contains(&value("cpu_share", "all").unwrap()), "{:?}", record.measured);
    assert!((1.0 / 3.0..=1.0).contains(&value("jain_index", "hog").unwrap()));
    assert_eq!(value("tasks", "hog"), Some(3.0));
    let provenance = &record.provenance;
    assert_eq!(provenance.scheduler_before, provenance.scheduler_after);
    assert!(!provenance.scheduler_before.sched_ext_state.is_empty());
    assert!(provenance.calibration_rounds_per_ms > 0 && provenance.wall_ms >= 100);
    let wakeups = record.measured.histogram("wakeup_latency_ns", "hog");
    let missing = record.measured.metrics.iter().find(|m| m.name == "wakeup_latency_ns");
    // Either the probes worked, or the record says why they did not.
    assert!(wakeups.is_some() != missing.is_some_and(|metric| metric.missing.is_some()));
    assert_eq!(provenance.probes == "on", wakeups.is_some(), "{}", provenance.probes);
}

#[test]
fn interrupts_come_or_the_record_says_why_not() {
    testing::alone!();
    let mut workload = hogs(Some(100_000));
    workload["interrupt"] = json!([{"every_us": 1000, "length_us": 200, "cpus": [0]}]);
    let record = answer_to(&kernel(workload.clone()));
    match &record.outcome {
        Outcome::Ok => {
            let notes = &record.provenance.notes;
            // On a busy host some are late.
            let is_well =
                |note: &String| !note.contains("interrupts") || !note.contains(", 0 came");
            assert!(notes.iter().all(is_well), "{notes:?}");
        }
        other => {
            assert!(other.reason().contains("interrupts"), "{other:?}");
            assert_ne!(answer_to(&kernel(hogs(Some(1)))).provenance.probes, "on", "{other:?}");
        }
    }
    workload["interrupt"][0]["cpus"] = json!([9999]);
    let outcome = answer_to(&kernel(workload)).outcome;
    assert!(outcome.reason().contains("no CPU 9999"), "{outcome:?}");
}

#[test]
fn a_start_that_was_not_common_is_noted() {
    testing::alone!();
    let trial = kernel(hogs(Some(1)));
    let notes = |start_took_ns| {
        let played = Played { above_load: true, start_took_ns, ..Played::default() };
        let mut provenance = Provenance::default();
        note(&mut provenance, &played, &model::parsers::Reported::default(), &trial);
        provenance.notes
    };
    assert_eq!(notes(3_000_000), [""; 0]);
    assert_eq!(
        notes(57_000_000),
        ["the common start took 57 ms: some began before the others could"]
    );
}

#[test]
fn policies_are_given_to_every_task() {
    testing::alone!();
    let policy = json!({"kind": "policy", "policy": {"class": "batch"}});
    assert_eq!(answer_to(&trial(policy, hogs(Some(20_000)))).outcome, Outcome::Ok);
    let highest = json!({"kind": "policy", "policy": {"class": "fifo", "priority": 99}});
    let refused = answer_to(&trial(highest, hogs(Some(20_000)))).outcome;
    assert!(refused.reason().contains("1 … 98"), "{refused:?}");
}

#[test]
fn an_endless_workload_is_stopped_and_says_what_ran() {
    testing::alone!();
    let stuck = json!({"name": "stuck", "task": [
        {"name": "taker", "repeat": 1, "steps": [{"semaphore_wait": "never"}]}]});
    let trial = Trial { timeout_ms: 200, ..kernel(stuck) };
    let record = answer_to(&trial);
    let Outcome::Timeout { reason } = &record.outcome else { panic!("{:?}", record.outcome) };
    assert!(reason.contains("1 of taker"), "{reason}");
    assert!(record.measured.metrics.is_empty());
}

fn supervised(work: Work) -> Outcome {
    let trial = Trial { timeout_ms: 100, ..kernel(hogs(Some(1))) };
    let (stop, grace) = (AtomicBool::new(false), Duration::from_millis(100));
    supervise_work(&trial, &Context::default(), &stop, grace, work).outcome
}

#[test]
fn a_worker_that_dies_spins_or_panics_leaves_a_record() {
    testing::alone!();
    let segfault = supervised(&|_| {
        let nowhere = 8 as *const u8;
        // SAFETY: none; it ends this process only, as a defect would.
        let byte = unsafe { nowhere.read_volatile() };
        panic!("read {byte} from nowhere");
    });
    assert!(segfault.reason().contains("SIGSEGV"), "{segfault:?}");
    let spins = supervised(&|_| {
        loop {
            std::hint::spin_loop();
        }
    });
    assert!(matches!(spins, Outcome::Hung { .. }), "{spins:?}");
    assert!(spins.reason().ends_with("it ran"), "{spins:?}");
    let panics = supervised(&|_| panic!("a defect"));
    assert!(panics.reason().contains("a defect"), "{panics:?}");
}

/// Its text is complete when the other end of the channel is gone.
struct Slow(mpsc::Receiver<()>);

impl std::fmt::Display for Slow {
    fn fmt(&self, _text: &mut std::fmt::Formatter) -> std::fmt::Result {
        let _ = self.0.recv();
        Ok(())
    }
}

#[test]
fn another_thread_that_panics_stops_no_worker() {
    testing::alone!();
    let panics = || supervised(&|_| panic!("a defect")).reason().to_owned();
    assert!(panics().contains("a defect"));
    let (ends, end) = mpsc::channel();
    // The text is asked for while the hook is locked.
    let panicking = thread::spawn(move || panic!("{}", Slow(end)));
    thread::sleep(Duration::from_millis(50));
    assert!(panics().contains("a defect"));
    drop(ends);
    panicking.join().expect_err("it panics");
}

#[test]
fn what_comes_before_the_workload_does_not_take_from_its_time() {
    testing::alone!();
    let trial = Trial { timeout_ms: 400, ..kernel(hogs(Some(1))) };
    let ended = |begins: bool| {
        let work = |begin: &dyn Fn()| {
            thread::sleep(Duration::from_millis(300));
            if begins {
                begin();
            }
            thread::sleep(Duration::from_millis(300));
            Record::without_measurement(trial.clone(), Outcome::Ok, Provenance::default())
        };
        let (stop, no_grace) = (AtomicBool::new(false), Duration::ZERO);
        supervise_work(&trial, &Context::default(), &stop, no_grace, &work).outcome
    };
    assert_eq!(ended(true), Outcome::Ok);
    assert!(!ended(false).is_ok(), "as much as the limit comes before the workload, not more");
}

#[test]
fn the_user_can_stop_a_trial() {
    testing::alone!();
    let trial = kernel(hogs(Some(30_000_000)));
    let record = supervise(&trial, &Context::default(), &AtomicBool::new(true));
    assert!(record.outcome.reason().contains("stopped by the user"), "{:?}", record.outcome);
    // The time for which it waited for other trials is not part of it.
    assert!(record.provenance.wall_ms < 10_000);
}

#[test]
fn what_cannot_run_here_says_why() {
    testing::alone!();
    let missing = json!({"name": "w", "program": {
        "command": ["no-such-benchmark"], "parser": "hackbench", "package": "rt-tests"}});
    let wide = json!({"name": "w", "duration_us": 1, "task": [
        {"name": "far", "affinity": [9999], "steps": []}]});
    let program = json!({"kind": "program", "command": ["scx_of_the_future"]});
    let remedy = process::packages::install("rt-tests");
    for (trial, word) in [
        (kernel(missing), remedy.as_str()),
        (kernel(wide), "CPU 9999"),
        (trial(program, hogs(Some(1))), "scx_of_the_future"),
    ] {
        let outcome = answer_to(&trial).outcome;
        assert!(matches!(outcome, Outcome::Unsupported { .. }), "{outcome:?}");
        assert!(outcome.reason().contains(word), "{outcome:?}");
    }
    if active().sched_ext_state == "absent" {
        let file = json!({"kind": "file", "file": "vtime", "sha256": "0"});
        let outcome = answer_to(&trial(file, hogs(Some(1)))).outcome;
        assert!(outcome.reason().contains("CONFIG_SCHED_CLASS_EXT"), "{outcome:?}");
    }
}

#[test]
fn a_program_that_fails_fails_the_trial() {
    testing::alone!();
    let program = |script: &str, parser: &str| {
        let command = ["sh", "-c", script];
        json!({"name": "w", "program": {"command": command, "parser": parser}})
    };
    let failed = answer_to(&kernel(program("echo no memory >&2; exit 2", "none"))).outcome;
    assert!(failed.reason().contains("exit code 2") && failed.reason().contains("no memory"));
    let confused = answer_to(&kernel(program("echo hello", "hackbench"))).outcome;
    assert!(confused.reason().contains("not understood"), "{confused:?}");
    let fine = answer_to(&kernel(program("echo Time: 0.25", "hackbench")));
    assert_eq!(fine.measured.value("completion_ns", "program"), Some(0.25e9), "{fine:?}");
}

fn answer_with(program: Value) -> Record {
    answer_to(&kernel(json!({"name": "w", "program": program})))
}

#[test]
fn a_program_is_prepared_in_a_folder_that_goes() {
    testing::alone!();
    let note = tempfile::NamedTempFile::new().expect("a file");
    let make = format!("echo Time: 3 >made; pwd >{}", note.path().display());
    let prepared = answer_with(json!({
        "command": ["cat", "made"], "parser": "hackbench", "scratch": true,
        "prepare": [["sh", "-c", make], ["test", "-s", "made"]]}));
    assert_eq!(prepared.measured.value("completion_ns", "program"), Some(3e9), "{prepared:?}");
    let folder = std::fs::read_to_string(note.path()).expect("the folder's name");
    assert!(folder.starts_with('/') && !std::path::Path::new(folder.trim()).exists(), "{folder}");
}

#[test]
fn what_cannot_be_prepared_says_why() {
    testing::alone!();
    let prepare = |script: &str| {
        let sh = ["sh", "-c", script];
        json!({"command": ["true"], "parser": "none", "scratch": true, "prepare": [sh]})
    };
    let failed = answer_with(prepare("echo no space >&2; exit 3")).outcome;
    assert!(matches!(failed, Outcome::Failed { .. }), "{failed:?}");
    for words in ["preparing with `sh -c", "exit code 3", "no space"] {
        assert!(failed.reason().contains(words), "{failed:?}");
    }
    let workload = json!({"name": "w", "program": prepare("sleep 100")});
    let slow = Trial { timeout_ms: 200, ..kernel(workload) };
    let late = answer_to(&slow).outcome;
    assert!(matches!(late, Outcome::Timeout { .. }), "{late:?}");
    assert!(late.reason().contains("still preparing"), "{late:?}");
    let sources = json!({"command": ["true"], "parser": "none", "sources": "postgresql"});
    let absent = answer_with(sources).outcome;
    assert!(matches!(absent, Outcome::Unsupported { .. }), "{absent:?}");
    assert!(absent.reason().contains("scripts/sources.sh postgresql"), "{absent:?}");
}

#[test]
fn a_programs_children_inherit_the_policy() {
    testing::alone!();
    let policy = json!({"kind": "policy", "policy": {"class": "batch"}});
    let script = "sh -c 'chrt -p $$' | grep -q SCHED_BATCH && echo Time: 1";
    let program = json!({"command": ["sh", "-c", script], "parser": "hackbench"});
    let record = answer_to(&trial(policy, json!({"name": "w", "program": program})));
    assert_eq!(record.outcome, Outcome::Ok);
}
