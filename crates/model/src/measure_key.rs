// SPDX-License-Identifier: GPL-2.0-only
//! What one number of a trial is called.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::Name;
use crate::metric::{Direction, MEASURES, Unit, measure};

/// One number that every trial of a cell has: a measure, for a distribution one of its quantiles,
/// of a task group. It is written as `wakeup_latency_ns.p99 fair_waker`, and read back from that.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct MeasureKey {
    /// The measure's name, see [`MEASURES`].
    pub name: Name,
    /// Which number of a distribution; `None` for measures that are one number.
    pub statistic: Option<Statistic>,
    /// The task group, or `all`.
    pub group: Name,
}

/// A number of a distribution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Statistic {
    P50,
    P90,
    P99,
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
}

impl MeasureKey {
    /// The measure's name with its statistic, without the group: `wakeup_latency_ns.p99`.
    pub fn statistic_name(&self) -> String {
        match self.statistic {
            Some(statistic) => format!("{}.{}", self.name, statistic.word()),
            None => self.name.clone().into(),
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

    proptest! {
        #[test]
        fn keys_survive_text(
            name in "[a-z_]{1,20}", group in "[a-z0-9_]{1,10}", pick in 0usize..6,
        ) {
            let statistic = Statistic::ALL.get(pick).copied();
            let key = MeasureKey { name: name.into(), statistic, group: group.into() };
            prop_assert_eq!(key.to_string().parse::<MeasureKey>().unwrap(), key);
        }
    }
}
