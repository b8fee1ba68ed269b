// SPDX-License-Identifier: GPL-2.0-only
//! The numbers of a record.

use model::{Histogram, MeasureKey, Record, Statistic};

use crate::number::quantile::quantile;

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
        let value = if histogram.is_complete() {
            value_in(statistic, histogram)
        } else {
            Err("samples were lost: the histogram does not add up".into())
        };
        (MeasureKey { name, statistic: Some(statistic), group }, value)
    })
}

/// The statistic of one trial's distribution, or why there is none.
fn value_in(statistic: Statistic, histogram: &Histogram) -> Result<f64, String> {
    match statistic {
        Statistic::P50 => quantile(histogram, 0.5),
        Statistic::P90 => quantile(histogram, 0.9),
        Statistic::P99 => quantile(histogram, 0.99),
        Statistic::P999 => quantile(histogram, 0.999),
        Statistic::Max if histogram.count == 0 => Err("no samples".into()),
        Statistic::Max => Ok(histogram.max as f64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn single_quantiles_stand_beside_those_of_distributions() {
        let (trial, outcome) = (model::Trial::default(), model::Outcome::Ok);
        let mut record = Record::without_measurement(trial, outcome, Default::default());
        let number = model::Metric::number("wakeup_latency_ns.p99", "program", 7.0);
        record.measured.metrics.push(number);
        let key = "wakeup_latency_ns.p99 program".parse().unwrap();
        assert_eq!(values(&record), [(key, Ok(7.0))]);
    }
}
