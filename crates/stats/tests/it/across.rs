// SPDX-License-Identifier: GPL-2.0-only
//! Many people's answers side by side: what is agreement, and who dissents.

use crate::common::trials;
use model::{Clock, Record};
use stats::compare::comparison::Entry;
use stats::view::consensus::{Answer, Consent, Contribution, Question, definitions, questions};
use stats::{Options, Verdict, compare};

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
