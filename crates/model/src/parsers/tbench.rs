// SPDX-License-Identifier: GPL-2.0-only
//! `tbench` and `dbench`: `Throughput 683.5 MB/sec  4 clients  4 procs  max_latency=12.3 ms`.
//! An operation is a megabyte to or from the server. The clients replay one recorded mix, so
//! megabytes and requests are proportional.

use super::{Reported, only, positive};

/// See the module.
pub fn parse(stdout: &str, stderr: &str) -> Result<Reported, String> {
    let lines = || stdout.lines().chain(stderr.lines()).map(str::trim);
    let totals = lines().filter_map(|line| line.strip_prefix("Throughput "));
    let total = only(totals, "line `Throughput`")?;
    let (rate, rest) = total.split_once(" MB/sec").ok_or("`Throughput` is not in MB/sec")?;
    if !rest.contains("clients") {
        return Err("`Throughput` does not say how many clients".into());
    }
    // A failed request names its line of the client file: `[1234] write failed …`. `failed to
    // create barrier semaphore` without a line is harmless: dbench mistakes the first semaphore
    // after a
    // boot, whose number is 0, for none.
    let failed = |line: &&str| line.starts_with('[') && line.contains("failed");
    if let Some(line) = lines().find(failed) {
        return Err(format!("a client could not go on: {line}"));
    }
    let version = lines().find_map(|line| line.split_once(" version ")?.1.split(' ').next());
    Ok(Reported {
        operations_per_second: Some(positive(rate)?),
        version: version.map(str::to_owned),
        ..Reported::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const REAL: &str = include_str!("recorded/tbench.txt");

    #[test]
    fn the_recorded_output_is_understood() {
        let reported = parse(REAL, "").unwrap();
        let rate = reported.operations_per_second.unwrap();
        assert!((1.0..100_000.0).contains(&rate), "{rate}");
        assert!(reported.version.is_some_and(|version| version.starts_with("4.")));
    }

    #[test]
    fn anything_else_is_refused() {
        assert!(parse("", "").is_err());
        assert!(parse(REAL.split("Throughput").next().unwrap(), "").is_err());
        assert!(parse("Throughput 0 MB/sec  4 clients\n", "").is_err());
        let first = format!("failed to create barrier semaphore \n{REAL}");
        assert_eq!(parse(&first, ""), parse(REAL, ""));
        let failed = format!("[12] write failed on handle 3\n{REAL}");
        assert!(parse(&failed, "").unwrap_err().contains("could not go on"));
    }
}
