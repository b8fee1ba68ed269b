// SPDX-License-Identifier: GPL-2.0-only
//! Numbers for readers: three significant digits, and a unit that keeps them short.

use model::ModelError;
use model::metric::{Direction, Unit};
use stats::compare::evidence::Noise;
use stats::{Interval, MeasureKey, PValue, Shift};

/// A number with its unit: `4.01 ms`, `134,538`, `1.20 M/s`, `0.953`.
pub fn number(value: f64, unit: Unit) -> String {
    let (factor, suffix) = scale(value, unit);
    let digits = digits(value / factor, unit);
    if suffix.is_empty() { digits } else { format!("{digits} {suffix}") }
}

/// The number, or a dash where there is none.
pub fn number_or_dash(value: Option<f64>, unit: Unit) -> String {
    value.map_or_else(|| "–".into(), |value| number(value, unit))
}

/// An error in percent, or in the measure's unit: `11 %`, `98.0 µs`.
pub fn model_error(error: ModelError, unit: Unit) -> String {
    match error {
        ModelError::Percent(percent) => format!("{percent} %"),
        ModelError::Value(value) => number(value, unit),
    }
}

/// An interval without its unit, scaled like the number that it belongs to: `[3.97, 4.10]`.
pub fn interval(interval: Interval, beside: f64, unit: Unit) -> String {
    let (factor, _) = scale(beside, unit);
    let end = |value: f64| digits(value / factor, unit);
    format!("[{}, {}]", end(interval.low), end(interval.high))
}

/// A difference in percent with its sign: `−70.1 %`, `+3.2 %`, `+1,140 %`.
pub fn percent(value: f64) -> String {
    format!("{} %", signed(value))
}

/// An interval in percent: `[−72.0, −68.1]`.
pub fn percent_interval(interval: Interval) -> String {
    format!("[{}, {}]", signed(interval.low), signed(interval.high))
}

/// A shift with its interval: in percent, or in the unit where the baseline is 0.
pub fn shift(shift: &Shift, unit: Unit) -> (String, String) {
    if let Some(value) = shift.percent {
        return (percent(value), shift.percent_interval.map(percent_interval).unwrap_or_default());
    }
    let plus = if shift.value > 0.0 { "+" } else { "" };
    let range = shift.interval.map(|ends| interval(ends, shift.value, unit));
    (format!("{plus}{}", number(shift.value, unit)), range.unwrap_or_default())
}

/// A p value: `p = 0.013`.
pub fn p_value(p: PValue) -> String {
    match p.adjusted {
        small if small < 0.001 => "p < 0.001".into(),
        large => format!("p = {large:.3}"),
    }
}

/// A noise floor: `noise floor ±1.3 % (A/A, 8 trials)`.
pub fn noise(noise: &Noise) -> String {
    let from = if noise.before { "A/A" } else { "baseline" };
    format!("noise floor ±{} % ({from}, {} trials)", digits_of(noise.percent), noise.trials)
}

fn digits_of(percent: f64) -> String {
    signed(percent).trim_start_matches('+').to_owned()
}

/// A number of things: `1 time`, `3 times`; `noun` is in the singular.
pub fn count(number: u64, noun: &str) -> String {
    format!("{} {}", self::number(number as f64, Unit::Count), plural(number, noun))
}

/// The noun that follows a number: `time` after 1, else `times`.
pub fn plural(number: u64, noun: &str) -> String {
    if number == 1 { noun.into() } else { format!("{noun}s") }
}

/// A part of a number of things: `3 (75 %)`, or a dash of none.
pub(crate) fn share(part: usize, all: usize) -> String {
    match all {
        0 => "–".into(),
        all => format!("{part} ({:.0} %)", 100.0 * part as f64 / all as f64),
    }
}

/// Which direction is better, in words; `None` where neither is.
pub fn direction(direction: Direction) -> Option<&'static str> {
    match direction {
        Direction::Lower => Some("lower is better"),
        Direction::Higher => Some("higher is better"),
        Direction::Neutral => None,
    }
}

/// The title of a table of one measure: `completion, lower is better`.
pub(crate) fn title(measure: &str, direction: Direction) -> String {
    match self::direction(direction) {
        Some(words) => format!("{measure}, {words}"),
        None => measure.into(),
    }
}

fn signed(value: f64) -> String {
    let size = value.abs();
    let digits = match size {
        _ if size >= 999.5 => grouped(significant(size)),
        _ if size >= 99.95 => format!("{size:.0}"),
        _ => format!("{size:.1}"),
    };
    match value {
        _ if digits == "0.0" => digits,
        v if v > 0.0 => format!("+{digits}"),
        _ => format!("−{digits}"),
    }
}

/// The steps of a unit, the largest first: what to divide by, and what to append.
pub(crate) type Steps = &'static [(f64, &'static str)];

/// The steps of every unit. The page's scripts get the same table.
pub(crate) const SCALES: [(Unit, Steps); 5] = [
    (Unit::Nanoseconds, &[(1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns")]),
    (Unit::PerSecond, &[(1e6, "M/s"), (1e3, "k/s"), (1.0, "/s")]),
    (Unit::FramesPerSecond, &[(1.0, "fps")]),
    (Unit::Count, &[(1e9, "G"), (1e6, "M"), (1.0, "")]),
    (Unit::Ratio, &[(1.0, "")]),
];

/// A step is used from this part of it on, because three digits round up to it.
pub(crate) const STEP_BEGINS: f64 = 0.9995;

/// The step that keeps a value short: what to divide by, and what to append.
fn scale(value: f64, unit: Unit) -> (f64, &'static str) {
    let steps = SCALES.iter().find(|(known, _)| *known == unit).map_or(SCALES[4].1, |(_, it)| it);
    let fits = |(factor, _): &&(f64, &str)| value.abs() >= factor * STEP_BEGINS;
    *steps.iter().find(fits).unwrap_or(&steps[steps.len() - 1])
}

/// Three significant digits; whole counts in full.
fn digits(value: f64, unit: Unit) -> String {
    let whole = value.fract() == 0.0 && value.abs() < 1e6;
    match value.abs() {
        _ if unit == Unit::Count && whole => grouped(value),
        size if size >= 999.5 && unit == Unit::Count => grouped(value.round()),
        size if size >= 999.5 => grouped(significant(value)),
        size if size >= 99.95 => minus(format!("{value:.0}")),
        size if size >= 9.995 => minus(format!("{value:.1}")),
        size if size >= 0.0005 || size == 0.0 => small(value),
        _ => minus(format!("{value:.1e}")),
    }
}

fn small(value: f64) -> String {
    if value == 0.0 {
        return "0".into();
    }
    let places = if value.abs() >= 0.9995 { 2 } else { 3 };
    minus(format!("{value:.places$}"))
}

/// The typographic minus sign, as wide as a plus.
fn minus(digits: String) -> String {
    digits.strip_prefix('-').map(|digits| format!("−{digits}")).unwrap_or(digits)
}

fn significant(value: f64) -> f64 {
    let magnitude = 10f64.powf(value.abs().log10().floor() - 2.0);
    (value / magnitude).round() * magnitude
}

/// `134538` as `134,538`.
fn grouped(value: f64) -> String {
    let digits = format!("{:.0}", value.abs());
    let mut text = if value < 0.0 { String::from("−") } else { String::new() };
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A measure in words: `wakeup latency p99 · fair_waker`.
pub fn measure(key: &MeasureKey) -> String {
    let name = key.name.strip_suffix("_ns").unwrap_or(&key.name).replace('_', " ");
    let statistic = key.statistic.map(|s| format!(" {}", statistic_word(s.word())));
    let group = if key.group == "all" { String::new() } else { format!(" · {}", key.group) };
    format!("{name}{}{group}", statistic.unwrap_or_default())
}

fn statistic_word(word: &str) -> &str {
    if word == "p999" { "p99.9" } else { word }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits_and_a_unit() {
        let cases = [
            (0.0, Unit::Nanoseconds, "0 ns"),
            (4_011_234.0, Unit::Nanoseconds, "4.01 ms"),
            (999_600.0, Unit::Nanoseconds, "1.00 ms"),
            (83_950.0, Unit::Nanoseconds, "84.0 µs"),
            (12.0e9, Unit::Nanoseconds, "12.0 s"),
            (134_538.0, Unit::Count, "134,538"),
            (4.5, Unit::Count, "4.50"),
            (2_345_678.0, Unit::Count, "2.35 M"),
            (1_234.5, Unit::PerSecond, "1.23 k/s"),
            (0.9534, Unit::Ratio, "0.953"),
            (0.00001, Unit::Ratio, "1.0e-5"),
        ];
        for (value, unit, text) in cases {
            assert_eq!(number(value, unit), text);
        }
    }

    #[test]
    fn intervals_share_the_scale_of_their_number() {
        let ends = Interval { low: 990_000.0, high: 1_250_000.0 };
        assert_eq!(interval(ends, 1_100_000.0, Unit::Nanoseconds), "[0.990, 1.25]");
    }

    #[test]
    fn percents_carry_their_sign() {
        assert_eq!(percent(-70.14), "−70.1 %");
        assert_eq!(percent(3.21), "+3.2 %");
        assert_eq!(percent(-0.04), "0.0 %");
        assert_eq!(percent(123_456.0), "+123,000 %");
        assert_eq!(percent_interval(Interval { low: -0.5, high: 12.0 }), "[−0.5, +12.0]");
    }

    #[test]
    fn shifts_from_zero_are_absolute() {
        let interval = Some(Interval { low: -0.2, high: 0.3 });
        let percent_interval = interval;
        let shift = |percent| Shift {
            value: 0.25,
            interval,
            percent,
            percent_interval,
            matched_pairs: None,
            least_pair: None,
        };
        assert_eq!(
            super::shift(&shift(None), Unit::Ratio),
            ("+0.250".into(), "[−0.200, 0.300]".into())
        );
        assert_eq!(super::shift(&shift(Some(1.0)), Unit::Ratio).0, "+1.0 %");
    }

    #[test]
    fn measures_in_words() {
        let words = |text: &str| measure(&text.parse().unwrap());
        assert_eq!(words("wakeup_latency_ns.p999 fair_waker"), "wakeup latency p99.9 · fair_waker");
        assert_eq!(words("completion_ns all"), "completion");
    }
}
