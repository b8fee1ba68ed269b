// SPDX-License-Identifier: GPL-2.0-only
//! A script of the tree that starts processes and prints how long each took: lines `turnaround_us
//! 1234`, and optionally one line `completion_us 5678` for all of them together.

use crate::Histogram;

use super::{Reported, only};

/// See the module.
pub fn parse(stdout: &str, _stderr: &str) -> Result<Reported, String> {
    let lines = |name| stdout.lines().filter_map(move |line| line.strip_prefix(name));
    let nanoseconds = |text: &str| match text.trim().parse::<u64>() {
        Ok(us) if us > 0 => Ok(us * 1_000),
        _ => Err(format!("`{}` is no time in microseconds", text.trim())),
    };
    let samples: Vec<u64> = lines("turnaround_us ").map(nanoseconds).collect::<Result<_, _>>()?;
    let completion = match lines("completion_us ").count() {
        0 => None,
        _ => Some(nanoseconds(only(lines("completion_us "), "line `completion_us`")?)?),
    };
    if samples.is_empty() {
        return Err("there is no line `turnaround_us`".into());
    }
    Ok(Reported {
        completion_ns: completion.map(|ns| ns as f64),
        turnaround: Some(Histogram::from_samples("", "", &samples)),
        ..Reported::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_recorded_output_is_understood() {
        let reported = parse(include_str!("recorded/ps_probe.txt"), "").unwrap();
        let turnaround = reported.turnaround.unwrap();
        assert!(turnaround.is_complete() && turnaround.count == 10, "{turnaround:?}");
        assert!((500_000..5_000_000_000).contains(&turnaround.min), "{turnaround:?}");
        assert_eq!(reported.completion_ns, None);
        let all = parse("turnaround_us 10\ncompletion_us 20\n", "").unwrap();
        assert_eq!(all.completion_ns, Some(20_000.0));
    }

    #[test]
    fn anything_else_is_refused() {
        assert!(parse("", "").is_err());
        assert!(parse("turnaround_us 0\n", "").is_err());
        assert!(parse("turnaround_us 12,5\n", "").is_err());
        assert!(parse("completion_us 20\n", "").is_err());
    }
}
