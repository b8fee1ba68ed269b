// SPDX-License-Identifier: GPL-2.0-only
//! The answer in plain sentences: which contestant is best, by how much, what it costs, and which
//! differences the trials do not show.
//!
//! Only headline measures count here, and only an interval makes a claim.

use stats::compare::verdict::log_ratio;
use stats::{Cell, Comparison, Entry, Row, Verdict};

use crate::leaders::{by_ratio, by_size, most_often, shift_words, undecided};
use crate::reading::Reading;
use crate::reading::{counted, is_elsewhere};
use crate::sentence::Sentence;
use crate::units;

/// The verdicts of one contestant against the baseline over all headline measures.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    pub contestant: String,
    /// Headline measures in which it is better.
    pub better: usize,
    pub worse: usize,
    /// In which no difference is claimed: not distinguishable, equivalent, or exactly equal.
    pub alike: usize,
    /// In which there is no verdict: too few trials, nothing measured, or a measure without a
    /// direction.
    pub silent: usize,
}

impl Standing {
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
            Verdict::NotDistinguishable | Verdict::Equivalent | Verdict::Equal => {
                standing.alike += 1
            }
            _ => standing.silent += 1,
        }
    }
    standing
}

fn headline_entries(comparison: &Comparison) -> impl Iterator<Item = (&Cell, &Row, &Entry)> {
    comparison.cells.iter().flat_map(move |cell| {
        cell.headline().flat_map(move |row| {
            // A contestant that cannot run on this backend is judged on another.
            let here = |entry: &&Entry| !is_elsewhere(comparison, cell, &entry.contestant);
            row.entries.iter().filter(here).map(move |entry| (cell, row, entry))
        })
    })
}

/// The whole answer, most important first.
pub(crate) fn answer(reading: &Reading) -> Vec<Sentence> {
    let comparison = reading.comparison;
    if comparison.records == 0 {
        return vec![Sentence::default().text("There are no records to compare.")];
    }
    let standings = standings(comparison);
    let often = most_often(comparison, &reading.leaders);
    let mut sentences = own(reading);
    sentences.extend(leader(reading, &often));
    // What a file of the user's own wins and loses is told.
    if !is_own(comparison, &often) {
        sentences.extend(extremes(reading, &often));
    }
    sentences.extend(behind(reading, &often));
    if reading.leaders.iter().any(|line| line.group.tells()) {
        sentences.extend(undecided(&reading.leaders));
    }
    sentences.extend(indistinguishable(comparison, &standings));
    sentences.extend(silent(comparison, &standings));
    sentences.extend(only_simulated(comparison));
    sentences.push(outcomes(comparison));
    sentences
}

/// Whether the first of the others is told of already: see [`own`].
fn is_own(comparison: &Comparison, often: &[(&String, usize)]) -> bool {
    let Comparison { baseline, own, .. } = comparison;
    let other = often.iter().find(|(name, _)| *name != baseline);
    own.contains(baseline) || other.is_some_and(|(name, _)| own.contains(name))
}

/// Each scheduler of the user's own against the baseline; if the baseline is one, against the
/// others.
fn own(reading: &Reading) -> Vec<Sentence> {
    let Comparison { baseline, contestants, own, .. } = reading.comparison;
    let others = own.iter().filter(|name| *name != baseline);
    let mut sentences: Vec<Sentence> =
        others.map(|name| against(reading, (name, baseline), name)).collect();
    if own.contains(baseline) {
        let others = contestants.iter().filter(|name| !own.contains(name));
        sentences.extend(others.map(|other| against(reading, (baseline, other), other)));
    }
    sentences
}

/// One contestant against another; `judged` is the one of the two that is not the baseline.
fn against(reading: &Reading, (name, of): (&String, &String), judged: &String) -> Sentence {
    let (comparison, cells) = (reading.comparison, counted(reading.comparison));
    let verdicts = |verdict: Verdict| -> Vec<(&Cell, &Row, &Entry)> {
        headline_entries(comparison)
            .filter(|(cell, ..)| cells.iter().any(|known| std::ptr::eq(*known, *cell)))
            .filter(|(.., entry)| entry.contestant == *judged && entry.verdict == verdict)
            .collect()
    };
    let sentence = Sentence::default().name(name).text(" against ").name(of).text(": ");
    let standing = standing(comparison, judged);
    if standing.total() == standing.silent {
        return sentence.text("no verdict; there are too few trials, or no numbers.");
    }
    let [mut better, mut worse] = [verdicts(Verdict::Better), verdicts(Verdict::Worse)];
    if name != judged {
        std::mem::swap(&mut better, &mut worse);
    }
    if better.is_empty() && worse.is_empty() {
        let number = standing.total();
        let neither = format!("neither better nor worse in any of {number} headline measures");
        return sentence.strong(neither).text(".");
    }
    let sentence = sentence.strong(format!("better in {}", better.len()));
    let sentence = largest(reading, sentence, &better, [name, of]).text(", ");
    let sentence = sentence.strong(format!("worse in {}", worse.len()));
    let sentence = largest(reading, sentence, &worse, [name, of]);
    sentence.text(format!("; of {} headline measures.", standing.total()))
}

/// The largest of some differences in brackets: the number of the first, and of the second.
fn largest(
    reading: &Reading,
    sentence: Sentence,
    found: &[(&Cell, &Row, &Entry)],
    sides: [&String; 2],
) -> Sentence {
    let largest = found.iter().max_by(|a, b| by_size(a.2, b.2));
    let Some((cell, row, _)) = largest else { return sentence };
    let most = if found.len() > 1 { " (most in " } else { " (" };
    let sentence = sentence.text(most).term(units::measure(&row.measure)).text(" under ");
    let sentence = sentence.term(reading.label(cell)).text(": ");
    let number =
        |name: &String| median_of(row, row.entries.iter().find(|entry| entry.contestant == *name));
    let [ours, theirs] = sides.map(number);
    sentence.text(format!("{ours} instead of {theirs})"))
}

fn median_of(row: &Row, entry: Option<&Entry>) -> String {
    let median = entry.and_then(|entry| entry.median);
    median.map_or_else(|| "nothing".into(), |value| units::number(value, row.unit))
}

/// The contestant that is most often among the best; counted where contestants are distinguishable.
fn leader(reading: &Reading, often: &[(&String, usize)]) -> Option<Sentence> {
    let lines = &reading.leaders;
    let known = lines.iter().filter(|line| line.group.is_known()).count();
    let telling = lines.iter().filter(|line| line.group.tells()).count();
    let sentence = Sentence::default();
    if known == 0 {
        return None;
    }
    if telling == 0 {
        let nothing = "No contestant is distinguishable from the best in any headline measure";
        return Some(sentence.strong(nothing.into()).text("."));
    }
    let all: Vec<&String> =
        often.iter().filter(|(_, times)| *times == telling).map(|(name, _)| *name).collect();
    if !all.is_empty() {
        let verb = if all.len() == 1 { " is" } else { " are" };
        let sentence = sentence.names(all).strong(format!("{verb} among the best"));
        return Some(match (telling, telling == known) {
            (1, true) => sentence.text(" in the only headline measure."),
            (_, true) => sentence.text(format!(" in every headline measure, {telling} in all.")),
            _ => sentence.text(format!(
                " wherever contestants are distinguishable: in {telling} of {known} headline \
                 measures."
            )),
        });
    }
    let mut sentence = sentence.strong("No contestant is best everywhere.".into()).text(format!(
        " Most often among the best, of {telling} headline measures that distinguish them: "
    ));
    // The first three, and those that tie with the third.
    let least = often.get(2).or(often.last()).map_or(1, |(_, times)| (*times).max(1));
    let leading = often.iter().filter(|(_, times)| *times >= least);
    for (index, (name, times)) in leading.enumerate() {
        let comma = if index > 0 { ", " } else { "" };
        sentence = sentence.text(comma).name(name).text(format!(" {times}"));
    }
    Some(sentence.text("."))
}

/// The largest gain and the largest loss of the contestant that is most often among the best.
fn extremes(reading: &Reading, often: &[(&String, usize)]) -> Vec<Sentence> {
    let comparison = reading.comparison;
    let others = often.iter().filter(|(name, times)| **name != comparison.baseline && *times > 0);
    let Some((best, _)) = others.copied().next() else { return Vec::new() };
    let counted = counted(comparison);
    let counts = |cell: &Cell| counted.iter().any(|known| std::ptr::eq(*known, cell));
    let largest = |verdict: Verdict| {
        let mut largest: Option<(&Cell, &Row, &Entry)> = None;
        for (cell, row, entry) in headline_entries(comparison).filter(|(cell, ..)| counts(cell)) {
            let is_ours = entry.contestant == *best && entry.verdict == verdict;
            if is_ours && largest.is_none_or(|(.., most)| by_size(entry, most).is_gt()) {
                largest = Some((cell, row, entry));
            }
        }
        largest
    };
    let opening = Sentence::default().text("Against ").name(&comparison.baseline).text(", ");
    let gain = largest(Verdict::Better).map(|(cell, row, entry)| {
        extreme(
            opening.clone().name(best).text(" improves most in "),
            &reading.label(cell),
            row,
            entry,
        )
    });
    let cost = match largest(Verdict::Worse) {
        Some((cell, row, entry)) => {
            extreme(Sentence::default().text("It loses most in "), &reading.label(cell), row, entry)
        }
        None => Sentence::default()
            .text("It is worse than ")
            .name(&comparison.baseline)
            .text(" in no headline measure."),
    };
    gain.into_iter().flat_map(|gain| [gain, cost.clone()]).collect()
}

fn extreme(opening: Sentence, cell: &str, row: &Row, entry: &Entry) -> Sentence {
    let sentence = opening.term(units::measure(&row.measure));
    let sentence = sentence.text(" under ").term(cell.into()).text(": ");
    let sentence = sentence.strong(shift_words(row, entry)).text(", ");
    let (ours, theirs) = (median_of(row, Some(entry)), median_of(row, row.entries.first()));
    sentence.text(format!("{ours} instead of {theirs}."))
}

/// Where the contestant that is most often among the best is not among them: the largest distance,
/// except from the baseline, which [`extremes`] has.
fn behind(reading: &Reading, often: &[(&String, usize)]) -> Option<Sentence> {
    let is_told = |name: &String| *name == reading.comparison.baseline;
    let (best, _) = often.first().filter(|(name, times)| *times > 0 && !is_told(name))?;
    let mut found: Vec<(&Cell, &Row, [&Entry; 2])> = Vec::new();
    for cell in counted(reading.comparison) {
        for row in cell.headline() {
            let Some(leaders) = &row.leaders else { continue };
            let entry = |name: &String| row.entries.iter().find(|entry| entry.contestant == *name);
            let first = leaders.best.first().filter(|name| !is_told(name));
            let sides = first.and_then(entry).zip(entry(best));
            let Some((first, own)) = sides.filter(|_| leaders.behind.contains(best)) else {
                continue;
            };
            found.push((cell, row, [first, own]));
        }
    }
    let number = found.len();
    let far = |sides: &[&Entry; 2]| {
        let [first, own] = sides.map(|entry| entry.median.unwrap_or(0.0));
        (log_ratio(first, own).abs(), (own - first).abs())
    };
    let (cell, row, [first, own]) =
        found.into_iter().max_by(|(.., a), (.., b)| by_ratio(far(a), far(b)))?;
    let sentence = Sentence::default().name(best).text(" is behind the best in ");
    let sentence = match number {
        1 => sentence,
        _ => sentence.text(format!("{number}, most in ")),
    };
    let sentence = sentence.term(units::measure(&row.measure)).text(" under ");
    let sentence = sentence.term(reading.label(cell)).text(": ");
    let (own, theirs) = (median_of(row, Some(own)), median_of(row, Some(first)));
    let sentence = sentence.strong(own).text(" instead of ").strong(theirs).text(" with ");
    Some(sentence.name(&first.contestant).text("."))
}

/// Contestants with headline measures, none of them better or worse than the baseline: those with
/// a verdict on each, and those with a verdict on some.
fn indistinguishable(comparison: &Comparison, standings: &[Standing]) -> Vec<Sentence> {
    let alike = |s: &&Standing| s.better + s.worse == 0 && s.alike > 0;
    let (some, all): (Vec<_>, Vec<_>) =
        standings.iter().filter(alike).partition(|standing| standing.silent > 0);
    if all.len() == standings.len() {
        return Vec::new();
    }
    let [all, some] = [all, some].map(|mut list| {
        list.retain(|standing| !is_told(comparison, &standing.contestant));
        list
    });
    let where_found = [" in any headline measure: ", " in any headline measure with a verdict: "];
    let sentence = |(alike, place): (Vec<&Standing>, &str)| {
        let opening = Sentence::default().text("Not distinguishable from ");
        let names = alike.into_iter().map(|standing| &standing.contestant);
        opening.name(&comparison.baseline).text(place).names(names).text(".")
    };
    let lists = [all, some].into_iter().zip(where_found);
    lists.filter(|(alike, _)| !alike.is_empty()).map(sentence).collect()
}

/// Whether the first sentences compare the contestant with the user's own file; see [`own`].
fn is_told(Comparison { own, baseline, .. }: &Comparison, name: &String) -> bool {
    own.contains(name) || own.contains(baseline)
}

fn silent(comparison: &Comparison, standings: &[Standing]) -> Option<Sentence> {
    let is_told = |s: &&Standing| is_told(comparison, &s.contestant);
    let silent = |s: &&Standing| s.total() > 0 && s.silent == s.total() && !is_told(s);
    let names: Vec<_> = standings.iter().filter(silent).map(|s| &s.contestant).collect();
    if names.is_empty() {
        return None;
    }
    let short = [Verdict::TooFewTrials, Verdict::Differs];
    let few = headline_entries(comparison).any(|(_, _, entry)| short.contains(&entry.verdict));
    let why = if few { " (fewer than six trials that ended well, or no number)" } else { "" };
    Some(Sentence::default().text("No verdict on ").names(names).text(format!("{why}.")))
}

/// A warning where the simulator alone was measured: its numbers are a model's.
pub(crate) fn only_simulated(comparison: &Comparison) -> Option<Sentence> {
    let simulated = comparison.cells.iter().all(|cell| cell.backend.is_model());
    let words = "All numbers come from the simulator; no real kernel was measured.";
    simulated.then(|| Sentence::default().text(words))
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
