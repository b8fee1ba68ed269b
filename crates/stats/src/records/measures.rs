// SPDX-License-Identifier: GPL-2.0-only
//! The numbers of a record: its metrics, and quantiles of its distributions.

use std::fmt;
use std::str::FromStr;

use model::metric::{Direction, MEASURES, Unit, measure};
use model::{Histogram, Record};
use serde::{Deserialize, Serialize};

use crate::number::quantile::quantile;

/// One number that every trial of a cell has: a measure, for a distribution one of its quantiles,
/// of a task group. It is written as `wakeup_latency_ns.p99 fair_waker`, and read back from that.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct MeasureKey {
    /// The measure's name, see [`MEASURES`].
    pub name: String,
    /// Which number of a distribution; `None` for measures that are one number.
    pub statistic: Option<Statistic>,
    /// The task group, or `all`.
    pub group: String,
}

/// A number of a distribution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Statistic {
    /// The median.
    P50,
    /// The 90 % quantile.
    P90,
    /// The 99 % quantile.
    P99,
    /// The 99.9 % quantile.
    P999,
    /// The largest sample. It grows with the number of samples: look at it, do not rank by it.
    Max,
}

impl Statistic {
    /// All, in the order of tables.
    pub const ALL: [Statistic; 5] = [Self::P50, Self::P90, Self::P99, Self::P999, Self::Max];

    /// The suffix in a measure's name.
    pub fn word(self) -> &'static str {
        match self {
            Statistic::P50 => "p50",
            Statistic::P90 => "p90",
            Statistic::P99 => "p99",
            Statistic::P999 => "p999",
            Statistic::Max => "max",
        }
    }

    /// The statistic of one trial's distribution, or why there is none.
    fn value_in(self, histogram: &Histogram) -> Result<f64, String> {
        match self {
            Statistic::P50 => quantile(histogram, 0.5),
            Statistic::P90 => quantile(histogram, 0.9),
            Statistic::P99 => quantile(histogram, 0.99),
            Statistic::P999 => quantile(histogram, 0.999),
            Statistic::Max if histogram.count == 0 => Err("no samples".into()),
            Statistic::Max => Ok(histogram.max as f64),
        }
    }
}

impl MeasureKey {
    /// The measure's name with its statistic, without the group: `wakeup_latency_ns.p99`.
    pub fn statistic_name(&self) -> String {
        match self.statistic {
            Some(statistic) => format!("{}.{}", self.name, statistic.word()),
            None => self.name.clone(),
        }
    }

    /// Unit and direction; unknown names explain and do not judge.
    pub fn unit_and_direction(&self) -> (Unit, Direction) {
        measure(&self.name).map_or((Unit::Count, Direction::Neutral), |m| (m.unit, m.direction))
    }

    /// Whether one direction of this measure is better than the other.
    pub fn judges(&self) -> bool {
        self.unit_and_direction().1 != Direction::Neutral
    }

    /// The place in tables: as in [`MEASURES`], the group `all` first, then the statistic.
    pub fn order(&self) -> impl Ord + use<> {
        let place = MEASURES.iter().position(|measure| measure.name == self.name);
        let place = place.unwrap_or(MEASURES.len());
        (place, self.name.clone(), self.group != "all", self.group.clone(), self.statistic)
    }
}

impl fmt::Display for MeasureKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} {}", self.statistic_name(), self.group)
    }
}

impl FromStr for MeasureKey {
    type Err = String;

    /// Reads `name[.statistic] [group]`; without a group it is `all`.
    fn from_str(text: &str) -> Result<MeasureKey, String> {
        let (name, group) = text.trim().split_once(' ').unwrap_or((text.trim(), "all"));
        let (name, statistic) = match name.split_once('.') {
            Some((name, word)) => (name, Some(statistic(word)?)),
            None => (name, None),
        };
        Ok(MeasureKey { name: name.into(), statistic, group: group.trim().into() })
    }
}

fn statistic(word: &str) -> Result<Statistic, String> {
    let known = Statistic::ALL.into_iter().find(|statistic| statistic.word() == word);
    known.ok_or_else(|| format!("`{word}` is no statistic; write p50, p90, p99, p999 or max"))
}

impl Serialize for MeasureKey {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for MeasureKey {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// Every number of a record, or why it is missing.
pub fn values(record: &Record) -> Vec<(MeasureKey, Result<f64, String>)> {
    let metrics = record.measured.metrics.iter().map(|metric| {
        // Imported records may have single quantiles of a distribution: `wakeup_latency_ns.p99`.
        let key = format!("{} {}", metric.name, metric.group).parse();
        let (name, group) = (metric.name.clone(), metric.group.clone());
        let key = key.unwrap_or(MeasureKey { name, statistic: None, group });
        let why = || metric.missing.clone().unwrap_or_else(|| "missing without a reason".into());
        let number = metric.value.filter(|value| value.is_finite());
        (key, number.ok_or_else(why))
    });
    metrics.chain(record.measured.histograms.iter().flat_map(quantiles)).collect()
}

fn quantiles(histogram: &Histogram) -> impl Iterator<Item = (MeasureKey, Result<f64, String>)> {
    Statistic::ALL.into_iter().map(|statistic| {
        let (name, group) = (histogram.name.clone(), histogram.group.clone());
        let value = match histogram.is_complete() {
            true => statistic.value_in(histogram),
            false => Err("samples were lost: the histogram does not add up".into()),
        };
        (MeasureKey { name, statistic: Some(statistic), group }, value)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn headlines_are_read() {
        let key: MeasureKey = "wakeup_latency_ns.p99 fair_waker".parse().unwrap();
        assert_eq!(key.statistic, Some(Statistic::P99));
        assert_eq!((key.name.as_str(), key.group.as_str()), ("wakeup_latency_ns", "fair_waker"));
        assert_eq!("completion_ns".parse::<MeasureKey>().unwrap().to_string(), "completion_ns all");
        assert!("run_delay_ns.p12 all".parse::<MeasureKey>().unwrap_err().contains("p50"));
    }

    #[test]
    fn single_quantiles_stand_beside_those_of_distributions() {
        let mut record = Record::without_measurement(
            serde_json::from_value(serde_json::json!({
                "schema": 1, "experiment": "x", "backend": "imported", "seed": 1, "block": 0,
                "boot": 0, "position": 0, "timeout_ms": 0,
                "contestant": {"name": "c", "scheduler": {"kind": "claimed", "name": "c"}},
                "workload": {"name": "w"}, "machine": {"name": "m", "cpus": 1},
            }))
            .unwrap(),
            model::Outcome::Ok,
            model::Provenance::default(),
        );
        let number = model::Metric::number("wakeup_latency_ns.p99", "program", 7.0);
        record.measured.metrics.push(number);
        let key = "wakeup_latency_ns.p99 program".parse().unwrap();
        assert_eq!(values(&record), [(key, Ok(7.0))]);
    }

    proptest! {
        #[test]
        fn keys_survive_text(
            name in "[a-z_]{1,20}", group in "[a-z0-9_]{1,10}", pick in 0usize..6,
        ) {
            let statistic = Statistic::ALL.get(pick).copied();
            let key = MeasureKey { name, statistic, group };
            prop_assert_eq!(key.to_string().parse::<MeasureKey>().unwrap(), key);
        }
    }
}
