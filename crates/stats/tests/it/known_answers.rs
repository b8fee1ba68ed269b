// SPDX-License-Identifier: GPL-2.0-only
//! The statistics compared with SciPy's results, on fixed data sets: `data/known_answers.py` made
//! them.

use serde_json::Value;

use stats::number::distributions::{binomial, normal_below, student_quantile, student_within};
use stats::number::quantile::{median_absolute_deviation, ranks};
use stats::number::{interval, quantile};
use stats::rank::{hodges_lehmann, rank_sum, selection};
use stats::series::pelt;

const ANSWERS: &str = include_str!("../data/known_answers.json");

/// How far an answer may be off, absolutely and for large numbers relatively.
const NEAR: f64 = 1e-9;

fn cases(kind: &str) -> Vec<Value> {
    let answers: Value = serde_json::from_str(ANSWERS).unwrap();
    let cases = answers[kind].as_array().unwrap_or_else(|| panic!("{kind}"));
    assert!(cases.len() >= 4, "{kind}: {}", cases.len());
    cases.clone()
}

fn numbers(case: &Value) -> Vec<f64> {
    case.as_array().unwrap().iter().map(|number| number.as_f64().unwrap()).collect()
}

fn near(ours: f64, theirs: &Value, what: &str) {
    let theirs = theirs.as_f64().unwrap_or_else(|| panic!("{what}: no answer"));
    let off = (ours - theirs).abs() / theirs.abs().max(1.0);
    assert!(off <= NEAR, "{what}: {ours} is not {theirs}");
}

#[test]
fn two_samples() {
    for case in cases("two_samples") {
        let (ours, base) = (numbers(&case["ours"]), numbers(&case["baseline"]));
        let what = format!("{} {} and {}", case["kind"], ours.len(), base.len());
        let differences = hodges_lehmann::Differences::new(&ours, &base);
        let shift = differences.shift(&vec![1; ours.len()], &vec![1; base.len()]);
        near(shift.unwrap(), &case["shift"], &what);
        let tails = rank_sum::rank_sum(&ours, &base).unwrap();
        near(tails.below, &case["below"], &what);
        near(tails.above, &case["above"], &what);
    }
}

#[test]
fn paired_samples() {
    for case in cases("paired") {
        let differences = numbers(&case["differences"]);
        if !case["rank_below"].is_null() {
            let ranks = hodges_lehmann::signed_rank(&differences).unwrap();
            near(ranks.below, &case["rank_below"], "signed ranks, below");
            near(ranks.above, &case["rank_above"], "signed ranks, above");
        }
        let averages = selection::Averages::new(&differences);
        let shift = averages.shift(&vec![1; differences.len()]);
        near(shift.unwrap(), &case["shift"], "shift of pairs");
        let ends = averages.interval(differences.len()).unwrap();
        near(ends.low, &case["ends"][0], "low end of pairs");
        near(ends.high, &case["ends"][1], "high end of pairs");
    }
}

#[test]
fn single_samples_and_corrections() {
    for case in cases("one_sample") {
        let values = numbers(&case["values"]);
        near(quantile::median(&values).unwrap(), &case["median"], "median");
        near(median_absolute_deviation(&values).unwrap(), &case["deviation"], "deviation");
    }
    for case in cases("holm") {
        let adjusted = rank_sum::adjust(&numbers(&case["raw"]));
        let theirs = case["adjusted"].as_array().unwrap();
        assert_eq!(adjusted.len(), theirs.len());
        adjusted.iter().zip(theirs).for_each(|(ours, theirs)| near(*ours, theirs, "Holm"));
    }
}

#[test]
fn ranks_and_tails_of_intervals() {
    for case in cases("ranks") {
        let (count, quantile) = (case["count"].as_u64().unwrap(), case["quantile"].as_f64());
        let ours = ranks(count, quantile.unwrap()).ok().map(|(low, high)| vec![low, high]);
        let theirs: Option<Vec<u64>> =
            case["ranks"].as_array().map(|ranks| ranks.iter().flat_map(Value::as_u64).collect());
        assert_eq!(ours, theirs, "{case}");
    }
    for case in cases("tails") {
        let units = case["units"].as_u64().unwrap() as usize;
        near(student_quantile(units - 1), &case["student"], "Student's t");
        near(interval::tail(units), &case["tail"], "tail");
    }
}

#[test]
fn segments() {
    for case in cases("segments") {
        let cuts = pelt(&numbers(&case["values"]), case["penalty"].as_f64().unwrap());
        let theirs: Vec<f64> = numbers(&case["cuts"]);
        assert_eq!(cuts.iter().map(|&cut| cut as f64).collect::<Vec<_>>(), theirs, "{case}");
    }
}

#[test]
fn rank_intervals_and_quantiles() {
    for case in cases("intervals") {
        let (ours, base) = (numbers(&case["ours"]), numbers(&case["baseline"]));
        let found = rank_sum::shift(&ours, &base);
        assert_eq!(found.is_none(), case["ends"].is_null(), "{case}");
        let Some((value, ends)) = found else { continue };
        near(value, &case["shift"], "shift");
        near(ends.low, &case["ends"][0], "low end");
        near(ends.high, &case["ends"][1], "high end");
    }
    for case in cases("quantiles") {
        let samples = numbers(&case["values"]).into_iter().map(|value| value as u64);
        let histogram = crate::common::histogram("a", "b", samples);
        for (at, wanted) in numbers(&case["quantiles"]).into_iter().enumerate() {
            let found = quantile::quantile(&histogram, wanted).unwrap();
            near(found, &case["found"][at], "quantile");
        }
    }
}

#[test]
fn distributions() {
    for case in cases("distributions") {
        let number = |name: &str| case[name].as_f64().unwrap();
        near(normal_below(number("z")), &case["below"], "normal");
        let degrees = number("degrees") as usize;
        near(student_within(number("t"), degrees), &case["within"], "Student's t");
        let (first, terms) = binomial(number("n") as u64, number("q"));
        for pair in case["binomial"].as_array().unwrap() {
            let place = pair[0].as_u64().unwrap().checked_sub(first);
            let ours = place.and_then(|place| terms.get(place as usize)).unwrap_or(&0.0);
            near(*ours, &pair[1], "binomial");
        }
    }
}
