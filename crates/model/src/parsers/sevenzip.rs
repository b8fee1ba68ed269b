// SPDX-License-Identifier: GPL-2.0-only
//! `7zz b`: the last number of the line `Tot:`, its rating in MIPS (millions of nominal
//! instructions per second).

use super::{Reported, only, positive};

/// See the module.
pub fn parse(stdout: &str, _stderr: &str) -> Result<Reported, String> {
    let lines = || stdout.lines().map(str::trim);
    let totals = lines().filter_map(|line| line.strip_prefix("Tot:"));
    let total: Vec<&str> = only(totals, "line `Tot:` (run `7zz b`)")?.split_whitespace().collect();
    let [_usage, _rating_of_usage, rating] = total.as_slice() else {
        return Err(format!("`Tot:` has {} numbers, not three", total.len()));
    };
    let version = lines().find_map(|line| line.strip_prefix("7-Zip "));
    let version = version.and_then(|rest| rest.split_whitespace().find(|word| is_version(word)));
    Ok(Reported {
        operations_per_second: Some(positive(rating)? * 1e6),
        version: version.map(str::to_owned),
        ..Reported::default()
    })
}

/// Whether it is the number among the words of the first line: `(z) 22.01 (x64) : …`.
fn is_version(word: &str) -> bool {
    word.parse::<f64>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const REAL: &str = include_str!("recorded/sevenzip.txt");

    #[test]
    fn the_recorded_output_is_understood() {
        let reported = parse(REAL, "").unwrap();
        let rate = reported.operations_per_second.unwrap();
        assert!((1e8..1e11).contains(&rate), "{rate}");
        assert!(reported.version.is_some());
    }

    #[test]
    fn anything_else_is_refused() {
        assert!(parse("", "").is_err());
        assert!(parse("Tot: 100 3000\n", "").is_err());
        assert!(parse("Tot: 100 3000 0\n", "").is_err());
        assert!(parse(REAL.split("Tot:").next().unwrap(), "").is_err());
    }
}
