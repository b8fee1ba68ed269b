// SPDX-License-Identifier: GPL-2.0-only
//! Phoronix Test Suite's `composite.xml`: results × systems, with the single values of each.
//!
//! A system is a contestant, by the name that its author gave it. Seconds become `completion_ns`,
//! rates per second `iterations_per_second`, all else `score` or `cost`, depending on the direction
//! that the file gives.

use model::metric::PROGRAM;
use model::parsers::positive;
use model::{Metric, Outcome, ReadFault, Record};
use roxmltree::{Document, Error, Node};

use super::{Format, claimed};

pub fn read(format: &Format, content: &str) -> Result<Vec<Record>, ReadFault> {
    let document = Document::parse(content).map_err(|error| match error {
        Error::UnclosedRootNode | Error::UnexpectedEndOfStream => {
            ReadFault::at_line(content.lines().count(), "the file is cut off")
        }
        _ => {
            let message = format!("not XML that can be read: {error}");
            ReadFault::at_line(error.pos().row as usize, message)
        }
    })?;
    let root = document.root_element();
    let mut records = Vec::new();
    for result in children(root, "Result") {
        let (measure, factor) = measure(result)?;
        let blank = blank(format, result, measure)?;
        for entry in children(result, "Data").flat_map(|data| children(data, "Entry")) {
            let mut of_system = blank.clone();
            add_system(&mut of_system, root, value(entry, "Identifier"));
            let mut texts = value(entry, "RawString");
            if texts.is_empty() {
                let note = "only the mean of its trials is in the file";
                of_system.provenance.notes.push(note.into());
                texts = value(entry, "Value");
            }
            for text in texts.split(':') {
                let mut record = of_system.clone();
                if text.is_empty() {
                    let reason = "the file has no value for it: it did not run, or failed".into();
                    record.outcome = Outcome::Failed { reason };
                } else {
                    let number =
                        positive(text).map_err(|why| ReadFault::at_line(line(entry), why))?;
                    let metric = Metric::number(measure, PROGRAM, number * factor);
                    record.measured.metrics.push(metric);
                }
                records.push(record);
            }
        }
    }
    Ok(records)
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

fn line(node: Node) -> usize {
    node.document().text_pos_at(node.range().start).row as usize
}

/// What all records of a result have in common.
fn blank(format: &Format, result: Node, measure: &str) -> Result<Record, ReadFault> {
    let title = value(result, "Title");
    if title.is_empty() {
        return Err(ReadFault::at_line(line(result), "a result without a title"));
    }
    let mut record = match value(result, "Description") {
        "" => format.record(title),
        description => format.record(&format!("{title} - {description}")),
    };
    let workload = &mut record.trial.workload;
    workload.about += &format!(", in: {}", value(result, "Scale"));
    workload.headline = vec![format!("{measure} {PROGRAM}")];
    Ok(record)
}

/// The measure of a result, and the factor from the file's unit to the measure's.
fn measure(result: Node) -> Result<(&'static str, f64), ReadFault> {
    let scale = value(result, "Scale").to_lowercase();
    let is_rate = ["/s", "/sec", "per second"].iter().any(|end| scale.ends_with(end));
    Ok(match (value(result, "Proportion"), scale.as_str()) {
        ("LIB", "seconds" | "sec" | "s") => ("completion_ns", 1e9),
        ("LIB", "milliseconds" | "ms") => ("completion_ns", 1e6),
        ("LIB", "microseconds" | "us") => ("completion_ns", 1e3),
        ("LIB", _) => ("cost", 1.0),
        ("HIB", _) if is_rate => ("iterations_per_second", 1.0),
        ("HIB", _) => ("score", 1.0),
        (unknown, _) => {
            let message = format!("`Proportion` is `{unknown}`, neither LIB nor HIB");
            return Err(ReadFault::at_line(line(result), message));
        }
    })
}

/// Names the system, with what the file says of it.
fn add_system(record: &mut Record, root: Node, name: &str) {
    if !name.is_empty() {
        record.trial.contestant = claimed(name).into();
    }
    let mut systems = children(root, "System");
    if let Some(system) = systems.find(|system| value(*system, "Identifier") == name) {
        record.provenance.kernel_release = fact(value(system, "Software"), "Kernel: ");
        record.provenance.cpu_model = fact(value(system, "Hardware"), "Processor: ");
    }
}

/// One of the facts in a system's list: `Kernel: 6.8.1 (x86_64), Desktop: …`.
fn fact(list: &str, name: &str) -> String {
    let after = list.split_once(name).map_or("", |(_, rest)| rest);
    after.split(',').next().unwrap_or_default().trim().to_owned()
}
