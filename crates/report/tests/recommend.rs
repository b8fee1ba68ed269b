// SPDX-License-Identifier: GPL-2.0-only
//! Advice as text: the answer in the first line, then why, the numbers, and how to switch.

use std::collections::BTreeMap;

use expect_test::expect;
use model::metric::{Direction, Unit};
use report::terminal::recommend::{Setting, recommendation};
use stats::comparison::PValue;
use stats::recommend::{Advice, Candidate, Finding, Judged, Reason, Silence, Standing};
use stats::{Aim, Interval, Recommendation, Shift, Watched};

fn watched(cell: &str, measure: &str, words: &str, least: f64) -> Watched {
    let measure = measure.parse().expect("a measure");
    Watched { cell: cell.into(), measure, words: words.into(), percent: 5.0, least }
}

fn aim() -> Aim {
    let late = "how late a program gets the CPU";
    Aim {
        name: "desktop".into(),
        decides: watched("hogs", "wakeup_latency_ns.p99 waker", late, 500_000.0),
        keeps: vec![
            watched("build jobs=4", "completion_ns all", "how long a build takes", 0.0),
            watched("hogs", "jain_index hog", "how evenly hogs are served", 0.0),
        ],
    }
}

/// A gain of so many percent of `now`, give or take a tenth of it.
fn judged(finding: Finding, unit: Unit, now: f64, percent: f64) -> Judged {
    let direction = if unit == Unit::Nanoseconds { Direction::Lower } else { Direction::Higher };
    let sign = if direction == Direction::Lower { -1.0 } else { 1.0 };
    let about = |value: f64| {
        let ends = [value * 0.9, value * 1.1 + 0.1];
        Interval { low: ends[0].min(ends[1]), high: ends[0].max(ends[1]) }
    };
    let value = now * percent / 100.0;
    let (interval, percent_interval) = (Some(about(value)), Some(about(percent)));
    let gain = Shift { value, interval, percent: Some(percent), percent_interval };
    let p = Some(PValue { raw: 0.0001, adjusted: 0.0004, comparisons: 4, units: 12 });
    let median = Some(now + sign * value);
    Judged { finding, unit, direction, median, now: Some(now), gain: Some(gain), p, runs: 12 }
}

fn candidate(name: &str, standing: Standing, findings: [(Finding, f64); 3]) -> Candidate {
    let [decides, build, even] = findings;
    let without_p = |judged: Judged| Judged { p: None, ..judged };
    Candidate {
        name: name.into(),
        standing,
        decides: vec![judged(decides.0, Unit::Nanoseconds, 8e6, decides.1)],
        keeps: vec![vec![
            without_p(judged(build.0, Unit::Nanoseconds, 2e9, build.1)),
            without_p(judged(even.0, Unit::Ratio, 0.9, even.1)),
        ]],
        failures: Vec::new(),
    }
}

fn told(advice: Advice, candidates: Vec<Candidate>) -> String {
    let lines = vec!["  sudo load bfs".into(), "Ctrl-C goes back.".into()];
    let setting = Setting {
        measured: vec!["12 rounds on this kernel.".into(), "That is all.".into()],
        switch: BTreeMap::from([("bfs".into(), lines)]),
        commands: vec![("The full report".into(), "fairground report recommend".into())],
    };
    let (now, aims, failures) = ("eevdf".into(), vec![aim()], vec![("hung: why".into(), 1)]);
    let it = Recommendation { now, advice, aims, candidates, comparisons: 4, failures };
    recommendation(&it, &setting)
}

fn bfs() -> Candidate {
    let findings = [(Finding::Better, 87.0), (Finding::Open, -3.0), (Finding::Alike, 0.1)];
    candidate("bfs", Standing::Good, findings)
}

fn dear() -> Candidate {
    let findings = [(Finding::Better, 95.0), (Finding::Worse, -40.0), (Finding::Unknown, 0.0)];
    candidate("dear", Standing::Dear, findings)
}

#[test]
fn a_switch_has_everything() {
    let broken = Candidate {
        failures: vec![("timeout: 30 s".into(), 12)],
        ..candidate("broken", Standing::Failed, [(Finding::Unknown, 0.0); 3])
    };
    let alike = [(Finding::Better, 86.0), (Finding::Alike, 0.5), (Finding::Alike, 0.0)];
    let muqss = candidate("muqss", Standing::Good, alike);
    let advice = Advice::Switch(vec!["bfs".into(), "muqss".into()]);
    expect![[r#""#]].assert_eq(&told(advice, vec![bfs(), muqss, dear(), broken]));
}

#[test]
fn who_stays_is_told_why() {
    expect![[r#""#]].assert_eq(&first_part(Advice::Keep(Reason::TooDear), vec![dear()]));
    let open = [(Finding::Open, 0.9), (Finding::Alike, 0.5), (Finding::Alike, 0.0)];
    let alike = vec![candidate("cfs", Standing::Alike, open)];
    expect![[r#""#]].assert_eq(&first_part(Advice::Keep(Reason::NoDifference), alike.clone()));
    expect![[r#""#]].assert_eq(&first_part(Advice::Keep(Reason::NobodyBetter), alike));
    let slight = [(Finding::Slight, 3.0), (Finding::Alike, 0.5), (Finding::Alike, 0.0)];
    let slight = vec![candidate("cfs", Standing::Slight, slight)];
    expect![[r#""#]].assert_eq(&first_part(Advice::Keep(Reason::TooLittle), slight));
}

#[test]
fn silence_is_told_too() {
    let few = Advice::Silent(Silence::TooFewRuns(4, 7));
    expect![[r#""#]].assert_eq(&first_part(few, Vec::new()));
    expect![[r#""#]].assert_eq(&first_part(Advice::Silent(Silence::NothingMeasured), Vec::new()));
}

#[test]
fn no_line_is_too_wide() {
    let advice = Advice::Switch(vec!["bfs".into()]);
    let text = told(advice, vec![bfs(), dear()]);
    let widest = text.lines().map(|line| line.chars().count()).max();
    assert!(widest <= Some(report::terminal::COLUMNS), "{text}");
}

/// What stands before the numbers.
fn first_part(advice: Advice, candidates: Vec<Candidate>) -> String {
    let text = told(advice, candidates);
    text.split("  measured").next().unwrap_or_default().to_owned()
}
