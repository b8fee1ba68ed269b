// SPDX-License-Identifier: GPL-2.0-only
//! Records in, comparison out.
//!
//! Pairs of contestants, and what tells them apart.
//!
//! Equal measurements, byte for byte.

use model::{Backend, Clock, Metric, Outcome, Record};
use stats::decide::separation::separations;
use stats::{Comparison, Difference, Entry, Options, Verdict, compare, identical};

use crate::common::{histogram, record, trials, under, with};

const SIX: [f64; 6] = [100.0, 101.0, 102.0, 103.0, 104.0, 105.0];

fn compared(records: &[Record]) -> Comparison {
    compare(records, &Options { resamples: 1_000, ..Options::against("base") })
}

fn entry<'a>(comparison: &'a Comparison, measure: &str, contestant: &str) -> &'a Entry {
    let row = comparison.cells[0].rows.iter().find(|row| row.measure.to_string() == measure);
    row.unwrap().entries.iter().find(|entry| entry.contestant == contestant).unwrap()
}

fn two(base: &[f64], ours: &[f64]) -> Vec<Record> {
    [trials("base", base), trials("ours", ours)].concat()
}

#[test]
fn a_clear_difference_is_claimed_with_its_size() {
    let comparison = compared(&two(&SIX, &SIX.map(|value| value * 0.5)));
    let entry = entry(&comparison, "completion_ns all", "ours");
    assert_eq!(entry.verdict, Verdict::Better);
    let shift = entry.shift.unwrap();
    assert!((shift.percent.unwrap() + 50.0).abs() < 1.5, "{shift:?}");
    let interval = shift.percent_interval.unwrap();
    assert!(interval.low < -50.0 && -50.0 < interval.high && interval.high < -40.0, "{interval:?}");
    assert_eq!((entry.trials, entry.boots), (6, 6));
}

#[test]
fn the_baseline_comes_first_and_is_not_compared_with_itself() {
    let comparison = compared(&[trials("a", &SIX), trials("base", &SIX)].concat());
    assert_eq!(comparison.contestants, ["base", "a"]);
    let base = entry(&comparison, "completion_ns all", "base");
    assert_eq!((base.verdict, base.shift), (Verdict::Baseline, None));
}

#[test]
fn noise_few_trials_and_small_differences_are_no_claims() {
    let near = SIX.map(|value| 1_000.0 + value / 50.0);
    let cases = [
        (SIX, vec![105.0, 100.0, 103.5, 101.0, 104.0, 102.0], Verdict::NotDistinguishable),
        (SIX, SIX.map(|value| value * 0.5)[..5].to_vec(), Verdict::TooFewTrials),
        (near, near.map(|value| value + 0.3).to_vec(), Verdict::Equivalent),
    ];
    for (base, ours, verdict) in cases {
        let comparison = compared(&two(&base, &ours));
        assert_eq!(entry(&comparison, "completion_ns all", "ours").verdict, verdict);
    }
}

#[test]
fn trials_that_did_not_end_well_are_counted_with_reasons_and_never_measured() {
    let mut records = two(&SIX, &SIX);
    records[6].outcome = Outcome::Ejected { reason: "stall".into(), dump: "d".into() };
    let comparison = compared(&records);
    let cell = &comparison.cells[0];
    let ejected = cell.outcomes.iter().find(|count| count.outcome == "ejected").unwrap();
    assert_eq!(
        (ejected.contestant.as_str(), ejected.reason.as_str(), ejected.trials),
        ("ours", "stall", 1)
    );
    assert_eq!(cell.outcomes.iter().map(|count| count.trials).sum::<usize>(), 12);
    assert_eq!(entry(&comparison, "completion_ns all", "ours").trials, 5);
}

#[test]
fn quantiles_come_from_each_trial_and_are_refused_when_it_is_too_short() {
    let mut records = trials("base", &SIX);
    for record in &mut records {
        record.measured.histograms.push(histogram("wakeup_latency_ns", "waker", 1..=400));
    }
    let comparison = compared(&records);
    assert_eq!(entry(&comparison, "wakeup_latency_ns.p99 waker", "base").median, Some(396.0));
    let refused = entry(&comparison, "wakeup_latency_ns.p999 waker", "base");
    assert_eq!((refused.verdict, refused.median), (Verdict::NotMeasured, None));
    let reasons: Vec<_> = refused.missing.iter().collect();
    assert_eq!(reasons.len(), 1);
    assert!(reasons[0].0.contains("it needs 3688") && *reasons[0].1 == 6, "{reasons:?}");
}

#[test]
fn lost_samples_are_flagged_and_give_no_quantile() {
    let mut records = trials("base", &SIX);
    let mut lossy = histogram("wakeup_latency_ns", "waker", 1..=400);
    lossy.count += 1;
    records[0].measured.histograms.push(lossy);
    let comparison = compared(&records);
    assert_eq!(entry(&comparison, "wakeup_latency_ns.p50 waker", "base").median, None);
    assert!(comparison.notes[0].contains("samples were lost"), "{:?}", comparison.notes);
}

#[test]
fn headline_measures_come_first_and_missing_ones_are_noted() {
    let records: Vec<_> = trials("base", &SIX).into_iter().map(|r| with(r, "tasks", 4.0)).collect();
    let comparison = compared(&records);
    let rows: Vec<_> = comparison.cells[0]
        .rows
        .iter()
        .map(|row| (row.measure.to_string(), row.headline))
        .collect();
    assert_eq!(rows, [("completion_ns all".to_owned(), true), ("tasks all".to_owned(), false)]);
    let note = "`messaging` promises `wakeup_latency_ns.p99 waker`, which no trial measured.";
    assert!(comparison.notes.iter().any(|known| known == note), "{:?}", comparison.notes);
}

#[test]
fn trials_that_are_far_off_and_levels_that_change_are_noted_and_kept() {
    let mut odd = SIX;
    odd[2] = 900.0;
    let comparison = compared(&two(&SIX, &odd));
    let noted = |comparison: &Comparison, words: &str| {
        comparison.notes.iter().filter(|note| note.contains(words)).count()
    };
    assert_eq!(noted(&comparison, "1 trial(s) lie more than ten"), 1, "{:?}", comparison.notes);
    assert_eq!(entry(&comparison, "completion_ns all", "ours").trials, 6);
    let jump = [100.0, 100.5, 100.2, 100.1, 150.2, 150.0, 150.4, 150.1];
    let drifting = [trials("base", &jump), trials("a", &jump), trials("b", &jump)].concat();
    assert_eq!(noted(&compared(&drifting), "The level of most contestants changes"), 1);
    assert_eq!(noted(&compared(&under(Clock::Virtual, drifting)), "The level of most"), 0);
}

/// Six boots give a p value of 2 in 924 at best, which 23 comparisons can carry and 24 cannot.
#[test]
fn large_families_need_more_trials_and_say_so() {
    let family = |others: usize| {
        let clear = |n: usize| trials(&format!("c{n}"), &SIX.map(|value| value * 0.5));
        let all: Vec<Record> = (0..others).flat_map(clear).chain(trials("base", &SIX)).collect();
        compare(&all, &Options { resamples: 200, ..Options::against("base") })
    };
    let (enough, many) = (family(23), family(24));
    let carried = entry(&enough, "completion_ns all", "c0");
    let p = carried.p_value.unwrap();
    assert_eq!((carried.verdict, p.comparisons, p.units), (Verdict::Better, 23, 6));
    assert!((p.raw - 2.0 / 924.0).abs() < 1e-12 && (p.adjusted - p.raw * 23.0).abs() < 1e-12);
    assert!(enough.notes.iter().all(|note| !note.contains("No claim is possible")));
    assert_eq!(entry(&many, "completion_ns all", "c0").verdict, Verdict::NotDistinguishable);
    let note = many.notes.iter().find(|note| note.contains("No claim is possible")).unwrap();
    assert!(note.contains("24 comparisons need 7 independent trials"), "{note}");
}

#[test]
fn settings_of_a_workload_are_one_family_and_measures_are_not() {
    let records: Vec<Record> = [3, 24]
        .into_iter()
        .flat_map(|hogs| {
            let mut records = two(&SIX, &SIX.map(|value| value * 0.5));
            records.iter_mut().for_each(|record| {
                record.trial.workload.parameters.insert("hogs".into(), hogs);
            });
            records.into_iter().map(|record| with(record, "longest_wait_ns", 5.0))
        })
        .collect();
    let comparison = compared(&records);
    for row in comparison.cells.iter().flat_map(|cell| &cell.rows) {
        assert_eq!(row.entries[1].p_value.unwrap().comparisons, 2, "{}", row.measure);
    }
}

/// Six trials of two boots are two units: they cannot claim anything.
#[test]
fn trials_of_one_boot_are_not_independent() {
    let mut records = two(&SIX, &SIX.map(|value| value * 0.5));
    records.iter_mut().for_each(|record| record.trial.boot /= 3);
    let comparison = compared(&records);
    let entry = entry(&comparison, "completion_ns all", "ours");
    assert_eq!((entry.trials, entry.boots, entry.p_value.unwrap().units), (6, 2, 2));
    assert_eq!(entry.verdict, Verdict::NotDistinguishable);
}

#[test]
fn a_virtual_clock_says_equal_or_not_equal() {
    let comparison = compared(&under(Clock::Virtual, two(&SIX, &SIX)));
    let equal = entry(&comparison, "completion_ns all", "ours");
    assert_eq!((equal.verdict, equal.by_seed.unwrap().equal), (Verdict::Equal, 6));
    let comparison = compared(&under(Clock::Virtual, two(&[100.0, 101.0], &[100.0, 99.0])));
    let differs = entry(&comparison, "completion_ns all", "ours");
    assert_eq!((differs.verdict, differs.by_seed.unwrap().lower), (Verdict::Differs, 1));
}

#[test]
fn repeats_under_a_virtual_clock_count_once_and_must_agree() {
    let records = under(Clock::Virtual, trials("base", &SIX));
    let twice = compared(&[records.clone(), records.clone()].concat());
    assert_eq!(entry(&twice, "completion_ns all", "base").trials, 6);
    assert_eq!(twice.notes, compared(&records).notes);
    let mut broken = records.clone();
    broken[2].measured.metrics[0].value = Some(7.0);
    let notes = compared(&[records, broken].concat()).notes;
    assert!(notes[0].contains("exact repetition is broken"), "{notes:?}");
}

#[test]
fn parameters_and_machines_make_cells_in_numeric_order() {
    let with_hogs = |hogs: i64| {
        let mut records = trials("base", &SIX);
        for record in &mut records {
            record.trial.workload.parameters.insert("hogs".into(), hogs);
        }
        records
    };
    let comparison = compared(&[with_hogs(24), with_hogs(3)].concat());
    let names: Vec<_> = comparison.cells.iter().map(|cell| cell.name.as_str()).collect();
    assert_eq!(names, ["messaging hogs=3", "messaging hogs=24"]);
}

#[test]
fn the_same_records_give_the_same_bytes_in_any_order() {
    let records = two(&SIX, &[99.0, 103.0, 98.0, 104.5, 97.0, 100.5]);
    let json = serde_json::to_string(&compared(&records)).unwrap();
    assert_eq!(json, serde_json::to_string(&compared(&records)).unwrap());
    let back: Comparison = serde_json::from_str(&json).unwrap();
    assert_eq!(serde_json::to_string(&back).unwrap(), json);
    let reversed: Vec<Record> = records.into_iter().rev().collect();
    assert_eq!(compared(&reversed).contestants, back.contestants);
}

#[test]
fn only_what_was_planned_in_blocks_is_paired() {
    let values: Vec<f64> = (0..10).map(|block| 100.0 + 50.0 * f64::from(block % 5)).collect();
    let slower: Vec<f64> =
        values.iter().zip(1..).map(|(v, at)| v + 4.0 + 0.1 * f64::from(at)).collect();
    let mut records = [trials("base", &values), trials("ours", &slower)].concat();
    let pairs = |records: &[Record]| {
        compare(records, &Options::against("base")).cells[0].rows[0].entries[1]
            .shift
            .unwrap()
            .matched_pairs
    };
    assert_eq!(pairs(&records), Some(10));
    records.iter_mut().for_each(|record| record.trial.backend = Backend::Imported);
    assert_eq!(pairs(&records), None);
}

/// Six trials of a contestant with a number for each headline measure.
fn measured(contestant: &str, completion_ns: f64, wakeup_ns: f64) -> Vec<Record> {
    let trial = |block| {
        let mut record = record(contestant, block);
        let spread = f64::from(block);
        let numbers = [("completion_ns", completion_ns), ("wakeup_latency_ns", wakeup_ns)];
        record.trial.workload.headline =
            vec!["completion_ns all".into(), "wakeup_latency_ns all".into()];
        record.measured.metrics =
            numbers.map(|(name, value)| Metric::number(name, "all", value + spread)).to_vec();
        record
    };
    (0..6).map(trial).collect()
}

fn pairs(records: &[Record]) -> Vec<String> {
    let comparison = compare(records, &Options { resamples: 10, ..Options::against("a") });
    let word = |pair: stats::decide::separation::Separation| match pair.evidence {
        Some(found) => format!("{} {} {}", pair.one, pair.other, found.measure),
        None => format!("{} {} alike in {}", pair.one, pair.other, pair.looked_at),
    };
    separations(records, &comparison).into_iter().map(word).collect()
}

#[test]
fn each_pair_is_told_apart_by_the_measure_that_differs_most() {
    let records =
        [measured("a", 1000.0, 500.0), measured("b", 2000.0, 500.0), measured("c", 2000.0, 5000.0)];
    assert_eq!(
        pairs(&records.concat()),
        ["a b completion_ns all", "a c wakeup_latency_ns all", "b c wakeup_latency_ns all"]
    );
}

#[test]
fn trials_that_overlap_and_trials_of_one_boot_are_alike() {
    let records = [measured("a", 1000.0, 500.0), measured("b", 1003.0, 500.0)].concat();
    assert_eq!(pairs(&records), ["a b alike in 2"]);
    let mut one_boot = [measured("a", 1000.0, 500.0), measured("b", 2000.0, 500.0)].concat();
    one_boot.iter_mut().for_each(|record| record.trial.boot = 0);
    assert_eq!(pairs(&one_boot), ["a b alike in 2"]);
}

#[test]
fn what_only_one_has_tells_nothing() {
    let records = [trials("a", &[1.0; 6]), measured("b", 1000.0, 500.0)].concat();
    assert_eq!(pairs(&records), ["a b completion_ns all"]);
}

#[test]
fn the_same_trials_with_the_same_numbers_are_identical() {
    let records = trials("a", &[1.0, 2.0, 3.0]);
    let mut elsewhere = records.clone();
    elsewhere.reverse();
    elsewhere[0].provenance.wall_ms = 99;
    let identity = identical(&records, &elsewhere);
    assert!(identity.is_identical());
    assert_eq!(identity.same, 3);
}

#[test]
fn nothing_is_not_identical_with_nothing() {
    assert!(!identical(&[], &[]).is_identical());
}

#[test]
fn a_differing_number_is_named_with_both_values() {
    let records = trials("a", &[1.0, 2.0]);
    let mut other = records.clone();
    other[1].measured.metrics[0].value = Some(2.5);
    other[1].measured.histograms.push(histogram("run_delay_ns", "all", 1..4));
    let identity = identical(&records, &other);
    assert_eq!((identity.same, identity.differences.len()), (1, 1));
    let found = &identity.differences[0];
    assert_eq!(found.trial, records[1].trial.id());
    assert_eq!(found.label, "a in messaging, boot 1");
    let Difference::Measured(lines) = &found.difference else { panic!("{found:?}") };
    assert_eq!(lines[0], "completion_ns all: 2 / 2.5");
    assert!(lines[1].starts_with("run_delay_ns all: absent / 3 samples, 1 … 3"), "{lines:?}");
}

#[test]
fn another_guest_is_named_before_the_numbers() {
    let mut first = trials("a", &[1.0]);
    let mut second = trials("a", &[2.0]);
    for (records, image) in [(&mut first, "abc"), (&mut second, "def")] {
        records[0].provenance.kernel_facts.insert("guest_image".into(), image.into());
    }
    let identity = identical(&first, &second);
    let Difference::Measured(lines) = &identity.differences[0].difference else {
        panic!("{identity:?}")
    };
    assert_eq!(lines[0], "guest_image: abc / def");
    assert_eq!(lines[1], "completion_ns all: 1 / 2");
}

#[test]
fn missing_trials_and_other_outcomes_are_differences() {
    let records = trials("a", &[1.0, 2.0]);
    let mut other = records.clone();
    other[0].outcome = Outcome::Timeout { reason: "slow".into() };
    let kinds =
        |a, b| identical(a, b).differences.into_iter().map(|d| d.difference).collect::<Vec<_>>();
    assert_eq!(kinds(&records[..], &other[..]), [Difference::Outcome("ok / timeout".into())]);
    assert_eq!(kinds(&records[..1], &records[..]), [Difference::OnlyInSecond]);
    assert_eq!(kinds(&records[..], &records[..1]), [Difference::OnlyInFirst]);
}

#[test]
fn a_trial_that_is_repeated_on_one_side_must_agree_with_itself() {
    let records = trials("a", &[1.0]);
    let mut twice = [records.clone(), records.clone()].concat();
    assert!(identical(&records, &twice).is_identical());
    twice[1].measured.metrics[0].value = Some(9.0);
    assert!(!identical(&records, &twice).is_identical());
}
