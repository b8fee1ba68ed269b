// SPDX-License-Identifier: GPL-2.0-only
//! The best contestants in each headline measure of each workload and machine: the one with the
//! best median, with all that are not distinguishable from it.

use std::cmp::{Ordering, Reverse};

use stats::{Cell, Comparison, Entry, Row, Verdict};

use crate::answer::standings;
use crate::reading::WorkloadHeadline;
use crate::sentence::Sentence;
use crate::units;

/// The most names that are written out.
const NAMES: usize = 5;

/// The most files of the user's own that have columns of their own.
const OWN_COLUMNS: usize = 2;

/// One headline measure of one workload on one machine, over all settings of its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkloadLeaders {
    pub workload: String,
    /// The machine; marked where only the simulator was measured, and a real kernel elsewhere.
    pub place: String,
    pub measure: String,
    /// The cell that the line is about, or the first of several.
    pub cell: String,
    /// The leaders, and the contestants behind them.
    pub group: LeadingGroup,
    /// How far the best is from the baseline, with an interval; empty if the baseline is one of
    /// them.
    pub gain: String,
    /// What each file of the user's own does against the baseline, if there are few.
    pub own: Vec<(Verdict, String)>,
    /// The last of those behind, and how far it is from the baseline.
    pub last: Option<(String, String)>,
    /// The simulator's leaders of the same cell, if a real kernel ran it too.
    pub simulated: Option<LeadingGroup>,
}

/// The contestants in front and those behind, over the settings of one workload.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeadingGroup {
    /// The best in most settings, the best median first.
    pub best: Vec<String>,
    /// Those that are distinguishable from the best, the nearest first.
    pub behind: Vec<String>,
    /// The number of these settings, and of all settings with enough trials.
    pub settings: (usize, usize),
}

/// All lines, in the order of the comparison; those of one workload and measure are neighbours.
pub fn lines(
    headlines: &[WorkloadHeadline],
    comparison: &Comparison,
    has_several_backends: bool,
) -> Vec<WorkloadLeaders> {
    let mut headlines = headlines.to_vec();
    let judges = |(_, row): &(&Cell, &Row)| row.judges() && row.is_measured();
    headlines.iter_mut().for_each(|headline| headline.rows.retain(judges));
    headlines.retain(|headline| !headline.rows.is_empty());
    let key = |headline: &WorkloadHeadline| {
        (headline.workload.to_owned(), headline.rows[0].1.measure.to_string())
    };
    let keys: Vec<_> = headlines.iter().map(key).collect();
    let first = |part: &dyn Fn(&(String, String)) -> bool| keys.iter().position(part);
    headlines.sort_by_cached_key(|headline| {
        let own = key(headline);
        (first(&|known| known.0 == own.0), first(&|known| *known == own))
    });
    headlines.iter().map(|headline| line(headline, comparison, has_several_backends)).collect()
}

/// Files of the user's own that have columns of their own.
pub fn own_columns(comparison: &Comparison) -> Vec<&String> {
    let own = comparison.own.iter().filter(|name| **name != comparison.baseline);
    let own: Vec<&String> = own.collect();
    if own.len() <= OWN_COLUMNS { own } else { Vec::new() }
}

fn line(
    headline: &WorkloadHeadline,
    comparison: &Comparison,
    has_several_backends: bool,
) -> WorkloadLeaders {
    let leaders_of = |simulated: bool| {
        let ours = |(cell, _): &&(&Cell, &Row)| cell.backend.is_model() == simulated;
        headline.rows.iter().filter(ours).map(|(_, row)| *row).collect::<Vec<&Row>>()
    };
    let (real, simulated) = (leaders_of(false), leaders_of(true));
    let (rows, twin) = if real.is_empty() {
        (simulated, None)
    } else {
        (real, (!simulated.is_empty()).then(|| group(&simulated)))
    };
    let (group, baseline) = (group(&rows), &comparison.baseline);
    WorkloadLeaders {
        workload: headline.workload.into(),
        place: place(headline, has_several_backends),
        measure: units::measure(&rows[0].measure),
        cell: headline.rows[0].0.label(),
        gain: gain(&rows, &group, baseline),
        own: own_columns(comparison).into_iter().map(|name| against(&rows, name)).collect(),
        last: last(&rows, &group, baseline),
        group,
        simulated: twin,
    }
}

/// The machine, marked if this line has no real kernel and others do.
fn place(headline: &WorkloadHeadline, has_several_backends: bool) -> String {
    let machine = headline.rows[0].0.machine.clone();
    let simulated = headline.rows.iter().all(|(cell, _)| cell.backend.is_model());
    if simulated && has_several_backends { format!("{machine} (sim)") } else { machine }
}

/// The best of one setting, or those that are best most often.
fn group(rows: &[&Row]) -> LeadingGroup {
    let known: Vec<_> = rows.iter().filter_map(|row| row.leaders.as_ref()).collect();
    let mut names: Vec<&String> = Vec::new();
    for leaders in &known {
        for name in leaders.best.iter().chain(&leaders.behind) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    let times = |name: &String| known.iter().filter(|leaders| leaders.best.contains(name)).count();
    let most = names.iter().map(|name| times(name)).max().unwrap_or(0);
    let (best, behind) = names.into_iter().cloned().partition(|name| times(name) == most);
    LeadingGroup { best, behind, settings: (most, known.len()) }
}

fn gain(rows: &[&Row], group: &LeadingGroup, baseline: &str) -> String {
    let Some(first) = group.best.first() else { return String::new() };
    if group.best.iter().any(|name| name == baseline) {
        return String::new();
    }
    let leads =
        |row: &&&Row| row.leaders.as_ref().is_some_and(|leaders| leaders.best.contains(first));
    let wins = rows.iter().filter(leads);
    let entries = wins.filter_map(|row| {
        let entry = row.entries.iter().find(|entry| entry.contestant == *first)?;
        (entry.verdict == Verdict::Better).then_some((*row, entry))
    });
    range_words(&entries.collect::<Vec<_>>())
}

/// A contestant against the baseline; in how many settings it is better and worse, if several.
fn against(rows: &[&Row], name: &String) -> (Verdict, String) {
    let entries = rows.iter().filter_map(|row| {
        Some((*row, row.entries.iter().find(|entry| entry.contestant == *name)?))
    });
    let entries: Vec<(&Row, &Entry)> = entries.collect();
    if let [(row, entry)] = entries.as_slice() {
        let is_claim = entry.verdict.is_claim();
        let words = if is_claim { shift_words(row, entry) } else { entry.verdict.words().into() };
        return (entry.verdict, words);
    }
    let count = |verdict| entries.iter().filter(|(_, entry)| entry.verdict == verdict).count();
    let [better, worse] = [Verdict::Better, Verdict::Worse].map(count);
    let words = format!("better in {better}, worse in {worse} of {} settings", entries.len());
    (Verdict::NotDistinguishable, words)
}

fn last(rows: &[&Row], group: &LeadingGroup, baseline: &str) -> Option<(String, String)> {
    let last = group.behind.last()?;
    let [row] = rows else { return None };
    let entry = row.entries.iter().find(|entry| entry.contestant == *last)?;
    let far = match entry.shift {
        Some(shift) => units::shift(&shift, row.unit).0,
        None if last == baseline => "the baseline".into(),
        None => return None,
    };
    Some((last.clone(), far))
}

impl LeadingGroup {
    /// Whether any contestant is distinguishable from the best.
    pub fn tells(&self) -> bool {
        !self.behind.is_empty()
    }

    /// Whether any setting has enough trials for a verdict.
    pub fn is_known(&self) -> bool {
        self.settings.1 > 0
    }

    /// `fifo, rr and vtime`, `all but ule`, `all 14, not distinguishable`.
    pub fn sentence(&self) -> Sentence {
        let sentence = Sentence::default();
        let (best, behind) = (&self.best, &self.behind);
        if !self.is_known() {
            return sentence.text("too few trials for a verdict");
        }
        let sentence = match (best.len(), behind.len()) {
            (all, 0) => sentence.text(format!("all {all}, not distinguishable")),
            (many, few) if many > NAMES && few <= NAMES => {
                sentence.text("all but ").names(behind.iter().rev())
            }
            (many, _) if many > NAMES + 1 => {
                let sentence = sentence.names(best.iter().take(NAMES));
                sentence.text(format!(" and {} more", many - NAMES))
            }
            _ => sentence.names(best),
        };
        match self.settings {
            (_, 1) => sentence,
            (times, all) => sentence.text(format!(" in {times} of {all} settings")),
        }
    }

    /// Whether the best of each is among the best of the other, of contestants that both have.
    fn agrees(&self, other: &LeadingGroup) -> bool {
        let knows = |group: &LeadingGroup, name: &String| {
            group.best.contains(name) || group.behind.contains(name)
        };
        let backs = |own: &LeadingGroup, other: &LeadingGroup| {
            let first = own.best.iter().find(|name| knows(other, name));
            first.is_none_or(|first| other.best.contains(first))
        };
        self.tells() == other.tells() && backs(self, other) && backs(other, self)
    }
}

impl WorkloadLeaders {
    /// The sentence without workload and machine.
    pub fn sentence(&self, baseline: &str) -> Sentence {
        let mut sentence = self.group.sentence();
        if !self.gain.is_empty() {
            sentence = sentence.text("; ").strong(self.gain.clone()).text(" against ");
            sentence = sentence.name(baseline);
        }
        let is_told = |name: &str| name == baseline && !self.gain.is_empty();
        if let Some((name, far)) = self.last.as_ref().filter(|(name, _)| !is_told(name)) {
            sentence = sentence.text("; last ").name(name).text(format!(", {far}"));
        }
        match self.simulator() {
            None => sentence,
            Some(words) if words.0.is_empty() => sentence.text("; the simulator agrees"),
            Some(words) => sentence.text("; in the simulator ").append(&words),
        }
    }

    /// How the simulator differs from the real kernel; empty where it agrees.
    pub fn simulator(&self) -> Option<Sentence> {
        let simulated = self.simulated.as_ref().filter(|group| group.is_known())?;
        let agrees = self.group.agrees(simulated);
        Some(if agrees { Sentence::default() } else { simulated.sentence() })
    }

    /// The workload with its machine and measure.
    pub fn subject(&self) -> String {
        format!("{} on {}, {}", self.workload, self.place, self.measure)
    }
}

/// Of the lines that distinguish contestants, the number in which each one is among the best: most
/// first, of equals those that are worse than the baseline in fewer headline measures, then better
/// in more, then by name.
pub fn most_often<'a>(
    comparison: &'a Comparison,
    lines: &[WorkloadLeaders],
) -> Vec<(&'a String, usize)> {
    let times = |name: &String| {
        lines.iter().filter(|line| line.group.tells() && line.group.best.contains(name)).count()
    };
    let mut counts: Vec<_> =
        comparison.contestants.iter().map(|name| (name, times(name))).collect();
    let standings = standings(comparison);
    let against_baseline = |name: &String| {
        let standing = standings.iter().find(|standing| standing.contestant == *name);
        standing.map_or((0, Reverse(0)), |standing| (standing.worse, Reverse(standing.better)))
    };
    counts.sort_by_key(|(name, times)| (Reverse(*times), against_baseline(name), *name));
    counts
}

/// The headline measures in which no contestant is distinguishable from the best, with workloads
/// and machines; only their number if they are many.
pub fn undecided(lines: &[WorkloadLeaders]) -> Option<Sentence> {
    let known = lines.iter().filter(|line| line.group.is_known());
    let undecided: Vec<&WorkloadLeaders> = known.filter(|line| !line.group.tells()).collect();
    let same = |a: &&WorkloadLeaders, b: &&WorkloadLeaders| {
        (&a.workload, &a.measure) == (&b.workload, &b.measure)
    };
    let groups: Vec<&[&WorkloadLeaders]> = undecided.chunk_by(same).collect();
    let sentence = Sentence::default();
    if groups.len() > NAMES {
        let number = undecided.len();
        return Some(sentence.text(format!(
            "In {number} other headline measures no contestant is distinguishable from the best."
        )));
    }
    let mut sentence = sentence.text("No contestant is distinguishable from the best in ");
    for (index, group) in groups.iter().enumerate() {
        let places: Vec<&str> = group.iter().map(|line| line.place.as_str()).collect();
        sentence = if index > 0 { sentence.text("; ") } else { sentence };
        sentence = sentence.term(group[0].measure.clone()).text(" under ");
        sentence = sentence.term(group[0].workload.clone());
        sentence = sentence.text(format!(" on {}", places.join(", ")));
    }
    (!groups.is_empty()).then(|| sentence.text("."))
}

/// The size of a shift, for choosing the largest: |ln(contestant / baseline)|. A shift from 0 is
/// larger than each in percent; 0 without a shift.
fn log_ratio(entry: &Entry) -> f64 {
    let from_0 = |value: f64| if value == 0.0 { 0.0 } else { f64::INFINITY };
    let size = |shift: stats::Shift| {
        shift.percent.map_or_else(
            || from_0(shift.value),
            |percent| (1.0 + percent / 100.0).max(1e-3).ln().abs(),
        )
    };
    entry.shift.map_or(0.0, size)
}

/// The order of two shifts by size.
pub(crate) fn by_size(one: &Entry, other: &Entry) -> Ordering {
    let size =
        |entry: &Entry| (log_ratio(entry), entry.shift.map_or(0.0, |shift| shift.value.abs()));
    by_ratio(size(one), size(other))
}

/// The order of two changes, each the size of its ratio and of its number. The ratio decides; of
/// changes from 0 the larger number is larger.
pub(crate) fn by_ratio(one: (f64, f64), other: (f64, f64)) -> Ordering {
    one.0.total_cmp(&other.0).then(one.1.total_cmp(&other.1))
}

/// One gain with its interval, `−61.3 % [−66.0, −55.1]`; the smallest and the largest of several,
/// `−36.9 % to −100 %`.
pub(crate) fn range_words(wins: &[(&Row, &Entry)]) -> String {
    let mut wins: Vec<_> = wins.to_vec();
    wins.sort_by(|(_, a), (_, b)| by_size(a, b));
    match wins.as_slice() {
        [(row, entry)] => shift_words(row, entry),
        [(row, least), .., (_, most)] => {
            let words = |entry: &Entry| entry.shift.map(|shift| units::shift(&shift, row.unit).0);
            let (least, most) = (words(least).unwrap_or_default(), words(most).unwrap_or_default());
            format!("{least} to {most}")
        }
        [] => String::new(),
    }
}

/// A shift with its interval, `−61.3 % [−66.0, −55.1]`; empty without a shift.
pub(crate) fn shift_words(row: &Row, entry: &Entry) -> String {
    let Some(shift) = &entry.shift else { return String::new() };
    let (value, interval) = units::shift(shift, row.unit);
    format!("{value} {interval}")
}
