// SPDX-License-Identifier: GPL-2.0-only
//! The gate: is a session worse than the one before?
//!
//! Both sets of records are of the same contestants in the same cells. The gate looks at the
//! headline measures that have a better direction; of a workload without headlines at those that
//! tables show.
//!
//! - Under a virtual clock a number is exact, and a seed is a parameter, not noise. Numbers are
//!   compared by seed. They have changed if the median change lies beyond the margin and nearly all
//!   seeds agree on its direction, as the sign test at 2.5 % requires (Conover, "Practical
//!   Nonparametric Statistics", 3rd edition 1999, section 3.4); with fewer than six seeds all must
//!   agree. A chaotic measure, which moves in any direction with each change of the code, counts
//!   as unchanged.
//! - Under a real clock the boots of both are compared by the exact rank-sum test, corrected (Holm)
//!   for everything that the gate looks at, and the shift must lie beyond the margin. If nothing
//!   has changed, at most 5 % of gates report any change, and half of them report a worse number.
//!
//! Records name the object that ran. Where one text was compiled to another one, a line says so.
//!
//! A contestant whose trials ended well before and do not now is worse, whatever its numbers.

use std::collections::{BTreeMap, BTreeSet};

use model::metric::{Direction, Unit};
use model::{Clock, MeasureKey, Record, SchedulerChoice};
use serde::{Deserialize, Serialize};

use crate::compare::verdict::{Verdict, is_beyond, log_ratio, log_ratio_of_percent, towards};
use crate::number::interval::{Interval, TRIALS_NEEDED};
use crate::number::quantile::{median, median_interval};
use crate::rank::rank_sum::{self, ALPHA, adjust, rank_sum};
use crate::records::columns::{Column, Columns, cells, columns, contestants, headlines, usual};
use crate::records::pairing::by_seed;

/// One measure of one contestant in one cell, before and now.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Line {
    pub cell: String,
    pub contestant: String,
    pub measure: MeasureKey,
    pub unit: Unit,
    pub direction: Direction,
    /// The median before, over independent trials.
    pub before: Option<f64>,
    pub now: Option<f64>,
    /// The change in percent: the median ratio of the pairs, or the Hodges–Lehmann shift of
    /// logarithms. `None` if one of the two is 0.
    pub percent: Option<f64>,
    /// The exact 95 % interval of the change, in percent: of the pairs' median under a virtual
    /// clock, of the Hodges–Lehmann shift under a real one. `None` with fewer than six trials, or
    /// if an end is a change from or to 0.
    pub interval: Option<Interval>,
    /// The p value, corrected for the whole gate; real clock only.
    pub p_value: Option<f64>,
    /// Pairs of the same seed, or the smaller side's independent trials.
    pub trials: usize,
    pub change: Verdict,
}

/// A contestant whose trials in a cell ended well before and do not now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Broken {
    pub cell: String,
    pub contestant: String,
    pub outcome: String,
    /// How many trials did not end well now, and how many there are.
    pub failed: (usize, usize),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Gate {
    /// The smallest difference that counts as a change, in percent.
    pub margin_percent: f64,
    pub lines: Vec<Line>,
    pub broken: Vec<Broken>,
    /// Contestants in cells that were measured only before or only now, so that nothing can be
    /// compared.
    pub one_sided: Vec<String>,
    /// Contestants of one text that ran as other objects now, in words.
    #[serde(default)]
    pub other_objects: BTreeSet<String>,
}

impl Gate {
    /// Whether anything is worse.
    pub fn is_shut(&self) -> bool {
        !self.broken.is_empty() || self.lines.iter().any(|line| line.change == Verdict::Worse)
    }
}

pub fn gate(before: &[Record], now: &[Record], margin_percent: f64) -> Gate {
    let (then, today) = (cells(before), cells(now));
    let mut gate = Gate {
        margin_percent,
        lines: vec![],
        broken: vec![],
        one_sided: vec![],
        other_objects: other_objects(before, now),
    };
    for (key, records) in &today {
        let label = key.label(records[0]);
        match then.get(key) {
            Some(earlier) => look(&mut gate, &label, earlier, records),
            None => gate.one_sided.push(format!("{label}, now only")),
        }
    }
    let gone = then.iter().filter(|(key, _)| !today.contains_key(key));
    gate.one_sided.extend(gone.map(|(key, r)| format!("{}, before only", key.label(r[0]))));
    correct(&mut gate);
    for line in &mut gate.lines {
        line.percent = line.percent.filter(|percent| percent.is_finite());
        line.interval = line.interval.filter(|ends| ends.low.is_finite() && ends.high.is_finite());
    }
    gate
}

/// Other compilers, flags and headers make other objects of one text: then the change may be
/// theirs.
fn other_objects(before: &[Record], now: &[Record]) -> BTreeSet<String> {
    let (then, today) = (objects(before), objects(now));
    let differing = today.iter().filter_map(|(of, now)| {
        let before = then.get(of).filter(|before| *before != now)?;
        let list = |hashes: &BTreeSet<&str>| {
            let short = hashes.iter().map(|hash| hash.get(..8).unwrap_or(hash));
            short.collect::<Vec<_>>().join(" and ")
        };
        let place = if of.1 { "in the simulator" } else { "on kernels" };
        let (name, before, now) = (of.0, list(before), list(now));
        Some(format!(
            "{name} has the same text and another object {place} ({before} → {now}), so another \
             compiler, other flags or other headers made it"
        ))
    });
    differing.collect()
}

/// The objects that ran, by contestant, whether it is simulated, and its text.
fn objects(records: &[Record]) -> BTreeMap<(&str, bool, &str), BTreeSet<&str>> {
    let mut objects: BTreeMap<_, BTreeSet<&str>> = BTreeMap::new();
    for record in records {
        let Record { trial, provenance, .. } = record;
        let SchedulerChoice::File { sha256, .. } = &trial.contestant.scheduler else { continue };
        let of = (trial.contestant.name.as_str(), trial.backend.is_model(), sha256.as_str());
        objects.entry(of).or_default().extend(provenance.object());
    }
    objects.retain(|_, hashes| !hashes.is_empty());
    objects
}

/// Compares one cell that was measured before and now.
fn look(gate: &mut Gate, label: &str, before: &[&Record], now: &[&Record]) {
    let (then, today) = (columns(before), columns(now));
    let clock = now[0].trial.clock();
    let absent = Column::default();
    let of_today = contestants(now);
    let gone = contestants(before).into_iter().filter(|name| !of_today.contains(name));
    gate.one_sided.extend(gone.map(|name| format!("{name} under {label}, before only")));
    for name in of_today {
        if !before.iter().any(|record| record.trial.contestant.name == name) {
            gate.one_sided.push(format!("{name} under {label}, now only"));
            continue;
        }
        gate.broken.extend(broken(label, name, before, now));
        for measure in guarded(now, &today) {
            let sides = (
                column(&then, &measure, name).unwrap_or(&absent),
                column(&today, &measure, name).unwrap_or(&absent),
            );
            let place = Place { label, name, measure: &measure };
            gate.lines.push(line(&place, sides, clock, gate.margin_percent));
        }
    }
}

/// The measures that the gate looks at: the headlines that judge, or without headlines what tables
/// show of such a workload.
fn guarded(records: &[&Record], columns: &Columns) -> Vec<MeasureKey> {
    let headlines = headlines(records);
    if headlines.is_empty() {
        return usual(columns.keys().filter(|measure| measure.judges()).cloned().collect());
    }
    headlines.into_iter().filter(MeasureKey::judges).collect()
}

fn column<'a>(columns: &'a Columns, measure: &MeasureKey, name: &str) -> Option<&'a Column> {
    columns.get(measure)?.get(name)
}

fn broken(label: &str, name: &str, before: &[&Record], now: &[&Record]) -> Option<Broken> {
    let is_contestants = |record: &&&Record| record.trial.contestant.name == name;
    let is_bad = |record: &&&Record| !record.outcome.is_ok();
    if before.iter().filter(is_contestants).any(|record| !record.outcome.is_ok()) {
        return None;
    }
    let trials = now.iter().filter(is_contestants).count();
    let first = now.iter().filter(is_contestants).find(is_bad)?;
    let failed = now.iter().filter(is_contestants).filter(is_bad).count();
    let reason = first.outcome.reason().lines().next().unwrap_or_default();
    Some(Broken {
        cell: label.into(),
        contestant: name.into(),
        outcome: format!("{}: {reason}", first.outcome.word()),
        failed: (failed, trials),
    })
}

/// What a line is about.
struct Place<'a> {
    label: &'a str,
    name: &'a str,
    measure: &'a MeasureKey,
}

fn line(place: &Place, (before, now): (&Column, &Column), clock: Clock, margin: f64) -> Line {
    let (unit, direction) = place.measure.unit_and_direction();
    let blank = Line {
        cell: place.label.into(),
        contestant: place.name.into(),
        measure: place.measure.clone(),
        unit,
        direction,
        before: median(&before.independent_values(clock)),
        now: median(&now.independent_values(clock)),
        percent: None,
        interval: None,
        p_value: None,
        trials: 0,
        change: Verdict::NotMeasured,
    };
    match (blank.before, blank.now, clock) {
        (None, ..) | (_, None, _) => blank,
        (.., Clock::Virtual) => exact(blank, before, now, margin),
        (.., Clock::Real) => noisy(blank, before, now),
    }
}

/// Compares by seed, under a virtual clock.
fn exact(line: Line, before: &Column, now: &Column, margin: f64) -> Line {
    let pairs = by_seed(&now.samples, &before.samples);
    if pairs.is_empty() {
        return Line { change: Verdict::TooFewTrials, ..line };
    }
    let ratios: Vec<f64> = pairs.iter().map(|&(now, before)| log_ratio(before, now)).collect();
    let higher = ratios.iter().filter(|ratio| **ratio > 0.0).count();
    let lower = ratios.iter().filter(|ratio| **ratio < 0.0).count();
    let middle = median(&ratios).unwrap_or(0.0);
    let most = other_side_at_most(pairs.len());
    let agree = |seeds: usize| most.is_some_and(|most| pairs.len() - seeds <= most);
    let change = if higher + lower == 0 {
        Verdict::Equal
    } else if is_beyond(middle, margin) && agree(if middle > 0.0 { higher } else { lower }) {
        towards(line.direction, middle > 0.0)
    } else {
        Verdict::Unchanged
    };
    let interval = median_interval(&ratios).map(percents);
    Line { percent: Some(as_percent(middle)), interval, trials: pairs.len(), change, ..line }
}

fn as_percent(logarithm: f64) -> f64 {
    logarithm.exp_m1() * 100.0
}

fn percents(logarithms: Interval) -> Interval {
    Interval { low: as_percent(logarithms.low), high: as_percent(logarithms.high) }
}

/// How many of this many seeds may disagree with the others: the sign test at 2.5 % on each side.
/// With fewer than six seeds the test can never be passed, and none may disagree.
fn other_side_at_most(pairs: usize) -> Option<usize> {
    let all = 0.5_f64.powi(pairs as i32);
    let (mut ways, mut sum) = (1.0, 0.0);
    let mut most = None;
    for count in 0..=pairs {
        sum += ways * all;
        if sum > 0.025 {
            break;
        }
        most = Some(count);
        ways *= (pairs - count) as f64 / (count + 1) as f64;
    }
    most.or((pairs < TRIALS_NEEDED).then_some(0))
}

/// Compares boots, under a real clock: the shift and its p value, not yet corrected.
fn noisy(line: Line, before: &Column, now: &Column) -> Line {
    let (before, now) =
        (before.independent_values(Clock::Real), now.independent_values(Clock::Real));
    let trials = before.len().min(now.len());
    if trials < TRIALS_NEEDED {
        return Line { trials, change: Verdict::TooFewTrials, ..line };
    }
    let p_value = rank_sum(&now, &before).map(|tails| tails.two_sided());
    let positive = before.iter().chain(&now).all(|value| *value > 0.0);
    let (percent, interval) = if positive {
        let logarithms = |values: &[f64]| values.iter().map(|value| value.ln()).collect::<Vec<_>>();
        let shift = rank_sum::shift(&logarithms(&now), &logarithms(&before));
        (shift.map(|(value, _)| as_percent(value)), shift.map(|(_, ends)| percents(ends)))
    } else {
        // There is no ratio to 0, so every significant difference counts.
        let shift = rank_sum::shift(&now, &before).map_or(0.0, |(value, _)| value);
        (Some(if shift == 0.0 { 0.0 } else { f64::INFINITY.copysign(shift) }), None)
    };
    Line { percent, interval, p_value, trials, change: Verdict::Unchanged, ..line }
}

/// Corrects the p values of all lines of a real clock together, and sets their verdicts.
fn correct(gate: &mut Gate) {
    let raw: Vec<f64> = gate.lines.iter().filter_map(|line| line.p_value).collect();
    let mut adjusted = adjust(&raw).into_iter();
    let margin = gate.margin_percent;
    for line in gate.lines.iter_mut().filter(|line| line.p_value.is_some()) {
        line.p_value = adjusted.next();
        let is_chance = line.p_value.is_none_or(|p| p > ALPHA);
        let percent = line.percent.unwrap_or(0.0);
        let shift = if percent.is_finite() { log_ratio_of_percent(percent) } else { percent };
        if !is_chance && is_beyond(shift, margin) {
            line.change = towards(line.direction, shift > 0.0);
        }
    }
}
