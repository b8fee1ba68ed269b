// SPDX-License-Identifier: GPL-2.0-only
//! `redis-benchmark --csv` with one test: its requests per second.

use super::{Reported, only, positive};

/// The columns that are read, of the version that has latencies in them (since 6.2).
const HEAD: &str = "\"test\",\"rps\",";

/// See the module.
pub fn parse(stdout: &str, _stderr: &str) -> Result<Reported, String> {
    let (_, rows) = stdout.split_once(HEAD).ok_or("there is no line `\"test\",\"rps\",…`")?;
    let rates = rows.lines().skip(1).filter_map(|line| line.split(',').nth(1));
    let rate = only(rates, "test (name one with -t)")?;
    Ok(Reported {
        operations_per_second: Some(positive(rate.trim_matches('"'))?),
        ..Reported::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of two tests, SET and GET.
    const REAL: &str = include_str!("recorded/redis_benchmark.csv");

    fn of_one() -> String {
        REAL.lines().take(2).map(|line| format!("{line}\n")).collect()
    }

    #[test]
    fn the_recorded_output_is_understood() {
        assert_eq!(parse(&of_one(), "").unwrap().operations_per_second, Some(60422.96));
    }

    #[test]
    fn anything_else_is_refused() {
        assert!(parse("", "").is_err());
        assert!(parse(REAL, "").unwrap_err().contains("not one"));
        let head = REAL.lines().next().unwrap();
        assert!(parse(head, "").unwrap_err().contains("no test"));
        assert!(parse(&of_one().replace("60422.96", "0.00"), "").is_err());
        assert!(parse("Could not connect to Redis at 127.0.0.1:44379\n", "").is_err());
    }
}
