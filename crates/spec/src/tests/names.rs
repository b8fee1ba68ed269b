// SPDX-License-Identifier: GPL-2.0-only
//! Names of contestants: files of one name, kernels, and what `live` leaves out.

use std::path::Path;

use model::{Backend, Experiment, SchedulerChoice};

use super::{Host, Resolve, host, host_with, list, running};
use crate::contestants::RunningKernel;
use crate::{Overrides, SpecError, adhoc, experiment, plan};

/// Every path is a scheduler of its own.
fn files(file: &str, _: &Path) -> Result<(String, String), String> {
    let name = file.rsplit('/').next().unwrap_or_default();
    Ok((name.trim_end_matches(".bpf.c").into(), file.into()))
}

fn with(resolve: &Resolve<'_>, on: Backend, schedulers: &[&str]) -> Result<Experiment, SpecError> {
    let (on, workloads) = (vec![on], list(&["messaging"]));
    let over = Overrides { on, workloads, schedulers: list(schedulers), ..Overrides::default() };
    Ok(adhoc(&over, &host_with(resolve))?.experiment)
}

fn names(experiment: &Experiment) -> Vec<&str> {
    experiment.contestants.iter().map(|contestant| contestant.name.as_str()).collect()
}

#[test]
fn files_of_one_name_are_told_apart_by_their_folders() {
    for (written, expected) in [
        (vec!["a/main.bpf.c", "b/main.bpf.c"], vec!["a/main", "b/main"]),
        (vec!["main.bpf.c", "a/main.bpf.c", "rr"], vec!["./main", "a/main", "rr"]),
        (vec!["vtime", "./vtime.bpf.c"], vec!["vtime", "./vtime"]),
        (vec!["x/a/m.bpf.c", "y/a/m.bpf.c", "/b/m.bpf.c"], vec!["x/a/m", "y/a/m", "b/m"]),
        (vec!["a/m.bpf.c", "b/m.bpf.c slice_us=3"], vec!["a/m", "b/m slice_us=3"]),
        (vec!["a/m.bpf.c", "b/n.bpf.c"], vec!["m", "n"]),
        (vec!["vtime", "vtime@6.12"], vec!["vtime", "vtime@6.12"]),
    ] {
        let knobs = |_: &str| super::knobs("vtime");
        let host = Host { knobs: &knobs, ..host_with(&files) };
        let (workloads, schedulers) = (list(&["messaging"]), list(&written));
        let over = Overrides { workloads, schedulers, ..Overrides::default() };
        let read = adhoc(&over, &host).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(names(&read.experiment), expected, "{written:?}");
        assert_eq!(read.experiment.baseline, expected[0]);
    }
}

#[test]
fn a_version_means_the_running_kernel_only_if_it_is_its_beginning() {
    let running = running();
    assert!(["6", "6.18", "6.18.44", "6.18.44-amd64"].into_iter().all(|name| running.is(name)));
    assert!(["6.1", "7", "", "mine", "./bzImage", "6.18.4"].into_iter().all(|n| !running.is(n)));
    assert_eq!(running.option(), "kernel:6.18");
}

#[test]
fn live_refuses_another_kernel_that_was_asked_for() {
    let said = |schedulers: &[&str]| {
        with(&super::resolve, Backend::Live, schedulers).unwrap_err().to_string()
    };
    assert_eq!(
        said(&["rr", "kernel:6.1"]),
        "--scheduler kernel:6.1: Linux 6.18.44-amd64 runs here, not 6.1; write kernel:6.18, or \
         --on vm to boot 6.1"
    );
    assert_eq!(
        said(&["vtime@7"]),
        "--scheduler vtime@7: Linux 6.18.44-amd64 runs here, not 7; write no @7, or --on vm to \
         boot 7"
    );
}

#[test]
fn a_trial_on_live_has_the_running_kernel_or_none() {
    let read = with(&super::resolve, Backend::Live, &["vtime", "kernel:6.18", "policy:rr:5"]);
    let trials = plan::plan(&read.unwrap(), model::Seed(1));
    for trial in trials {
        let expected = (trial.contestant.name == "eevdf-6.18").then_some("6.18");
        assert_eq!(trial.contestant.kernel.as_deref(), expected, "{}", trial.contestant.name);
    }
}

#[test]
fn live_leaves_out_the_other_kernels_of_an_experiment_by_name() {
    let over = Overrides { on: vec![Backend::Live], ..Overrides::default() };
    let read = experiment("quick", &over, &host());
    let read = read.unwrap_or_else(|error| panic!("{error}"));
    let note = read.notes.iter().find(|note| note.starts_with("left out on live: "));
    let note = note.unwrap_or_else(|| panic!("{:?}", read.notes));
    assert!(note.contains("cfs-6.1") && note.contains("Linux 6.18.44-amd64 runs here"), "{note}");
    let trials = plan::plan(&read.experiment, model::Seed(1));
    assert!(!trials.is_empty());
    let is_kernel = |trial: &model::Trial| trial.contestant.scheduler == SchedulerChoice::Kernel;
    assert!(!trials.iter().any(is_kernel));
}

#[test]
fn live_without_sched_ext_says_at_once_what_runs_there() {
    let running = || RunningKernel {
        no_sched_ext: Some("Linux 6.18.44-amd64 here has no sched_ext".into()),
        ..running()
    };
    let host = Host { running: Some(&running), ..host() };
    let over = Overrides {
        on: vec![Backend::Live],
        workloads: list(&["messaging"]),
        schedulers: list(&["vtime", "policy:rr:5"]),
        ..Overrides::default()
    };
    assert_eq!(
        adhoc(&over, &host).unwrap_err().to_string(),
        "--on live: Linux 6.18.44-amd64 here has no sched_ext, and vtime would have to be loaded; \
         write --on sim or --on vm; what runs here: --scheduler kernel:6.18, policy:rr:5"
    );
    let allowed = Overrides { schedulers: list(&["kernel:6.18", "policy:rr:5"]), ..over };
    assert!(adhoc(&allowed, &host).is_ok());
}
