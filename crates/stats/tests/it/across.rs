// SPDX-License-Identifier: GPL-2.0-only
//! Many people's answers side by side: what is agreement, and who dissents.

use crate::common::trials;
use model::metric::Unit;
use model::{Backend, Clock, Record};
use stats::view::consensus::{Answer, Consent, Contribution, Question, definitions, questions};
use stats::{Options, Verdict, compare};

fn answer(&(contributor, verdict): &(&str, Verdict)) -> Answer {
    Answer {
        contributor: contributor.into(),
        machine: "laptop".into(),
        backend: Backend::Live,
        trials: 8,
        median: Some(1.0),
        shift: None,
        verdict,
    }
}

fn question(answers: &[(&str, Verdict)]) -> Question {
    Question {
        cell: "hogs".into(),
        setting: String::new(),
        definition: String::new(),
        has_twin: false,
        contestant: "rr".into(),
        baseline: "fifo".into(),
        measure: "completion_ns all".parse().expect("a measure"),
        unit: Unit::Nanoseconds,
        answers: answers.iter().map(answer).collect(),
    }
}

#[test]
fn consent_is_between_contributors() {
    use Verdict::{Better, Equal, Equivalent, NotDistinguishable, Worse};
    let of = |answers: &[(&str, Verdict)]| question(answers).consent();
    assert_eq!(of(&[("a", Better), ("b", Better), ("c", NotDistinguishable)]), Consent::Agree);
    assert_eq!(of(&[("a", Equal), ("b", Equivalent)]), Consent::Agree);
    assert_eq!(of(&[("a", Better), ("b", Equivalent)]), Consent::Partly);
    assert_eq!(of(&[("a", Better), ("b", Worse)]), Consent::Disagree);
    // Nobody agrees with themselves, however often they say it.
    assert_eq!(of(&[("a", Better), ("a", Better)]), Consent::Open);
    assert_eq!(of(&[("a", Better), ("b", NotDistinguishable)]), Consent::Open);
    assert_eq!(of(&[]), Consent::Open);
}

#[test]
fn the_smaller_camp_dissents_and_equal_ones_both_do() {
    use Verdict::{Better, Equivalent, Worse};
    let of = |answers: &[(&str, Verdict)]| {
        let question = question(answers);
        let names = question.dissent().into_iter().map(|one| one.contributor.clone());
        names.collect::<Vec<_>>().concat()
    };
    assert_eq!(of(&[("a", Better), ("b", Worse), ("c", Better)]), "b");
    assert_eq!(of(&[("a", Better), ("b", Worse), ("c", Worse), ("d", Equivalent)]), "a");
    assert_eq!(of(&[("a", Worse), ("b", Better)]), "ba");
    assert_eq!(of(&[("a", Better), ("b", Better)]), "");
}

/// `ours` takes half the time of `base`.
fn halved() -> Vec<Record> {
    let six = [100.0, 101.0, 102.0, 103.0, 104.0, 105.0];
    [trials("base", &six), trials("ours", &six.map(|value| value * 0.5))].concat()
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
fn loads_of_one_name_with_other_tasks_are_other_questions() {
    let same = asked(|_| ());
    assert_eq!((same.len(), same[0].consent()), (1, Consent::Agree));
    assert_eq!(same[0].variant(), None, "nothing to tell it from");

    let twins = asked(|record| record.trial.workload.duration_us = Some(7));
    assert_eq!(twins.len(), 2, "the same name, and another workload");
    assert!(twins.iter().all(|one| one.consent() == Consent::Open && one.answers.len() == 1));
    assert!(twins[0].variant().is_some() && twins[0].variant() != twins[1].variant());
}

#[test]
fn what_is_only_said_about_a_load_makes_no_other_question() {
    let same = asked(|record| record.trial.workload.about = "in other words".into());
    assert_eq!(same.len(), 1);
}

#[test]
fn a_machine_belongs_to_the_question_where_time_is_virtual() {
    let real = asked(|record| record.trial.machine.memory_mib = 999);
    assert_eq!(real.len(), 1, "everybody has another machine");
    let records = |memory_mib| {
        let mut records = halved();
        for record in &mut records {
            record.trial.machine.clock = Clock::Virtual;
            record.trial.machine.memory_mib = memory_mib;
        }
        definitions(&records)
    };
    assert_eq!(records(256), records(256));
    assert_ne!(records(256), records(999));
}
