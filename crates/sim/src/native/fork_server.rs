// SPDX-License-Identifier: GPL-2.0-only
//! Trials' processes from a small process, for programs that hold many trials (`process` says why).
//!
//! The server learns each scheduler and each recording's tapes once. An order is a trial without
//! them, in its JSON form; only the trial's own process reads it.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use compile::native::{Facts, Native};
use model::Trial;
use model::tape::TapesText;
use process::fork_server::{ForkServer, Service};
use process::sandbox::{Cell, Limits};
use serde::{Deserialize, Serialize};

use super::cell;
use super::isolate::{Patience, ProcessEnd, be_isolated, isolated_by};
use super::supervision::answer;

static SERVER: OnceLock<TrialServer> = OnceLock::new();

/// Starts the process that forks all later trials' processes. A program that will hold many trials
/// calls this while it is small, from a thread that lives as long as trials run. Without it each
/// trial's process is forked from this one, which is as right, and slower the larger this one is.
pub fn start_fork_server() -> io::Result<()> {
    // Made here, the sandbox is there in all processes; `supervise` reports that it cannot be made.
    let _ = cell::shared();
    // The first hash and the first search of a text ask the processor what it can do, which takes
    // long in a virtual machine: 80 µs for each process.
    let _ = model::trial::sha256_hex(&[]);
    #[cfg(target_arch = "x86_64")]
    let _ = std::is_x86_feature_detected!("avx2");
    let _ = SERVER.set(TrialServer::start()?);
    Ok(())
}

pub fn started() -> Option<&'static TrialServer> {
    SERVER.get()
}

/// The fork server, and what it has been taught.
pub struct TrialServer {
    server: ForkServer,
    taught: Mutex<BTreeSet<String>>,
}

impl TrialServer {
    fn start() -> io::Result<TrialServer> {
        let server = ForkServer::start(Known::default())?;
        Ok(TrialServer { server, taught: Mutex::default() })
    }

    /// Runs a trial in a process of its own, in the sandbox, as
    /// [`isolated`](super::isolate::isolated) does.
    pub fn isolated(
        &self,
        trial: &Trial,
        scheduler: Option<&Native>,
        patience: Patience,
        stop: &AtomicBool,
    ) -> io::Result<ProcessEnd> {
        if let Some(native) = scheduler {
            self.teach(&native.sha256, stop, || Lesson::scheduler(native))?;
        }
        if let Some((sha256, text)) = tapes(trial) {
            let lesson = || Lesson::Tapes(sha256.into()).with(text.as_bytes());
            self.teach(sha256, stop, lesson)?;
        }
        let scheduler = scheduler.map(|native| &native.sha256);
        let order = serde_json::to_vec(&(trial, patience.timeout, scheduler))?;
        isolated_by(&self.server, &order, patience, stop)
    }

    /// Teaches something, by its SHA-256, unless the server knows it.
    fn teach(
        &self,
        sha256: &str,
        stop: &AtomicBool,
        lesson: impl FnOnce() -> io::Result<Vec<u8>>,
    ) -> io::Result<()> {
        // Locked until it is taught: nobody's order may overtake the lesson.
        let mut taught = self.taught.lock().unwrap_or_else(PoisonError::into_inner);
        if !taught.contains(sha256) && self.server.teach(&lesson()?, stop)? {
            taught.insert(sha256.to_owned());
        }
        Ok(())
    }
}

/// The tapes that a trial plays, with their SHA-256.
fn tapes(trial: &Trial) -> Option<(&str, &Arc<str>)> {
    let recorded = trial.workload.recording.as_ref()?;
    Some((&recorded.sha256, recorded.text.0.as_ref()?))
}

/// The first line of a lesson, in its JSON form. The bytes of the object, or of the text, follow.
#[derive(Serialize, Deserialize)]
enum Lesson {
    Scheduler { name: String, sha256: String, facts: Box<Facts> },
    Tapes(String),
}

impl Lesson {
    fn scheduler(native: &Native) -> io::Result<Vec<u8>> {
        let Native { name, sha256, object, facts } = native.clone();
        Lesson::Scheduler { name, sha256, facts: Box::new(facts) }.with(&object)
    }

    fn with(&self, bytes: &[u8]) -> io::Result<Vec<u8>> {
        let head = serde_json::to_vec(self)?;
        Ok([&head, &b"\n"[..], bytes].concat())
    }
}

/// What the server has learnt, by SHA-256.
#[derive(Default)]
struct Known {
    schedulers: BTreeMap<String, Native>,
    tapes: BTreeMap<String, Arc<str>>,
}

impl Service for Known {
    fn learn(&mut self, lesson: &[u8]) {
        let end = lesson.iter().position(|byte| *byte == b'\n').expect("a first line");
        let (head, bytes) = (&lesson[..end], &lesson[end + 1..]);
        match serde_json::from_slice(head).expect("a lesson") {
            Lesson::Scheduler { name, sha256, facts } => {
                let native =
                    Native { name, sha256: sha256.clone(), object: bytes.into(), facts: *facts };
                self.schedulers.insert(sha256, native);
            }
            Lesson::Tapes(sha256) => {
                let text = std::str::from_utf8(bytes).expect("tapes are text");
                self.tapes.insert(sha256, text.into());
            }
        }
    }

    fn work(&self, order: &[u8], [answer_to, fault_to]: [OwnedFd; 2]) -> i32 {
        match self.understood(order) {
            Ok(Order { trial, scheduler, confinement }) => {
                let work = || Ok(answer(&trial, scheduler));
                be_isolated(answer_to, fault_to, Some(confinement), work)
            }
            Err(why) => be_isolated(answer_to, fault_to, None, || Err(format!("no order: {why}"))),
        }
    }
}

/// What a trial's process has to do.
struct Order<'a> {
    trial: Trial,
    scheduler: Option<&'a Native>,
    confinement: (&'static Cell, Limits),
}

impl Known {
    fn understood(&self, order: &[u8]) -> Result<Order<'_>, String> {
        let (mut trial, timeout, scheduler): (Trial, Duration, Option<String>) =
            serde_json::from_slice(order).map_err(|error| error.to_string())?;
        if let Some(recorded) = &mut trial.workload.recording {
            recorded.text = TapesText(self.tapes.get(&recorded.sha256).cloned());
        }
        let known = |sha256: &String| {
            self.schedulers.get(sha256).ok_or_else(|| format!("nobody taught {sha256}"))
        };
        let scheduler = scheduler.as_ref().map(known).transpose()?;
        let confinement = (cell::shared()?, cell::limits(&trial, timeout));
        Ok(Order { trial, scheduler, confinement })
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use model::{Recorded, Step};

    use super::super::isolate::isolated;
    use super::*;

    const LIMIT: Duration = Duration::from_secs(20);
    const PATIENCE: Patience = Patience { timeout: LIMIT, answer: 1 << 20 };
    const TAPES: &str = "task 1 a\nr500 p1 s2000 r700\ntask 2 b\nw0 r300\n";

    const OK: &str = r#""outcome":{"kind":"ok"}"#;

    fn scheduler(file: &str) -> Native {
        let source = compile::resolve(file, Path::new("")).unwrap_or_else(|why| panic!("{why}"));
        compile::native::native(&source).unwrap_or_else(|why| panic!("{why}"))
    }

    fn trial(seed: u64) -> Trial {
        let steps = serde_json::json!([{ "run_us": 200 }, { "sleep_us": 1000 }]);
        serde_json::from_value(serde_json::json!({
            "schema": model::trial::SCHEMA, "experiment": "served", "backend": "sim",
            "contestant": { "name": "it", "scheduler": {
                "kind": "file", "file": "it", "sha256": "" } },
            "workload": { "name": "sleepers", "duration_us": 20_000,
                "task": [{ "name": "sleeper", "count": 6, "jitter_us": 900, "steps": steps }] },
            "machine": { "name": "two", "cpus": 2 },
            "seed": seed, "block": 0, "boot": 0, "position": 0, "timeout_ms": 10_000,
        }))
        .expect("a trial")
    }

    /// Two tasks of a recording; one waits for the other.
    fn replay() -> Trial {
        let mut trial = trial(1);
        let sha256 = model::trial::sha256_hex(TAPES.as_bytes());
        let text = TapesText(Some(Arc::from(TAPES)));
        trial.workload.recording = Some(Recorded { sha256, text, ..Recorded::default() });
        let group = &mut trial.workload.tasks[0];
        (group.count, group.repeat, group.jitter_us) = (2, Some(1), 0);
        group.steps = vec![Step::Tape];
        trial
    }

    fn server() -> TrialServer {
        TrialServer::start().expect("a server")
    }

    fn served(server: &TrialServer, trial: &Trial, scheduler: Option<&Native>) -> ProcessEnd {
        let stop = AtomicBool::new(false);
        server.isolated(trial, scheduler, PATIENCE, &stop).expect("a process")
    }

    fn forked(trial: &Trial, scheduler: Option<&Native>) -> ProcessEnd {
        let stop = AtomicBool::new(false);
        isolated(PATIENCE, &stop, None, || answer(trial, scheduler)).expect("a process")
    }

    #[test]
    fn the_answer_is_the_same_to_the_byte() {
        let (server, fifo) = (server(), scheduler("fifo"));
        let first = served(&server, &trial(1), Some(&fifo));
        let text = |ending: &ProcessEnd| match ending {
            ProcessEnd::Answer(bytes) => String::from_utf8_lossy(bytes).into_owned(),
            other => panic!("{other:?}"),
        };
        assert!(text(&first).contains(OK), "{}", text(&first));
        assert_eq!(first, forked(&trial(1), Some(&fifo)));
        assert_ne!(first, served(&server, &trial(2), Some(&fifo)));
        let vtime = scheduler("vtime");
        assert_eq!(served(&server, &trial(1), Some(&vtime)), forked(&trial(1), Some(&vtime)));
        assert_eq!(first, served(&server, &trial(1), Some(&fifo)));
        assert_eq!(served(&server, &trial(1), None), forked(&trial(1), None));
        let replayed = served(&server, &replay(), Some(&fifo));
        assert!(text(&replayed).contains(OK), "{}", text(&replayed));
        assert_eq!(replayed, forked(&replay(), Some(&fifo)));
    }

    #[test]
    fn a_crash_costs_its_own_trial() {
        let text = "#include <scx/common.bpf.h>\nchar _license[] SEC(\"license\") = \"GPL\";\n\
            void BPF_STRUCT_OPS(bad_enqueue, struct task_struct *p, u64 flags) { *(int *)8 = 1; }\n\
            SCX_OPS_DEFINE(bad_ops, .enqueue = (void *)bad_enqueue, .name = \"bad\");\n";
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("bad.bpf.c");
        std::fs::write(&path, text).expect("the folder can be written");
        let (server, bad) = (server(), scheduler(&path.display().to_string()));
        let ProcessEnd::Fault(fault) = served(&server, &trial(1), Some(&bad)) else {
            panic!("it does not crash");
        };
        let outcome = fault.outcome(Some(&bad));
        assert!(outcome.reason().contains("bad.bpf.c:3"), "{outcome:?}");
        let fifo = scheduler("fifo");
        assert_eq!(served(&server, &trial(1), Some(&fifo)), forked(&trial(1), Some(&fifo)));
    }

    #[test]
    fn a_trial_can_be_stopped_and_can_be_late() {
        let (server, fifo) = (server(), scheduler("fifo"));
        let mut long = trial(1);
        long.workload.duration_us = Some(3_600_000_000);
        let ending = |timeout, stop| {
            let patience = Patience { timeout, ..PATIENCE };
            let stop = AtomicBool::new(stop);
            server.isolated(&long, Some(&fifo), patience, &stop).expect("a process")
        };
        assert_eq!(ending(Duration::from_millis(200), false), ProcessEnd::TimedOut);
        assert_eq!(ending(LIMIT, true), ProcessEnd::Stopped);
    }

    #[test]
    fn an_order_that_is_not_understood_says_why() {
        let stop = AtomicBool::new(false);
        let ending = |order: &[u8]| {
            let server = server();
            isolated_by(&server.server, order, PATIENCE, &stop).expect("a process")
        };
        let order = serde_json::to_vec(&(trial(1), LIMIT, Some("abc"))).expect("plain data");
        assert_eq!(ending(&order), ProcessEnd::Panic("no order: nobody taught abc".into()));
        let ProcessEnd::Panic(why) = ending(b"{}") else { panic!("it was understood") };
        assert!(why.starts_with("no order: "), "{why}");
    }
}
