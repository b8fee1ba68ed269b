// SPDX-License-Identifier: GPL-2.0-only
//! An expectation: both of its sides exist, and its rule can hold and can fail.

use model::Expectation;
use model::claim::{By, Is};

use super::{Asked, names};
use spec::SpecError;

/// Checks an expectation and writes its cells and machines out in full.
pub fn check(
    expectation: &mut Expectation,
    path: &str,
    asked: &Asked<'_>,
) -> Result<(), SpecError> {
    sides(expectation, path, asked)?;
    compared(expectation, path, asked)?;
    rule(expectation, path, asked)
}

/// Checks measure, contestant, cell and machine of both sides.
fn sides(expectation: &mut Expectation, path: &str, asked: &Asked<'_>) -> Result<(), SpecError> {
    let at = |field: &str| format!("{path}.{field}");
    let key = names::key(&expectation.measure, &at("measure"), asked)?;
    let cell = names::cell(expectation.cell.as_deref(), &at("cell"), asked)?;
    let machine = names::machine(expectation.machine.as_deref(), &at("machine"), asked)?;
    names::group(&key, cell, &at("measure"), asked)?;
    names::contestant(&expectation.of, cell, &at("of"), asked)?;
    let over_cell = match &expectation.over_cell {
        Some(text) => names::cell(Some(text), &at("over_cell"), asked)?,
        None => cell,
    };
    let over_key = match &expectation.over_measure {
        Some(text) => names::key(text, &at("over_measure"), asked)?,
        None => key.clone(),
    };
    let at_key =
        if expectation.over_measure.is_some() { at("over_measure") } else { at("measure") };
    names::group(&over_key, over_cell, &at_key, asked)?;
    let (over, at_over) = match &expectation.over {
        Some(over) => (over, at("over")),
        None => (&expectation.of, at("over_cell")),
    };
    names::contestant(over, over_cell, &at_over, asked)?;
    if key.unit_and_direction().0 != over_key.unit_and_direction().0 {
        let message = format!("'{over_key}' has another unit than '{key}'");
        return Err(asked
            .places
            .error(&at("over_measure"), message)
            .hint("compare like with like"));
    }
    if let Some(text) = &expectation.over_machine {
        names::machine(Some(text), &at("over_machine"), asked)?;
    }
    expectation.measure = key.to_string();
    expectation.over_measure = expectation.over_measure.is_some().then(|| over_key.to_string());
    expectation.over_cell = expectation.over_cell.is_some().then(|| over_cell.cell());
    (expectation.cell, expectation.machine) = (Some(cell.cell()), Some(machine.name.clone()));
    Ok(())
}

/// There is something to compare with, unless it is about a single value.
fn compared(expectation: &Expectation, path: &str, asked: &Asked<'_>) -> Result<(), SpecError> {
    let error = |field: &str, text: &str, hint: &str| {
        Err(asked.places.error(&format!("{path}.{field}"), text).hint(hint))
    };
    match (expectation.by, expectation.other()) {
        (By::Value, Some(_)) => error(
            "by",
            "by = \"value\" looks at one side alone",
            "delete over and its like, or write by = \"ratio\" or \"difference\"",
        ),
        (By::Value, None) => Ok(()),
        (_, None) => error(
            "of",
            "there is nothing to compare it with",
            "add over = \"…\", over_cell, over_machine or over_measure; or by = \"value\" and than",
        ),
        (_, Some(over)) if over == expectation.place() => {
            error("over", "it is compared with itself", "name another contestant or cell")
        }
        _ => Ok(()),
    }
}

/// The rule says what it compares with, and by how much.
fn rule(expectation: &Expectation, path: &str, asked: &Asked<'_>) -> Result<(), SpecError> {
    let error = |field: &str, text: String, hint: &str| {
        Err(asked.places.error(&format!("{path}.{field}"), text).hint(hint))
    };
    if expectation.is == Is::Equal {
        if expectation.than.is_some() {
            return error("than", "'equal' needs no than".into(), "write a size around it");
        }
        if expectation.size.is_none() {
            let hint = "add size = [0.98, 1.02]: from where to where both count as equal";
            return error("is", "'equal' needs a size".into(), hint);
        }
    } else if expectation.neutral().is_none() {
        let hint = "add than = …, in the measure's unit";
        return error("is", "'more' and 'less' need a number to compare with".into(), hint);
    }
    if expectation.than.is_some_and(|than| !than.is_finite()) {
        return error("than", "than is no number".into(), "write a number");
    }
    let Some(size) = &expectation.size else { return Ok(()) };
    let fault = |(text, hint): (String, &str)| error("size", text, hint);
    read_size(size).and_then(|size| reach(expectation, size)).or_else(fault)
}

/// What is wrong, and what to write instead.
type Fault = (String, &'static str);

/// From where to where the measured size may lie.
#[derive(Clone, Copy)]
struct Size {
    low: f64,
    high: f64,
}

/// Two numbers in ascending order.
fn read_size(size: &[f64]) -> Result<Size, Fault> {
    match *size {
        [low, high] if low.is_nan() || high.is_nan() => {
            Err(("a bound of size is no number".into(), "write e.g. [1.05, 4.0]"))
        }
        [low, high] if low > high => {
            let text = format!("size is reversed: {low} is above {high}");
            Err((text, "write the smaller number first"))
        }
        [low, high] => Ok(Size { low, high }),
        [] => Err(("size is empty".into(), "write e.g. [1.05, 4.0]; inf has no end")),
        _ => Err((format!("size has {} numbers", size.len()), "write two, e.g. [1.05, 4.0]")),
    }
}

/// A size that the rule can never reach is a mistake.
fn reach(expectation: &Expectation, Size { low, high }: Size) -> Result<(), Fault> {
    if expectation.by == By::Ratio && low < 0.0 {
        return Err((format!("a ratio is never {low}"), "write 0 or more"));
    }
    let Some(neutral) = expectation.neutral() else { return Ok(()) };
    let wrong = match expectation.is {
        Is::More => high <= neutral,
        Is::Less => low >= neutral,
        Is::Equal => false,
    };
    let hint = "'more' needs a size above, 'less' one below; or write the other";
    let text = || format!("size lies on the wrong side of {neutral}: {low} to {high}");
    if wrong { Err((text(), hint)) } else { Ok(()) }
}
