// SPDX-License-Identifier: GPL-2.0-only
//! Times and percents as users write them, and days, all in UTC.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Reads `90s`, `10m`, `2h`, or seconds alone.
pub fn parse(text: &str) -> Result<Duration, String> {
    let (number, unit_s) = match text.char_indices().last() {
        Some((at, 's')) => (&text[..at], 1),
        Some((at, 'm')) => (&text[..at], 60),
        Some((at, 'h')) => (&text[..at], 3_600),
        _ => (text, 1),
    };
    let seconds = number.parse::<u64>().ok().and_then(|number| number.checked_mul(unit_s));
    match seconds {
        Some(seconds) if seconds > 0 => Ok(Duration::from_secs(seconds)),
        _ => Err("write a time: 90s, 10m or 2h".into()),
    }
}

/// Reads a moment: `12.3s`, `450ms`, or seconds alone.
pub fn moment(text: &str) -> Result<Duration, String> {
    let (number, per_s) = match text.strip_suffix("ms") {
        Some(number) => (number, 1e3),
        None => (text.strip_suffix('s').unwrap_or(text), 1.0),
    };
    let seconds = number.parse::<f64>().map(|number| number / per_s);
    let moment = seconds.ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    moment.ok_or_else(|| "write a time since the start: 12.3s or 450ms".into())
}

/// Reads `2%` or `2`.
pub fn percent(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').unwrap_or(text).trim_end().parse::<f64>();
    match number {
        Ok(percent) if percent > 0.0 && percent.is_finite() => Ok(percent),
        _ => Err("write percent above 0: 2%".into()),
    }
}

/// In words: `2.5 s`, `4 min 30 s`.
pub fn words(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..10 => format!("{seconds}.{} s", time.subsec_millis() / 100),
        seconds @ 10..60 => format!("{seconds} s"),
        seconds if seconds < 3_600 => format!("{} min {} s", seconds / 60, seconds % 60),
        seconds => format!("{} h {} min", seconds / 3_600, seconds / 60 % 60),
    }
}

/// Seconds since 1970.
pub fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// Today in UTC, as `2026-01-31`.
pub fn today() -> String {
    date(now())
}

/// The day of a time in seconds since 1970, in UTC, as `2026-01-31`: civil-from-days of the
/// proleptic Gregorian calendar.
pub fn date(seconds: u64) -> String {
    let days = seconds / 86_400 + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    format!("{year}-{month:02}-{day:02}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_as_people_write_them() {
        for (text, seconds) in [("90s", 90), ("10m", 600), ("2h", 7_200), ("45", 45)] {
            assert_eq!(parse(text), Ok(Duration::from_secs(seconds)), "{text}");
        }
        for text in ["", "m", "0", "0s", "-1m", "1.5m", "10 minutes", "99999999999999999999h"] {
            assert!(parse(text).is_err(), "{text}");
        }
        assert_eq!(words(Duration::from_millis(2_590)), "2.5 s");
        assert_eq!(words(Duration::from_secs(270)), "4 min 30 s");
        assert_eq!(words(Duration::from_secs(3_660)), "1 h 1 min");
    }

    #[test]
    fn percents_are_above_zero() {
        assert_eq!((percent("2%"), percent("0.5 %"), percent("3")), (Ok(2.0), Ok(0.5), Ok(3.0)));
        for text in ["", "%", "0%", "-1%", "inf", "nan%"] {
            assert!(percent(text).is_err(), "{text}");
        }
    }

    #[test]
    fn days_are_those_of_the_calendar() {
        assert_eq!(date(0), "1970-01-01");
        assert_eq!(date(951_782_400), "2000-02-29");
        assert_eq!(date(1_795_321_101), "2026-11-22");
    }
}
