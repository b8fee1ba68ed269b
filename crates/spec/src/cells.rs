// SPDX-License-Identifier: GPL-2.0-only
//! Cells: every chosen workload with every combination of its parameters' values.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use model::experiment::Scaled;
use model::{Machine, Workload};

use super::expression::Names;
use super::source::Places;
use super::{SpecError, commands, machine, mentions, workload};
use crate::assets::{self, Asset, Kind};

/// More cells than this are a mistake.
const CELLS_MAX: usize = 1000;

/// A workload with values to try for its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    name: String,
    /// The folder that a path is relative to.
    base: PathBuf,
    /// The workload that no file has.
    given: Option<Asset>,
    values: BTreeMap<String, Vec<i64>>,
    /// The machines that it is for; empty: all.
    machines: Vec<String>,
    /// The place for messages, with its position.
    origin: SpecError,
}

impl Choice {
    /// The same workload on whatever machines there are.
    pub fn everywhere(self) -> Choice {
        Choice { machines: Vec::new(), ..self }
    }

    /// The workload's name or path.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The first of each parameter's values.
    pub fn first(&self) -> Names {
        let first = |(name, values): (&String, &Vec<i64>)| Some((name.clone(), *values.first()?));
        self.values.iter().filter_map(first).collect()
    }

    /// The choice in the form of `--workload`, with the first of each parameter's values.
    pub fn option(&self) -> String {
        let path = self.base.join(&self.name);
        let name = if assets::is_path(&self.name) && path.is_file() {
            path.display().to_string()
        } else {
            self.name.clone()
        };
        let values = self.first().into_iter().map(|(name, value)| format!(" {name}={value}"));
        values.fold(name, |text, value| text + &value)
    }
}

/// The keys of a `[[workload]]` table that are no parameters.
const NAME: &str = "name";
const MACHINES: &str = "machines";

/// A `[[workload]]` table: `name`, the `machines` that it is for, and parameters with one value or
/// a list of values.
pub fn from_table(
    table: &toml::Table,
    index: usize,
    places: &Places,
    base: &Path,
) -> Result<Choice, SpecError> {
    let path = format!("workload[{index}]");
    let mut values = BTreeMap::new();
    let is_value = |name: &str| ![NAME, MACHINES].contains(&name);
    for (name, value) in table.iter().filter(|(name, _)| is_value(name)) {
        let numbers = numbers(value).ok_or_else(|| {
            let message = format!("'{name}' must be a whole number or a list of them");
            places.error(&format!("{path}.{name}"), message).hint("write e.g. 3 or [0, 3, 32]")
        })?;
        values.insert(name.clone(), numbers);
    }
    let machines = names(table.get(MACHINES)).ok_or_else(|| {
        let message = "'machines' must be a list of names";
        let hint = "write machines = [\"uniprocessor\"]";
        places.error(&format!("{path}.{MACHINES}"), message).hint(hint)
    })?;
    match table.get(NAME) {
        Some(toml::Value::String(name)) => {
            let origin = places.error(&path, "");
            let (name, base) = (name.clone(), base.to_owned());
            Ok(Choice { name, base, given: None, values, machines, origin })
        }
        _ => Err(places.error(&path, "the workload has no name").hint("add name = \"…\"")),
    }
}

/// A list of at least one name; none, if there is no list.
fn names(value: Option<&toml::Value>) -> Option<Vec<String>> {
    let Some(value) = value else { return Some(Vec::new()) };
    let list = value.as_array().filter(|list| !list.is_empty())?;
    list.iter().map(|name| name.as_str().map(str::to_owned)).collect()
}

fn numbers(value: &toml::Value) -> Option<Vec<i64>> {
    match value {
        toml::Value::Integer(number) => Some(vec![*number]),
        toml::Value::Array(items) if !items.is_empty() => {
            items.iter().map(toml::Value::as_integer).collect()
        }
        _ => None,
    }
}

/// `--workload "NAME [param=value[,value …] …]"`.
pub fn from_option(text: &str) -> Result<Choice, SpecError> {
    let origin = SpecError::new(format!("--workload {text}"), "");
    let mut words = text.split_whitespace();
    let fail = |message: String| SpecError { message, ..origin.clone() };
    let Some(name) = words.next() else {
        return Err(fail("an empty workload".into()).hint("write a name or a file"));
    };
    let mut values = BTreeMap::new();
    for word in words {
        let parsed = word.split_once('=').and_then(|(name, list)| {
            let numbers = list.split(',').map(|number| number.parse().ok());
            Some((name.to_owned(), numbers.collect::<Option<Vec<i64>>>()?))
        });
        let hint = "write param=3 or param=0,3,32";
        let (name, numbers) = parsed.ok_or_else(|| {
            fail(format!("'{word}' is not a parameter with whole numbers")).hint(hint)
        })?;
        values.insert(name, numbers);
    }
    let (name, base, machines) = (name.into(), PathBuf::new(), Vec::new());
    Ok(Choice { name, base, given: None, values, machines, origin })
}

/// `--command 'make -j8'`.
pub fn from_command(command: &str, prepare: &[String]) -> Result<Choice, SpecError> {
    let asset = commands::asset(command, prepare)?;
    Ok(Choice {
        name: asset.stem.clone(),
        base: PathBuf::new(),
        origin: SpecError::new(asset.label.clone(), ""),
        given: Some(asset),
        values: BTreeMap::new(),
        machines: Vec::new(),
    })
}

#[derive(Debug, Default)]
pub struct Cells {
    /// The cells on the first machine, in the order of the choices, the last parameter varying
    /// fastest.
    pub workloads: Vec<Workload>,
    /// The variants of cells that use the number of CPUs, for machines with another number.
    pub scaled: Vec<Scaled>,
    /// The cells that only some of the machines have, with the names of those machines.
    pub on: BTreeMap<String, Vec<String>>,
}

/// Every cell on every machine. Recordings that were all made on the same number of CPUs bring
/// their machine, if the user is free to have any.
pub fn with_machine(
    choices: &[Choice],
    machines: &mut Vec<Machine>,
    is_free: bool,
    host_cpus: u32,
    notes: &mut Vec<String>,
) -> Result<Cells, SpecError> {
    let cells = all(choices, machines, notes)?;
    let own = if is_free { machine::of_recordings(&cells.workloads, host_cpus)? } else { None };
    let Some(own) = own else { return Ok(cells) };
    *machines = vec![Machine { autogroup: machines[0].autogroup, ..own }];
    all(choices, machines, &mut Vec::new())
}

fn all(
    choices: &[Choice],
    machines: &[Machine],
    notes: &mut Vec<String>,
) -> Result<Cells, SpecError> {
    let mut cells = Cells::default();
    for choice in choices {
        let asset = match &choice.given {
            Some(asset) => asset.clone(),
            None => assets::find(Kind::Workload, &choice.name, &choice.base)
                .map_err(|error| unknown_workload(choice, error))?,
        };
        declared(choice, &asset, machines)?;
        known_machines(choice, machines)?;
        for given in grid(choice)? {
            let before = cells.workloads.len();
            resolve(&asset, &given, machines, notes, &mut cells)
                .map_err(|error| with_origin(choice, &given, error))?;
            let (known, new) = cells.workloads.split_at(before);
            if let Some(twice) = new.iter().find(|new| known.iter().any(|k| k.cell() == new.cell()))
            {
                let message = format!("a second cell '{}'", twice.cell());
                let hint = "name each workload with each set of values once";
                return Err(SpecError { message, ..choice.origin.clone() }.hint(hint));
            }
            if !choice.machines.is_empty() {
                cells.on.extend(new.iter().map(|new| (new.cell(), choice.machines.clone())));
            }
        }
    }
    Ok(cells)
}

/// The error of an unknown name points to the place that names it; an error inside a file points
/// into the file.
fn unknown_workload(choice: &Choice, error: SpecError) -> SpecError {
    if error.file != choice.name {
        return error;
    }
    let message = assets::naming(&error.message, &choice.name);
    let in_a_file = choice.origin.line.is_some();
    let hint =
        error.hint.map(|hint| if in_a_file { format!("{hint}; {}", mentions::HINT) } else { hint });
    SpecError { message, hint, ..choice.origin.clone() }
}

/// Every machine must accept the parameters' names.
fn declared(choice: &Choice, asset: &Asset, machines: &[Machine]) -> Result<(), SpecError> {
    let cpus = machines.first().map_or(1, |machine| machine.cpus);
    let declared = workload::parameters(asset, cpus)?;
    let names: Vec<String> = declared.into_iter().map(|parameter| parameter.name).collect();
    match choice.values.keys().find(|name| !names.contains(name)) {
        None => Ok(()),
        Some(name) => {
            let error = workload::unknown_parameter("", name, names.iter());
            let message = format!("{} of '{}'", error.message, choice.name);
            Err(SpecError { message, hint: error.hint, ..choice.origin.clone() })
        }
    }
}

/// A workload is for machines of the experiment.
fn known_machines(choice: &Choice, machines: &[Machine]) -> Result<(), SpecError> {
    let is_known = |name: &&String| machines.iter().any(|machine| machine.name == **name);
    let Some(unknown) = choice.machines.iter().find(|name| !is_known(name)) else { return Ok(()) };
    let names: Vec<&str> = machines.iter().map(|machine| machine.name.as_str()).collect();
    let message = format!("'{}' is for '{unknown}', no machine of this experiment", choice.name);
    let hint = format!("name some of: {}", names.join(", "));
    Err(SpecError { message, ..choice.origin.clone() }.hint(hint))
}

/// Every combination of the values.
fn grid(choice: &Choice) -> Result<Vec<Names>, SpecError> {
    let size = choice.values.values().try_fold(1_usize, |size, list| size.checked_mul(list.len()));
    if size.is_none_or(|size| size > CELLS_MAX) {
        let message = format!("'{}' makes too many cells", choice.name);
        let hint = format!("at most {CELLS_MAX}: name fewer values");
        return Err(SpecError { message, ..choice.origin.clone() }.hint(hint));
    }
    let mut grid = vec![Names::new()];
    for (name, values) in &choice.values {
        let with = |names: &Names| {
            let with_value = |value: &i64| {
                let mut names = names.clone();
                names.insert(name.clone(), *value);
                names
            };
            values.iter().map(with_value).collect::<Vec<_>>()
        };
        grid = grid.iter().flat_map(with).collect();
    }
    Ok(grid)
}

/// Adds one cell: the workload on the first machine, and its variants on machines where it differs.
fn resolve(
    asset: &Asset,
    given: &Names,
    machines: &[Machine],
    notes: &mut Vec<String>,
    cells: &mut Cells,
) -> Result<(), SpecError> {
    let mut first: Option<Workload> = None;
    for machine in machines {
        let resolved = workload::resolve(asset, given, machine.cpus)?;
        for note in resolved.notes {
            if !notes.contains(&note) {
                notes.push(note);
            }
        }
        let (workload, cpus) = (resolved.workload, machine.cpus);
        match &first {
            None => first = Some(workload),
            Some(first) if *first == workload => {}
            Some(_) => {
                let new = Scaled { cpus, workload };
                if !cells.scaled.contains(&new) {
                    cells.scaled.push(new);
                }
            }
        }
    }
    cells.workloads.extend(first);
    Ok(())
}

/// An error that the defaults do not have names the values that caused it.
fn with_origin(choice: &Choice, given: &Names, error: SpecError) -> SpecError {
    if given.is_empty() {
        return error;
    }
    let values: Vec<String> = given.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let message = format!("{} ({} {})", error.message, choice.name, values.join(" "));
    SpecError { message, ..error }
}
