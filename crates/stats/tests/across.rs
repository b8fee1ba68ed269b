// SPDX-License-Identifier: GPL-2.0-only
//! Many people's answers side by side: what is agreement, and who dissents.

use model::metric::{Direction, Unit};
use model::{Backend, Clock};
use stats::Verdict;
use stats::across::{Answer, Consent, Question};

fn answer(&(contributor, verdict): &(&str, Verdict)) -> Answer {
    Answer {
        contributor: contributor.into(),
        machine: "laptop".into(),
        backend: Backend::Live,
        clock: Clock::Real,
        runs: 8,
        median: Some(1.0),
        shift: None,
        verdict,
    }
}

fn question(answers: &[(&str, Verdict)]) -> Question {
    Question {
        cell: "hogs".into(),
        workload: "hogs".into(),
        about: String::new(),
        setting: String::new(),
        contestant: "rr".into(),
        baseline: "fifo".into(),
        measure: "completion_ns all".parse().expect("a measure"),
        unit: Unit::Nanoseconds,
        direction: Direction::Lower,
        answers: answers.iter().map(answer).collect(),
    }
}

#[test]
fn consent_is_between_contributors() {
    use Verdict::{Better, Equal, Equivalent, Inconclusive, Worse};
    let of = |answers: &[(&str, Verdict)]| question(answers).consent();
    assert_eq!(of(&[("a", Better), ("b", Better), ("c", Inconclusive)]), Consent::Agree);
    assert_eq!(of(&[("a", Equal), ("b", Equivalent)]), Consent::Agree);
    assert_eq!(of(&[("a", Better), ("b", Equivalent)]), Consent::Partly);
    assert_eq!(of(&[("a", Better), ("b", Worse)]), Consent::Disagree);
    // Nobody agrees with themselves, however often they say it.
    assert_eq!(of(&[("a", Better), ("a", Better)]), Consent::Open);
    assert_eq!(of(&[("a", Better), ("b", Inconclusive)]), Consent::Open);
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
