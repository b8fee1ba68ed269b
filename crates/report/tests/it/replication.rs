// SPDX-License-Identifier: GPL-2.0-only
//! Claims in all forms: the sentence, a disagreement, untrusted text, pictures.

use model::claim::{Beside, Expectation, Published, Source, Test};
use model::{Backend, Claim};
use report::replication::{Judged, Replication, Tested, markdown, sentence, text};
use stats::Interval;
use stats::decide::replication::{Estimate, Finding, Number, Reproduction, Side, Spread};

const NASTY: &str = "</script><img src=x onerror=alert(1)>'\"&|";

fn expectation(size: [f64; 2]) -> Expectation {
    Expectation {
        cell: Some("messaging".into()),
        machine: Some("one".into()),
        over: Some("cfs".into()),
        size: Some(size.to_vec()),
        says: Some("it looks longer".into()),
        ..Expectation::more("completion_ns all", "muqss")
    }
}

fn finding(verdict: Reproduction, value: f64) -> Finding {
    let side = |name: &str| Side {
        contestant: name.into(),
        units: vec![1.0; 6],
        trials: 6,
        ..Side::default()
    };
    let interval = Interval { low: value * 0.9, high: value * 1.1 };
    Finding {
        of: side("muqss"),
        over: Some(side("cfs")),
        estimate: Some(Estimate { value, interval }),
        verdict,
        why: None,
        against: vec![format!("1 of 7 trials of {NASTY} did not end well (hung: it hung)")],
    }
}

fn beside() -> Beside {
    Beside {
        measure: "completion_ns all".into(),
        cell: Some("messaging".into()),
        machine: None,
        published: [("cfs".to_owned(), 13.5)].into(),
        unit: Some(NASTY.into()),
    }
}

fn numbers() -> Vec<Number> {
    let (low, high) = (1.25e9, 1.75e9);
    let number = |contestant: &str, median, spread, trials| Number {
        contestant: contestant.into(),
        median,
        spread,
        trials,
    };
    vec![
        number("cfs", Ok(1.5e9), Some(Spread::Interval(Interval { low, high })), 8),
        number("muqss", Ok(1.5e9), Some(Spread::Range(Interval { low, high })), 3),
        number(NASTY, Err("it needs sched_ext".into()), None, 0),
    ]
}

fn tested(on: Backend, verdict: Reproduction, value: f64) -> Tested {
    let test = Test {
        name: on.word().into(),
        on,
        full: false,
        originals: false,
        experiment: Some("messages".into()),
        expect: vec![expectation([1.05, f64::INFINITY])],
        because: vec![expectation([0.5, 1e6])],
        beside: vec![beside()],
        not_testable: None,
        command: None,
    };
    Tested {
        verdict,
        expect: vec![finding(verdict, value)],
        because: vec![finding(Reproduction::Reproduced, 2.0)],
        beside: vec![numbers()],
        why: None,
        command: None,
        kernels: vec!["7.3.4".into()],
        trials: 12,
        test,
    }
}

fn replication() -> Replication {
    let claim = |id: &str| Claim {
        id: id.into(),
        about: format!("MuQSS takes longer {NASTY}"),
        source: Source::S3,
        citation: NASTY.into(),
        protocol: NASTY.into(),
        published: vec![Published {
            what: "time".into(),
            of: Some("muqss".into()),
            value: -1.25,
            unit: NASTY.into(),
        }],
        afterwards: Some(format!("It was the disk {NASTY}.")),
        tests: Vec::new(),
    };
    let untested = Tested {
        why: Some("it needs eight threads".into()),
        command: Some("fairground replicate it --on live".into()),
        expect: Vec::new(),
        because: Vec::new(),
        beside: Vec::new(),
        trials: 0,
        ..tested(Backend::Live, Reproduction::Untested, 1.0)
    };
    let (sim, vm) = (Backend::Sim, Backend::Vm);
    let disputed = vec![
        tested(sim, Reproduction::Contradicted, 0.5),
        tested(vm, Reproduction::Reproduced, 1.3),
    ];
    let judged =
        |id: &str, verdict, disagree, tests| Judged { claim: claim(id), verdict, disagree, tests };
    Replication {
        claims: vec![
            judged("s3-one", Reproduction::Contradicted, true, disputed),
            judged("s3-two", Reproduction::Untested, false, vec![untested]),
        ],
        commands: vec!["fairground replicate".into()],
        kernels: vec!["7.3.4".into()],
        trials: 24,
        generated: "2026-01-31".into(),
    }
}

#[test]
fn one_sentence_counts_them_all() {
    assert_eq!(
        sentence(&replication()),
        "0 of 2 claims reproduced, 1 contradicted, 1 not tested here. Backends disagree about 1."
    );
}

#[test]
fn a_disagreement_shows_both_findings() {
    let said = text(&replication(), false);
    assert!(said.contains("s3-one: contradicted, backends disagree"), "{said}");
    assert!(said.contains("muqss 0.500 × cfs [0.450, 0.550]"), "{said}");
    assert!(said.contains("muqss 1.30 × cfs [1.17, 1.43]"), "{said}");
    assert!(said.contains("to test it: fairground replicate it --on live"), "{said}");
    assert!(said.lines().all(|line| line.chars().count() <= report::terminal::COLUMNS), "{said}");
    let document = markdown(&replication());
    assert!(document.contains("| [s3-one](s3-one.toml): "), "{document}");
    assert!(
        document.contains("- s3-two (live): it needs eight threads; `fairground"),
        "{document}"
    );
    let page = report::html::replication_page::page(&replication());
    assert!(page.contains("backends disagree: vm reproduced: completion: muqss 1.30 ×"), "{page}");
    assert!(document.contains("- **s3-one** (contradicted): It was the disk"), "{document}");
    let bars = |line: &str| line.replace("\\|", "").matches('|').count();
    let lines: Vec<&str> = document.lines().collect();
    let tables = lines.split(|line| !line.starts_with('|')).filter(|rows| !rows.is_empty());
    let widths: Vec<Vec<usize>> =
        tables.map(|rows| rows.iter().map(|row| bars(row)).collect()).collect();
    assert!(widths.iter().all(|rows| rows.iter().all(|row| *row == rows[0])), "{document}");
    assert_eq!(widths.iter().map(|rows| rows[0]).collect::<Vec<_>>(), [5], "{document}");
}

/// The same with a test of originals before the others, which finds what the second of them does not.
fn with_originals() -> Replication {
    let mut replication = replication();
    let judged = &mut replication.claims[0];
    let mut original = tested(Backend::Vm, Reproduction::DirectionOnly, 1.02);
    original.test.name = "originals".into();
    original.test.originals = true;
    original.test.expect[0].of = "muqss-5.10".into();
    judged.tests.insert(0, original);
    judged.verdict = Reproduction::DirectionOnly;
    replication
}

#[test]
fn originals_stand_before_files() {
    let replication = with_originals();
    let said = text(&replication, false);
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("muqss-5.10 1.020 × cfs"), "{said}");
    let document = markdown(&replication);
    assert!(document.contains("| originals: completion: muqss-5.10 1.020 × cfs"), "{document}");
    assert!(document.contains("| direction only |"), "{document}");
    let page = report::html::replication_page::page(&replication);
    assert!(page.contains("<td data-on=\"originals\">"), "{page}");
}

#[test]
fn who_asks_for_one_test_is_not_told_about_the_others() {
    let mut replication = replication();
    let [_, other_backend, _] = report::replication::OTHERS_ASKED;
    let untested = replication.claims[1].tests[0].clone();
    for why in report::replication::OTHERS_ASKED {
        let tested = Tested { why: Some(why.into()), ..untested.clone() };
        replication.claims[0].tests.push(tested);
    }
    let document = markdown(&replication);
    assert!(!document.contains("asked for"), "{document}");
    assert!(document.contains("- s3-two (live): it needs eight threads"), "a real reason stays");
    replication.claims[1].tests[0].why = Some(other_backend.into());
    assert!(!markdown(&replication).contains("## Not tested here"), "nothing else was asked");
}

#[test]
fn our_numbers_stand_beside_the_published_ones() {
    let interval = "cfs 1.50 s [1.25, 1.75]; published 13.5 ";
    let said = text(&replication(), false);
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains(interval) && said.contains("it needs sched_ext"), "{said}");
    assert!(said.contains("1.50 s (1.25 s … 1.75 s)"), "a range is no interval: {said}");
    let page = report::html::replication_page::page(&replication());
    assert!(page.contains("<td>1.50 s [1.25, 1.75]; published 13.5 "), "{page}");
}

#[test]
fn the_page_is_whole_and_harmless() {
    let page = report::html::replication_page::page(&replication());
    assert_eq!(page.matches("<article class=\"claim\"").count(), 2);
    assert_eq!(page.matches("<svg class=\"range\"").count(), 2, "one for each expectation");
    assert!(page.contains("default-src 'none'") && page.contains("it looks longer"));
    assert!(!page.contains("<img") && !page.contains("NaN") && !page.contains("inf,"), "{page}");
    for outside in ["http://", "https://", "src=\"", "@import", "url(", "fetch("] {
        assert!(!page.contains(outside), "the page has {outside}");
    }
    for element in ["section", "article", "details", "svg", "ul"] {
        let opened = page.matches(&format!("<{element}")).count();
        assert_eq!(opened, page.matches(&format!("</{element}>")).count(), "{element}");
    }
}
