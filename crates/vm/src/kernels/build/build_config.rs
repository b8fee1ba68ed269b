// SPDX-License-Identifier: GPL-2.0-only
//! The configuration of a build: `make allnoconfig`, the shared minimal one over it, then a
//! definition's options, then the user's fragment.

use std::collections::BTreeMap;

use anyhow::Result;

use crate::kernels::build::{needs, refused};
use crate::kernels::image::{setting, settings};

/// What every kernel that is built here has.
const MINIMAL: &str = include_str!("../../../../../kernels/minimal.config");

/// The text for `KCONFIG_ALLCONFIG`; a later line replaces an earlier one of the same option.
pub fn compose(options: &[String], fragment: Option<&str>) -> String {
    let mut lines: BTreeMap<String, String> = BTreeMap::new();
    let all = MINIMAL.lines().chain(options.iter().map(String::as_str));
    for line in all.chain(fragment.unwrap_or_default().lines()) {
        if let Some((name, value)) = setting(line) {
            lines.insert(name, value);
        }
    }
    lines.iter().map(|(name, value)| format!("{name}={value}\n")).collect()
}

/// Refuses a fragment with lines that are nothing.
pub fn check_fragment(label: &str, text: &str) -> Result<()> {
    for (number, line) in text.lines().enumerate() {
        let is_comment = line.trim().is_empty() || line.starts_with('#');
        if !is_comment && setting(line).is_none() {
            let number = number + 1;
            return Err(refused(format!(
                "{label}:{number}: '{line}' is no line of a kernel's configuration; write \
                 CONFIG_NAME=y, =n, =NUMBER or =\"text\""
            )));
        }
    }
    Ok(())
}

/// Whether the tree took what a definition or the user demands, and what the guest needs. Returns
/// what is lost otherwise.
pub fn verify(demands: &[String], wanted: &str, config: &str) -> Result<Vec<String>> {
    let settings = settings(config);
    let lost = lost(demands.iter().map(String::as_str), &settings);
    if !lost.is_empty() {
        return Err(refused(format!(
            "the kernel's configuration does not take {}: the source does not know the option, or \
             it depends on another one that is off",
            lost.join(", ")
        )));
    }
    check_ticks(wanted, &settings)?;
    match needs::judge(config) {
        (Some(unusable), _) => Err(refused(unusable)),
        (None, losses) => Ok(losses),
    }
}

/// The lines that the tree did not take. Of the shared ones some sources do not know each.
pub fn lost<'a>(
    lines: impl Iterator<Item = &'a str>,
    settings: &BTreeMap<String, String>,
) -> Vec<&'a str> {
    let is_lost = |line: &&str| {
        let Some((name, value)) = setting(line) else { return false };
        settings.get(&name).map_or("n", String::as_str) != value
    };
    lines.filter(is_lost).collect()
}

/// Refuses a kernel with other ticks than those asked for. A patch may rename the option; then the
/// tree falls back on a default of its own, and schedulers that count in ticks act differently.
fn check_ticks(wanted: &str, settings: &BTreeMap<String, String>) -> Result<()> {
    let asked: Vec<String> = wanted
        .lines()
        .filter_map(setting)
        .filter(|(_, value)| value == "y")
        .filter_map(|(name, _)| Some(name.strip_prefix("CONFIG_HZ_")?.to_owned()))
        .filter(|rest| rest.starts_with(|first: char| first.is_ascii_digit()))
        .filter_map(|rest| Some(rest.split('_').next()?.to_owned()))
        .collect();
    match settings.get("CONFIG_HZ") {
        Some(ticks) if !asked.is_empty() && !asked.contains(ticks) => Err(refused(format!(
            "the kernel would have {ticks} ticks a second instead of {}: its source has another \
             name for CONFIG_HZ_{}; look into kernel/Kconfig.hz and set that option",
            asked.join(" or "),
            asked.join(" or CONFIG_HZ_")
        ))),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_lines_win_and_the_shared_ones_stay() {
        let options = ["CONFIG_HZ_250=n".to_owned(), "CONFIG_HZ_1000=y".to_owned()];
        let text = compose(&options, Some("# CONFIG_HZ_1000 is not set\nCONFIG_HZ_300=y\n"));
        let has = |line: &str| text.lines().any(|has| has == line);
        assert!(has("CONFIG_HZ_250=n") && has("CONFIG_HZ_1000=n") && has("CONFIG_HZ_300=y"));
        assert!(has("CONFIG_PID_NS=y"));
    }

    #[test]
    fn the_shared_configuration_names_all_that_is_needed() {
        assert_eq!(needs::missing(&compose(&[], None)), []);
    }

    #[test]
    fn options_that_the_source_does_not_take_are_named() {
        let config = compose(&[], None) + "# CONFIG_SCHED_BORE is not set\n";
        let demand = ["CONFIG_SCHED_BORE=y".to_owned(), "CONFIG_NUMA=n".to_owned()];
        let error = verify(&demand, "", &config).unwrap_err().to_string();
        assert!(error.contains("does not take CONFIG_SCHED_BORE=y: "), "{error}");
        assert_eq!(verify(&demand[1..], "", &config).unwrap(), [""; 0]);
        let error = check_fragment("my.config", "CONFIG_A=y\nB=y\n").unwrap_err().to_string();
        assert!(error.starts_with("my.config:2: 'B=y' is no line"), "{error}");
    }
    #[test]
    fn a_renamed_option_for_the_ticks_is_found_out() {
        let wanted = compose(&[], None);
        let config = wanted.replace("CONFIG_HZ_250=y", "CONFIG_HZ_100=y\nCONFIG_HZ=100");
        let error = verify(&[], &wanted, &config).unwrap_err().to_string();
        assert!(error.starts_with("the kernel would have 100 ticks a second instead of 250: "));
        assert_eq!(lost(wanted.lines(), &settings(&config)), ["CONFIG_HZ_250=y"]);
        let renamed = compose(&["CONFIG_HZ_250_NODEF=y".to_owned()], None);
        let config = renamed.replace("CONFIG_HZ_250=y", "CONFIG_HZ=250");
        assert_eq!(verify(&[], &renamed, &config).unwrap(), [""; 0]);
    }
}
