// SPDX-License-Identifier: GPL-2.0-only
//! `pgbench`: `tps = `, its transactions per second over all clients.

use super::{Reported, only, positive};

/// See the module.
pub fn parse(stdout: &str, _stderr: &str) -> Result<Reported, String> {
    let lines = || stdout.lines().map(str::trim);
    let failed = lines().find_map(|line| line.strip_prefix("number of failed transactions:"));
    if let Some(failed) = failed.filter(|failed| !failed.trim().starts_with("0 ")) {
        return Err(format!("transactions failed:{failed}"));
    }
    let rates = lines().filter_map(|line| line.strip_prefix("tps =")?.trim().split(' ').next());
    let rate = positive(only(rates, "line `tps =`")?)?;
    let version = lines().find_map(|line| line.strip_prefix("pgbench (")?.split([' ', ')']).next());
    Ok(Reported {
        operations_per_second: Some(rate),
        version: version.map(str::to_owned),
        ..Reported::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const REAL: &str = include_str!("recorded/pgbench.txt");

    #[test]
    fn the_recorded_output_is_understood() {
        let reported = parse(REAL, "").unwrap();
        assert_eq!(reported.operations_per_second, Some(999.882132));
        assert_eq!(reported.version.as_deref(), Some("15.18"));
    }

    #[test]
    fn anything_else_is_refused() {
        assert!(parse("", "").is_err());
        assert!(parse("tps = 0.0 (without initial connection time)\n", "").is_err());
        assert!(parse(&REAL.repeat(2), "").unwrap_err().contains("not one"));
        let failed = REAL.replace("transactions: 0 (0.000%)", "transactions: 7 (0.699%)");
        assert_ne!(failed, REAL);
        assert!(parse(&failed, "").unwrap_err().contains("transactions failed: 7"));
    }
}
