// SPDX-License-Identifier: GPL-2.0-only
//! What the tables of oracles can ask of a record: `measure: range`.
//!
//! A range is a number, `FROM..TO`, `FROM..`, `NUMBER ± BY` or `NUMBER ± BY %`; a number may be a
//! fraction. A stint is a time in which a task runs without a break; a turn is a stint of at least
//! half a millisecond. `WHO` is a task's name, `a|b` one of several, `*` any; `WHO@1000` are its
//! stints that begin from that millisecond on, `WHO@1000-2000` those before another one.

use model::Record;

use crate::observations::{self, Stint, stints};

/// Whether a measure lies in its range.
pub fn check(record: &Record, expected: &str) -> Result<(), String> {
    let (what, range) = expected.rsplit_once(": ").unwrap_or_else(|| panic!("'{expected}'?"));
    let found = measure(record, what)?;
    let (from, to) = bounds(range).unwrap_or_else(|| panic!("'{range}' is no range"));
    if (from..=to).contains(&found) {
        Ok(())
    } else {
        Err(format!("'{what}' is {found}, not {range}"))
    }
}

fn bounds(range: &str) -> Option<(f64, f64)> {
    if let Some((middle, by)) = range.split_once(" ± ") {
        let middle = number(middle)?;
        let by = match by.strip_suffix(" %") {
            Some(percent) => number(percent)? / 100.0 * middle,
            None => number(by)?,
        };
        return Some((middle - by, middle + by));
    }
    match range.split_once("..") {
        Some((from, "")) => Some((number(from)?, f64::INFINITY)),
        Some((from, to)) => Some((number(from)?, number(to)?)),
        None => Some((number(range)?, number(range)?)),
    }
}

fn number(text: &str) -> Option<f64> {
    match text.split_once('/') {
        Some((above, below)) => Some(number(above)? / number(below)?),
        None => text.parse().ok(),
    }
}

fn measure(record: &Record, what: &str) -> Result<f64, String> {
    if let Some(what) = what.strip_prefix("printed ") {
        return Ok(observations::printed(record, what)? as f64);
    }
    let words: Vec<&str> = what.split(' ').collect();
    match words[..] {
        ["share", group] => Ok(observations::share(record, group)),
        ["part", "of", count] => Ok(part_of(record, parsed(count))),
        ["quantile", part, name, group] => {
            let histogram = observations::histogram(record, name, group);
            Ok(histogram.quantile(parsed(part)).unwrap_or(0) as f64)
        }
        ["percent", "missed"] => Ok(missed_frames(record)),
        ["stints", who] => Ok(Who::of(who).stints(record).len() as f64),
        ["stint", number, who, unit] => nth(Who::of(who).stints(record), parsed(number), unit),
        ["turn", number, who, unit] => {
            let mut turns = Who::of(who).stints(record);
            turns.retain(|stint| stint.ms() > 0);
            nth(turns, parsed(number), unit)
        }
        ["median", "stint", "ms"] => median(stints(record).iter().map(Stint::ms).collect()),
        ["median", "wait_us", who] => {
            let who = Who::of(who);
            median(observations::waits(record, who.name, who.from_ns)).map(|ns| ns / 1e3)
        }
        ["longest", who, "ms"] => {
            let lengths = Who::of(who).stints(record).into_iter().map(|stint| stint.ms());
            Ok(lengths.max().unwrap_or(0) as f64)
        }
        ["ran_ms", who] => Ok(Who::of(who).ran_ms(record)),
        ["ends_ms", who] => {
            let ends = Who::of(who).stints(record).into_iter().map(|stint| stint.to_ns);
            Ok(ends.max().unwrap_or(0) as f64 / 1e6)
        }
        ["beyond", us, who] => Ok(nth(Who::of(who).stints(record), 0, "us")? % parsed::<f64>(us)),
        ["percent", "of", us, by] => percent_of(stints(record), parsed(us), parsed(by)),
        ["percent", "of", us, by, who] => {
            percent_of(Who::of(who).stints(record), parsed(us), parsed(by))
        }
        ["percent", "repeated"] => percent(&stints(record), repeats(&stints(record))),
        ["other", "than", ms, by, "after", skipped, "of", who] => {
            let turns = inner(Who::of(who).stints(record), parsed(skipped))?;
            let (ms, by): (u64, u64) = (parsed(ms), parsed(by));
            Ok(turns.iter().filter(|turn| turn.ms().abs_diff(ms) > by).count() as f64)
        }
        ["repeats", "after", skipped, "of", who] => {
            Ok(repeats(&inner(Who::of(who).stints(record), parsed(skipped))?) as f64)
        }
        [metric, group] => Ok(observations::value(record, metric, group)),
        _ => panic!("'{what}' is no measure"),
    }
}

fn parsed<T: std::str::FromStr>(text: &str) -> T {
    text.parse().unwrap_or_else(|_| panic!("'{text}' is no number"))
}

/// Whose stints, and which.
struct Who<'a> {
    name: &'a str,
    from_ns: u64,
    to_ns: u64,
}

impl Who<'_> {
    fn of(text: &str) -> Who<'_> {
        let (name, time) = text.split_once('@').unwrap_or((text, "0"));
        let ns = |ms: &str| parsed::<u64>(ms) * 1_000_000;
        match time.split_once('-') {
            Some((from, to)) => Who { name, from_ns: ns(from), to_ns: ns(to) },
            None => Who { name, from_ns: ns(time), to_ns: u64::MAX },
        }
    }

    fn is(&self, stint: &Stint) -> bool {
        self.name == "*" || self.name.split('|').any(|name| name == stint.who)
    }

    /// The stints that begin in its time.
    fn stints(&self, record: &Record) -> Vec<Stint> {
        let mut own = stints(record);
        own.retain(|stint| self.is(stint) && (self.from_ns..self.to_ns).contains(&stint.from_ns));
        own
    }

    /// How long it has run in its time.
    fn ran_ms(&self, record: &Record) -> f64 {
        let own = stints(record).into_iter().filter(|stint| self.is(stint));
        let inside = |stint: Stint| {
            let (from, to) = (stint.from_ns.max(self.from_ns), stint.to_ns.min(self.to_ns));
            to.saturating_sub(from)
        };
        own.map(inside).sum::<u64>() as f64 / 1e6
    }
}

fn nth(stints: Vec<Stint>, number: usize, unit: &str) -> Result<f64, String> {
    let Some(stint) = stints.get(number) else {
        return Err(format!("there are only {} stints", stints.len()));
    };
    Ok(match unit {
        "us" => (stint.to_ns - stint.from_ns) as f64 / 1e3,
        "ms" => stint.ms() as f64,
        "begins_us" => stint.from_ns as f64 / 1e3,
        "begins_ms" => observations::begins_ms(stint) as f64,
        "cpu" => f64::from(stint.cpu),
        _ => panic!("'{unit}' of a stint?"),
    })
}

fn median(mut values: Vec<u64>) -> Result<f64, String> {
    values.sort_unstable();
    values.get(values.len() / 2).map(|&value| value as f64).ok_or("there are no values".into())
}

/// What `b` has had for what each of so many `a` has had.
fn part_of(record: &Record, count: f64) -> f64 {
    let own = observations::share(record, "b");
    own * count / (1.0 - own)
}

/// The frames of `muqss.frames` that are not shown.
fn missed_frames(record: &Record) -> f64 {
    let [shown, all] =
        ["player", "display"].map(|who| observations::value(record, "iterations_per_second", who));
    100.0 * (1.0 - shown / all)
}

/// How many stints follow one of the same task.
fn repeats(stints: &[Stint]) -> usize {
    stints.windows(2).filter(|pair| pair[0].who == pair[1].who).count()
}

fn percent(stints: &[Stint], count: usize) -> Result<f64, String> {
    match stints.len() {
        0..20 => Err(format!("there are only {} stints", stints.len())),
        all => Ok(count as f64 * 100.0 / all as f64),
    }
}

/// The percentage of the stints that last so long.
fn percent_of(stints: Vec<Stint>, us: u64, by_us: u64) -> Result<f64, String> {
    let length = |stint: &Stint| (stint.to_ns - stint.from_ns) / 1000;
    let such = stints.iter().filter(|stint| length(stint).abs_diff(us) <= by_us).count();
    percent(&stints, such)
}

/// The stints without the first ones and the last, which the start and the end of the trial have
/// cut.
fn inner(stints: Vec<Stint>, skipped: usize) -> Result<Vec<Stint>, String> {
    match stints.len().checked_sub(skipped + 1) {
        Some(8..) => Ok(stints[skipped..stints.len() - 1].to_vec()),
        _ => Err(format!("there are only {} stints", stints.len())),
    }
}
