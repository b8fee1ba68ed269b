// SPDX-License-Identifier: GPL-2.0-only
//! Which numbers a record may have. Statistics square differences and divide by means, so the range
//! is chosen such that this never leaves the finite numbers.

use crate::{Measured, Metric, Outcome, Record, Series, text};

/// The largest number, in any unit: a second has 10⁹ ns, and the age of the universe 10²⁷.
pub const LARGEST: f64 = 1e30;

pub const SMALLEST: f64 = 1e-60;

/// Why a number cannot be in a record; `None` if it can.
pub fn fault(value: f64) -> Option<String> {
    match value.abs() {
        size if size.is_nan() => Some("it is not a number".into()),
        size if size.is_infinite() => Some("it is infinite".into()),
        size if size > LARGEST => Some(format!("{value:e} is beyond ±{LARGEST:e}")),
        size if size > 0.0 && size < SMALLEST => {
            Some(format!("{value:e} is not 0 and nearer to it than {SMALLEST:e}"))
        }
        _ => None,
    }
}

impl Record {
    /// The record as stores keep it: −0 is 0, because SQLite does not tell them apart, and a number
    /// that statistics could not use is missing, with the reason. Texts have nothing in them that a
    /// terminal obeys.
    pub fn settle(&mut self) {
        self.outcome.settle();
        let provenance = &mut self.provenance;
        let texts = provenance.notes.iter_mut().chain(&mut provenance.printed);
        texts.for_each(|text| *text = text::escaped(text));
        self.measured.settle();
        self.provenance.probe_cost.retain(|_, cost| fault(cost.mean_ns).is_none());
    }
}

impl Outcome {
    fn settle(&mut self) {
        let texts = match self {
            Outcome::Ok => [None, None],
            Outcome::Ejected { reason, dump } => [Some(reason), Some(dump)],
            Outcome::Crashed { text } => [Some(text), None],
            Outcome::Timeout { reason }
            | Outcome::Hung { reason }
            | Outcome::Failed { reason }
            | Outcome::Unsupported { reason } => [Some(reason), None],
        };
        texts.into_iter().flatten().for_each(|text| *text = text::escaped(text));
    }
}

impl Measured {
    fn settle(&mut self) {
        self.metrics.iter_mut().for_each(settle_metric);
        self.series.iter_mut().for_each(settle_series);
    }
}

fn settle_metric(metric: &mut Metric) {
    // A number that JSON cannot write has come as `null`.
    let none = || Some(String::from("it is not a number"));
    let why = match (metric.value, &metric.missing) {
        (None, None) => none(),
        (None, Some(_)) => None,
        (Some(value), _) => fault(value),
    };
    if let Some(why) = why {
        (metric.value, metric.missing) = (None, Some(format!("not kept: {why}")));
    }
    metric.value = metric.value.map(without_sign);
}

fn settle_series(series: &mut Series) {
    if let Some(why) = series.values.iter().find_map(|&value| fault(value)) {
        let missing = Some(format!("not kept: {why}"));
        *series = Series { name: std::mem::take(&mut series.name), missing, ..Series::default() };
    }
    series.values.iter_mut().for_each(|value| *value = without_sign(*value));
}

fn without_sign(value: f64) -> f64 {
    if value == 0.0 { 0.0 } else { value }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settled(value: f64) -> Metric {
        let mut metric = Metric::number("x", "all", value);
        settle_metric(&mut metric);
        metric
    }

    #[test]
    fn zero_loses_its_sign_and_nothing_else_changes() {
        assert!(settled(-0.0).value.is_some_and(f64::is_sign_positive));
        for value in [0.0, 1.0, -1.0, LARGEST, -LARGEST, SMALLEST] {
            assert_eq!(settled(value), Metric::number("x", "all", value));
        }
    }

    #[test]
    fn what_statistics_cannot_use_is_missing_with_the_reason() {
        let bad = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e308, -1e308, 5e-324];
        for value in bad {
            let metric = settled(value);
            assert_eq!(metric.value, None);
            assert!(metric.missing.is_some_and(|why| why.starts_with("not kept: ")), "{value}");
        }
        let mut nothing = Metric { value: None, missing: None, ..settled(0.0) };
        settle_metric(&mut nothing);
        assert!(nothing.missing.is_some());
    }

    #[test]
    fn a_series_is_kept_whole_or_missing() {
        let series = |values: &[f64]| {
            let mut series = Series { values: values.into(), ..Series::default() };
            settle_series(&mut series);
            series
        };
        assert!(series(&[1.0, -0.0]).values.iter().all(|value| value.is_sign_positive()));
        let missing = series(&[1.0, f64::NAN]);
        assert!(missing.values.is_empty() && missing.missing.is_some());
    }
}
