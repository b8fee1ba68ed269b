// SPDX-License-Identifier: GPL-2.0-only
//! The two arms: the same trials in the simulator and on the real kernel.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use compile::Source;
use fairground::execution::objects;
use model::{Backend, Outcome, Record, Trial};
use vm::emulator::Emulator;
use vm::{BootRequest, Event, Kernel};

use super::scenario::{Scenario, View};
use super::sequence::{self, Visits};

/// The simulator's patience.
const TIMEOUT: Duration = Duration::from_secs(60);

/// What an arm says to one scenario.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The callbacks, in order.
    pub sequence: Vec<String>,
    /// The same without the visits of the kernel's own threads.
    pub undisturbed: Vec<String>,
    /// The outcome, without the numbers of tasks.
    pub outcome: String,
    /// What went wrong with the comparison itself.
    pub trouble: Option<String>,
}

/// The scheduler files of the scenarios, in a folder of their own.
pub struct Files {
    _folder: tempfile::TempDir,
    sources: BTreeMap<String, Source>,
}

impl Answer {
    /// Whether the simulator's answer is the kernel's; that threads of the kernel's own came by is
    /// not the scheduler's doing.
    pub fn is_that_of(&self, real: &Answer) -> bool {
        let same = self.sequence == real.sequence || self.sequence == real.undisturbed;
        same && self.outcome == real.outcome && self.trouble == real.trouble
    }
}

impl Files {
    /// Writes every variant once.
    pub fn write(scenarios: &[Scenario]) -> Files {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut places: BTreeMap<String, PathBuf> = BTreeMap::new();
        let mut sources = BTreeMap::new();
        for scenario in scenarios {
            let text = scenario.scheduler();
            let next = places.len();
            let place = places.entry(text.clone()).or_insert_with(|| {
                let inside = folder.path().join(next.to_string());
                std::fs::create_dir(&inside).expect("a folder");
                let place = inside.join("trace.bpf.c");
                std::fs::write(&place, text).expect("a scheduler file");
                place
            });
            let found = compile::resolve(&place.to_string_lossy(), Path::new("."));
            sources.insert(scenario.name.clone(), found.expect("the file just written"));
        }
        Files { _folder: folder, sources }
    }

    fn trial(&self, scenario: &Scenario, backend: Backend) -> Trial {
        let source = &self.sources[&scenario.name];
        scenario.trial(backend, &source.path, &source.sha256)
    }
}

pub fn simulate(files: &Files, scenario: &Scenario) -> Answer {
    let trial = files.trial(scenario, Backend::Sim);
    answer(scenario, &simulated(&[trial], &files.sources[&scenario.name])[0], "fairground")
}

/// The simulator's records.
pub fn simulated(trials: &[Trial], source: &Source) -> Vec<Record> {
    let native = compile::native::native(source).unwrap_or_else(|error| panic!("{error}"));
    let one = |trial: &Trial| {
        sim::native::supervise(trial, Some(&native), TIMEOUT, &AtomicBool::new(false))
            .unwrap_or_else(|error| panic!("{error}"))
    };
    trials.iter().map(one).collect()
}

/// The real kernel's answers, by the scenarios' names: one boot for each number of CPUs, at the same
/// time.
pub fn boot(files: &Files, scenarios: &[Scenario], kernel: &Kernel) -> BTreeMap<String, Answer> {
    let one_boot = |cpus| -> Vec<(String, Answer)> {
        let own = || scenarios.iter().filter(move |scenario| scenario.cpus == cpus);
        let trials: Vec<Trial> = own().map(|s| files.trial(s, Backend::Vm)).collect();
        let records = run(&trials, files.sources.values(), kernel);
        let answers = records.into_iter().map(|record| {
            let name = &record.trial.workload.name;
            let scenario = own().find(|s| s.name == *name).expect("one of them");
            (name.clone(), answer(scenario, &record, "kthreadd"))
        });
        answers.collect()
    };
    std::thread::scope(|scope| {
        let boots = [1, 2, 4].map(|cpus| scope.spawn(move || one_boot(cpus)));
        boots.into_iter().flat_map(|boot| boot.join().expect("a boot")).collect()
    })
}

/// What several CPUs need; `None` if it was not built.
pub fn emulator() -> Option<Emulator> {
    let home = fairground::execution::locations::data_folder().expect("a home");
    vm::emulator::find(&home).expect("an emulator that is as it was")
}

/// The real kernel's records, of one boot.
pub fn run<'a>(
    trials: &[Trial],
    sources: impl Iterator<Item = &'a Source>,
    kernel: &Kernel,
) -> Vec<Record> {
    let Some(first) = trials.first() else { return Vec::new() };
    let compiled = |source: &Source| {
        let object = compile::compile(source).unwrap_or_else(|error| panic!("{error}"));
        (source.sha256.clone(), object)
    };
    let objects = sources.map(compiled).collect();
    let emulator = emulator();
    let executable = Path::new(env!("CARGO_BIN_EXE_fairground"));
    let request = BootRequest {
        files: objects::guest_files(&objects).expect("objects as files"),
        emulator: emulator.as_ref(),
        ..BootRequest::new(kernel, &first.machine, trials, executable)
    };
    let mut records = Vec::new();
    let mut keep = |event| match event {
        Event::Record(_, record) => records.push(*record),
        Event::Note(note) => println!("{note}"),
        Event::Repeated(..) | Event::Booted { .. } | Event::TrialStarted(_) => {}
    };
    vm::run_trials(&request, &AtomicBool::new(false), &mut keep).expect("a virtual machine");
    records
}

fn answer(scenario: &Scenario, record: &Record, existing: &str) -> Answer {
    let printed = &record.provenance.printed;
    let lines = |visits| match sequence::of(scenario, printed, existing, visits) {
        Ok(lines) => (lines, None),
        Err(why) => (Vec::new(), Some(why)),
    };
    let (sequence, missing) = lines(Visits::Shown);
    let (undisturbed, _) = lines(Visits::LeftOut);
    let fails = [View::Mistake, View::Refused].contains(&scenario.view);
    let unexpected = !fails && record.outcome != Outcome::Ok;
    let unexpected = unexpected.then(|| format!("{:?}", record.outcome));
    Answer {
        sequence,
        undisturbed,
        outcome: format!("{} {}", record.outcome.word(), words_of(record.outcome.reason())),
        trouble: unexpected.or(missing),
    }
}

/// The kernel's words: `hog[123]` as `hog[]`, and without the place in the scheduler's source, which
/// only the simulator knows. A file is named without its folder: objects are kept by their text, so
/// the two arms' can come from two folders.
fn words_of(text: &str) -> String {
    let text = text.rsplit_once("), in ").map_or(text.to_owned(), |(words, _)| format!("{words})"));
    let text = match (text.find("(/"), text.find("/trace.bpf.c")) {
        (Some(from), Some(to)) if from < to => format!("{}({}", &text[..from], &text[to + 1..]),
        _ => text,
    };
    let mut parts = text.split('[');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |whole, part| {
        whole + "[" + part.trim_start_matches(|c: char| c.is_ascii_digit())
    })
}
