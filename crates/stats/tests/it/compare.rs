// SPDX-License-Identifier: GPL-2.0-only
//! Records in, comparison out.

use crate::common::{histogram, record, trials, with};
use model::{Backend, Clock, Outcome, Record};
use stats::{Comparison, Entry, Options, Verdict, compare};

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
    assert_eq!(noted(&compared(&virtual_clock(drifting)), "The level of most"), 0);
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

fn virtual_clock(mut records: Vec<Record>) -> Vec<Record> {
    records.iter_mut().for_each(|record| record.trial.machine.clock = Clock::Virtual);
    records
}

#[test]
fn a_virtual_clock_says_equal_or_not_equal() {
    let comparison = compared(&virtual_clock(two(&SIX, &SIX)));
    let equal = entry(&comparison, "completion_ns all", "ours");
    assert_eq!((equal.verdict, equal.by_seed.unwrap().equal), (Verdict::Equal, 6));
    let comparison = compared(&virtual_clock(two(&[100.0, 101.0], &[100.0, 99.0])));
    let differs = entry(&comparison, "completion_ns all", "ours");
    assert_eq!((differs.verdict, differs.by_seed.unwrap().lower), (Verdict::Differs, 1));
}

#[test]
fn repeats_under_a_virtual_clock_count_once_and_must_agree() {
    let records = virtual_clock(trials("base", &SIX));
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
fn four_hundred_trials_with_forty_measures_have_a_row_for_each() {
    let mut records = Vec::new();
    for (cell, contestant, block) in (0..400).map(|n| (n % 5, n / 5 % 8, n / 40)) {
        let name = if contestant == 0 { "base".into() } else { format!("c{contestant}") };
        let mut record = record(&name, block);
        record.trial.workload.parameters.insert("hogs".into(), cell.into());
        for measure in 0..40 {
            let value = f64::from((block * 7919 + measure * 104_729 + contestant) % 1009);
            record = with(record, &format!("m{measure}"), value);
        }
        records.push(record);
    }
    let comparison = compare(&records, &Options { resamples: 100, ..Options::against("base") });
    assert_eq!(comparison.cells.iter().map(|cell| cell.rows.len()).sum::<usize>(), 200);
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
