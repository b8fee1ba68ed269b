// SPDX-License-Identifier: GPL-2.0-only
//! Phoronix Test Suite's `composite.xml`: results × systems, with the single values of each.
//!
//! A system is a contestant, by the name that its author gave it. Seconds become `completion_ns`,
//! rates per second `iterations_per_second`, all else `score` or `cost`, depending on the direction
//! that the file gives.

use model::Outcome;
use model::parsers::positive;
use roxmltree::{Document, Error, Node};

use super::{Fault, ImportedTrial};

pub fn read(content: &str) -> Result<Vec<ImportedTrial>, Fault> {
    let document = Document::parse(content).map_err(|error| match error {
        Error::UnclosedRootNode | Error::UnexpectedEndOfStream => {
            Fault::at(content.lines().count(), "the file is cut off")
        }
        _ => Fault::at(error.pos().row as usize, format!("not XML that can be read: {error}")),
    })?;
    let root = document.root_element();
    let mut trials = Vec::new();
    for result in children(root, "Result") {
        let test = PhoronixTest::read(result)?;
        for entry in children(result, "Data").flat_map(|data| children(data, "Entry")) {
            trials.extend(test.trials(entry)?);
        }
    }
    for imported in &mut trials {
        let system = children(root, "System")
            .find(|system| value(*system, "Identifier") == imported.contestant);
        if let Some(system) = system {
            imported.provenance.kernel_release = fact(value(system, "Software"), "Kernel: ");
            imported.provenance.cpu_model = fact(value(system, "Hardware"), "Processor: ");
        }
    }
    Ok(trials)
}

fn children<'a, 'input>(
    node: Node<'a, 'input>,
    name: &'static str,
) -> impl Iterator<Item = Node<'a, 'input>> {
    node.children().filter(move |child| child.has_tag_name(name))
}

fn value<'a>(node: Node<'a, '_>, name: &'static str) -> &'a str {
    children(node, name).next().and_then(|child| child.text()).unwrap_or_default().trim()
}

/// One of the facts in a system's list: `Kernel: 6.8.1 (x86_64), Desktop: …`.
fn fact(list: &str, name: &str) -> String {
    let after = list.split_once(name).map_or("", |(_, rest)| rest);
    after.split(',').next().unwrap_or_default().trim().to_owned()
}

fn line(node: Node) -> usize {
    node.document().text_pos_at(node.range().start).row as usize
}

/// The common part of all entries of a result.
struct PhoronixTest {
    name: String,
    scale: String,
    measure: &'static str,
    /// From the file's unit to the measure's.
    factor: f64,
}

impl PhoronixTest {
    fn read(result: Node) -> Result<PhoronixTest, Fault> {
        let (title, description) = (value(result, "Title"), value(result, "Description"));
        if title.is_empty() {
            return Err(Fault::at(line(result), "a result without a title"));
        }
        let scale = value(result, "Scale");
        let less = match value(result, "Proportion") {
            "LIB" => true,
            "HIB" => false,
            other => {
                let message = format!("`Proportion` is `{other}`, neither LIB nor HIB");
                return Err(Fault::at(line(result), message));
            }
        };
        let (measure, factor) = measure(scale, less);
        let name = [title, description].into_iter().filter(|text| !text.is_empty());
        let name = name.collect::<Vec<_>>().join(" - ");
        Ok(PhoronixTest { name, scale: scale.into(), measure, factor })
    }

    /// The trials of one system.
    fn trials(&self, entry: Node) -> Result<Vec<ImportedTrial>, Fault> {
        let (single, mean) = (value(entry, "RawString"), value(entry, "Value"));
        let values: Vec<&str> = match single {
            "" => vec![mean],
            _ => single.split(':').collect(),
        };
        let trials = values.into_iter().map(|value| self.imported(entry, value, single.is_empty()));
        trials.collect()
    }

    fn imported(&self, entry: Node, text: &str, is_mean: bool) -> Result<ImportedTrial, Fault> {
        let about = format!("a test of the Phoronix Test Suite, in: {}", self.scale);
        let mut imported = ImportedTrial::new(&self.name, &about, &[self.measure]);
        imported.contestant = value(entry, "Identifier").into();
        if is_mean {
            imported.note("only the mean of its trials is in the file");
        }
        if text.is_empty() {
            let reason = "the file has no value for it: it did not run, or failed".into();
            imported.outcome = Outcome::Failed { reason };
            return Ok(imported);
        }
        let number = positive(text).map_err(|why| Fault::at(line(entry), why))?;
        imported.number(self.measure, number * self.factor);
        Ok(imported)
    }
}

fn measure(scale: &str, less: bool) -> (&'static str, f64) {
    let scale = scale.trim().to_lowercase();
    match (scale.as_str(), less) {
        ("seconds" | "sec" | "s", true) => ("completion_ns", 1e9),
        ("milliseconds" | "ms", true) => ("completion_ns", 1e6),
        ("microseconds" | "us", true) => ("completion_ns", 1e3),
        (_, false) if ["/s", "/sec", "per second"].iter().any(|end| scale.ends_with(end)) => {
            ("iterations_per_second", 1.0)
        }
        (_, true) => ("cost", 1.0),
        (_, false) => ("score", 1.0),
    }
}
