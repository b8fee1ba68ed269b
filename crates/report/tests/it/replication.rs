// SPDX-License-Identifier: GPL-2.0-only
//! Claims in all forms: the sentence, a disagreement, untrusted text.

use model::claim::{Beside, Expectation, Published, Source, Test};
use model::{Backend, Claim};
use report::replication::{Judged, Replication, Tested, markdown, sentence, text};
use stats::Interval;
use stats::decide::replication::{Estimate, Finding, Reproduction, Side};

const NASTY: &str = "</script><img src=x onerror=alert(1)>'\"&|";

fn expectation(size: [f64; 2]) -> Expectation {
    Expectation {
        cell: Some("messaging".into()),
        machine: Some("one".into()),
        over: Some("cfs".into()),
        size: Some(size.to_vec()),
        says: Some("it looks longer".into()),
        measure: "completion_ns all".into(),
        of: "muqss".into(),
        ..Expectation::default()
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

fn numbers() -> Vec<Side> {
    let side = |contestant: &str, units: &[f64]| Side {
        contestant: contestant.into(),
        median: units.get(units.len() / 2).copied(),
        units: units.to_vec(),
        ..Side::default()
    };
    let lacks = Side { failed: [("it needs sched_ext".to_owned(), 3)].into(), ..side(NASTY, &[]) };
    let many = [1.25e9, 1.3e9, 1.4e9, 1.5e9, 1.6e9, 1.75e9];
    vec![side("cfs", &many), side("muqss", &[1.25e9, 1.5e9, 1.75e9]), lacks]
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
        is_unwanted: false,
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
        ..tested(Backend::Live, Reproduction::Untested, 1.0)
    };
    let (sim, vm) = (Backend::Sim, Backend::Vm);
    let disputed = vec![
        tested(sim, Reproduction::Contradicted, 0.5),
        tested(vm, Reproduction::Reproduced, 1.3),
    ];
    Replication {
        claims: vec![
            Judged::new(claim("s3-one"), disputed),
            Judged::new(claim("s3-two"), vec![untested]),
        ],
        command: "fairground replicate".into(),
        kernels: vec!["7.3.4".into()],
        trials: 24,
        generated: "2026-01-31".into(),
    }
}

#[test]
fn a_disagreement_shows_both_findings() {
    assert_eq!(
        sentence(&replication()),
        "0 of 2 claims reproduced, 1 contradicted, 1 not tested here. Backends disagree about 1."
    );
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
    assert!(document.contains("- **s3-one** (contradicted): It was the disk"), "{document}");
    let bars = |line: &str| line.replace("\\|", "").matches('|').count();
    let lines: Vec<&str> = document.lines().collect();
    let tables = lines.split(|line| !line.starts_with('|')).filter(|rows| !rows.is_empty());
    let widths: Vec<Vec<usize>> =
        tables.map(|rows| rows.iter().map(|row| bars(row)).collect()).collect();
    assert!(widths.iter().all(|rows| rows.iter().all(|row| *row == rows[0])), "{document}");
    assert_eq!(widths.iter().map(|rows| rows[0]).collect::<Vec<_>>(), [5], "{document}");
}

#[test]
fn originals_stand_before_files_and_what_was_not_asked_is_not_listed() {
    let mut replication = replication();
    let mut original = tested(Backend::Vm, Reproduction::DirectionOnly, 1.02);
    original.test.name = "originals".into();
    original.test.expect[0].of = "muqss-5.10".into();
    let mut tests = replication.claims[0].tests.clone();
    tests.insert(0, original);
    replication.claims[0] = Judged::new(replication.claims[0].claim.clone(), tests);
    let document = markdown(&replication);
    assert!(document.contains("| originals: completion: muqss-5.10 1.020 × cfs"), "{document}");
    assert!(document.contains("| direction only |"), "{document}");
    assert!(document.contains("## Not tested here"), "{document}");
    replication.claims[1].tests[0].is_unwanted = true;
    assert!(!markdown(&replication).contains("## Not tested here"), "nothing else was asked");
}

#[test]
fn our_numbers_stand_beside_the_published_ones() {
    let said = text(&replication(), false);
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("cfs 1.50 s [1.25, 1.75]; published 13.5 "), "{said}");
    assert!(said.contains("it needs sched_ext"), "{said}");
    assert!(said.contains("1.50 s (1.25 s … 1.75 s)"), "a range is no interval: {said}");
}
