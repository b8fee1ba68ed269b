// SPDX-License-Identifier: GPL-2.0-only
//! Costs as a vector for the solver, and as a `[costs]` table for people.

use anyhow::{Context, Result};
use model::Costs;
use serde_json::Value;
use toml_edit::{DocumentMut, Item, Table};

use super::{Fit, SEEN};
use crate::exit::bad_input;

/// The values of [`SEEN`], in its order.
pub fn values(costs: &Costs) -> Vec<u64> {
    let json = json(costs);
    SEEN.iter().map(|&name| json[name].as_u64().unwrap_or(0)).collect()
}

/// Costs with other values of [`SEEN`].
pub fn with(costs: &Costs, values: &[u64]) -> Costs {
    let mut json = json(costs);
    for (&name, &value) in SEEN.iter().zip(values) {
        json[name] = value.into();
    }
    serde_json::from_value(json).unwrap_or(*costs)
}

fn json(costs: &Costs) -> Value {
    serde_json::to_value(costs).unwrap_or_default()
}

/// A machine's file with the fitted costs as its `[costs]`; `command` and `kernel` say where they
/// come from. Without a file it is the table alone.
///
/// # Errors
/// When the file is not TOML.
pub fn write(file: &str, fit: &Fit, command: &str, kernel: &str) -> Result<String> {
    let mut document: DocumentMut =
        file.parse().map_err(|error| bad_input(format!("the machine's file: {error}")))?;
    let mut table = Table::new();
    let Value::Object(costs) = json(&fit.costs) else { return Ok(file.into()) };
    let guesses = costs.keys().filter(|name| !SEEN.contains(&name.as_str()));
    let guesses: Vec<&str> = guesses.map(String::as_str).collect();
    for name in SEEN.iter().copied().chain(guesses.iter().copied()) {
        let value = costs[name].as_u64().context("a cost is a whole number")?;
        table.insert(name, toml_edit::value(value as i64));
    }
    table.decor_mut().set_prefix(format!("\n{}", provenance(fit, command, kernel)));
    if let Some(mut first) = guesses.first().and_then(|name| table.key_mut(name)) {
        first
            .leaf_decor_mut()
            .set_prefix("# Guesses: one CPU in virtual time does not show them.\n");
    }
    document["costs"] = Item::Table(table);
    Ok(document.to_string())
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
    use model::Machine;

    #[test]
    fn a_file_keeps_what_it_has_and_gets_the_costs() {
        let costs = with(&Costs::default(), &[7; SEEN.len()]);
        let fit = Fit { costs, times: 9, mean_error: 0.0251 };
        let file = "# A comment.\nabout = \"m\"\ncpus = 1\n";
        let once = write(file, &fit, "fairground kernel calibrate m", "7.3").expect("TOML");
        assert!(once.starts_with(file), "{once}");
        assert!(once.contains("mean error of 2.5 %"), "{once}");
        let machine = format!("name = \"m\"\n{once}");
        let machine: Machine = toml::from_str(&machine).expect("a machine");
        assert_eq!((machine.costs, machine.cpus), (costs, 1));
        // Again: the old table is replaced.
        assert_eq!(write(&once, &fit, "fairground kernel calibrate m", "7.3").expect("TOML"), once);
    }

    #[test]
    fn every_name_is_a_cost() {
        assert!(values(&Costs::default()).iter().any(|&value| value > 0));
        let changed = with(&Costs::default(), &(1..=SEEN.len() as u64).collect::<Vec<_>>());
        assert_eq!(values(&changed), (1..=SEEN.len() as u64).collect::<Vec<_>>());
    }
}
