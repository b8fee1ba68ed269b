// SPDX-License-Identifier: GPL-2.0-only
//! `sysbench cpu run`: `events per second:`, its rate over all threads. Other tests, such as
//! `threads`, print the number of events and the time instead.

use super::{Reported, only, positive};

const RATE: &str = "events per second:";

/// See the module.
pub fn parse(stdout: &str, _stderr: &str) -> Result<Reported, String> {
    let lines = || stdout.lines().map(str::trim);
    let number = |name: &'static str| {
        let named = lines().filter_map(move |line| line.strip_prefix(name));
        positive(only(named, name)?.trim().trim_end_matches('s'))
    };
    let has_rate = lines().any(|line| line.starts_with(RATE));
    let rate = match has_rate {
        true => number(RATE)?,
        false => number("total number of events:")? / number("total time:")?,
    };
    let version = lines().find_map(|line| line.strip_prefix("sysbench ")?.split(' ').next());
    Ok(Reported {
        operations_per_second: Some(rate),
        version: version.map(str::to_owned),
        ..Reported::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const REAL: &str = include_str!("recorded/sysbench.txt");
    const THREADS: &str = include_str!("recorded/sysbench_threads.txt");

    #[test]
    fn a_test_without_a_rate_has_events_and_a_time() {
        let rate = parse(THREADS, "").unwrap().operations_per_second.unwrap();
        assert!((rate - 1280.0 / 1.0044).abs() < 1e-6, "{rate}");
    }

    #[test]
    fn the_recorded_output_is_understood() {
        let reported = parse(REAL, "").unwrap();
        let rate = reported.operations_per_second.unwrap();
        let total = |name: &str| {
            let line = REAL.lines().find_map(|line| line.trim().strip_prefix(name)).unwrap();
            positive(line.trim().trim_end_matches('s')).unwrap()
        };
        let expected = total("total number of events:") / total("total time:");
        assert!((rate / expected - 1.0).abs() < 0.05, "{rate} {expected}");
        assert!(reported.version.is_some_and(|version| version.starts_with("1.")));
    }

    #[test]
    fn anything_else_is_refused() {
        assert!(parse("", "").is_err());
        assert!(parse("events per second: 0.00\n", "").is_err());
        assert!(parse(&REAL.repeat(2), "").unwrap_err().contains("not one"));
        let cut = REAL.split("events per second").next().unwrap();
        assert!(parse(cut, "").is_err());
        assert!(parse(&THREADS.repeat(2), "").unwrap_err().contains("not one"));
        assert!(parse(&THREADS.replace("1280", "0"), "").is_err());
    }
}
