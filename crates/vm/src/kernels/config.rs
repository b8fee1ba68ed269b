// SPDX-License-Identifier: GPL-2.0-only
//! The facts of a kernel's configuration file that matter to a scheduler comparison.

use std::collections::BTreeMap;

/// `HZ`, `preempt`, `preempt_dynamic`, `sched_ext`, `autogroup`, `btf`, `nr_cpus`.
pub fn facts(config: &str) -> BTreeMap<String, String> {
    let options: BTreeMap<&str, &str> = config.lines().filter_map(option).collect();
    let is_on = |name: &str| options.get(name) == Some(&"y");
    let yes_no = |name: &str| if is_on(name) { "yes" } else { "no" }.to_owned();
    let number = |name: &str| options.get(name).copied().unwrap_or("unknown").to_owned();
    BTreeMap::from([
        ("HZ".into(), number("CONFIG_HZ")),
        ("preempt".into(), preemption(&is_on).to_owned()),
        ("preempt_dynamic".into(), yes_no("CONFIG_PREEMPT_DYNAMIC")),
        ("sched_ext".into(), yes_no("CONFIG_SCHED_CLASS_EXT")),
        ("autogroup".into(), yes_no("CONFIG_SCHED_AUTOGROUP")),
        ("btf".into(), yes_no("CONFIG_DEBUG_INFO_BTF")),
        ("nr_cpus".into(), number("CONFIG_NR_CPUS")),
    ])
}

/// `NAME=value`; comments (`# NAME is not set`) say nothing.
fn option(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line.trim().split_once('=')?;
    name.starts_with("CONFIG_").then_some((name, value))
}

/// The model that the kernel boots with. Real-time comes first: such a kernel also sets others.
fn preemption(is_on: &dyn Fn(&str) -> bool) -> &'static str {
    let models = [
        ("CONFIG_PREEMPT_RT", "rt"),
        ("CONFIG_PREEMPT_LAZY", "lazy"),
        ("CONFIG_PREEMPT_VOLUNTARY", "voluntary"),
        ("CONFIG_PREEMPT_NONE", "none"),
        ("CONFIG_PREEMPT", "full"),
    ];
    models.iter().find(|(name, _)| is_on(name)).map_or("unknown", |(_, model)| model)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_are_read_from_a_config_file() {
        let facts = facts(
            "# Linux/x86 6.12\nCONFIG_HZ_250=y\nCONFIG_HZ=250\nCONFIG_PREEMPT_BUILD=y\n\
             CONFIG_PREEMPT_VOLUNTARY=y\nCONFIG_PREEMPT_DYNAMIC=y\n\
             # CONFIG_SCHED_CLASS_EXT is not set\nCONFIG_NR_CPUS=512\nCONFIG_SCHED_AUTOGROUP=y\n",
        );
        let expected = [
            ("HZ", "250"),
            ("autogroup", "yes"),
            ("btf", "no"),
            ("nr_cpus", "512"),
            ("preempt", "voluntary"),
            ("preempt_dynamic", "yes"),
            ("sched_ext", "no"),
        ];
        let actual: Vec<(&str, &str)> =
            facts.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
        assert_eq!(actual, expected);
    }

    #[test]
    fn preemption_models_are_told_apart() {
        let model = |text: &str| facts(text)["preempt"].clone();
        assert_eq!(model("CONFIG_PREEMPT=y\nCONFIG_PREEMPT_DYNAMIC=y"), "full");
        assert_eq!(model("CONFIG_PREEMPT_RT=y\nCONFIG_PREEMPT=y"), "rt");
        assert_eq!(model("CONFIG_PREEMPT_LAZY=y\nCONFIG_PREEMPT_BUILD=y"), "lazy");
        assert_eq!(model(""), "unknown");
    }
}
