// SPDX-License-Identifier: GPL-2.0-only
//! All rules say the same of the same numbers: gate, history, comparison, leaders and advice.

use crate::common::{self, record, under};
use model::{Clock, Record};
use proptest::prelude::*;
use stats::compare::verdict::MARGIN_PERCENT;
use stats::decide::gate::gate;
use stats::decide::recommend::{Advice, Effect, Recommendation, recommend};
use stats::view::history::{Session, history};
use stats::{Aim, Comparison, Leaders, Options, Verdict, Watched, compare};

/// Trials of a contestant, one in each block.
fn trials(name: &str, values: &[f64], clock: Clock) -> Vec<Record> {
    under(clock, common::trials(name, values))
}

fn compared(records: &[Record], order: &[&str]) -> Comparison {
    let order = order.iter().map(ToString::to_string).collect();
    compare(records, &Options { resamples: 100, order, ..Options::against("base") })
}

/// The verdict on a contestant and the leaders, in the only row.
fn row(comparison: &Comparison, name: &str) -> (Verdict, Option<Leaders>) {
    let row = &comparison.cells[0].rows[0];
    let entry = row.entries.iter().find(|entry| entry.contestant == name).expect("an entry");
    (entry.verdict, row.leaders.clone())
}

/// The only measure decides, and must not get worse either.
fn advised(records: &[Record]) -> Recommendation {
    let watched = Watched {
        cell: record("base", 0).trial.workload.cell(),
        measure: "completion_ns all".parse().expect("a measure"),
        words: "it".into(),
        percent: MARGIN_PERCENT,
        least: 0.0,
        model_error: None,
    };
    let aim = Aim { name: "soon".into(), decides: watched.clone(), keeps: vec![watched] };
    recommend(records, &compared(records, &[]), &[aim], &[])
}

fn effects(records: &[Record]) -> [Effect; 2] {
    let candidate = &advised(records).candidates[0];
    [candidate.decides[0].finding, candidate.keeps[0][0].finding]
}

/// What the gate says of the second as a successor of the first.
fn changed(before: &[f64], now: &[f64]) -> Verdict {
    let [before, now] = [before, now].map(|values| trials("mine", values, Clock::Virtual));
    gate(&before, &now, MARGIN_PERCENT).lines[0].change
}

fn has_regressed(before: &[f64], now: &[f64]) -> bool {
    let [before, now] = [before, now].map(|values| trials("mine", values, Clock::Virtual));
    let sessions = [("then", &before), ("now", &now)];
    let sessions = sessions.map(|(label, records)| Session { label, records });
    history(&sessions, MARGIN_PERCENT).has_regressed()
}

/// Numbers of a measure that differ much between blocks, 0 among them.
fn number() -> impl Strategy<Value = f64> {
    prop_oneof![1 => Just(0.0), 4 => 1e-3..1e6f64]
}

/// A number with a larger one, by more than the margin.
fn pair() -> impl Strategy<Value = (f64, f64)> {
    let larger = |(low, factor)| (low, if low == 0.0 { factor } else { low * factor });
    (number(), 1.0101..3.0f64).prop_map(larger)
}

fn clock() -> impl Strategy<Value = Clock> {
    prop_oneof![Just(Clock::Virtual), Just(Clock::Real)]
}

fn behind(best: &str, other: &str) -> Option<Leaders> {
    Some(Leaders { best: vec![best.into()], behind: vec![other.into()] })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_is_worse_in_every_pair_is_worse_by_every_rule(
        pairs in prop::collection::vec(pair(), 8..12), clock in clock(),
    ) {
        let (low, high): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
        let race = |base: &[f64], mine: &[f64]| {
            [trials("base", base, clock), trials("mine", mine, clock)].concat()
        };
        let (worse, better) = (race(&low, &high), race(&high, &low));
        prop_assert_eq!(row(&compared(&worse, &[]), "mine"), (Verdict::Worse, behind("base", "mine")));
        prop_assert_eq!(row(&compared(&better, &[]), "mine"), (Verdict::Better, behind("mine", "base")));
        prop_assert_eq!(effects(&worse), [Effect::Worse; 2]);
        prop_assert_eq!(effects(&better), [Effect::Better, Effect::Alike]);
        prop_assert_eq!(advised(&better).advice, Advice::Switch(vec!["mine".into()]));
        prop_assert_eq!([changed(&low, &high), changed(&high, &low)], [Verdict::Worse, Verdict::Better]);
        prop_assert_eq!([has_regressed(&low, &high), has_regressed(&high, &low)], [true, false]);
    }

    #[test]
    fn too_few_pairs_that_agree_are_not_called_equal(pairs in prop::collection::vec(pair(), 1..8)) {
        let (low, high): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
        let race = [trials("base", &low, Clock::Virtual), trials("mine", &high, Clock::Virtual)];
        let (verdict, _) = row(&compared(&race.concat(), &[]), "mine");
        let silent = [Verdict::Worse, Verdict::NotDistinguishable, Verdict::Differs];
        prop_assert!(silent.contains(&verdict), "{verdict:?}");
        prop_assert_eq!(changed(&low, &high), Verdict::Worse);
    }

    #[test]
    fn exchanging_the_sides_never_leaves_both_better(
        pairs in prop::collection::vec((number(), number()), 6..12), clock in clock(),
    ) {
        let (one, other): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
        let said = |base: &[f64], mine: &[f64]| {
            let race = [trials("base", base, clock), trials("mine", mine, clock)].concat();
            (row(&compared(&race, &[]), "mine").0, effects(&race)[0])
        };
        let ((there, effect), (back, reverse)) = (said(&one, &other), said(&other, &one));
        for same in [Verdict::Better, Verdict::Worse] {
            prop_assert!((there, back) != (same, same));
        }
        for same in [Effect::Better, Effect::Worse] {
            prop_assert!((effect, reverse) != (same, same));
        }
        prop_assert_eq!(there == Verdict::Equal, back == Verdict::Equal);
    }

    #[test]
    fn what_one_says_of_the_other_does_not_depend_on_the_baseline(
        values in prop::collection::vec((99.0..101.0f64, 99.0..101.0f64), 6..14),
        percent in -2.5..2.5f64, is_paired in any::<bool>(), clock in clock(),
    ) {
        let (one, other): (Vec<f64>, Vec<f64>) = values.into_iter().unzip();
        let other: Vec<f64> = other.iter().map(|value| value * (1.0 + percent / 100.0)).collect();
        let mut race = [trials("one", &one, clock), trials("other", &other, clock)].concat();
        if !is_paired {
            // More trials on one side: incomplete blocks are not paired.
            race.extend(trials("other", &[other[0]; 15], clock).into_iter().skip(one.len()));
            race.iter_mut().filter(|record| record.trial.contestant.name == "one").for_each(|record| {
                record.trial.block += 100;
            });
        }
        let against = |base: &str, mine: &str| {
            let comparison = compare(&race, &Options { resamples: 100, ..Options::against(base) });
            row(&comparison, mine).0
        };
        let (there, back) = (against("one", "other"), against("other", "one"));
        let turned = match there {
            Verdict::Better => Verdict::Worse,
            Verdict::Worse => Verdict::Better,
            same => same,
        };
        prop_assert_eq!(back, turned);
    }

    #[test]
    fn no_table_contradicts_its_leaders(
        values in prop::collection::vec(prop::collection::vec(90.0..110.0f64, 8), 4), step in 0.0..8.0f64,
    ) {
        let names = ["base", "a", "b", "c"];
        let sides = names.iter().zip(&values).zip(0..).map(|((name, values), place)| {
            let moved: Vec<f64> = values.iter().map(|value| value + step * f64::from(place)).collect();
            trials(name, &moved, Clock::Virtual)
        });
        let comparison = compared(&sides.collect::<Vec<_>>().concat(), &[]);
        let best = row(&comparison, "a").1.expect("leaders").best;
        for name in &names[1..] {
            let (verdict, _) = row(&comparison, name);
            let leads = |name: &str| best.iter().any(|leader| leader == name);
            prop_assert!(!(verdict == Verdict::Worse && leads(name)), "{name} is worse, and leads");
            prop_assert!(!(verdict == Verdict::Better && leads("base")), "{name} is better");
        }
    }

    #[test]
    fn the_order_of_records_and_contestants_changes_nothing(
        values in prop::collection::vec(prop::collection::vec(number(), 8), 3), turn in 0..24usize,
    ) {
        let sides = ["base", "a", "b"].iter().zip(&values);
        let mut records: Vec<Record> =
            sides.flat_map(|(name, values)| trials(name, values, Clock::Virtual)).collect();
        let (first, advice) = (compared(&records, &["a", "b"]), advised(&records));
        records.rotate_left(turn);
        records.swap(0, 7);
        let again = compared(&records, &["b", "a"]);
        prop_assert_eq!(&advised(&records).advice, &advice.advice);
        for name in ["a", "b"] {
            prop_assert_eq!(row(&again, name), row(&first, name));
            let entry = |comparison: &Comparison| {
                let entries = comparison.cells[0].rows[0].entries.clone();
                entries.into_iter().find(|entry| entry.contestant == name)
            };
            prop_assert_eq!(entry(&again), entry(&first));
        }
    }

    #[test]
    fn numbers_that_are_none_claim_nothing(
        values in prop::collection::vec(1.0..9.0f64, 8),
        none in prop_oneof![Just(f64::NAN), Just(f64::INFINITY), Just(f64::NEG_INFINITY)],
    ) {
        let nothing = vec![none; values.len()];
        for (base, mine) in [(&values, &nothing), (&nothing, &values), (&nothing, &nothing)] {
            let race = [trials("base", base, Clock::Real), trials("mine", mine, Clock::Real)];
            let race = race.concat();
            let (verdict, leaders) = row(&compared(&race, &[]), "mine");
            prop_assert_eq!((verdict, leaders), (Verdict::NotMeasured, None));
            prop_assert_eq!(effects(&race), [Effect::Unknown; 2]);
            prop_assert_eq!(changed(base, mine), Verdict::NotMeasured);
        }
    }
}

#[test]
fn a_small_difference_is_certain_and_no_claim() {
    let low: Vec<f64> = (0..8).map(|trial| 1000.0 + f64::from(trial)).collect();
    let said = |percent: f64| {
        let high: Vec<f64> = low.iter().map(|value| value * (1.0 + percent / 100.0)).collect();
        let race = [trials("base", &low, Clock::Virtual), trials("mine", &high, Clock::Virtual)];
        let (verdict, leaders) = row(&compared(&race.concat(), &[]), "mine");
        (verdict, leaders.expect("leaders").behind.is_empty())
    };
    assert_eq!(said(0.9), (Verdict::Equivalent, true));
    assert_eq!(said(1.6), (Verdict::Worse, false));
}

#[test]
fn who_is_gone_is_named() {
    let of = |name| trials(name, &[1.0; 6], Clock::Virtual);
    let said = gate(&[of("mine"), of("gone")].concat(), &of("mine"), MARGIN_PERCENT);
    assert_eq!(said.one_sided, ["gone under messaging on one (vm), before only"]);
}
