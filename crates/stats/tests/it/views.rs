// SPDX-License-Identifier: GPL-2.0-only
//! Two backends side by side; many people's answers, what is agreement, and who dissents; what
//! counts as not having survived.

use std::collections::BTreeMap;

use crate::common::{record, trials, with};
use model::trace::{Trace, TraceEvent, TraceTask, What};
use model::{Backend, Clock, Histogram, Outcome, Policy, PolicyClass, Record, Step, TaskGroup};
use stats::compare::comparison::Entry;
use stats::view::consensus::{Answer, Consent, Contribution, Question, definitions, questions};
use stats::view::survival::{IDLE_REAL_NS, IDLE_SIMULATED_NS, faults, idle_ns};
use stats::{Agreement, Aspect, Options, Verdict, Within, agreement, compare, counterparts};

const SIX: [f64; 6] = [100.0, 101.0, 102.0, 103.0, 104.0, 105.0];

/// The same trials as the simulator's.
fn simulated(mut records: Vec<Record>) -> Vec<Record> {
    records.iter_mut().for_each(|record| record.trial.backend = Backend::Sim);
    records
}

fn agreed(vm: Vec<Record>, sim: Vec<Record>) -> Agreement {
    let records = [vm, simulated(sim)].concat();
    let options = Options { resamples: 500, ..Options::against("base") };
    let comparison = compare(&records, &options);
    agreement(&records, &comparison, Backend::Vm, Backend::Sim)
}

fn one(name: &str, value: f64) -> Vec<Record> {
    vec![with(record("base", 0), name, value)]
}

fn judged(name: &str, vm: f64, sim: f64) -> Within {
    let agreement = agreed(one(name, vm), one(name, sim));
    let figure = agreement.figures.iter().find(|figure| figure.measure.name == name).unwrap();
    assert_eq!((figure.reference, figure.model), (vm, sim));
    figure.within
}

#[test]
fn each_aspect_has_its_tolerance() {
    use Within::*;
    // 10 %, or a tick of 4 ms.
    let times = [1.09e8, 1.11e8, 1.039e7, 1.05e7].map(|ns| judged("completion_ns", 1e8, ns));
    assert_eq!(times, [Strictly, Outside, Outside, Outside]);
    assert_eq!(judged("completion_ns", 1e4, 3.9e6), ByAllowance);
    // 5 %, or one switch.
    let switches = [(100.0, 105.0), (100.0, 106.0), (3.0, 4.0), (0.0, 2.0)];
    let judge = |(vm, sim)| judged("voluntary_switches", vm, sim);
    assert_eq!(switches.map(judge), [Strictly, Outside, ByAllowance, Outside]);
    // 1 % of the share, or a percentage point.
    let shares = [(0.5, 0.504), (0.5, 0.509), (0.5, 0.52)];
    let judge = |(vm, sim)| judged("cpu_share", vm, sim);
    assert_eq!(shares.map(judge), [Strictly, ByAllowance, Outside]);
    assert_eq!(judged("iterations_per_second", 100.0, 94.0), Outside);
}

#[test]
fn the_sum_of_switches_is_made_trial_by_trial() {
    let both = |voluntary: f64, involuntary: f64, block| {
        let one = with(record("base", block), "voluntary_switches", voluntary);
        with(one, "involuntary_switches", involuntary)
    };
    let vm = vec![both(1.0, 9.0, 0), both(2.0, 2.0, 1), both(9.0, 1.0, 2)];
    let agreement = agreed(vm.clone(), vm);
    let sum = agreement.figures.iter().find(|figure| figure.measure.name == "switches").unwrap();
    assert_eq!((sum.reference, sum.aspect, sum.trials), (10.0, Aspect::Switches, [3, 3]));
    assert_eq!(sum.relative_error(), Some(0.0));
}

#[test]
fn only_what_both_have_is_compared_and_counted() {
    let vm = [one("completion_ns", 1e8), one("cpu_share", 0.5)].concat();
    let sim = [one("completion_ns", 2e8), one("migrations", 7.0)].concat();
    let agreement = agreed(vm, sim);
    assert_eq!(agreement.figures.len(), 1);
    let tally = agreement.tally(|_| true);
    assert_eq!((tally.figures, tally.within, tally.share()), (1, 0, Some(0.0)));
    assert_eq!(agreement.tally(|figure| figure.aspect == Aspect::Rate).share(), None);
}

#[test]
fn claims_are_compared_by_their_sign() {
    let two = |factor: f64| {
        let ours = trials("ours", &SIX.map(|value| value * factor));
        [trials("base", &SIX), ours].concat()
    };
    assert_eq!(agreed(two(0.5), two(0.8)).signs_agreeing(), (1, 1));
    assert_eq!(agreed(two(0.5), two(2.0)).signs_agreeing(), (0, 1));
    // A backend without a claim does not disagree.
    assert_eq!(agreed(two(0.5), two(1.0)).signs_agreeing(), (0, 0));
}

#[test]
fn a_copy_stands_beside_its_original_and_nobody_else() {
    let times = |factor: f64| SIX.map(|value| value * factor);
    let records = [
        trials("cfs-6.1", &times(1e6)),
        trials("cfs", &times(1.2e6)),
        trials("vtime", &times(2e6)),
    ]
    .concat();
    let pairs = BTreeMap::from([("cfs".to_owned(), "cfs-6.1".to_owned())]);
    let figures = counterparts(&records, Backend::Vm, &pairs).figures;
    let [figure] = &figures[..] else { panic!("one figure: {figures:?}") };
    assert_eq!((figure.contestant.as_str(), figure.within), ("cfs", Within::Outside));
    assert_eq!((figure.reference, figure.trials), (102.5e6, [6, 6]));
    assert!((figure.relative_error().unwrap() - 0.2).abs() < 1e-9);
    // The simulator was not asked.
    assert!(counterparts(&records, Backend::Sim, &pairs).figures.is_empty());
}

type Verdicts<'a> = &'a [(&'a str, Verdict)];

#[test]
fn contributors_agree_or_the_smaller_camp_dissents() {
    use Consent::{Agree, Disagree, Open, Partly};
    use Verdict::{Better, Equal, Equivalent, NotDistinguishable, Worse};
    let cases: [(Verdicts, Consent, &str); 10] = [
        (&[("a", Better), ("b", Better), ("c", NotDistinguishable)], Agree, ""),
        (&[("a", Equal), ("b", Equivalent)], Agree, ""),
        (&[("a", Better), ("b", Equivalent)], Partly, ""),
        (&[("a", Worse), ("b", Better)], Disagree, "ba"),
        (&[("a", Better), ("b", Worse), ("c", Better)], Disagree, "b"),
        (&[("a", Better), ("b", Worse), ("c", Worse), ("d", Equivalent)], Disagree, "a"),
        // Nobody agrees with themselves, however often they say it.
        (&[("a", Better), ("a", Better)], Open, ""),
        (&[("a", Better), ("b", NotDistinguishable)], Open, ""),
        (&[("a", NotDistinguishable)], Open, ""),
        (&[], Open, ""),
    ];
    for (answers, consent, dissenters) in cases {
        let mut question = asked(|_| ()).remove(0);
        let known = question.answers[0].clone();
        let answer = |(name, verdict): &(&str, Verdict)| Answer {
            contributor: (*name).into(),
            entry: Entry { verdict: *verdict, ..known.entry.clone() },
            ..known.clone()
        };
        question.answers = answers.iter().map(answer).collect();
        let dissent = question.dissent().into_iter().map(|answer| answer.contributor.clone());
        let found = (question.consent(), dissent.collect::<Vec<_>>().concat());
        assert_eq!(found, (consent, dissenters.to_owned()), "{answers:?}");
    }
}

/// `ours` takes half the time of `base`.
fn halved() -> Vec<Record> {
    [trials("base", &SIX), trials("ours", &SIX.map(|value| value * 0.5))].concat()
}

/// What two contributors are asked, the second with changed records.
fn asked(change: impl Fn(&mut Record)) -> Vec<Question> {
    let first = halved();
    let mut second = halved();
    second.iter_mut().for_each(change);
    let options = Options { resamples: 100, headlines_only: true, ..Options::against("base") };
    questions(&[("a", first), ("b", second)].map(|(name, records)| Contribution {
        name: name.into(),
        comparison: compare(&records, &options),
        definitions: definitions(&records),
    }))
}

#[test]
fn questions_are_told_apart_by_what_is_defined() {
    let same = asked(|_| ());
    assert_eq!((same.len(), same[0].consent()), (1, Consent::Agree));
    let described = asked(|record| record.trial.workload.about = "in other words".into());
    assert_eq!(described.len(), 1, "a description is no other question");
    let real = asked(|record| record.trial.machine.memory_mib = 999);
    assert_eq!(real.len(), 1, "where the clock is real, everybody has another machine");
    let twins = asked(|record| record.trial.workload.duration_us = Some(7));
    assert_eq!(twins.len(), 2, "the same name, and another workload");
    assert!(twins.iter().all(|twin| twin.consent() == Consent::Open && twin.answers.len() == 1));
    assert_ne!(twins[0].definition, twins[1].definition);
    let virtual_time = |memory_mib| {
        let mut records = halved();
        for Record { trial, .. } in &mut records {
            trial.machine.clock = Clock::Virtual;
            trial.machine.memory_mib = memory_mib;
        }
        definitions(&records)
    };
    assert_ne!(virtual_time(256), virtual_time(999), "a virtual machine is part of the question");
}

fn group(count: u32) -> TaskGroup {
    TaskGroup { count, ..TaskGroup::once("hog", vec![Step::RunUs(1)]) }
}

/// Two tasks that have ended.
fn survivor() -> Record {
    let mut record = record("mine", 0);
    record.trial.workload.tasks = vec![group(2)];
    record.measured.histograms = vec![Histogram::from_samples("turnaround_ns", "hog", &[5, 6])];
    record
}

/// CPU 1 idles for a time while task 2 waits.
fn idling(ns: u64) -> Record {
    let switch = |prev, next, state: &str| {
        let prev_state = state.into();
        What::Switch { prev, prev_prio: 120, prev_state, next, next_prio: 120, reason: None }
    };
    let waking = What::Waking { pid: 2, prio: 120, target: 0, interrupt: false, by: None };
    let events = [
        (0, 0, switch(0, 1, "R")),
        (0, 1, switch(3, 0, "S")),
        (1_000, 0, waking),
        (1_000 + ns, 1, switch(0, 2, "R")),
    ];
    let task = |pid| TraceTask { pid, comm: "hog".into(), group: "hog".into() };
    let event = |(time_ns, cpu, what)| TraceEvent { time_ns, cpu, what };
    let mut record = survivor();
    record.trial.machine.cpus = 2;
    record.trace = Some(Trace {
        tasks: (1..4).map(task).collect(),
        events: events.map(event).to_vec(),
        lost: 0,
    });
    record
}

#[test]
fn whoever_ends_all_tasks_survives() {
    assert_eq!(faults(&survivor(), 0), [""; 0]);
}

#[test]
fn every_other_outcome_is_a_fault() {
    let mut record = survivor();
    record.outcome = Outcome::Ejected { reason: "stall".into(), dump: String::new() };
    assert_eq!(faults(&record, 0), ["ejected: stall"]);
}

#[test]
fn a_task_that_did_not_end_is_lost() {
    let mut record = survivor();
    record.trial.workload.tasks = vec![group(3)];
    assert_eq!(faults(&record, 0), ["1 of 3 tasks of hog are lost"]);
    record.measured.histograms.clear();
    assert_eq!(faults(&record, 0), ["3 of 3 tasks of hog are lost"]);
    // With a duration they need not end.
    record.trial.workload.duration_us = Some(1);
    assert_eq!(faults(&record, 0), [""; 0]);
}

#[test]
fn reloads_are_counted() {
    let mut record = with(survivor(), "reloads", 2.0);
    record.trial.workload.reloads = 2;
    assert_eq!(faults(&record, 0), [""; 0]);
    record.trial.workload.reloads = 3;
    assert_eq!(faults(&record, 0), ["2 of 3 reloads took place"]);
}

#[test]
fn idling_beside_a_waiting_task_has_an_allowance() {
    let long = idling(3 * IDLE_REAL_NS);
    assert_eq!(idle_ns(&long), Some(3 * IDLE_REAL_NS));
    let said = faults(&long, 0);
    assert!(said[0].starts_with("a CPU idled for 300.0 ms while a task waited"), "{said:?}");
    assert!(said[0].contains("100.0 ms are allowed"), "{said:?}");
    // The kernel's own scheduler did it too.
    assert_eq!(faults(&long, 2 * IDLE_REAL_NS), [""; 0]);
    assert_eq!(faults(&idling(IDLE_REAL_NS), 0), [""; 0]);
}

#[test]
fn the_simulator_is_allowed_less() {
    let mut record = idling(2 * IDLE_SIMULATED_NS);
    assert_eq!(faults(&record, 0), [""; 0]);
    record.trial.backend = Backend::Sim;
    assert_eq!(faults(&record, u64::MAX).len(), 1);
}

#[test]
fn what_a_trace_cannot_tell_is_not_judged() {
    let mut moves = idling(1);
    moves.trial.workload.tasks[0].steps.push(Step::Affinity(vec![0]));
    let mut real_time = idling(1);
    let fifo = Policy { class: PolicyClass::Fifo, priority: 1, ..Policy::default() };
    real_time.trial.workload.tasks[0].policy = Some(fifo);
    let mut holes = idling(1);
    holes.trace.as_mut().unwrap().lost = 1;
    for record in [moves, real_time, holes, survivor()] {
        assert_eq!(idle_ns(&record), None);
    }
}
