// SPDX-License-Identifier: GPL-2.0-only
//! One expectation: both of its sides exist, and its rule can hold and can fail.

use model::Expectation;
use model::claim::{By, Is};

use super::{Asked, names};
use spec::SpecError;

/// Checks an expectation and writes its cells and machines out in full.
pub fn check(one: &mut Expectation, path: &str, asked: &Asked<'_>) -> Result<(), SpecError> {
    sides(one, path, asked)?;
    compared(one, path, asked)?;
    rule(one, path, asked)
}

/// Checks measure, contestant, cell and machine of both sides.
fn sides(one: &mut Expectation, path: &str, asked: &Asked<'_>) -> Result<(), SpecError> {
    let at = |field: &str| format!("{path}.{field}");
    let key = names::key(&one.measure, &at("measure"), asked)?;
    let cell = names::cell(one.cell.as_deref(), &at("cell"), asked)?;
    let machine = names::machine(one.machine.as_deref(), &at("machine"), asked)?;
    names::group(&key, cell, &at("measure"), asked)?;
    names::contestant(&one.of, cell, &at("of"), asked)?;
    let other_cell = match &one.over_cell {
        Some(text) => names::cell(Some(text), &at("over_cell"), asked)?,
        None => cell,
    };
    let other_key = match &one.over_measure {
        Some(text) => names::key(text, &at("over_measure"), asked)?,
        None => key.clone(),
    };
    let at_key = if one.over_measure.is_some() { at("over_measure") } else { at("measure") };
    names::group(&other_key, other_cell, &at_key, asked)?;
    let (other, at_other) = match &one.over {
        Some(other) => (other, at("over")),
        None => (&one.of, at("over_cell")),
    };
    names::contestant(other, other_cell, &at_other, asked)?;
    if key.unit_and_direction().0 != other_key.unit_and_direction().0 {
        let message = format!("'{other_key}' has another unit than '{key}'");
        return Err(asked
            .places
            .error(&at("over_measure"), message)
            .hint("compare like with like"));
    }
    if let Some(text) = &one.over_machine {
        names::machine(Some(text), &at("over_machine"), asked)?;
    }
    one.measure = key.to_string();
    one.over_measure = one.over_measure.is_some().then(|| other_key.to_string());
    one.over_cell = one.over_cell.is_some().then(|| other_cell.cell());
    (one.cell, one.machine) = (Some(cell.cell()), Some(machine.name.clone()));
    Ok(())
}

/// There is something to compare with, unless it is about a single value.
fn compared(one: &Expectation, path: &str, asked: &Asked<'_>) -> Result<(), SpecError> {
    let error = |field: &str, text: &str, hint: &str| {
        Err(asked.places.error(&format!("{path}.{field}"), text).hint(hint))
    };
    match (one.by, one.other()) {
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
        (_, Some(other)) if other == one.place() => {
            error("over", "it is compared with itself", "name another contestant or cell")
        }
        _ => Ok(()),
    }
}

/// What is more, less or equal, and how much.
fn rule(one: &Expectation, path: &str, asked: &Asked<'_>) -> Result<(), SpecError> {
    let error = |field: &str, text: String, hint: &str| {
        Err(asked.places.error(&format!("{path}.{field}"), text).hint(hint))
    };
    if one.is == Is::Equal {
        if one.than.is_some() {
            return error("than", "'equal' needs no than".into(), "write a size around it");
        }
        if one.size.is_none() {
            let hint = "add size = [0.98, 1.02]: from where to where both count as equal";
            return error("is", "'equal' needs a size".into(), hint);
        }
    } else if one.neutral().is_none() {
        let hint = "add than = …, in the measure's unit";
        return error("is", "more or less than what?".into(), hint);
    }
    if one.than.is_some_and(|than| !than.is_finite()) {
        return error("than", "than is no number".into(), "write a number");
    }
    let Some(size) = &one.size else { return Ok(()) };
    let fault = |(text, hint): (String, &str)| error("size", text, hint);
    ends(size).and_then(|ends| reach(one, ends)).or_else(fault)
}

/// What is wrong, and what to write instead.
type Fault = (String, &'static str);

/// Two numbers in ascending order.
fn ends(size: &[f64]) -> Result<(f64, f64), Fault> {
    match *size {
        [low, high] if low.is_nan() || high.is_nan() => {
            Err(("size is not made of numbers".into(), "write e.g. [1.05, 4.0]"))
        }
        [low, high] if low > high => {
            let text = format!("size is reversed: {low} is above {high}");
            Err((text, "write the smaller number first"))
        }
        [low, high] => Ok((low, high)),
        [] => Err(("size is empty".into(), "write e.g. [1.05, 4.0]; inf has no end")),
        _ => Err((format!("size has {} numbers", size.len()), "write two, e.g. [1.05, 4.0]")),
    }
}

/// A size that the rule can never reach is a mistake.
fn reach(one: &Expectation, (low, high): (f64, f64)) -> Result<(), Fault> {
    if one.by == By::Ratio && low < 0.0 {
        return Err((format!("no ratio is {low}"), "write 0 or more"));
    }
    let Some(neutral) = one.neutral() else { return Ok(()) };
    let wrong = match one.is {
        Is::More => high <= neutral,
        Is::Less => low >= neutral,
        Is::Equal => false,
    };
    let hint = "'more' needs a size above, 'less' one below; or write the other";
    let text = || format!("size lies on the wrong side of {neutral}: {low} to {high}");
    if wrong { Err((text(), hint)) } else { Ok(()) }
}
