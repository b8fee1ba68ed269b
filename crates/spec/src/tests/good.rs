// SPDX-License-Identifier: GPL-2.0-only
//! Files that are accepted, and what they mean.

use std::path::Path;

use model::workload::Timer;
use model::{Backend, Machine, PolicyClass, SchedulerChoice, Step};

use super::{asset, host, json, list, toml};
use crate::assets::{self, Kind};
use crate::capability::runnable;
use crate::experiment::ResolvedExperiment;
use crate::expression::Names;
use crate::workload::{self, parameters};
use crate::{Overrides, adhoc, experiment, machine};

#[test]
fn every_workload_of_the_project_is_good_on_machines_of_any_size() {
    for name in assets::names(Kind::Workload) {
        let asset = assets::find(Kind::Workload, &name, Path::new("")).unwrap();
        for cpus in [1, 2, 64] {
            let resolved = workload::resolve(&asset, &Names::new(), cpus);
            let workload = resolved.unwrap_or_else(|error| panic!("{error}")).workload;
            assert_eq!(workload.name, name);
            assert!(!workload.about.is_empty(), "{name} says what it is about");
            assert!(!workload.headline.is_empty(), "{name} says what to look at first");
        }
        for parameter in parameters(&asset, 1).unwrap() {
            assert!(!parameter.about.is_empty(), "{name}: {} has a comment", parameter.name);
        }
    }
}

/// Comparing two backends or a program with its replay, or asking which schedulers survive, claims
/// no interval.
const NO_INTERVALS: [&str; 7] =
    ["control", "fidelity", "fidelity_groups", "replays", "replays_live", "soak", "soak_short"];

#[test]
fn memory_changes_no_cost_of_a_machine() {
    let costs = |name| machine::load(name, Path::new(""), 1).unwrap().costs;
    assert_eq!(costs("roomy"), costs("uniprocessor"));
}

#[test]
fn every_machine_and_experiment_of_the_project_is_good() {
    for name in assets::names(Kind::Machine) {
        assert!(machine::load(&name, Path::new(""), 2).unwrap().cpus >= 1);
    }
    for name in assets::names(Kind::Experiment) {
        let resolved = experiment(&name, &Overrides::default(), &host());
        let experiment = resolved.unwrap_or_else(|error| panic!("{error}")).experiment;
        assert!(experiment.question.ends_with('?'), "{name} asks a question");
        let least = if NO_INTERVALS.contains(&name.as_str()) { 1 } else { 6 };
        assert!(experiment.blocks >= least, "{name} has enough blocks for a finite interval");
    }
}

#[test]
fn a_policy_with_a_nice_value_alone_is_the_ordinary_one() {
    let text = "duration_us = 1000\n[[task]]\nname = \"a\"\npolicy = { nice = 10 }\nsteps = [{ run_us = 1 }]\n";
    let policy = toml(text).unwrap().tasks[0].policy.unwrap();
    assert_eq!((policy.class, policy.nice), (PolicyClass::Other, 10));
}

#[test]
fn expressions_become_numbers() {
    let text = "duration_us = \"= 2 * cpus * ms * 1000\"\n[parameters]\n# Milliseconds.\nms = \"= 10 / cpus\"\n\
                [[task]]\nname = \"a\"\ncount = \"= cpus + ms\"\nsteps = [{ run_us = \"= -5 + 10\" }, { nice = \"= -ms\" }]\n\
                [program]\ncommand = [\"hackbench\", \"= cpus\"]\nparser = \"hackbench\"\n";
    let workload = toml(text).unwrap();
    assert_eq!(workload.duration_us, Some(20_000));
    assert_eq!(workload.parameters, Names::from([("ms".into(), 5)]));
    assert_eq!(workload.tasks[0].count, 7);
    assert_eq!(workload.tasks[0].steps, [Step::RunUs(5), Step::Nice(-5)]);
    assert_eq!(workload.program.unwrap().command, ["hackbench", "2"]);
    let declared = parameters(&asset("w.toml", text), 2).unwrap();
    assert_eq!((declared[0].default, declared[0].about.as_str()), (5, "Milliseconds."));
    let given = Names::from([("ms".into(), 7)]);
    let other = workload::resolve(&asset("w.toml", text), &given, 2).unwrap().workload;
    assert_eq!((other.tasks[0].count, other.cell().as_str()), (9, "w ms=7"));
}

#[test]
fn an_rtapp_task_means_its_steps_in_order() {
    let resolved = json(
        r#"{ /* comments, */ // and trailing commas
        "global": {"duration": 2, "calibration": "CPU0", "default_policy": "SCHED_OTHER", "gnuplot": true,},
        "resources": {"m": {"type": "mutex"}},
        "tasks": {
          "waker": {"instance": 3, "delay": 500, "run0": 10, "sleep_a": 20, "runtime": 30, "yield": "",
                    "lock": "m", "signal": "c", "unlock": "m", "resume": "sleeper",
                    "timer": {"ref": "unique1", "period": 40, "mode": "absolute"}},
          "sleeper": {"policy": "SCHED_FIFO", "suspend": "", "lock": "m",
                      "wait": {"ref": "c", "mutex": "m"}, "unlock": "m", "sync": {"ref": "c", "mutex": "m"}}
        }}"#,
    )
    .unwrap();
    let workload = resolved.workload;
    assert_eq!(workload.duration_us, Some(2_000_000));
    assert_eq!(resolved.notes, ["w.json: ignored in 'global': calibration, gnuplot"]);
    let waker = &workload.tasks[0];
    assert_eq!((waker.count, waker.delay_us, waker.repeat, waker.policy), (3, 500, None, None));
    let name = "unique1".into();
    let timer = Timer { period_us: 40, relative: false, skip: false, shared: false, name };
    assert_eq!(
        waker.steps,
        [
            Step::RunUs(10),
            Step::SleepUs(20),
            Step::RunUntilUs(30),
            Step::Yield,
            Step::Lock("m".into()),
            Step::Signal("c".into()),
            Step::Unlock("m".into()),
            Step::Resume("sleeper".into()),
            Step::Timer(timer),
        ]
    );
    let sleeper = &workload.tasks[1];
    let policy = sleeper.policy.unwrap();
    assert_eq!((policy.class, policy.priority), (PolicyClass::Fifo, 10));
    assert_eq!(sleeper.steps[0], Step::Suspend("sleeper".into()));
    // `sync` without its lock takes it for the time of waiting.
    let sync = Step::Sync { condition: "c".into(), lock: "m".into() };
    assert_eq!(sleeper.steps[4..], [Step::Lock("m".into()), sync, Step::Unlock("m".into())]);
}

#[test]
fn rtapp_phases_become_loops_and_restore_what_they_change() {
    let resolved = json(
        r#"{"tasks": {"t": {"loop": 2, "cpus": [1], "phases": {
          "a": {"loop": 3, "cpus": [0], "run": 1},
          "b": {"run": 2, "sleep": 3},
          "c": {"loop": -1, "run": 4}}}},
        "global": {"duration": 1}}"#,
    );
    let steps = &resolved.unwrap().workload.tasks[0].steps;
    assert_eq!(
        steps[..5],
        [
            Step::Affinity(vec![0]),
            Step::Loop { count: 3, steps: vec![Step::RunUs(1)] },
            Step::Affinity(vec![1]),
            Step::RunUs(2),
            Step::SleepUs(3),
        ]
    );
    assert!(matches!(&steps[6], Step::Loop { count, .. } if *count > 1_000_000_000_000));
}

#[test]
fn rtapp_templates_are_forked() {
    let resolved = json(
        r#"{"tasks": {
          "parent": {"loop": 2, "fork0": "child_with_a_long_name", "fork1": "child_with_a_long_name", "sleep": 5},
          "child_with_a_long_name": {"instance": 0, "loop": 3, "run": 7}}}"#,
    )
    .unwrap();
    let [parent, child] = &resolved.workload.tasks[..] else { panic!("two tasks") };
    assert_eq!(child.name, "child_with_a_lo");
    assert_eq!(parent.steps[1], Step::Fork { task: child.name.clone(), count: 1 });
    assert!(child.template);
    assert_eq!(child.steps, [Step::Loop { count: 3, steps: vec![Step::RunUs(7)] }]);
    assert_eq!(
        resolved.notes,
        ["w.json: task 'child_with_a_long_name' is called 'child_with_a_lo' here"]
    );
}

#[test]
fn quick_is_what_the_readme_promises() {
    let quick = experiment("quick", &Overrides::default(), &host()).unwrap().experiment;
    let names: Vec<&str> = quick.contestants.iter().map(|c| c.name.as_str()).collect();
    for scheduler in ["eevdf-7", "cfs-6.1", "eevdf", "cfs", "bore", "bmq", "pds", "muqss", "bfs"] {
        assert!(names.contains(&scheduler), "{scheduler}");
    }
    let cells: Vec<String> = quick.workloads.iter().map(|workload| workload.cell()).collect();
    assert_eq!(cells[0], "wake_under_hogs duration_ms=400 hogs=3");
    assert_eq!(quick.trace, [cells[0].clone()]);
    assert_eq!(quick.backends, [Backend::Sim, Backend::Vm]);
    let trials = crate::plan::plan(&quick, model::Seed(1));
    assert!(trials.len() <= 800, "{}", trials.len());
    let on = |backend, cpus| {
        let mut trials = trials.iter();
        trials.any(|trial| trial.backend == backend && trial.machine.cpus == cpus)
    };
    // Four CPUs of a kernel take longer than a newcomer waits.
    assert!(on(Backend::Sim, 1) && on(Backend::Sim, 4));
    assert!(on(Backend::Vm, 1) && !on(Backend::Vm, 4));
}

#[test]
fn a_workload_follows_the_machines_and_its_cells_do_not() {
    let machines = vec!["uniprocessor".to_owned(), "two_cpus".to_owned()];
    let over = Overrides { machines, ..Overrides::default() };
    let experiment = experiment("quick", &over, &host()).unwrap().experiment;
    let cell = &experiment.workloads[0];
    let hogs = |machine: &Machine| experiment.on_machine(cell, machine).tasks[2].count;
    assert_eq!(experiment.machines.iter().map(hogs).collect::<Vec<_>>(), [3, 6]);
    assert!(experiment.scaled.iter().all(|scaled| scaled.cpus == 2));
    // `messaging` does not ask for the number of CPUs.
    assert!(experiment.scaled.iter().all(|scaled| scaled.workload.name != "messaging"));
}

#[test]
fn the_command_line_changes_an_experiment() {
    let over = Overrides {
        schedulers: list(&["vtime slice_us=5", "policy:rr:7", "kernel:6.18"]),
        workloads: list(&["messaging groups=1,2"]),
        blocks: Some(2),
        trials_per_boot: Some(3),
        timeout_s: Some(7),
        trace: list(&["all"]),
        ..Overrides::default()
    };
    let changed = experiment("quick", &over, &host()).unwrap().experiment;
    let quick = experiment("quick", &Overrides::default(), &host()).unwrap().experiment;
    let added: Vec<&str> = changed.contestants[quick.contestants.len()..]
        .iter()
        .map(|contestant| contestant.name.as_str())
        .collect();
    assert_eq!(added, ["vtime slice_us=5", "rr-7", "eevdf-6.18"]);
    assert_eq!(changed.workloads.len(), 2);
    assert_eq!(changed.trace.len(), 2);
    assert_eq!((changed.blocks, changed.trials_per_boot, changed.timeout_ms), (2, 3, 7000));
    let live = Overrides { on: vec![Backend::Live], ..over.clone() };
    let live = experiment("quick", &live, &host()).unwrap().experiment;
    assert_eq!((live.machines[0].name.as_str(), live.machines[0].cpus), ("here", 2));
    let alone = adhoc(&Overrides { machines: list(&["two_cpus"]), ..over }, &host()).unwrap();
    assert_eq!(alone.experiment.baseline, "vtime slice_us=5");
    assert!(alone.experiment.contestants[0].scheduler.is_sched_ext());
    assert_eq!(alone.experiment.contestants[2].scheduler, SchedulerChoice::Kernel);
}

#[test]
fn the_simulator_answers_unless_somebody_else_is_asked() {
    let over = Overrides {
        schedulers: list(&["kernel:7", "vtime", "policy:fifo:3"]),
        workloads: list(&["messaging", "hackbench"]),
        ..Overrides::default()
    };
    let ResolvedExperiment { experiment, notes, .. } = adhoc(&over, &host()).unwrap();
    assert_eq!(experiment.backends, [Backend::Sim]);
    // The kernel's own scheduler and a real program are left out, with a sentence.
    let names: Vec<&str> = runnable(&experiment).iter().map(|part| part.1.name.as_str()).collect();
    assert_eq!(names, ["vtime", "fifo-3"]);
    assert_eq!(experiment.baseline, "vtime");
    assert_eq!(notes.len(), 3, "{notes:?}");
    let both = Overrides { on: vec![Backend::Sim, Backend::Vm], ..over };
    let both = adhoc(&both, &host()).unwrap().experiment;
    assert_eq!(runnable(&both).len(), 2 + 6);
    let trials = crate::plan::plan(&both, model::Seed(1));
    let seeds = |on| -> std::collections::BTreeSet<u64> {
        let on = trials.iter().filter(|trial| trial.backend == on);
        on.filter(|trial| trial.workload.name == "messaging").map(|trial| trial.seed.0).collect()
    };
    assert_eq!(seeds(Backend::Sim), seeds(Backend::Vm));
}

#[test]
fn a_machine_may_belong_to_one_backend() {
    let over = Overrides {
        on: vec![Backend::Sim, Backend::Vm],
        schedulers: list(&["vtime"]),
        workloads: list(&["messaging"]),
        machines: list(&["uniprocessor", "sim:server_1024"]),
        blocks: Some(1),
        ..Overrides::default()
    };
    let both = adhoc(&over, &host()).unwrap().experiment;
    let trials = crate::plan::plan(&both, model::Seed(1));
    let mut places: Vec<(Backend, &str)> =
        trials.iter().map(|trial| (trial.backend, trial.machine.name.as_str())).collect();
    places.sort_unstable();
    let sim = Backend::Sim;
    let wanted = [(sim, "server_1024"), (sim, "uniprocessor"), (Backend::Vm, "uniprocessor")];
    assert_eq!(places, wanted);
}
