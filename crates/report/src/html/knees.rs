// SPDX-License-Identifier: GPL-2.0-only
//! The knee of each contestant's headline measures in a ramp of one parameter, for the ramp's chart
//! and as text.

use std::collections::BTreeMap;

use maud::{Markup, html};
use model::metric::Unit;
use model::{Backend, Record};
use serde::Serialize;
use stats::number::median::median;
use stats::records::measures::values;
use stats::series::knee::{Knee, SETTINGS_NEEDED, with_interval};
use stats::{Cell, Comparison, Interval, MeasureKey, headlines};

use super::markup::{name, percent};
use super::short_number::Short;
use crate::units;

/// Resamples of the passes for an interval.
const RESAMPLES: u32 = 1_000;

/// A slope below this part of the other one counts as flat.
const FLAT: f64 = 0.01;

/// One headline measure of cells that differ in one parameter.
#[derive(Clone, Serialize)]
pub struct Ramp {
    /// Places of the cells, by ascending setting.
    cells: Vec<usize>,
    parameter: String,
    /// The measure, as rows have it.
    key: String,
    /// By contestant; `None` if one line fits as well.
    knees: Vec<Option<Bend>>,
    #[serde(skip)]
    title: String,
    /// Contestants without a knee, and those without a whole pass.
    #[serde(skip)]
    straight: Vec<String>,
    #[serde(skip)]
    unknown: Vec<String>,
}

/// A knee for the chart.
#[derive(Clone, Serialize)]
struct Bend {
    at: Short,
    ends: Option<[Short; 2]>,
    words: String,
}

/// Every ramp of five settings or more, with its headline measures.
pub fn ramps(comparison: &Comparison, records_of: &[Vec<&Record>]) -> Vec<Ramp> {
    let mut ramps = Vec::new();
    for (parameter, cells) in ladders(&comparison.cells) {
        let Some(first) = cells.first().and_then(|&place| comparison.cells.get(place)) else {
            continue;
        };
        let passes = Passes::new(&cells, records_of);
        for row in first.headline() {
            ramps.push(ramp(comparison, &parameter, &cells, &row.measure, row.unit, &passes));
        }
    }
    ramps
}

/// Cells that differ in one parameter only, by its value: the parameter and the cells' places.
fn ladders(cells: &[Cell]) -> Vec<(String, Vec<usize>)> {
    type Key<'a> = (&'a str, &'a str, Backend, &'a str, BTreeMap<&'a str, i64>);
    let mut ladders: BTreeMap<Key, BTreeMap<i64, usize>> = BTreeMap::new();
    for (place, cell) in cells.iter().enumerate() {
        for (parameter, &value) in &cell.parameters {
            let others = cell.parameters.iter().filter(|(name, _)| *name != parameter);
            let others = others.map(|(name, &value)| (name.as_str(), value)).collect();
            let key = (&*cell.workload, &*cell.machine, cell.backend, parameter.as_str(), others);
            ladders.entry(key).or_default().insert(value, place);
        }
    }
    let long = ladders.into_iter().filter(|(_, steps)| steps.len() >= SETTINGS_NEEDED);
    long.map(|(key, steps)| (key.3.to_owned(), steps.into_values().collect())).collect()
}

/// For each block and each setting the numbers of its trials.
type Blocks = BTreeMap<u32, Vec<Vec<f64>>>;

/// Every number of a ramp's `ok` trials, by contestant and measure.
struct Passes<'a> {
    settings: usize,
    numbers: BTreeMap<(&'a str, MeasureKey), Blocks>,
}

impl<'a> Passes<'a> {
    fn new(cells: &[usize], records_of: &[Vec<&'a Record>]) -> Passes<'a> {
        let mut passes = Passes { settings: cells.len(), numbers: BTreeMap::new() };
        for (setting, &cell) in cells.iter().enumerate() {
            let ok = records_of[cell].iter().filter(|record| record.outcome.is_ok());
            ok.for_each(|record| passes.add(setting, record));
        }
        passes
    }

    fn add(&mut self, setting: usize, record: &'a Record) {
        let headlines = headlines(&[record]);
        let known = values(record).into_iter().filter(|(key, _)| headlines.contains(key));
        for (key, value) in known.filter_map(|(key, value)| Some((key, value.ok()?))) {
            let blocks = self.numbers.entry((&record.trial.contestant.name, key)).or_default();
            let empty = || vec![Vec::new(); self.settings];
            blocks.entry(record.trial.block).or_insert_with(empty)[setting].push(value);
        }
    }

    /// For each complete block a number for each setting: the median of its trials.
    fn whole(&self, contestant: &str, measure: &MeasureKey) -> Vec<Vec<f64>> {
        let blocks = self.numbers.get(&(contestant, measure.clone()));
        let pass =
            |settings: &Vec<Vec<f64>>| settings.iter().map(|trials| median(trials)).collect();
        blocks.into_iter().flat_map(BTreeMap::values).filter_map(pass).collect()
    }
}

fn ramp(
    comparison: &Comparison,
    parameter: &str,
    cells: &[usize],
    measure: &MeasureKey,
    unit: Unit,
    passes: &Passes,
) -> Ramp {
    let setting_of = |place: &usize| comparison.cells[*place].parameters[parameter] as f64;
    let settings: Vec<f64> = cells.iter().map(setting_of).collect();
    let first = &comparison.cells[cells[0]];
    let others = first.parameters.iter().filter(|(name, _)| *name != parameter);
    let others: String = others.map(|(name, value)| format!(" {name}={value}")).collect();
    let place =
        format!("{}{others} on {} ({})", first.workload, first.machine, first.backend.word());
    let seed = comparison.seed.derive(&format!("knees of {measure} in {place} by {parameter}"));
    let mut ramp = Ramp {
        cells: cells.to_vec(),
        parameter: parameter.into(),
        key: measure.to_string(),
        knees: Vec::new(),
        title: format!("{}, {place}", units::measure(measure)),
        straight: Vec::new(),
        unknown: Vec::new(),
    };
    for name in &comparison.contestants {
        let whole = passes.whole(name, measure);
        let found = with_interval(&settings, &whole, RESAMPLES, seed.derive(name));
        match found {
            _ if whole.is_empty() => ramp.unknown.push(name.clone()),
            None => ramp.straight.push(name.clone()),
            Some(_) => {}
        }
        ramp.knees.push(found.map(|(knee, ends)| bend(&knee, ends, parameter, measure, unit)));
    }
    ramp
}

fn bend(
    knee: &Knee,
    ends: Option<Interval>,
    parameter: &str,
    measure: &MeasureKey,
    unit: Unit,
) -> Bend {
    let at = units::number(knee.at, Unit::Count);
    let range = ends.map(|ends| format!(" {}", units::interval(ends, knee.at, Unit::Count)));
    let slope = |slope: f64| units::number(slope, unit);
    let measure = units::measure(measure);
    let words = format!(
        "from {parameter} = {at}{} on {measure} {}: {} for each more, {} before",
        range.unwrap_or_else(|| " (no interval: blocks differ)".into()),
        course(knee.below, knee.above),
        slope(knee.above),
        slope(knee.below),
    );
    Bend { at: Short(knee.at), ends: ends.map(|ends| [Short(ends.low), Short(ends.high)]), words }
}

/// The description of a knee.
fn course(below: f64, above: f64) -> String {
    let times = |ratio: f64| units::number(ratio, Unit::Ratio);
    let flat = |slope: f64, other: f64| slope.abs() < FLAT * other.abs();
    let word = |slope: f64| if slope > 0.0 { "grow" } else { "fall" };
    if flat(below, above) {
        return format!("begins to {}", word(above));
    }
    if flat(above, below) {
        return format!("stops {}ing", word(below));
    }
    match above / below {
        turned if turned < 0.0 => format!("turns and begins to {}", word(above)),
        ratio if ratio >= 1.0 => format!("{}s {} times faster", word(above), times(ratio)),
        ratio => format!("{}s {} times slower", word(above), times(1.0 / ratio)),
    }
}

/// All knees as text; empty without a ramp of five settings.
pub fn list(ramps: &[Ramp], comparison: &Comparison) -> Markup {
    if ramps.is_empty() {
        return Markup::default();
    }
    html! {
        div id="knees" {
            h3 { "Knees" }
            p class="aside" {
                "Where a headline measure bends as the parameter grows: two straight lines that \
                 meet leave less than half of the residuals of one line. In brackets the "
                (percent(comparison.confidence))
                " interval, from a bootstrap of whole blocks; a block that lacks a setting is left \
                 out."
            }
            @for ramp in ramps {
                p { b { (ramp.title) } }
                ul class="plain" { (listed(ramp, &comparison.contestants)) }
            }
        }
    }
}

fn listed(ramp: &Ramp, contestants: &[String]) -> Markup {
    html! {
        @for (contestant, knee) in contestants.iter().zip(&ramp.knees) {
            @if let Some(knee) = knee { li { (name(contestant)) ": " (knee.words) } }
        }
        @if !ramp.straight.is_empty() {
            li { "No knee; one line fits as well: " (ramp.straight.join(", ")) }
        }
        @if !ramp.unknown.is_empty() {
            li { "No complete block: " (ramp.unknown.join(", ")) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_happens_is_said_plainly() {
        let cases = [
            (0.1, 4.0, "grows 40.0 times faster"),
            (4.0, 1.0, "grows 4.00 times slower"),
            (0.0, 1.0, "begins to grow"),
            (2.0, 0.001, "stops growing"),
            (2.0, -1.0, "turns and begins to fall"),
            (-1.0, -2.0, "falls 2.00 times faster"),
            (-3.0, 0.0, "stops falling"),
        ];
        for (below, above, words) in cases {
            assert_eq!(course(below, above), words);
        }
    }
}
