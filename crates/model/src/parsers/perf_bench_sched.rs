// SPDX-License-Identifier: GPL-2.0-only
//! `perf bench sched messaging|pipe`: `Total time: 0.123 [sec]`, or with `-f simple` a bare number.

use super::{Reported, only, positive};

/// See the module.
pub fn parse(stdout: &str, _stderr: &str) -> Result<Reported, String> {
    let lines = || stdout.lines().map(str::trim).filter(|line| !line.is_empty());
    let totals = lines().filter_map(|line| line.strip_prefix("Total time:"));
    let seconds = if lines().any(|line| line.contains(':')) {
        let total = only(totals, "line `Total time:`")?;
        let number = total.strip_suffix("[sec]").ok_or("`Total time:` is not in `[sec]`")?;
        positive(number)?
    } else {
        positive(only(lines(), "line with the bare number of `-f simple`")?)?
    };
    let rates: Vec<&str> = lines().filter_map(|line| line.strip_suffix("ops/sec")).collect();
    let rate = rates.first().map(|rate| positive(rate)).transpose()?;
    Ok(Reported {
        completion_ns: Some(seconds * 1e9),
        operations_per_second: rate,
        ..Reported::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_recorded_outputs_are_understood() {
        let messaging = parse(include_str!("recorded/perf_messaging.txt"), "").unwrap();
        assert!(messaging.completion_ns.is_some_and(|ns| (1e6..1e9).contains(&ns)));
        assert_eq!(messaging.operations_per_second, None);
        let pipe = parse(include_str!("recorded/perf_pipe.txt"), "").unwrap();
        let (seconds, rate) =
            (pipe.completion_ns.unwrap() / 1e9, pipe.operations_per_second.unwrap());
        // 2000 operations were requested; the total has three digits.
        assert!((rate * seconds / 2_000.0 - 1.0).abs() < 0.05, "{rate} {seconds}");
        let simple = parse(include_str!("recorded/perf_simple.txt"), "").unwrap();
        assert_eq!(simple.completion_ns, Some(10_000_000.0));
    }

    #[test]
    fn anything_else_is_refused() {
        assert!(parse("", "").is_err());
        assert!(parse("# Running 'sched/pipe' benchmark:\n", "").is_err());
        assert!(parse("     Total time: 3 [min]\n", "").is_err());
        assert!(parse("0.1\n0.2\n", "").is_err());
    }
}
