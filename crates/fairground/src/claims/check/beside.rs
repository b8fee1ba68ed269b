// SPDX-License-Identifier: GPL-2.0-only
//! Numbers next to published ones: the measure, its cell and the contestants exist.

use model::claim::Beside;

use super::{Asked, names};
use spec::SpecError;

/// Checks it and writes its cell and machine out in full.
pub fn check(one: &mut Beside, path: &str, asked: &Asked<'_>) -> Result<(), SpecError> {
    let at = |field: &str| format!("{path}.{field}");
    let key = names::key(&one.measure, &at("measure"), asked)?;
    let cell = names::cell(one.cell.as_deref(), &at("cell"), asked)?;
    let machine = names::machine(one.machine.as_deref(), &at("machine"), asked)?;
    names::group(&key, cell, &at("measure"), asked)?;
    for contestant in one.published.keys() {
        names::contestant(contestant, cell, &at("published"), asked)?;
    }
    if !one.published.is_empty() && one.unit.is_none() {
        let error = asked.places.error(&at("published"), "published numbers without a unit");
        return Err(error.hint("add unit = \"s\", as it was printed"));
    }
    one.measure = key.to_string();
    (one.cell, one.machine) = (Some(cell.cell()), Some(machine.name.clone()));
    Ok(())
}
