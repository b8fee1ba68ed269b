// SPDX-License-Identifier: GPL-2.0-only
//! Numbers that are shown next to published ones: measure, cell and contestants exist.

use model::claim::Beside;

use super::{Asked, names};
use spec::SpecError;

/// Checks the numbers and writes its cell and machine out in full.
pub fn check(numbers: &mut Beside, path: &str, asked: &Asked<'_>) -> Result<(), SpecError> {
    let at = |field: &str| format!("{path}.{field}");
    let key = names::key(&numbers.measure, &at("measure"), asked)?;
    let cell = names::cell(numbers.cell.as_deref(), &at("cell"), asked)?;
    let machine = names::machine(numbers.machine.as_deref(), &at("machine"), asked)?;
    names::group(&key, cell, &at("measure"), asked)?;
    for contestant in numbers.published.keys() {
        names::contestant(contestant, cell, &at("published"), asked)?;
    }
    if !numbers.published.is_empty() && numbers.unit.is_none() {
        let error = asked.places.error(&at("published"), "published numbers without a unit");
        return Err(error.hint("add unit = \"s\", as it was printed"));
    }
    numbers.measure = key.to_string();
    (numbers.cell, numbers.machine) = (Some(cell.cell()), Some(machine.name.clone()));
    Ok(())
}
