// SPDX-License-Identifier: GPL-2.0-only
//! The gate: planted regressions are found, and where nothing has changed it says so as often as it
//! promises.

use std::collections::BTreeMap;

use crate::common::{self, record, under};
use crate::experiments::normal;
use model::record::OBJECT;
use model::{Clock, Outcome, Record, Seed};
use proptest::prelude::*;
use serde_json::json;
use stats::Verdict;
use stats::decide::gate::{Gate, gate};
use stats::view::history::{Session, history};

/// As in the field: where a change of two per cent is worth a look.
const MARGIN: f64 = 1.0;

fn trials(values: impl IntoIterator<Item = f64>, clock: Clock) -> Vec<Record> {
    under(clock, common::trials("mine", &values.into_iter().collect::<Vec<_>>()))
}

/// What the gate says of the only line that has a number.
fn change(gate: &Gate) -> Verdict {
    gate.lines[0].change
}

/// Boots whose times scatter by 5 %.
fn noisy(seed: &mut Seed, boots: usize, factor: f64) -> Vec<Record> {
    let values: Vec<f64> = (0..boots).map(|_| 1e6 * factor * (0.05 * normal(seed)).exp()).collect();
    trials(values, Clock::Real)
}

#[test]
fn three_per_cent_are_found_where_every_number_is_exact() {
    // Seeds differ by far more than what was planted.
    let before: Vec<f64> = (0..8).map(|seed| 1e6 * 1.3_f64.powi(seed)).collect();
    let now = before.iter().map(|value| value * 1.03);
    let said = gate(&trials(before.clone(), Clock::Virtual), &trials(now, Clock::Virtual), MARGIN);
    assert_eq!(change(&said), Verdict::Worse);
    assert!(said.is_shut());
    assert!((said.lines[0].percent.unwrap() - 3.0).abs() < 1e-9);
    let back = before.iter().map(|value| value / 1.03);
    let said = gate(&trials(before.clone(), Clock::Virtual), &trials(back, Clock::Virtual), MARGIN);
    assert_eq!(change(&said), Verdict::Better);
    assert!(!said.is_shut());
}

#[test]
fn exact_numbers_are_equal_or_not_and_small_changes_are_none() {
    let values: Vec<f64> = (1..=6).map(|n| 1e6 * f64::from(n)).collect();
    let said = |factor: f64| {
        let now = values.iter().map(|value| value * factor);
        let before = trials(values.clone(), Clock::Virtual);
        change(&gate(&before, &trials(now, Clock::Virtual), MARGIN))
    };
    assert_eq!(
        [said(1.0), said(1.005), said(1.02)],
        [Verdict::Equal, Verdict::Unchanged, Verdict::Worse]
    );
}

#[test]
fn a_chaotic_number_does_not_pass_for_worse() {
    let before = trials([1.0; 6], Clock::Virtual);
    let now = trials([2.0, 0.5, 1.9, 1.8, 1.7, 1.6], Clock::Virtual);
    assert_eq!(change(&gate(&before, &now, MARGIN)), Verdict::Unchanged);
    let one = gate(&trials([1.0], Clock::Virtual), &trials([1.1], Clock::Virtual), MARGIN);
    assert_eq!(change(&one), Verdict::Worse, "the only trial there is, and it is exact");
}

#[test]
fn a_change_from_0_counts_and_so_does_the_way_back() {
    let none = || trials([0.0; 8], Clock::Virtual);
    let some = || trials((1..=8).map(|n| 0.05 * f64::from(n)), Clock::Virtual);
    let worse = gate(&none(), &some(), MARGIN);
    assert_eq!((change(&worse), worse.lines[0].percent), (Verdict::Worse, None));
    assert_eq!(change(&gate(&some(), &none(), MARGIN)), Verdict::Better);
    assert_eq!(change(&gate(&none(), &none(), MARGIN)), Verdict::Equal);
    let none = || trials([0.0; 8], Clock::Real);
    let some = || trials((1..=8).map(|n| 0.05 * f64::from(n)), Clock::Real);
    assert_eq!(change(&gate(&none(), &some(), MARGIN)), Verdict::Worse);
    assert_eq!(change(&gate(&some(), &none(), MARGIN)), Verdict::Better);
    assert_eq!(change(&gate(&none(), &none(), MARGIN)), Verdict::Unchanged);
}

/// Numbers of a measure, 0 among them.
fn number() -> impl Strategy<Value = f64> {
    prop_oneof![Just(0.0), 1e-3..1e9f64]
}

proptest! {
    #[test]
    fn exchanging_old_and_new_exchanges_better_and_worse(
        pairs in prop::collection::vec((number(), number()), 1..12), is_real in any::<bool>(),
    ) {
        let clock = if is_real { Clock::Real } else { Clock::Virtual };
        let before = trials(pairs.iter().map(|pair| pair.0), clock);
        let now = trials(pairs.iter().map(|pair| pair.1), clock);
        let exchanged = match change(&gate(&before, &now, MARGIN)) {
            Verdict::Worse => Verdict::Better,
            Verdict::Better => Verdict::Worse,
            same => same,
        };
        prop_assert_eq!(change(&gate(&now, &before, MARGIN)), exchanged);
    }
}

#[test]
fn fifteen_per_cent_are_found_in_noise() {
    let mut seed = Seed(3);
    let found = (0..200).filter(|_| {
        let (before, now) = (noisy(&mut seed, 10, 1.0), noisy(&mut seed, 10, 1.15));
        change(&gate(&before, &now, MARGIN)) == Verdict::Worse
    });
    let found = found.count();
    assert!(found >= 190, "{found} of 200");
}

#[test]
fn where_nothing_has_changed_it_keeps_its_promise() {
    let mut seed = Seed(4);
    let gates = 600;
    let mut said = 0;
    for _ in 0..gates {
        // Three contestants: one gate has several chances to be wrong.
        let mut named = |name: &str| {
            let mut records = noisy(&mut seed, 8, 1.0);
            records.iter_mut().for_each(|record| record.trial.contestant.name = name.into());
            records
        };
        let mut side = || ["a", "b", "c"].map(&mut named).concat();
        let (before, now) = (side(), side());
        let gate = gate(&before, &now, 0.0);
        let changes = [Verdict::Worse, Verdict::Better];
        said += u32::from(gate.lines.iter().any(|line| changes.contains(&line.change)));
    }
    let rate = f64::from(said) / f64::from(gates);
    assert!(rate <= 0.05, "{rate}");
}

#[test]
fn few_boots_say_nothing_and_missing_numbers_are_said() {
    let (before, now) = (trials([1.0; 5], Clock::Real), trials([9.0; 5], Clock::Real));
    assert_eq!(change(&gate(&before, &now, MARGIN)), Verdict::TooFewTrials);
    let without = vec![record("mine", 0)];
    assert_eq!(change(&gate(&before, &without, MARGIN)), Verdict::NotMeasured);
}

#[test]
fn who_does_not_end_well_any_more_shuts_the_gate() {
    let before = trials([1.0; 6], Clock::Virtual);
    let mut now = before.clone();
    now[2].outcome = Outcome::Timeout { reason: "no end".into() };
    let said = gate(&before, &now, MARGIN);
    assert!(said.is_shut());
    assert_eq!((said.broken.len(), said.broken[0].failed), (1, (1, 6)));
    let already = gate(&now, &now, MARGIN);
    assert!(!already.is_shut(), "it was so before");
}

#[test]
fn what_only_one_side_has_is_named() {
    let before = trials([1.0; 6], Clock::Virtual);
    let mut now = before.clone();
    now.iter_mut().for_each(|record| record.trial.workload.name = "other".into());
    let said = gate(&before, &now, MARGIN);
    assert!(said.lines.is_empty());
    assert_eq!(said.one_sided.len(), 2, "{:?}", said.one_sided);
}

#[test]
fn another_object_of_one_text_is_named_and_another_text_is_not() {
    let ran = |sha256: &str, object: &str| {
        let mut records = trials([1.0; 6], Clock::Virtual);
        for record in &mut records {
            let mut contestant = (*record.trial.contestant).clone();
            let scheduler = json!({"kind": "file", "file": "mine", "sha256": sha256});
            contestant.scheduler = serde_json::from_value(scheduler).unwrap();
            record.trial.contestant = contestant.into();
            let programs = [(OBJECT.to_owned(), object.to_owned())];
            record.provenance.programs = BTreeMap::from(programs).into();
        }
        records
    };
    let said = |now: &[Record]| gate(&ran("a", "11aa22bb33"), now, MARGIN).other_objects;
    assert!(said(&ran("a", "11aa22bb33")).is_empty() && said(&ran("b", "44dd55ee66")).is_empty());
    let other: Vec<String> = said(&ran("a", "44dd55ee66")).into_iter().collect();
    assert!(other[0].contains("another object on kernels (11aa22bb → 44dd55ee)"), "{other:?}");
    let (before, now) = (ran("a", "11aa22bb33"), ran("a", "44dd55ee66"));
    let sessions = [&before, &now].map(|records| Session { label: "", records });
    let told: Vec<String> = history(&sessions, MARGIN).other_objects.into_iter().collect();
    assert!(told[0].starts_with("session 2: mine has the same text"), "{told:?}");
}
