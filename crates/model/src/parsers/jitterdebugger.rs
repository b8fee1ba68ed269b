// SPDX-License-Identifier: GPL-2.0-only
//! jitterdebugger's `results.json`: one histogram of wake-up latency for each CPU.
//!
//! All CPUs become one distribution. Its histogram ends at 1,000 values; later ones are only
//! counted. Such a result stays marked as incomplete.

use std::collections::BTreeMap;

use crate::Histogram;
use crate::histogram::lowest_equivalent;
use serde_json::Value;

use super::cyclictest::{number, object, reported};
use super::{Reported, plausible};

/// The unit of a histogram if the file does not name one, nanoseconds.
const MICROSECOND_NS: u64 = 1_000;

pub fn parse(stdout: &str, _stderr: &str) -> Result<Reported, String> {
    let start = stdout.find('{').ok_or("there is no JSON")?;
    let mut documents = serde_json::Deserializer::from_str(&stdout[start..]).into_iter::<Value>();
    let document = documents.next().ok_or("there is no JSON")?.map_err(|e| e.to_string())?;
    let unit_ns = unit_ns(&document)?;
    let of_cpu = |(cpu, results): (&String, &Value)| {
        histogram(results, unit_ns).map_err(|why| format!("CPU {cpu}: {why}"))
    };
    let histograms: Vec<Histogram> =
        object(&document, "cpu")?.iter().map(of_cpu).collect::<Result<_, _>>()?;
    reported(histograms, None)
}

/// Version 1 counts microseconds; later versions name the unit.
fn unit_ns(document: &Value) -> Result<u64, String> {
    match (number(document, "version")?, document.pointer("/sysinfo/resolution_in_ns")) {
        (1, None) => Ok(MICROSECOND_NS),
        (_, Some(unit)) => {
            let unit = unit.as_u64().filter(|unit| *unit == 1 || *unit == MICROSECOND_NS);
            unit.ok_or_else(|| "`resolution_in_ns` is neither 1 nor 1000".into())
        }
        (version, None) => Err(format!("version {version} lacks `resolution_in_ns`")),
    }
}

fn histogram(results: &Value, unit_ns: u64) -> Result<Histogram, String> {
    let mut buckets = BTreeMap::new();
    for (value, samples) in object(results, "histogram")? {
        let value: u64 = value.parse().map_err(|_| format!("`{value}` is not a latency"))?;
        let samples = samples.as_u64().ok_or("a number of samples is not a whole number")?;
        let (value_ns, samples) = (plausible(value)? * unit_ns, plausible(samples)?);
        *buckets.entry(lowest_equivalent(value_ns)).or_default() += samples;
    }
    let (count, kept) = (number(results, "count")?, buckets.values().sum::<u64>());
    if kept > count {
        return Err(format!("the histogram holds {kept} samples, `count` says {count}"));
    }
    let (min, max) = (number(results, "min")? * unit_ns, number(results, "max")? * unit_ns);
    let buckets = buckets.into_iter().filter(|(_, samples)| *samples > 0).collect();
    Ok(Histogram { count, min, max, buckets, ..Histogram::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lateness(output: &str) -> Result<Histogram, String> {
        parse(output, "").map(|reported| reported.timer_lateness.unwrap())
    }

    const REAL: &str = include_str!("recorded/jitterdebugger.txt");

    #[test]
    fn the_recorded_output_is_understood() {
        let all = lateness(REAL).unwrap();
        assert!(all.is_complete() && all.count > 1_000, "{all:?}");
        assert!((1_000..1_000_000).contains(&all.quantile(0.5).unwrap()), "{all:?}");
        assert!(all.min <= all.max && all.max.is_multiple_of(1_000));
    }

    #[test]
    fn a_lost_tail_is_seen() {
        let cut = lateness(include_str!("recorded/jitterdebugger_lost_tail.txt")).unwrap();
        assert!(!cut.is_complete() && cut.max >= 1_000_000, "{cut:?}");
    }

    #[test]
    fn both_units_are_known_and_others_refused() {
        let fine = REAL.replace("\"resolution_in_ns\": 1000", "\"resolution_in_ns\": 1");
        assert_eq!(lateness(&fine).unwrap().max * 1_000, lateness(REAL).unwrap().max);
        let odd = REAL.replace("\"resolution_in_ns\": 1000", "\"resolution_in_ns\": 7");
        assert!(lateness(&odd).unwrap_err().contains("resolution_in_ns"));
        let old = "{\"version\": 1, \"cpu\": {\"0\": {\"histogram\": {\"3\": 2}, \"count\": 2, \
                   \"min\": 3, \"max\": 3, \"avg\": 3.0}}}";
        assert_eq!(lateness(old).unwrap().max, 3_000);
        assert!(lateness(&old.replace("\"version\": 1", "\"version\": 2")).is_err());
    }

    #[test]
    fn anything_else_is_refused() {
        assert!(lateness("").is_err());
        assert!(lateness("{}").is_err());
        assert!(lateness(&REAL[..REAL.len() / 2]).is_err());
        let old = "{\"version\": 1, \"cpu\": {\"0\": {\"histogram\": {\"3\": 9}, \"count\": 2, \
                   \"min\": 3, \"max\": 3, \"avg\": 3.0}}}";
        assert!(lateness(old).unwrap_err().contains("holds 9 samples"));
    }
}
