// SPDX-License-Identifier: GPL-2.0-only
//! Task groups that are also measured together: four networks' servers as `servers`.

use serde::{Deserialize, Serialize};

use crate::metric::MEASURES;
use crate::{Histogram, Measured, Metric};

/// Groups under one name. Their numbers are added up, their distributions pooled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Total {
    /// The name that stands for all of them in metrics.
    pub name: String,
    /// The groups' names.
    pub groups: Vec<String>,
}

/// Measures whose sum over groups means the same for all of them together. Of ratios and indexes it
/// does not.
const ADDITIVE: [&str; 12] = [
    "cpu_share",
    "cpu_time_ns",
    "deadlines",
    "deadlines_missed",
    "involuntary_switches",
    "iterations_per_second",
    "migrations",
    "system_time_ns",
    "tasks",
    "timeouts",
    "user_time_ns",
    "voluntary_switches",
];

/// Of these the largest counts.
const LARGEST: &str = "longest_wait_ns";

impl Measured {
    /// Measures groups together, as far as every one of them has its part.
    pub fn add_totals(&mut self, totals: &[Total]) {
        for total in totals {
            for name in ADDITIVE {
                self.add_total(total, name, |parts| parts.iter().sum());
            }
            let largest = |parts: &[f64]| parts.iter().copied().fold(0.0, f64::max);
            self.add_total(total, LARGEST, largest);
            MEASURES.iter().filter(|it| it.distribution).for_each(|it| self.pool(total, it.name));
        }
        self.sort();
    }

    fn add_total(&mut self, total: &Total, name: &str, sum: impl Fn(&[f64]) -> f64) {
        let is_part =
            |metric: &&Metric| metric.name == name && total.groups.contains(&metric.group);
        let parts: Vec<Option<f64>> =
            self.metrics.iter().filter(is_part).map(|metric| metric.value).collect();
        if parts.is_empty() {
            return;
        }
        let values: Option<Vec<f64>> = parts.into_iter().collect();
        self.metrics.push(match values {
            Some(values) => Metric::number(name, &total.name, sum(&values)),
            None => Metric::missing(name, &total.name, "not every group has it"),
        });
    }

    fn pool(&mut self, total: &Total, name: &str) {
        let is_part = |group: &String| total.groups.contains(group);
        let parts = self.histograms.iter().filter(|it| it.name == name && is_part(&it.group));
        let mut all: Option<Histogram> = None;
        for part in parts {
            all.get_or_insert_default().merge(part);
        }
        let lacks = self.metrics.iter().any(|it| it.name == name && is_part(&it.group));
        match all {
            Some(_) if lacks => {
                let why = "not every group has it";
                self.metrics.push(Metric::missing(name, &total.name, why));
            }
            Some(all) => {
                let (name, group) = (name.to_owned(), total.name.clone());
                self.histograms.push(Histogram { name, group, ..all });
            }
            None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_add_up_and_pool_what_every_group_has() {
        let mut measured = Measured {
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
                Histogram::of("span_ns", "a", &[5, 6]),
                Histogram::of("span_ns", "b", &[1]),
                Histogram::of("span_ns", "other", &[9]),
            ],
            ..Measured::default()
        };
        let both = Total { name: "both".into(), groups: vec!["a".into(), "b".into()] };
        measured.add_totals(&[both]);
        assert_eq!(measured.value("iterations_per_second", "both"), Some(7.5));
        assert_eq!(measured.value("longest_wait_ns", "both"), Some(7.0));
        assert_eq!(measured.value("timeouts", "both"), Some(1.0));
        assert_eq!(measured.value("jain_index", "both"), None);
        let why = |name: &str| {
            let found = measured.metrics.iter().find(|m| m.name == name && m.group == "both")?;
            found.missing.clone()
        };
        assert_eq!((why("migrations").is_some(), why("jain_index")), (true, None));
        let span = measured.histogram("span_ns", "both").expect("pooled");
        assert_eq!((span.count, span.min, span.max), (3, 1, 6));
        assert!(measured.histograms.is_sorted_by_key(|it| (it.name.clone(), it.group.clone())));
    }
}
