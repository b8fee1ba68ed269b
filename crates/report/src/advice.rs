// SPDX-License-Identifier: GPL-2.0-only
//! A recommendation in words, the same in a terminal and on a page: the scheduler to use, the gain,
//! the certainty and the costs, then the numbers of every candidate.

use model::metric::{Direction, Unit};
use stats::decide::recommend::{
    Advice, Candidate, Effect, Judged, Reason, Silence, Standing, Width,
};
use stats::rank::rank_sum::ALPHA;
use stats::{Aim, Recommendation, Shift, Watched};

use crate::units;

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
        Advice::Keep(Reason::Doubtful) => format!(
            "Keep {now}, or ask a kernel: others may be better, but by less than the simulator's \
             error."
        ),
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

/// A sentence below the answer, with its label.
pub(crate) type Labelled = (&'static str, String);

/// The gain, the certainty, and the costs.
pub(crate) fn reasons(advised: &Recommendation) -> Vec<Labelled> {
    let with = |standing| move |it: &&Candidate| it.standing == standing;
    let candidates = || advised.candidates.iter();
    match &advised.advice {
        Advice::Switch(names) => {
            let Some(best) = advised.candidate(&names[0]) else { return Vec::new() };
            let knows_error = advised.aims.iter().any(|aim| aim.decides.model_error.is_some());
            let and_error = if knows_error { " and exceeds the simulator's error" } else { "" };
            let equals = labelled_if("as good", &names[1..], |names| {
                format!("{names}: no difference from {} that matters{and_error}", best.name)
            });
            let certainty = [sure(advised, best)];
            let gains = gains(advised, best).into_iter().chain(equals).chain(certainty);
            gains.chain(prices(advised, best)).collect()
        }
        Advice::Keep(Reason::TooCostly) => candidates()
            .filter(with(Standing::Costly))
            .flat_map(|it| [gains(advised, it), prices(advised, it)].concat())
            .collect(),
        Advice::Keep(Reason::Doubtful) => first_of(advised, Standing::Doubtful),
        Advice::Keep(Reason::TooLittle) => first_of(advised, Standing::Slight),
        Advice::Keep(_) => resolution(advised),
        Advice::Silent(Silence::NothingMeasured) => holes(advised),
        Advice::Silent(Silence::TooFewTrials(..)) => Vec::new(),
    }
}

fn labelled_if(
    label: &'static str,
    names: &[String],
    words: impl Fn(String) -> String,
) -> Option<Labelled> {
    (!names.is_empty()).then(|| (label, words(names.join(", "))))
}

/// The gain of a candidate in each deciding measure.
fn gains(advised: &Recommendation, candidate: &Candidate) -> Vec<Labelled> {
    let told = advised.aims.iter().zip(&candidate.decides).map(|(aim, judged)| {
        let change = change(&candidate.name, judged);
        (word(judged), format!("{}: {change}", aim.decides.words))
    });
    told.collect()
}

fn word(judged: &Judged) -> &'static str {
    let gains = judged.gain.is_some_and(|gain| gain.value > 0.0);
    match judged.finding {
        Effect::Better => "better",
        Effect::Worse => "worse",
        Effect::Doubtful => "within error",
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

fn sure(advised: &Recommendation, candidate: &Candidate) -> Labelled {
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
    ("how sure", sentence)
}

/// The losses of a candidate in the guarded measures.
fn prices(advised: &Recommendation, candidate: &Candidate) -> Vec<Labelled> {
    let pairs = advised.aims.iter().zip(&candidate.keeps);
    let pairs = pairs.flat_map(|(aim, keeps)| aim.keeps.iter().zip(keeps));
    let (kept, others): (Vec<_>, Vec<_>) =
        pairs.partition(|(_, judged)| judged.finding == Effect::Alike);
    let told = others
        .into_iter()
        .map(|(watched, judged)| ("it costs", price(&candidate.name, watched, judged)));
    let kept: Vec<String> =
        kept.into_iter().map(|(watched, judged)| unpaid(watched, judged)).collect();
    let keeps = (!kept.is_empty()).then(|| ("it keeps", kept.join("; ")));
    told.chain(keeps).collect()
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
        Effect::Doubtful => {
            let error = model_error(watched, judged.unit).unwrap_or_default();
            format!("{words}, perhaps: {change}. The simulator's error is {error}")
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

fn holes(advised: &Recommendation) -> Vec<Labelled> {
    let why = |(at, aim): (usize, &Aim)| {
        let mut judged = advised.candidates.iter().filter_map(|it| it.decides.get(at));
        let why = judged.find_map(|judged| judged.missing.as_ref())?;
        Some(("missing", format!("{}: {why}", aim.decides.words)))
    };
    advised.aims.iter().enumerate().filter_map(why).collect()
}

/// The first candidate with this overall result; the evidence has the numbers of the others.
fn first_of(advised: &Recommendation, standing: Standing) -> Vec<Labelled> {
    let mut such = advised.candidates.iter().filter(|candidate| candidate.standing == standing);
    let first = such.next().map(|candidate| gains(advised, candidate));
    let others: Vec<String> = such.map(|candidate| candidate.name.clone()).collect();
    let others =
        labelled_if("so are", &others, |names| format!("{names}: see their numbers below"));
    first.into_iter().flatten().chain(others).collect()
}

/// The smallest difference that would have been detected, aim by aim.
fn resolution(advised: &Recommendation) -> Vec<Labelled> {
    let seen = |(at, aim): (usize, &Aim)| {
        let size = match advised.resolution(at)? {
            Width::Percent(0.0) | Width::Value(0.0, _) => return same(advised, at),
            Width::Percent(size) => units::percent(size).trim_start_matches('+').to_owned(),
            Width::Value(size, unit) => units::number(size, unit),
        };
        let sentence = format!(
            "a difference of {size} would have been seen in {} (the widest interval); there may \
             be smaller differences",
            aim.decides.words
        );
        Some(("seen", sentence))
    };
    advised.aims.iter().enumerate().filter_map(seen).collect()
}

/// The candidates whose value equals that of the current scheduler in every trial; `None` if there
/// are none.
fn same(advised: &Recommendation, aim: usize) -> Option<Labelled> {
    let is_none =
        |gain: Shift| gain.value == 0.0 && gain.interval.is_none_or(|it| it.width() == 0.0);
    let is_same = |candidate: &&Candidate| {
        candidate.decides.get(aim).and_then(|judged| judged.gain).is_some_and(is_none)
    };
    let names: Vec<&str> =
        advised.candidates.iter().filter(is_same).map(|it| it.name.as_str()).collect();
    let words = &advised.aims[aim].decides.words;
    let who = match names.len() {
        0 => return None,
        all if all == advised.candidates.len() => "all have the same value".to_owned(),
        1 => format!("{} has the same value as {}", names[0], advised.now),
        _ => format!("{} have the same value as {}", names.join(", "), advised.now),
    };
    Some(("seen", format!("{words}: {who}")))
}

/// The numbers of every candidate in one measure.
pub(crate) struct Evidence {
    /// The care, the measure's role and its direction.
    pub title: String,
    /// The cell, and how much of a difference matters.
    pub about: String,
    /// Of the current scheduler, then of every candidate: its name, its median, the shift with its
    /// interval, the p value, and the effect in a word.
    pub rows: Vec<[String; 5]>,
}

/// Measure by measure, what decides first.
pub(crate) fn evidence(advised: &Recommendation) -> Vec<Evidence> {
    let mut all = Vec::new();
    for (at, aim) in advised.aims.iter().enumerate() {
        let decides = |candidate: &Candidate| candidate.decides.get(at).cloned();
        all.extend(of_measure(advised, (aim, "decides"), &aim.decides, &decides));
        for (place, watched) in aim.keeps.iter().enumerate() {
            let kept = |candidate: &Candidate| candidate.keeps.get(at)?.get(place).cloned();
            all.extend(of_measure(advised, (aim, "must not get worse"), watched, &kept));
        }
    }
    all
}

fn of_measure(
    advised: &Recommendation,
    (aim, role): (&Aim, &str),
    watched: &Watched,
    judged_in: &dyn Fn(&Candidate) -> Option<Judged>,
) -> Option<Evidence> {
    let judged: Vec<(&Candidate, Judged)> = advised
        .candidates
        .iter()
        .filter_map(|candidate| Some((candidate, judged_in(candidate)?)))
        .collect();
    let (_, first) = judged.first()?;
    let title = format!("{}, {role}: {}", aim.name, units::measure(&watched.measure));
    let now = units::number_or_dash(first.now, first.unit);
    let now = [advised.now.clone(), now, String::new(), String::new(), "used now".into()];
    let rows = judged.iter().map(|(candidate, judged)| row(candidate, judged));
    Some(Evidence {
        title: units::title(&title, first.direction),
        about: format!(
            "in {}; what matters is more than {}{}",
            watched.cell,
            allowed(watched, first),
            model_error(watched, first.unit)
                .map_or_else(String::new, |error| format!("; the simulator's error is {error}")),
        ),
        rows: std::iter::once(now).chain(rows).collect(),
    })
}

/// What a simulated difference must exceed, too.
fn model_error(watched: &Watched, unit: Unit) -> Option<String> {
    watched.model_error.map(|error| units::model_error(error, unit))
}

fn row(candidate: &Candidate, judged: &Judged) -> [String; 5] {
    let out = candidate.standing == Standing::Failed;
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
    let median = units::number_or_dash(judged.median, judged.unit);
    let shift = format!("{value} {interval}").trim().to_owned();
    [candidate.name.clone(), median, shift, p.unwrap_or_default(), word]
}

/// Trials that did not end well, and exclude their candidate.
pub(crate) fn failures(advised: &Recommendation) -> Vec<String> {
    let now = (&advised.now, &advised.failures);
    let all = advised.candidates.iter().map(|candidate| (&candidate.name, &candidate.failures));
    let lines = std::iter::once(now).chain(all).flat_map(|(name, failures)| {
        failures.iter().map(move |(what, trials)| format!("! {name}: {trials} × {what}"))
    });
    lines.collect()
}
