// SPDX-License-Identifier: GPL-2.0-only
//! The two arms: the same trials in the simulator and on a real kernel in a virtual machine.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, PoisonError};

use fairground::execution::Settings;
use fairground::execution::objects::{self, Sources};
use fairground::execution::repeated::Earlier;
use fairground::execution::sink::Sink;
use model::{Backend, Clock, Costs, Machine, Outcome, Record, Trial, Workload};
use spec::assets::Asset;
use spec::expression::Names;
use spec::{self, Host};

use crate::oracle::{Oracle, Run, Where, load};

pub fn simulate(oracles: &[Oracle]) -> Vec<Result<(), String>> {
    judge(oracles, Backend::Sim)
}

/// Whether each oracle holds on the real kernel; runs of one machine share boots.
pub fn boot(oracles: &[Oracle]) -> Vec<Result<(), String>> {
    assert!(oracles.iter().all(|oracle| oracle.place != Where::Simulator));
    judge(oracles, Backend::Vm)
}

/// What the simulator records of trials, for oracles that judge by themselves.
pub fn records(runs: &[Run]) -> Vec<Record> {
    run_all(runs.iter(), Backend::Sim)
}

/// Several boots, so that each CPU of the host has one.
const TRIALS_PER_BOOT: usize = 24;

/// Trials of several tests follow one another: a worker that is forked meanwhile would hold open
/// what a compiler waits for.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

fn run_all<'a>(runs: impl Iterator<Item = &'a Run>, backend: Backend) -> Vec<Record> {
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let mut sources = Sources::new();
    let mut trials = Vec::new();
    for (position, run) in runs.enumerate() {
        trials.push(trial(run, position as u32, backend, &mut sources));
    }
    share_boots(&mut trials);
    answers(&trials, sources)
}

/// Brings trials of one machine together, and gives each boot its number. The limit of real-time
/// tasks is told to the kernel when it boots.
fn share_boots(trials: &mut [Trial]) {
    let booted = |trial: &Trial| (trial.machine.cpus, trial.machine.rt_runtime_us);
    trials.sort_by_key(booted);
    let alike = trials.chunk_by_mut(|a, b| booted(a) == booted(b));
    let boots = alike.flat_map(|trials| trials.chunks_mut(TRIALS_PER_BOOT));
    for (number, trials) in boots.enumerate() {
        trials.iter_mut().for_each(|trial| trial.boot = number as u32);
    }
}

fn judge(oracles: &[Oracle], backend: Backend) -> Vec<Result<(), String>> {
    let mut records = run_all(oracles.iter().flat_map(|oracle| &oracle.runs), backend).into_iter();
    let verdict = |oracle: &Oracle| {
        let records: Vec<Record> = records.by_ref().take(oracle.runs.len()).collect();
        let trouble = oracle.runs.iter().zip(&records).find_map(|(run, record)| {
            let outcome = &record.outcome;
            if run.is_refused { admission(outcome) } else { trouble(outcome) }
        });
        trouble.map_or(Ok(()), Err)?;
        oracle.runs.iter().zip(&records).try_for_each(|(run, record)| run.check(record))?;
        (oracle.holds)(&records)
    };
    oracles.iter().map(verdict).collect()
}

fn trouble(outcome: &Outcome) -> Option<String> {
    let text = || format!("it ended {}: {}", outcome.word(), outcome.reason());
    (!outcome.is_ok()).then(text)
}

/// What is wrong with a trial that was to be refused.
fn admission(outcome: &Outcome) -> Option<String> {
    let is_refusal = outcome.reason().to_lowercase().contains("deadline");
    if outcome.is_ok() {
        Some("it was admitted".into())
    } else {
        trouble(outcome).filter(|_| !is_refusal)
    }
}

/// The records in the order of the trials.
fn answers(trials: &[Trial], sources: Sources) -> Vec<Record> {
    let home = fairground::execution::locations::data_folder().expect("a home");
    let prepared = objects::prepare(trials, &sources).unwrap_or_else(|error| panic!("{error}"));
    let executable = Some(PathBuf::from(env!("CARGO_BIN_EXE_fairground")));
    let earlier = Earlier::default();
    let settings =
        Settings { home: Some(home), sources, jobs: None, offline: true, earlier, executable };
    let mut records = Vec::new();
    let mut keep = |new: &[Record]| {
        records.extend_from_slice(new);
        Ok(())
    };
    let stop = AtomicBool::new(false);
    let done = fairground::execution::execute(
        trials,
        &prepared,
        &settings,
        &Sink::new(&mut keep, &mut |_| {}, &stop),
    );
    done.unwrap_or_else(|error| panic!("{error:#}"));
    records.sort_by_key(|record| record.trial.position);
    assert_eq!(records.len(), trials.len());
    records
}

fn trial(run: &Run, position: u32, backend: Backend, sources: &mut Sources) -> Trial {
    let machine = Machine {
        name: format!("oracle{}", run.cpus),
        cpus: run.cpus,
        hz: run.hz,
        rt_runtime_us: if run.is_limited { Machine::default().rt_runtime_us } else { -1 },
        clock: Clock::Virtual,
        // Oracles are about policy; what a kernel's work costs would only blur them.
        costs: Costs::FREE,
        ..Machine::default()
    };
    Trial {
        experiment: "oracles".into(),
        backend,
        contestant: contestant(run.scheduler, sources).into(),
        workload: workload(run).into(),
        machine: machine.into(),
        position,
        trace: true,
        ..Trial::default()
    }
}

fn contestant(text: &str, sources: &mut Sources) -> model::Contestant {
    let found = std::cell::RefCell::new(sources);
    let resolve = |file: &str, base: &Path| {
        let source = compile::resolve(file, base).map_err(|error| error.to_string())?;
        let name = (source.name.clone(), source.sha256.clone());
        found.borrow_mut().insert(source.sha256.clone(), source);
        Ok(name)
    };
    let knobs = |sha256: &str| {
        let source = found.borrow().get(sha256).cloned().ok_or("no source")?;
        let compiled = compile::compile(&source).map_err(|error| error.to_string())?;
        live::loader::knobs(&compiled.object).map_err(|error| error.message)
    };
    let host = Host {
        cpus: 1,
        resolve: &resolve,
        knobs: &knobs,
        kept: &|_, _| None,
        is_installed: &|_| false,
        running: None,
    };
    let text = facts(text);
    spec::contestant::from_option(&text, &host).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// A scheduler of an oracle as after `--scheduler`.
fn facts(text: &str) -> String {
    let Some(facts) = text.strip_prefix("facts/") else { return text.to_owned() };
    let (name, knobs) = facts.split_once(' ').unwrap_or((facts, ""));
    format!("../../tests/oracles/facts/{name}.bpf.c {knobs}")
}

/// The load that an oracle names: `hogs`, or `bfs.four us=100` with a parameter.
fn load_with_parameters(text: &str) -> (String, Names) {
    let mut words = text.split(' ');
    let table = words.next().and_then(load).unwrap_or_else(|| panic!("there is no load {text}"));
    let parameter = |word: &str| {
        let (key, value) = word.split_once('=')?;
        Some((key.to_owned(), value.parse().ok()?))
    };
    let parameters = words.map(|word| parameter(word).unwrap_or_else(|| panic!("{text}: {word}?")));
    (toml::to_string(table).expect("a load is TOML"), parameters.collect())
}

fn workload(run: &Run) -> Workload {
    let (text, parameters) = if run.workload.contains('\n') {
        (run.workload.to_owned(), Names::new())
    } else {
        load_with_parameters(run.workload)
    };
    let asset =
        Asset { label: "oracle.toml".into(), stem: "oracle".into(), base: PathBuf::new(), text };
    let resolved = spec::workload::resolve(&asset, &parameters, run.cpus);
    resolved.unwrap_or_else(|error| panic!("{error}\n{}", run.workload)).workload
}
