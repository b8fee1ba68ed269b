// SPDX-License-Identifier: GPL-2.0-only
//! Costs as a vector for the solver, and as a `[costs]` table for people.

use anyhow::{Context, Result};
use model::Costs;
use serde_json::Value;
use toml_edit::{DocumentMut, Item, Table};

use fairground::exit::bad_input;

use crate::witnesses::{DEFINED, Fit};

/// The values of the costs with these names, in their order.
pub fn values(costs: &Costs, names: &[&str]) -> Vec<u64> {
    let json = json(costs);
    names.iter().map(|&name| json[name].as_u64().unwrap_or(0)).collect()
}

pub fn with(costs: &Costs, names: &[&str], values: &[u64]) -> Costs {
    let mut json = json(costs);
    for (&name, &value) in names.iter().zip(values) {
        json[name] = value.into();
    }
    serde_json::from_value(json).unwrap_or(*costs)
}

/// All costs: what a trial's identity leaves out because it has its default is there too.
fn json(costs: &Costs) -> Value {
    let mut json = serde_json::to_value(costs).unwrap_or_default();
    json["thread_ns"] = costs.thread_ns.into();
    json["thread_start_ns"] = costs.thread_start_ns.into();
    json["touch_ns"] = costs.touch_ns.into();
    json["fill_kib_ns"] = costs.fill_kib_ns.into();
    json
}

/// A machine's file with the fitted costs as its `[costs]`; `command` and `kernel` say where they
/// come from. Without a file it is the table alone.
pub fn write(file: &str, fit: &Fit, command: &str, kernel: &str) -> Result<String> {
    let mut document: DocumentMut =
        file.parse().map_err(|error| bad_input(format!("the machine's file: {error}")))?;
    let mut table = Table::new();
    let Value::Object(costs) = json(&fit.costs) else { return Ok(file.into()) };
    let defined = DEFINED.map(|(name, _)| name);
    let is_known = |name: &str| fit.seen.contains(&name) || defined.contains(&name);
    let guesses: Vec<&str> =
        costs.keys().map(String::as_str).filter(|name| !is_known(name)).collect();
    for name in fit.seen.iter().chain(&defined).chain(&guesses).copied() {
        let value = costs[name].as_u64().context("a cost is a whole number")?;
        table.insert(name, toml_edit::value(value as i64));
    }
    table.decor_mut().set_prefix(format!("\n{}", provenance(fit, command, kernel)));
    remark(
        &mut table,
        defined.first(),
        "By definition: an instruction writes eight bytes to memory.",
    );
    let guessed = "Guesses: virtual time on such a machine does not show them.";
    remark(&mut table, guesses.first(), guessed);
    document["costs"] = Item::Table(table);
    Ok(document.to_string())
}

/// Puts a comment before a key.
fn remark(table: &mut Table, key: Option<&&str>, text: &str) {
    if let Some(mut key) = key.and_then(|key| table.key_mut(key)) {
        key.leaf_decor_mut().set_prefix(format!("# {text}\n"));
    }
}

fn provenance(fit: &Fit, command: &str, kernel: &str) -> String {
    format!(
        "# Measured by `{command}` on Linux\n\
         # {kernel}: they explain {} times of the witnesses with a mean error of {:.1} %.\n",
        fit.times,
        100.0 * fit.mean_error
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::witnesses::seen;
    use model::Machine;

    #[test]
    fn a_file_keeps_what_it_has_and_gets_the_costs() {
        let names = seen(1);
        let costs = with(&Costs::default(), names, &vec![7; names.len()]);
        let fit = Fit { costs, seen: names, times: 9, mean_error: 0.0251 };
        let file = "# A comment.\nabout = \"m\"\ncpus = 1\n";
        let once = write(file, &fit, "calibrate m", "7.3").expect("TOML");
        assert!(once.starts_with(file), "{once}");
        assert!(once.contains("mean error of 2.5 %"), "{once}");
        let machine = format!("name = \"m\"\n{once}");
        let machine: Machine = toml::from_str(&machine).expect("a machine");
        assert_eq!((machine.costs, machine.cpus), (costs, 1));
        // Again: the old table is replaced.
        assert_eq!(write(&once, &fit, "calibrate m", "7.3").expect("TOML"), once);
    }

    #[test]
    fn every_name_is_a_cost() {
        let names = seen(2);
        assert!(values(&Costs::default(), names).iter().all(|&value| value > 0));
        let numbers: Vec<u64> = (1..=names.len() as u64).collect();
        assert_eq!(values(&with(&Costs::default(), names, &numbers), names), numbers);
    }
}
