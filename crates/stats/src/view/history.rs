// SPDX-License-Identifier: GPL-2.0-only
//! The numbers of one experiment, session after session: how they moved, and where they jumped.
//!
//! The median of a session is one point of a series. The view looks for two things:
//!
//! - **Steps**: each session is compared with the one before by the gate's rule
//!   ([`crate::decide::gate`]), which says worse or better and is seldom wrong. A step of the
//!   newest session that is worse is a regression.
//! - **Levels**: [`mod@crate::series`] cuts the series of medians where its level
//!   jumps. A cut that is no step is shown and not confirmed.
//!
//! Small steps can pass the gate one by one and be a regression together. The newest session is
//! therefore also compared with the oldest: a worse number without a worse step in between is a
//! **drift**, and a regression as well. An old step that was accepted is neither.

use std::collections::{BTreeMap, BTreeSet};

use model::metric::{Direction, Unit};
use model::{MeasureKey, Record, SchedulerChoice};
use serde::{Deserialize, Serialize};

use crate::compare::verdict::Verdict;
use crate::decide::gate::{Broken, Gate, Line, gate};
use crate::number::quantile::median;
use crate::records::columns::{cells, columns, contestants, headlines};
use crate::series::change_points;

#[derive(Clone, Copy, Debug)]
pub struct Session<'a> {
    /// Its label, e.g. its date and session.
    pub label: &'a str,
    pub records: &'a [Record],
}

/// One measure of one contestant in one cell, session after session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Series {
    pub cell: String,
    pub contestant: String,
    pub measure: MeasureKey,
    pub unit: Unit,
    pub direction: Direction,
    /// A median for each session; `None` where it has none.
    pub medians: Vec<Option<f64>>,
    /// Its steps and levels, oldest first.
    pub steps: Vec<Step>,
    /// The newest session against the oldest, where that is worse without a worse step on the way.
    pub drift_percent: Option<f64>,
}

/// A place where a series changed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// The first session that is different, from 0.
    pub at: usize,
    pub percent: Option<f64>,
    /// Worse or better by the gate's rule; anything else: not confirmed.
    pub change: Verdict,
    /// Whether a new level begins here.
    pub level: bool,
    /// What else has changed between the two sessions.
    pub with: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct History {
    /// The sessions' labels, oldest first.
    pub sessions: Vec<String>,
    /// The smallest difference that counts as a change, in percent.
    pub margin_percent: f64,
    /// By cell, contestant and measure.
    pub series: Vec<Series>,
    /// Contestants whose trials ended well in the session before the newest one, and not in the
    /// newest.
    pub broken: Vec<Broken>,
    /// Contestants of one text that ran as another object than in the session before, in words.
    #[serde(default)]
    pub other_objects: BTreeSet<String>,
}

impl Step {
    /// Whether the gate's rule says so.
    fn is_confirmed(&self) -> bool {
        matches!(self.change, Verdict::Worse | Verdict::Better)
    }
}

impl Series {
    /// Whether the newest session is worse: by a step of its own, or by a drift.
    pub fn has_regressed(&self) -> bool {
        let newest = self.medians.len().saturating_sub(1);
        let step = self.steps.iter().any(|step| step.at == newest && step.change == Verdict::Worse);
        step || self.drift_percent.is_some()
    }
}

impl History {
    /// Whether the newest session is worse than those before.
    pub fn has_regressed(&self) -> bool {
        !self.broken.is_empty() || self.series.iter().any(Series::has_regressed)
    }
}

/// The key of a series: cell, contestant, measure.
type SeriesKey = (String, String, String);

/// The history of sessions, oldest first.
pub fn history(sessions: &[Session], margin_percent: f64) -> History {
    let steps: Vec<Gate> = sessions
        .windows(2)
        .map(|two| gate(two[0].records, two[1].records, margin_percent))
        .collect();
    let ends = match sessions {
        [oldest, _, .., newest] => Some(gate(oldest.records, newest.records, margin_percent)),
        _ => None,
    };
    let mut series: BTreeMap<SeriesKey, Series> = BTreeMap::new();
    for (index, session) in sessions.iter().enumerate() {
        add(&mut series, index, session, sessions.len());
    }
    let mut series: Vec<Series> = series.into_values().collect();
    for series in &mut series {
        series.steps = found(series, &steps, sessions);
        let stepped = series.steps.iter().any(|step| step.change == Verdict::Worse);
        let drift = ends.as_ref().and_then(|ends| line(ends, series));
        let drift = drift.filter(|drift| drift.change == Verdict::Worse && !stepped);
        series.drift_percent = drift.map(|drift| drift.percent.unwrap_or(f64::INFINITY));
    }
    History {
        sessions: sessions.iter().map(|session| session.label.to_owned()).collect(),
        margin_percent,
        series,
        other_objects: other_objects(&steps),
        broken: steps.last().map(|newest| newest.broken.clone()).unwrap_or_default(),
    }
}

fn other_objects(steps: &[Gate]) -> BTreeSet<String> {
    let in_session = |(index, step): (usize, &Gate)| {
        let said = step.other_objects.iter();
        said.map(|object| format!("session {}: {object}", index + 2)).collect::<Vec<_>>()
    };
    steps.iter().enumerate().flat_map(in_session).collect()
}

fn add(series: &mut BTreeMap<SeriesKey, Series>, index: usize, session: &Session, sessions: usize) {
    for (key, records) in cells(session.records) {
        let cell = key.label(records[0]);
        let (columns, clock) = (columns(&records), records[0].trial.clock());
        for measure in headlines(&records).into_iter().filter(MeasureKey::judges) {
            for name in contestants(&records) {
                let column = columns.get(&measure).and_then(|of| of.get(name));
                let (unit, direction) = measure.unit_and_direction();
                let key = (cell.clone(), name.to_owned(), measure.to_string());
                let known = series.entry(key).or_insert_with(|| Series {
                    cell: cell.clone(),
                    contestant: name.to_owned(),
                    measure: measure.clone(),
                    unit,
                    direction,
                    medians: vec![None; sessions],
                    steps: Vec::new(),
                    drift_percent: None,
                });
                known.medians[index] =
                    column.and_then(|column| median(&column.independent_values(clock)));
            }
        }
    }
}

fn line<'a>(gate: &'a Gate, of: &Series) -> Option<&'a Line> {
    let is = |line: &&Line| {
        (&line.cell, &line.contestant, &line.measure) == (&of.cell, &of.contestant, &of.measure)
    };
    gate.lines.iter().find(is)
}

fn found(series: &Series, gates: &[Gate], sessions: &[Session]) -> Vec<Step> {
    let known: Vec<(usize, f64)> = series
        .medians
        .iter()
        .enumerate()
        .filter_map(|(index, median)| Some((index, (*median)?)))
        .collect();
    let values: Vec<f64> = known.iter().map(|(_, value)| *value).collect();
    let levels: Vec<usize> = change_points(&values).into_iter().map(|at| known[at].0).collect();
    let step = |(index, gate): (usize, &Gate)| {
        let at = index + 1;
        let (change, percent) = line(gate, series)
            .map_or((Verdict::NotMeasured, None), |line| (line.change, line.percent));
        let level = levels.contains(&at);
        let step = Step { at, percent, change, level, with: Vec::new() };
        (step.level || step.is_confirmed()).then(|| Step {
            with: changed(&series.contestant, &sessions[index], &sessions[at]),
            ..step
        })
    };
    gates.iter().enumerate().filter_map(step).collect()
}

/// What has changed for a contestant between two sessions, in words.
fn changed(contestant: &str, before: &Session, now: &Session) -> Vec<String> {
    let (Some(before), Some(now)) = (versions(contestant, before), versions(contestant, now))
    else {
        return Vec::new();
    };
    let facts = before.into_iter().zip(now).filter(|(before, now)| before != now);
    facts.map(|((what, before), (_, now))| format!("{what} {before} → {now}")).collect()
}

/// The versions that a contestant was measured with; of hashes the first digits.
fn versions(contestant: &str, session: &Session) -> Option<[(&'static str, String); 4]> {
    let is_contestants = |record: &&Record| record.trial.contestant.name == contestant;
    let Record { trial, provenance, .. } = session.records.iter().find(is_contestants)?;
    let start = |hash: &str| hash.get(..8).unwrap_or(hash).to_owned();
    let source = match &trial.contestant.scheduler {
        SchedulerChoice::File { sha256, .. } => start(sha256),
        _ => String::new(),
    };
    let guest = provenance.kernel_facts.get("guest_image").map_or("", String::as_str);
    Some([
        ("its source", source),
        ("kernel", provenance.kernel_release.clone()),
        ("Fairground", provenance.fairground.clone()),
        ("the guest's image", start(guest)),
    ])
}
