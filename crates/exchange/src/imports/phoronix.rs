// SPDX-License-Identifier: GPL-2.0-only
//! Phoronix Test Suite's `composite.xml`: results × systems, with the single values of each.
//!
//! A system is a contestant, by the name that its author gave it. Seconds become `completion_ns`,
//! what is per second `iterations_per_second`, all else `score` or `cost`, by the file's own word
//! on whether more is better.

use model::Outcome;
use parsers::positive;
use roxmltree::{Document, Error, Node};

use super::{Fault, Run};

/// Whether a text looks like it.
pub fn is(text: &str) -> bool {
    text.contains("<PhoronixTestSuite")
}

/// See the module.
pub fn read(content: &str) -> Result<Vec<Run>, Fault> {
    let document = Document::parse(content).map_err(|error| match error {
        Error::UnclosedRootNode | Error::UnexpectedEndOfStream => {
            Fault::at(content.lines().count(), "the file is cut off")
        }
        _ => Fault::at(error.pos().row as usize, format!("not XML that can be read: {error}")),
    })?;
    let root = document.root_element();
    let mut runs = Vec::new();
    for result in children(root, "Result") {
        let load = Load::of(result)?;
        for entry in children(result, "Data").flat_map(|data| children(data, "Entry")) {
            runs.extend(load.runs(entry)?);
        }
    }
    for run in &mut runs {
        let system =
            children(root, "System").find(|system| value(*system, "Identifier") == run.contestant);
        if let Some(system) = system {
            run.kernel = fact(value(system, "Software"), "Kernel: ");
            run.processor = fact(value(system, "Hardware"), "Processor: ");
        }
    }
    Ok(runs)
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

/// What is the same for all entries of a result.
struct Load {
    name: String,
    scale: String,
    measure: &'static str,
    /// From the file's unit to the measure's.
    factor: f64,
}

impl Load {
    fn of(result: Node) -> Result<Load, Fault> {
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
        Ok(Load { name, scale: scale.into(), measure, factor })
    }

    /// The runs of one system.
    fn runs(&self, entry: Node) -> Result<Vec<Run>, Fault> {
        let (single, mean) = (value(entry, "RawString"), value(entry, "Value"));
        let values: Vec<&str> = match single {
            "" => vec![mean],
            _ => single.split(':').collect(),
        };
        let runs = values.into_iter().map(|value| self.run(entry, value, single.is_empty()));
        runs.collect()
    }

    fn run(&self, entry: Node, text: &str, is_mean: bool) -> Result<Run, Fault> {
        let about = format!("a test of the Phoronix Test Suite, in: {}", self.scale);
        let mut run = Run::of(&self.name, &about);
        run.headline = vec![format!("{} program", self.measure)];
        run.contestant = value(entry, "Identifier").into();
        if is_mean {
            run.notes.push("only the mean of its runs is in the file".into());
        }
        if text.is_empty() {
            let reason = "the file has no value for it: it did not run, or failed".into();
            run.outcome = Outcome::Failed { reason };
            return Ok(run);
        }
        let number = positive(text).map_err(|why| Fault::at(line(entry), why))?;
        run.number(self.measure, number * self.factor);
        Ok(run)
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
