// SPDX-License-Identifier: GPL-2.0-only
//! Numbers of several groups or tasks together.

pub use crate::metric::{ALL, PROGRAM};

use crate::metric::MEASURES;
use crate::{Histogram, Measured, Metric, Total};

/// The measures whose sum over groups is meaningful, unlike that of ratios and indexes; and whether
/// the sum over all groups is recorded as the group [`ALL`].
const ADDITIVE: [(&str, bool); 13] = [
    ("cpu_share", true),
    ("cpu_time_ns", true),
    ("deadlines", false),
    ("deadlines_missed", false),
    ("involuntary_switches", true),
    ("iterations_per_second", false),
    ("migrations", true),
    ("stutters", false),
    ("system_time_ns", false),
    ("tasks", true),
    ("timeouts", false),
    ("user_time_ns", false),
    ("voluntary_switches", true),
];

/// Measures whose largest value is taken instead of the sum.
const LARGEST: &str = "longest_wait_ns";

const PART_MISSING: &str = "not every group has it";

/// Adds the numbers of [`ALL`]: sums over `groups`, missing where a group lacks its part.
pub fn add_all(measured: &mut Measured, groups: &[&str]) {
    let parts = |measured: &Measured, name: &str| -> Option<Vec<f64>> {
        groups.iter().map(|group| measured.value(name, group)).collect()
    };
    for (name, _) in ADDITIVE.iter().filter(|(_, over_all)| *over_all) {
        let sum = parts(measured, name).map(|parts| parts.iter().sum());
        measured.metrics.push(together(name, ALL, sum));
    }
    let largest = parts(measured, LARGEST).map(|parts| largest(&parts));
    measured.metrics.push(together(LARGEST, ALL, largest));
}

/// Adds the workload's totals: sums, and pooled distributions. A total is missing if a group lacks
/// its part, and left out if no group has one.
pub fn add_totals(measured: &mut Measured, totals: &[Total]) {
    for total in totals {
        for (name, _) in &ADDITIVE {
            add_total(measured, total, name, |parts| parts.iter().sum());
        }
        add_total(measured, total, LARGEST, largest);
        let distributions = MEASURES.iter().filter(|measure| measure.distribution);
        distributions.for_each(|measure| pool(measured, total, measure.name));
    }
    measured.sort();
}

fn largest(parts: &[f64]) -> f64 {
    parts.iter().copied().fold(0.0, f64::max)
}

fn together(name: &str, group: &str, value: Option<f64>) -> Metric {
    match value {
        Some(value) => Metric::number(name, group, value),
        None => Metric::missing(name, group, PART_MISSING),
    }
}

fn add_total(measured: &mut Measured, total: &Total, name: &str, sum: impl Fn(&[f64]) -> f64) {
    let is_part = |metric: &&Metric| {
        metric.name == name && total.groups.iter().any(|part| metric.group == *part)
    };
    let parts: Vec<Option<f64>> =
        measured.metrics.iter().filter(is_part).map(|metric| metric.value).collect();
    if parts.is_empty() {
        return;
    }
    let values: Option<Vec<f64>> = parts.into_iter().collect();
    measured.metrics.push(together(name, &total.name, values.map(|values| sum(&values))));
}

fn pool(measured: &mut Measured, total: &Total, name: &str) {
    let is_part = |group: &str| total.groups.iter().any(|part| part == group);
    let parts = measured
        .histograms
        .iter()
        .filter(|histogram| histogram.name == name && is_part(&histogram.group));
    let mut all: Option<Histogram> = None;
    for part in parts {
        all.get_or_insert_default().merge(part);
    }
    let Some(all) = all else { return };
    if measured.metrics.iter().any(|metric| metric.name == name && is_part(&metric.group)) {
        measured.metrics.push(Metric::missing(name, &total.name, PART_MISSING));
    } else {
        let (name, group) = (name.into(), total.name.as_str().into());
        measured.histograms.push(Histogram { name, group, ..all });
    }
}

/// The fairness of a group's CPU times: (Σx)² / (n·Σx²). Jain, Chiu and Hawe, "A Quantitative
/// Measure of Fairness and Discrimination", 1984.
pub fn jain_index(group: &str, cpu_ns: &[u64]) -> Metric {
    let sum: f64 = cpu_ns.iter().map(|&ns| ns as f64).sum();
    let squares: f64 = cpu_ns.iter().map(|&ns| ns as f64 * ns as f64).sum();
    if squares > 0.0 {
        Metric::number("jain_index", group, sum * sum / (cpu_ns.len() as f64 * squares))
    } else {
        Metric::missing("jain_index", group, "no task of the group has run")
    }
}

/// A group's deadlines, the missed ones, and their ratio.
pub fn deadlines(group: &str, passed: u64, missed: u64) -> [Metric; 3] {
    let ratio = match passed {
        0 => Metric::missing("deadline_miss_ratio", group, "no deadline lay inside the trial"),
        _ => Metric::number("deadline_miss_ratio", group, missed as f64 / passed as f64),
    };
    [
        Metric::number("deadlines", group, passed as f64),
        Metric::number("deadlines_missed", group, missed as f64),
        ratio,
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two_groups() -> Measured {
        Measured {
            metrics: vec![
                Metric::number("iterations_per_second", "a", 3.0),
                Metric::number("iterations_per_second", "b", 4.5),
                Metric::number("iterations_per_second", "other", 100.0),
                Metric::number("longest_wait_ns", "a", 7.0),
                Metric::number("longest_wait_ns", "b", 2.0),
                Metric::number("jain_index", "a", 1.0),
                Metric::number("timeouts", "a", 1.0),
                Metric::missing("migrations", "a", "no probes"),
                Metric::number("migrations", "b", 1.0),
            ],
            histograms: vec![
                Histogram::from_samples("span_ns", "a", &[5, 6]),
                Histogram::from_samples("span_ns", "b", &[1]),
                Histogram::from_samples("span_ns", "other", &[9]),
            ],
            ..Measured::default()
        }
    }

    fn why(measured: &Measured, name: &str, group: &str) -> Option<String> {
        let found = measured.metrics.iter().find(|m| m.name == name && m.group == group)?;
        found.missing.clone().map(String::from)
    }

    #[test]
    fn totals_add_up_and_pool_what_every_group_has() {
        let mut measured = two_groups();
        let both = Total { name: "both".into(), groups: vec!["a".into(), "b".into()] };
        add_totals(&mut measured, &[both]);
        assert_eq!(measured.value("iterations_per_second", "both"), Some(7.5));
        assert_eq!(measured.value("longest_wait_ns", "both"), Some(7.0));
        assert_eq!(measured.value("timeouts", "both"), Some(1.0));
        assert_eq!(measured.value("jain_index", "both"), None);
        let why = |name| why(&measured, name, "both");
        assert_eq!((why("migrations").is_some(), why("jain_index")), (true, None));
        let span = measured.histogram("span_ns", "both").expect("pooled");
        assert_eq!((span.count, span.min, span.max), (3, 1, 6));
        assert!(
            measured
                .histograms
                .is_sorted_by_key(|histogram| (histogram.name.clone(), histogram.group.clone()))
        );
    }

    #[test]
    fn a_sum_over_all_needs_every_group() {
        let mut measured = two_groups();
        measured.metrics.push(Metric::number("tasks", "a", 2.0));
        measured.metrics.push(Metric::number("tasks", "b", 3.0));
        add_all(&mut measured, &["a", "b"]);
        assert_eq!(measured.value("tasks", ALL), Some(5.0));
        assert_eq!(measured.value("longest_wait_ns", ALL), Some(7.0));
        assert_eq!(why(&measured, "migrations", ALL).as_deref(), Some(PART_MISSING));
        assert_eq!(measured.metrics.iter().filter(|m| m.group == ALL).count(), 7);
        assert!(!measured.metrics.iter().any(|m| m.group == ALL && m.name == "timeouts"));
    }

    #[test]
    fn every_additive_measure_exists() {
        for (name, _) in &ADDITIVE {
            assert!(crate::metric::measure(name).is_some(), "{name}");
        }
    }

    #[test]
    fn jains_index_is_one_for_equals() {
        let index = |cpu_ns: &[u64]| jain_index("g", cpu_ns).value;
        assert_eq!(index(&[5, 5, 5]), Some(1.0));
        assert_eq!(index(&[9, 0, 0]), Some(1.0 / 3.0));
        assert_eq!(index(&[0, 0]), None);
    }

    #[test]
    fn a_ratio_needs_a_deadline() {
        assert_eq!(deadlines("g", 4, 1).map(|m| m.value), [Some(4.0), Some(1.0), Some(0.25)]);
        assert_eq!(deadlines("g", 0, 0)[2].value, None);
    }
}
