// SPDX-License-Identifier: GPL-2.0-only
//! `stress-ng --metrics`: bogo operations per second of real time, from the YAML (`--yaml
//! /dev/stdout`) or from the text.
//!
//! The rate per second of CPU time is ignored: with a user time of zero it is meaningless.

use super::{Reported, only, positive};

/// See the module.
pub fn parse(stdout: &str, stderr: &str) -> Result<Reported, String> {
    let (operations, seconds, version) = if stdout.lines().any(|line| line == "metrics:") {
        let field = |name| field(stdout, name);
        let version = field("stress-ng-version:").ok();
        (field("bogo-ops:")?, field("wall-clock-time:")?, version)
    } else {
        let (operations, seconds) = row(stdout, stderr)?;
        (operations, seconds, None)
    };
    let (operations, seconds) = (positive(&operations)?, positive(&seconds)?);
    let rate = Some(operations / seconds);
    Ok(Reported { operations_per_second: rate, version, ..Reported::default() })
}

/// A field of the YAML. Several stressors have several, and their sum would be meaningless.
fn field(yaml: &str, name: &str) -> Result<String, String> {
    let found = yaml.lines().filter_map(|line| line.trim_start().strip_prefix(name));
    only(found, &format!("`{name}` (run one kind of stressor)"))
        .map(|value| value.trim().to_owned())
}

/// Operations and real time of the only stressor in the text.
fn row(stdout: &str, stderr: &str) -> Result<(String, String), String> {
    let lines = || stdout.lines().chain(stderr.lines());
    let cells = |line: &str| -> Option<Vec<String>> {
        let (_, table) = line.split_once("metrc:").or_else(|| line.split_once("info:"))?;
        let (_, table) = table.split_once("] ")?;
        Some(table.split_whitespace().map(str::to_owned).collect())
    };
    let header = |row: &Vec<String>| row.starts_with(&["stressor".into(), "bogo".into()]);
    if !lines().filter_map(cells).any(|row| header(&row)) {
        return Err("there is no table; add --metrics".into());
    }
    let number = |cell: &String| cell.replace(',', ".").parse::<f64>().is_ok();
    let rows =
        lines().filter_map(cells).filter(|row| row.len() >= 7 && row[1..7].iter().all(number));
    let row = only(rows, "row with numbers (run one kind of stressor)")?;
    Ok((row[1].clone(), row[2].clone()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_recorded_outputs_are_understood() {
        let text = parse("", include_str!("recorded/stress_ng_text.txt")).unwrap();
        assert_eq!(text.operations_per_second, Some(7009.0));
        let yaml = parse(include_str!("recorded/stress_ng_yaml.txt"), "").unwrap();
        assert!((yaml.operations_per_second.unwrap() - 6923.458577).abs() < 0.01);
        assert_eq!(yaml.version.as_deref(), Some("0.15.06"));
    }

    #[test]
    fn a_decimal_comma_and_no_user_time_are_no_traps() {
        let table = include_str!("recorded/stress_ng_text.txt");
        let comma = table.replace("1.00      1.00", "10,01      0,00");
        let rate = parse("", &comma).unwrap().operations_per_second.unwrap();
        assert!((rate - 7009.0 / 10.01).abs() < 1e-9, "{rate}");
    }

    #[test]
    fn anything_else_is_refused() {
        let two = parse(include_str!("recorded/stress_ng_two_stressors.txt"), "").unwrap_err();
        assert!(two.contains("one kind of stressor"), "{two}");
        assert!(parse("", "stress-ng: info:  [1] dispatching hogs: 1 cpu").is_err());
        let idle = include_str!("recorded/stress_ng_text.txt").replace(" 7009 ", " 0 ");
        assert!(parse("", &idle).is_err());
    }
}
