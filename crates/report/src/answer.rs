// SPDX-License-Identifier: GPL-2.0-only
//! The answer in plain sentences: what did best, by how much, what it costs, what could not be
//! told.
//!
//! Only headline measures speak here, and only intervals make a claim.

use model::Backend;
use model::metric::Direction;
use stats::{Cell, Comparison, Entry, Row, Verdict};

use crate::sides::{is_elsewhere, several, together};
use crate::units;

pub use crate::sentence::{Part, Sentence};

/// How one contestant stands against the baseline over all headline measures.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    /// The contestant.
    pub contestant: String,
    /// Headline measures in which it is better.
    pub better: usize,
    /// In which it is worse.
    pub worse: usize,
    /// In which no difference is claimed: inconclusive, equivalent, or exactly equal.
    pub alike: usize,
    /// In which nothing can be said: few runs, nothing measured, or a measure that does not judge.
    pub silent: usize,
}

impl Standing {
    /// All headline measures.
    pub fn total(&self) -> usize {
        self.better + self.worse + self.alike + self.silent
    }
}

/// One standing per contestant other than the baseline, in the comparison's order.
pub fn standings(comparison: &Comparison) -> Vec<Standing> {
    let others = comparison.contestants.iter().filter(|name| **name != comparison.baseline);
    others.map(|name| standing(comparison, name)).collect()
}

fn standing(comparison: &Comparison, name: &str) -> Standing {
    let mut standing = Standing { contestant: name.into(), ..Standing::default() };
    for (_, _, entry) in headline_entries(comparison).filter(|(_, _, e)| e.contestant == name) {
        match entry.verdict {
            Verdict::Better => standing.better += 1,
            Verdict::Worse => standing.worse += 1,
            Verdict::Inconclusive | Verdict::Equivalent | Verdict::Equal => standing.alike += 1,
            _ => standing.silent += 1,
        }
    }
    standing
}

/// Every headline entry with its cell's label and row.
fn headline_entries(comparison: &Comparison) -> impl Iterator<Item = (String, &Row, &Entry)> {
    let several = several_machines(comparison);
    comparison.cells.iter().flat_map(move |cell| {
        let label = if several { cell.label() } else { cell.name.clone() };
        let rows = cell.headline();
        rows.flat_map(move |row| {
            let label = label.clone();
            // Who cannot run on this backend is not unknown here, but judged elsewhere.
            let here = |entry: &&Entry| !is_elsewhere(comparison, cell, &entry.contestant);
            row.entries.iter().filter(here).map(move |entry| (label.clone(), row, entry))
        })
    })
}

/// Whether a cell's name alone is ambiguous.
pub fn several_machines(comparison: &Comparison) -> bool {
    let mut places = comparison.cells.iter().map(|cell| (&cell.machine, cell.backend));
    let first = places.next();
    places.any(|place| Some(place) != first)
}

/// One headline measure of one workload on one machine, over all settings of its parameters.
pub struct Load<'a> {
    /// The workload's name.
    pub workload: &'a str,
    /// The machine, and the backend if there is only one.
    pub place: String,
    /// Cells with the measure's row in each, in the order of the parameters; those of different
    /// backends that ask the same stand side by side.
    pub rows: Vec<(&'a Cell, &'a Row)>,
}

/// All headline measures by load.
pub fn loads(comparison: &Comparison) -> Vec<Load<'_>> {
    let mut loads: Vec<Load<'_>> = Vec::new();
    let side_by_side = several(comparison);
    for cell in together(comparison).into_iter().flatten() {
        let place = match side_by_side {
            true => cell.machine.clone(),
            false => format!("{} ({})", cell.machine, stats::backend_word(cell.backend)),
        };
        for row in cell.headline() {
            let same = |load: &&mut Load<'_>| {
                load.workload == cell.workload
                    && load.place == place
                    && load.rows[0].1.measure == row.measure
            };
            match loads.iter_mut().find(same) {
                Some(load) => load.rows.push((cell, row)),
                None => loads.push(Load {
                    workload: &cell.workload,
                    place: place.clone(),
                    rows: vec![(cell, row)],
                }),
            }
        }
    }
    loads
}

/// For each load, who is better than the baseline most often, and by how much. Measures that do not
/// judge are left out.
pub fn by_load(comparison: &Comparison) -> Vec<Sentence> {
    let judged = |load: &Load<'_>| load.rows[0].1.direction != Direction::Neutral;
    loads(comparison)
        .iter()
        .filter(|load| judged(load))
        .map(|load| load_words(comparison, load))
        .collect()
}

fn load_words(comparison: &Comparison, load: &Load<'_>) -> Sentence {
    let measure = units::measure(&load.rows[0].1.measure);
    let first = comparison.cells.first().map(|cell| &cell.machine);
    let term = match comparison.cells.iter().any(|cell| Some(&cell.machine) != first) {
        true => format!("{} on {}, {measure}", load.workload, load.place),
        false => format!("{}, {measure}", load.workload),
    };
    let mut sentence = Sentence::default().term(term).text(": ");
    let mut backends: Vec<Backend> = load.rows.iter().map(|(cell, _)| cell.backend).collect();
    backends.sort_unstable_by_key(|&backend| backend == Backend::Sim);
    backends.dedup();
    let of = |backend: Backend| {
        let rows = load.rows.iter().filter(|(cell, _)| cell.backend == backend);
        rows.map(|(_, row)| *row).collect::<Vec<&Row>>()
    };
    let words: Vec<Sentence> =
        backends.iter().map(|&backend| winner_words(comparison, &of(backend))).collect();
    if let [real, simulated] = words.as_slice()
        && real == simulated
    {
        return sentence.append(real).text(" on either backend.");
    }
    for (index, (&backend, words)) in backends.iter().zip(&words).enumerate() {
        let opening = match (index, backend) {
            (0, _) => "",
            (_, Backend::Sim) => "; in the simulator ",
            (_, Backend::Vm | Backend::Live) => "; on the running kernel ",
        };
        sentence = sentence.text(opening).append(words);
    }
    sentence.text(".")
}

fn winner_words(comparison: &Comparison, rows: &[&Row]) -> Sentence {
    let sentence = Sentence::default();
    let better = |index: usize| {
        let better = rows.iter().filter(|row| row.entries[index].verdict == Verdict::Better);
        better.map(|row| (*row, &row.entries[index])).collect::<Vec<_>>()
    };
    let size = |wins: &[(&Row, &Entry)]| wins.iter().map(|(_, entry)| gain(entry)).sum::<f64>();
    let candidates = (1..comparison.contestants.len()).map(|index| (index, better(index)));
    let best =
        candidates.max_by(|(_, a), (_, b)| a.len().cmp(&b.len()).then(size(a).total_cmp(&size(b))));
    let Some((index, wins)) = best.filter(|(_, wins)| !wins.is_empty()) else {
        return sentence.text("none better than ").name(&comparison.baseline);
    };
    let all = match rows.len() {
        1 => String::new(),
        all => format!(" in {} of {all} settings", wins.len()),
    };
    let sentence =
        sentence.name(&comparison.contestants[index]).text(format!(" is better{all}, by "));
    sentence.strong(range_words(&wins))
}

/// How large a gain is, to choose between contestants: the logarithm of the ratio.
fn gain(entry: &Entry) -> f64 {
    let percent = entry.shift.and_then(|shift| shift.percent).unwrap_or(0.0);
    (1.0 + percent / 100.0).max(1e-3).ln().abs()
}

/// `−61.3 % [−66.0, −55.1]` of one gain, `−36.9 % to −100 %` of several.
fn range_words(wins: &[(&Row, &Entry)]) -> String {
    let mut wins: Vec<_> = wins.to_vec();
    wins.sort_by(|(_, a), (_, b)| gain(a).total_cmp(&gain(b)));
    match wins.as_slice() {
        [(row, entry)] => shift_words(row, entry),
        [(row, least), .., (_, most)] => {
            let words = |entry: &Entry| entry.shift.map(|it| units::shift(&it, row.unit).0);
            let (least, most) = (words(least).unwrap_or_default(), words(most).unwrap_or_default());
            format!("{least} to {most}")
        }
        [] => String::new(),
    }
}

/// The whole answer, most important first.
pub fn answer(comparison: &Comparison) -> Vec<Sentence> {
    if comparison.records == 0 {
        return vec![Sentence::default().text("There are no records to compare.")];
    }
    let mut standings = standings(comparison);
    standings.sort_by_key(|s| (s.worse as isize - s.better as isize, s.worse));
    let mut sentences = Vec::new();
    sentences.extend(leader(comparison, &standings));
    sentences.extend(extremes(comparison, &standings));
    sentences.extend(runners_up(&standings));
    sentences.extend(indistinguishable(comparison, &standings));
    sentences.extend(silent(comparison, &standings));
    sentences.push(outcomes(comparison));
    sentences
}

fn leader(comparison: &Comparison, standings: &[Standing]) -> Option<Sentence> {
    let best = standings.first()?;
    let sentence = Sentence::default();
    if best.better > best.worse {
        let sentence = sentence.name(&best.contestant).text(" did best against ");
        let sentence = sentence.name(&comparison.baseline).text(": ").strong(format!(
            "better in {} of {} headline measures",
            best.better,
            best.total()
        ));
        let (worse, alike) = (best.worse, best.alike);
        let silent = match best.silent {
            0 => String::new(),
            silent => format!(", unknown in {silent}"),
        };
        let rest = format!(", worse in {worse}, not distinguishable in {alike}{silent}.");
        return Some(sentence.text(rest));
    }
    if standings.iter().all(|standing| standing.silent == standing.total()) {
        return None;
    }
    if standings.iter().all(|standing| standing.better + standing.worse == 0) {
        let sentence = sentence.strong("No contestant could be told apart".into()).text(" from ");
        return Some(sentence.name(&comparison.baseline).text(" in any headline measure."));
    }
    let sentence =
        sentence.strong("No contestant gains more than it loses".into()).text(" against ");
    Some(sentence.name(&comparison.baseline).text(", counted in headline measures."))
}

/// The leader's largest gain and its largest cost.
fn extremes(comparison: &Comparison, standings: &[Standing]) -> Vec<Sentence> {
    let Some(best) = standings.first().filter(|best| best.better > best.worse) else {
        return Vec::new();
    };
    let largest = |verdict: Verdict| {
        let mut largest: Option<(f64, String, &Row, &Entry)> = None;
        for (cell, row, entry) in headline_entries(comparison) {
            let size = entry.shift.and_then(|shift| shift.percent).map_or(0.0, f64::abs);
            let ours = entry.contestant == best.contestant && entry.verdict == verdict;
            if ours && largest.as_ref().is_none_or(|(most, ..)| size > *most) {
                largest = Some((size, cell, row, entry));
            }
        }
        largest
    };
    let gain = largest(Verdict::Better)
        .map(|(_, cell, row, entry)| extreme("Its largest gain is ", &cell, row, entry));
    let cost = largest(Verdict::Worse)
        .map(|(_, cell, row, entry)| extreme("It costs most in ", &cell, row, entry));
    gain.into_iter().chain(cost).collect()
}

fn extreme(opening: &str, cell: &str, row: &Row, entry: &Entry) -> Sentence {
    let sentence = Sentence::default().text(opening).term(units::measure(&row.measure));
    let sentence = sentence.text(" under ").term(cell.into()).text(": ");
    let sentence = sentence.strong(shift_words(row, entry)).text(", ");
    let median = |entry: Option<&Entry>| {
        let median = entry.and_then(|entry| entry.median);
        median.map_or_else(|| "nothing".into(), |value| units::number(value, row.unit))
    };
    let (ours, theirs) = (median(Some(entry)), median(row.entries.first()));
    sentence.text(format!("{ours} instead of {theirs}."))
}

fn shift_words(row: &Row, entry: &Entry) -> String {
    let Some(shift) = &entry.shift else { return String::new() };
    let (value, interval) = units::shift(shift, row.unit);
    format!("{value} {interval}")
}

fn runners_up(standings: &[Standing]) -> Option<Sentence> {
    let leads = standings.first().is_some_and(|best| best.better > best.worse);
    let rest = standings.iter().skip(usize::from(leads));
    let decided: Vec<&Standing> = rest.filter(|s| s.better + s.worse > 0).collect();
    if decided.is_empty() {
        return None;
    }
    let mut sentence = Sentence::default().text("The others, better and worse: ");
    for (index, standing) in decided.iter().enumerate() {
        let comma = if index > 0 { ", " } else { "" };
        sentence = sentence.text(comma).name(&standing.contestant);
        sentence = sentence.text(format!(" {} and {}", standing.better, standing.worse));
    }
    Some(sentence.text("."))
}

/// Contestants of which every headline measure is known and none is decided.
fn indistinguishable(comparison: &Comparison, standings: &[Standing]) -> Option<Sentence> {
    let alike = |s: &&Standing| s.better + s.worse == 0 && s.alike > 0;
    let names: Vec<_> = standings.iter().filter(alike).map(|s| &s.contestant).collect();
    if names.is_empty() || names.len() == standings.len() {
        return None;
    }
    let sentence = Sentence::default().text("Not told apart from ").name(&comparison.baseline);
    Some(sentence.text(" in any headline measure: ").names(names).text("."))
}

fn silent(comparison: &Comparison, standings: &[Standing]) -> Option<Sentence> {
    let silent = |s: &&Standing| s.total() > 0 && s.silent == s.total();
    let names: Vec<_> = standings.iter().filter(silent).map(|s| &s.contestant).collect();
    if names.is_empty() {
        return None;
    }
    let short = [Verdict::TooFewRuns, Verdict::Differs];
    let few = headline_entries(comparison).any(|(_, _, entry)| short.contains(&entry.verdict));
    let why = if few { " (fewer than six runs that ended well, or no number)" } else { "" };
    Some(
        Sentence::default().text("Nothing can be said about ").names(names).text(format!("{why}.")),
    )
}

fn outcomes(comparison: &Comparison) -> Sentence {
    let mut counts: std::collections::BTreeMap<&str, usize> = Default::default();
    for count in comparison.cells.iter().flat_map(|cell| &cell.outcomes) {
        *counts.entry(&count.outcome).or_default() += count.trials;
    }
    let ok = counts.remove("ok").unwrap_or(0);
    let total = ok + counts.values().sum::<usize>();
    if counts.is_empty() {
        return Sentence::default().text(format!("All {total} trials ended well."));
    }
    let bad: Vec<String> = counts.iter().map(|(word, count)| format!("{count} {word}")).collect();
    let sentence = Sentence::default().strong(format!("{} of {total} trials", total - ok));
    sentence.text(format!(" did not end well: {}.", bad.join(", ")))
}
