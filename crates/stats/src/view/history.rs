// SPDX-License-Identifier: GPL-2.0-only
//! The numbers of one experiment, session after session: how they moved, and where they jumped.
//!
//! The median of a session is one point of a series. The view looks for two things:
//!
//! - **Steps**: each session is compared with the one before by the gate's rule
//!   ([`crate::decide::gate`]), which says worse or better and is seldom wrong. A step of the
//!   newest session that is worse is a regression.
//! - **Levels**: [`mod@crate::series::change_points`] cuts the series of medians where its level
//!   jumps. A cut that is no step is shown and not confirmed.
//!
//! Small steps can pass the gate one by one and be a regression together. The newest session is
//! therefore also compared with the oldest: a worse number without a worse step in between is a
//! **drift**, and a regression as well. An old step that was accepted is neither.

use std::collections::BTreeMap;

use model::metric::{Direction, Unit};
use model::{Provenance, Record, SchedulerChoice};
use serde::{Deserialize, Serialize};

use crate::compare::verdict::Verdict;
use crate::decide::gate::{Broken, Gate, Line, gate};
use crate::number::median::median;
use crate::records::columns::contestants;
use crate::records::columns::headlines;
use crate::records::columns::{cells, columns};
use crate::series::change_points::change_points;
use model::MeasureKey;

/// One session of the experiment.
#[derive(Clone, Copy, Debug)]
pub struct Session<'a> {
    /// Its label, e.g. its date and session.
    pub label: &'a str,
    pub records: &'a [Record],
}

/// One measure of one contestant in one cell, session after session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// The cell with its machine.
    pub cell: String,
    pub contestant: String,
    pub measure: MeasureKey,
    /// The unit of the medians.
    pub unit: Unit,
    /// Which direction is better.
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
    /// The difference in percent.
    pub percent: Option<f64>,
    /// Worse or better by the gate's rule; anything else: not confirmed.
    pub change: Verdict,
    /// Whether a new level begins here.
    pub level: bool,
    /// What else has changed between the two sessions.
    pub with: Vec<String>,
}

/// The versions that a contestant was measured with.
#[derive(Clone, Debug, Default, PartialEq)]
struct Build {
    source: String,
    kernel: String,
    fairground: String,
    guest: String,
}

/// The result.
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
        let step = self.steps.iter().any(|it| it.at == newest && it.change == Verdict::Worse);
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
    for one in &mut series {
        one.steps = found(one, &steps, sessions);
        let drift = ends.as_ref().and_then(|ends| line(ends, one));
        let stepped = one.steps.iter().any(|step| step.change == Verdict::Worse);
        let drift = drift.filter(|drift| drift.change == Verdict::Worse && !stepped);
        one.drift_percent = drift.map(|drift| drift.percent.unwrap_or(f64::INFINITY));
    }
    History {
        sessions: sessions.iter().map(|session| session.label.to_owned()).collect(),
        margin_percent,
        series,
        broken: steps.last().map(|newest| newest.broken.clone()).unwrap_or_default(),
    }
}

/// Adds a session's medians.
fn add(series: &mut BTreeMap<SeriesKey, Series>, index: usize, session: &Session, sessions: usize) {
    for (key, records) in cells(session.records) {
        let cell = key.label(records[0]);
        let (columns, clock) = (columns(&records), records[0].trial.clock());
        for measure in headlines(&records).into_iter().filter(MeasureKey::judges) {
            for name in contestants(&records) {
                let column = columns.get(&measure).and_then(|of| of.get(name));
                let (unit, direction) = measure.unit_and_direction();
                let key = (cell.clone(), name.to_owned(), measure.to_string());
                let one = series.entry(key).or_insert_with(|| Series {
                    cell: cell.clone(),
                    contestant: name.to_owned(),
                    measure: measure.clone(),
                    unit,
                    direction,
                    medians: vec![None; sessions],
                    steps: Vec::new(),
                    drift_percent: None,
                });
                one.medians[index] =
                    column.and_then(|column| median(&column.independent_values(clock)));
            }
        }
    }
}

/// The gate's line for a series.
fn line<'a>(gate: &'a Gate, of: &Series) -> Option<&'a Line> {
    let is = |line: &&Line| {
        (&line.cell, &line.contestant, &line.measure) == (&of.cell, &of.contestant, &of.measure)
    };
    gate.lines.iter().find(is)
}

/// The steps and levels of a series.
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
        let (change, percent) =
            line(gate, series).map_or((Verdict::NotMeasured, None), |it| (it.change, it.percent));
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
    let (Some(before), Some(now)) = (build(contestant, before), build(contestant, now)) else {
        return Vec::new();
    };
    let facts = [
        ("its source", before.source, now.source),
        ("kernel", before.kernel, now.kernel),
        ("Fairground", before.fairground, now.fairground),
        ("the guest's image", before.guest, now.guest),
    ];
    let differ = facts.into_iter().filter(|(_, before, now)| before != now);
    differ.map(|(what, before, now)| format!("{what} {before} → {now}")).collect()
}

/// The start of the hash; empty where no guest ran.
fn guest_image(provenance: &Provenance) -> String {
    let image = provenance.kernel_facts.get("guest_image").map_or("", String::as_str);
    image.get(..8).unwrap_or(image).to_owned()
}

fn build(contestant: &str, session: &Session) -> Option<Build> {
    let is = |record: &&Record| record.trial.contestant.name == contestant;
    let record = session.records.iter().find(is)?;
    let source = match &record.trial.contestant.scheduler {
        SchedulerChoice::File { sha256, .. } => sha256.get(..8).unwrap_or(sha256).to_owned(),
        _ => String::new(),
    };
    Some(Build {
        source,
        kernel: record.provenance.kernel_release.clone(),
        fairground: record.provenance.fairground.clone(),
        guest: guest_image(&record.provenance),
    })
}
