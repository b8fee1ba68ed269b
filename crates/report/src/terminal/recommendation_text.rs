// SPDX-License-Identifier: GPL-2.0-only
//! A recommendation as text: the scheduler to use and the certainty in the first lines, then the
//! numbers, then how to switch.

use std::collections::BTreeMap;

use model::metric::Direction;
use stats::Recommendation;
use stats::decide::recommend::{
    Advice, Aim, Candidate, Effect, Judged, Reason, Silence, Standing, Watched, Width,
};
use stats::rank::holm::ALPHA;

use super::layout::{COLUMNS, fit, hanging, pad, pad_left, wrapped};
use crate::units;

/// Characters of a contestant's name that are shown.
const NAME: usize = 18;
/// The column at which the text of a labelled line begins.
const INDENT: &str = "                ";

/// Facts that only the caller knows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecommendationContext {
    /// The origin of the numbers and what that means: sentences.
    pub measured: Vec<String>,
    /// Further sentences, each with its label.
    pub notes: Vec<(&'static str, String)>,
    /// How to switch to a scheduler, and back: lines, by its name.
    pub switch: BTreeMap<String, Vec<String>>,
    /// Further commands, each with its purpose.
    pub commands: Vec<(String, String)>,
}

/// The whole answer.
pub fn recommendation(advised: &Recommendation, setting: &RecommendationContext) -> String {
    let mut text = wrapped(&headline(advised), "");
    text += &why(advised);
    text += &labelled("measured", &setting.measured.join(" "));
    setting.notes.iter().for_each(|(label, sentence)| text += &labelled(label, sentence));
    text += &evidence(advised);
    text += &failures(advised);
    text += &switching(advised, setting);
    for (what, command) in &setting.commands {
        text += &format!("\n{what}:\n  {command}\n");
    }
    text
}

/// A sentence that stands alone, above an answer.
pub fn paragraph(sentence: &str) -> String {
    wrapped(sentence, "")
}

/// The answer in a sentence.
pub fn headline(advised: &Recommendation) -> String {
    let (now, others) = (&advised.now, advised.candidates.len());
    match &advised.advice {
        Advice::Switch(names) => format!("Use {} instead of {now}.", names[0]),
        Advice::Keep(Reason::NoDifference) => {
            format!("Keep {now}: no candidate makes a measurable difference.")
        }
        Advice::Keep(Reason::NobodyBetter) if others == 1 => {
            format!("Keep {now}: the other candidate is not better.")
        }
        Advice::Keep(Reason::NobodyBetter) => {
            format!("Keep {now}: none of the {others} other candidates is better.")
        }
        Advice::Keep(Reason::TooLittle) => {
            format!("Keep {now}: others are better, but by less than matters.")
        }
        Advice::Keep(Reason::TooCostly) => {
            format!("Keep {now}: others are better, but worse in what must not get worse.")
        }
        Advice::Silent(Silence::TooFewTrials(trials, needed)) => format!(
            "No recommendation: {} of each candidate prove nothing; with this many candidates \
             {needed} are \
             needed. Give it more time.",
            units::count(*trials as u64, "trial")
        ),
        Advice::Silent(Silence::NothingMeasured) => {
            "No recommendation: there are no numbers to judge by.".into()
        }
    }
}

/// The gain, the certainty, and the costs.
fn why(advised: &Recommendation) -> String {
    match &advised.advice {
        Advice::Switch(names) => advised.candidate(&names[0]).map_or_else(String::new, |best| {
            let equals = labelled_if("as good", &names[1..], |names| {
                format!("{names}: no difference from {} that matters", best.name)
            });
            gains(advised, best) + &equals + &sure(advised, best) + &prices(advised, best)
        }),
        Advice::Keep(Reason::TooCostly) => {
            let costly = advised
                .candidates
                .iter()
                .filter(|candidate| candidate.standing == Standing::Costly);
            costly
                .map(|candidate| gains(advised, candidate) + &prices(advised, candidate))
                .collect()
        }
        Advice::Keep(Reason::TooLittle) => slight(advised),
        Advice::Keep(_) => resolution(advised),
        Advice::Silent(Silence::NothingMeasured) => holes(advised),
        Advice::Silent(Silence::TooFewTrials(..)) => String::new(),
    }
}

fn labelled(label: &str, sentence: &str) -> String {
    hanging(sentence, &pad(&format!("  {label}"), INDENT.len()), INDENT)
}

fn labelled_if(label: &str, names: &[String], words: impl Fn(String) -> String) -> String {
    match names {
        [] => String::new(),
        names => labelled(label, &words(names.join(", "))),
    }
}

/// The gain of a candidate in each deciding measure.
fn gains(advised: &Recommendation, candidate: &Candidate) -> String {
    let told = advised.aims.iter().zip(&candidate.decides).map(|(aim, judged)| {
        labelled(
            word(judged),
            &format!("{}: {}", aim.decides.words, change(&candidate.name, judged)),
        )
    });
    told.collect()
}

fn word(judged: &Judged) -> &'static str {
    let gains = judged.gain.is_some_and(|gain| gain.value > 0.0);
    match judged.finding {
        Effect::Better => "better",
        Effect::Worse => "worse",
        Effect::Slight if gains => "a bit better",
        Effect::Slight => "a bit worse",
        Effect::Alike => "equivalent",
        Effect::Open => "open",
        Effect::Unknown => "not known",
    }
}

/// `1.02 ms with bfs, 8.01 ms now: −87.3 % [−88.0, −86.1]`.
fn change(name: &str, judged: &Judged) -> String {
    let number = |value: Option<f64>| match value {
        Some(value) => units::number(value, judged.unit),
        None => "no number".into(),
    };
    let (ours, now) = (number(judged.median), number(judged.now));
    let (value, interval) = shift(judged);
    let by = if value.is_empty() { value } else { format!(" ({value} {interval})") };
    format!("{ours} with {name}, {now} now{}", by.replace(" )", ")"))
}

/// The shift as it is in the measure, with its interval.
fn shift(judged: &Judged) -> (String, String) {
    let Some(gain) = judged.gain else { return (String::new(), String::new()) };
    let raw = if judged.direction == Direction::Lower { gain.turned() } else { gain };
    units::shift(&raw, judged.unit)
}

fn sure(advised: &Recommendation, candidate: &Candidate) -> String {
    let better = candidate.decides.iter().filter(|judged| judged.finding == Effect::Better);
    let p = better.clone().filter_map(|judged| judged.p).map(|p| p.adjusted);
    let p = p.fold(0.0, f64::max);
    let p = if p < 0.001 { "p < 0.001".into() } else { format!("p = {p:.3}") };
    let trials = candidate.decides.iter().map(|judged| judged.trials).min().unwrap_or(0);
    let sentence = format!(
        "{p} after correction for {}; {} of each. If all candidates were equal, one would be \
         called \
         better in at most {:.0} % of such races.",
        units::count(advised.comparisons as u64, "comparison"),
        units::count(trials as u64, "trial"),
        ALPHA * 100.0,
    );
    labelled("how sure", &sentence)
}

/// The losses of a candidate in the guarded measures.
fn prices(advised: &Recommendation, candidate: &Candidate) -> String {
    let pairs = advised.aims.iter().zip(&candidate.keeps);
    let pairs = pairs.flat_map(|(aim, keeps)| aim.keeps.iter().zip(keeps));
    let (kept, others): (Vec<_>, Vec<_>) =
        pairs.partition(|(_, judged)| judged.finding == Effect::Alike);
    let told = others
        .into_iter()
        .map(|(watched, judged)| labelled("it costs", &price(&candidate.name, watched, judged)));
    let mut text: String = told.collect();
    let kept: Vec<String> =
        kept.into_iter().map(|(watched, judged)| unpaid(watched, judged)).collect();
    if !kept.is_empty() {
        text += &labelled("it keeps", &kept.join("; "));
    }
    text
}

/// `how long a build takes (+0.4 % [−0.2, +1.0])`.
fn unpaid(watched: &Watched, judged: &Judged) -> String {
    let (value, interval) = shift(judged);
    format!("{} ({})", watched.words, format!("{value} {interval}").trim_end())
}

fn price(name: &str, watched: &Watched, judged: &Judged) -> String {
    let allowed = allowed(watched, judged);
    let change = change(name, judged);
    let words = &watched.words;
    match judged.finding {
        Effect::Worse => format!("{words}: {change}. That is too much: more than {allowed}"),
        Effect::Open => {
            format!("{words}, perhaps: {change}. These trials do not exclude more than {allowed}")
        }
        Effect::Unknown => format!("{words}: not known"),
        _ => unpaid(watched, judged),
    }
}

/// The margin: `5 %`, or `5 % and 500 µs` if a difference must exceed both to matter.
fn allowed(watched: &Watched, judged: &Judged) -> String {
    let percent = format!("{} %", watched.percent);
    match watched.least {
        least if least > 0.0 => {
            format!("{percent} and {}", units::number(least, judged.unit))
        }
        _ => percent,
    }
}

/// Why there are no numbers.
fn holes(advised: &Recommendation) -> String {
    let mut text = String::new();
    for (at, aim) in advised.aims.iter().enumerate() {
        let judged = advised.candidates.iter().filter_map(|candidate| candidate.decides.get(at));
        if let Some(why) = judged.into_iter().find_map(|judged| judged.missing.as_ref()) {
            text += &labelled("missing", &format!("{}: {why}", aim.decides.words));
        }
    }
    text
}

/// The first candidate whose gain is smaller than what matters; the evidence has the numbers of the
/// others.
fn slight(advised: &Recommendation) -> String {
    let mut slight_candidates =
        advised.candidates.iter().filter(|candidate| candidate.standing == Standing::Slight);
    let first =
        slight_candidates.next().map_or_else(String::new, |candidate| gains(advised, candidate));
    let others: Vec<String> = slight_candidates.map(|candidate| candidate.name.clone()).collect();
    first + &labelled_if("so are", &others, |names| format!("{names}: see their numbers below"))
}

/// The smallest difference that would have been detected.
fn resolution(advised: &Recommendation) -> String {
    let mut text = String::new();
    for (at, aim) in advised.aims.iter().enumerate() {
        let Some(width) = advised.resolution(at) else { continue };
        let size = match width {
            Width::Percent(0.0) | Width::Value(0.0, _) => {
                text +=
                    &labelled("seen", &format!("{}: all have the same value", aim.decides.words));
                continue;
            }
            Width::Percent(size) => units::percent(size).trim_start_matches('+').to_owned(),
            Width::Value(size, unit) => units::number(size, unit),
        };
        let sentence = format!(
            "a difference of {size} would have been seen in {} (the widest interval); there may \
             be smaller \
             differences",
            aim.decides.words
        );
        text += &labelled("seen", &sentence);
    }
    text
}

/// The numbers of every candidate, measure by measure.
fn evidence(advised: &Recommendation) -> String {
    let mut text = String::from("\nEvidence\n");
    for (at, aim) in advised.aims.iter().enumerate() {
        let decides = |candidate: &Candidate| candidate.decides.get(at).cloned();
        text += &table(advised, aim, "decides", &aim.decides, &decides);
        for (place, watched) in aim.keeps.iter().enumerate() {
            let kept = |candidate: &Candidate| candidate.keeps.get(at)?.get(place).cloned();
            text += &table(advised, aim, "must not get worse", watched, &kept);
        }
    }
    text
}

fn table(
    advised: &Recommendation,
    aim: &Aim,
    role: &str,
    watched: &Watched,
    judged_in: &dyn Fn(&Candidate) -> Option<Judged>,
) -> String {
    let judged: Vec<(&Candidate, Judged)> = advised
        .candidates
        .iter()
        .filter_map(|candidate| Some((candidate, judged_in(candidate)?)))
        .collect();
    let Some((_, first)) = judged.first() else { return String::new() };
    let title = format!("{}, {role}: {}", aim.name, units::measure(&watched.measure));
    let title = units::title(&title, first.direction);
    let matters = format!("what matters is more than {}", allowed(watched, first));
    let mut text = format!("  {}\n", fit(&title, COLUMNS - 2));
    text += &format!("    {}\n", fit(&format!("in {}; {matters}", watched.cell), COLUMNS - 4));
    let now = first.now.map_or("–".into(), |value| units::number(value, first.unit));
    text +=
        &format!("    {} {}  used now\n", pad(&fit(&advised.now, NAME), NAME), pad_left(&now, 10));
    judged.iter().for_each(|(candidate, judged)| text += &line(candidate, judged));
    text
}

fn line(candidate: &Candidate, judged: &Judged) -> String {
    let out = candidate.standing == Standing::Failed;
    let median = judged.median.map_or("–".into(), |value| units::number(value, judged.unit));
    let (value, interval) = shift(judged);
    let p = judged.p.map(|p| match p.adjusted {
        small if small < 0.001 => "p < 0.001".to_owned(),
        large => format!("p {large:.3}"),
    });
    let why = judged.missing.as_ref().filter(|_| judged.finding == Effect::Unknown && !out);
    let word = match why {
        Some(why) => format!("{}: {why}", word(judged)),
        None => (if out { "out, see below" } else { word(judged) }).to_owned(),
    };
    let text = format!(
        "    {} {}  {} {} {}",
        pad(&fit(&candidate.name, NAME), NAME),
        pad_left(&median, 10),
        pad(&format!("{value} {interval}"), 28),
        pad(&p.unwrap_or_default(), 9),
        word,
    );
    format!("{}\n", fit(text.trim_end(), COLUMNS))
}

/// Trials that did not end well, and exclude their candidate.
fn failures(advised: &Recommendation) -> String {
    let mut text = String::new();
    let now = (&advised.now, &advised.failures);
    let all = advised.candidates.iter().map(|candidate| (&candidate.name, &candidate.failures));
    for (name, failures) in std::iter::once(now).chain(all) {
        for (what, trials) in failures {
            text += &hanging(&format!("! {name}: {trials} × {what}"), "  ", "    ");
        }
    }
    text
}

fn switching(advised: &Recommendation, setting: &RecommendationContext) -> String {
    let Advice::Switch(names) = &advised.advice else { return String::new() };
    let Some(lines) = setting.switch.get(&names[0]) else { return String::new() };
    let mut text = format!("\nHow to switch to {}\n", names[0]);
    lines.iter().for_each(|line| text += &format!("  {line}\n"));
    text
}
