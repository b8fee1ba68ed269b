// SPDX-License-Identifier: GPL-2.0-only
//! `hackbench` (rt-tests): the line `Time: 0.123`, in seconds.

use super::{Reported, only, positive};

/// See the module.
pub fn parse(stdout: &str, _stderr: &str) -> Result<Reported, String> {
    let times = stdout.lines().filter_map(|line| line.strip_prefix("Time:"));
    let seconds = positive(only(times, "line `Time:`")?)?;
    Ok(Reported { completion_ns: Some(seconds * 1e9), ..Reported::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_recorded_output_is_understood() {
        let reported = parse(include_str!("recorded/hackbench.txt"), "").unwrap();
        assert_eq!(reported.completion_ns, Some(20_000_000.0));
    }

    #[test]
    fn anything_else_is_refused() {
        assert!(parse("Running in threaded mode\n", "").is_err());
        assert!(parse("Time: 0.1\nTime: 0.2\n", "").is_err());
        // The clock stood still, or the time was too short to be measured.
        assert!(parse("Time: 0.000\n", "").is_err());
    }
}
