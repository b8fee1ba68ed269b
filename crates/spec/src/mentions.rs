// SPDX-License-Identifier: GPL-2.0-only
//! Dangling names: what must be edited after a scheduler, a workload, a machine or an experiment
//! was deleted.

use std::collections::BTreeSet;
use std::path::Path;

use toml::de::{DeTable, DeValue};

use crate::Resolve;
use crate::assets::{self, Asset, Kind};
use crate::care::{GENERAL_NAME, TODAY_NAME};
use crate::machine::restricted;
use crate::source::{line_and_column, walk_table};

/// A name that definitions refer to and that does not exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// `scheduler`, `workload`, `machine` or `experiment`.
    pub noun: &'static str,
    /// The name, or the path of a file.
    pub name: String,
    /// Every place that mentions it, as `FILE:LINE`.
    pub places: Vec<String>,
}

/// The next step after an error about one such name.
pub const HINT: &str = "if it was deleted: `fairground check` names every file that mentions it";

/// Every string and every key of a definition.
struct Text {
    label: String,
    words: Vec<Word>,
}

/// A string in a definition.
struct Word {
    /// Where it is, without positions in lists: `scheduler[].file`; empty for a key.
    path: String,
    text: String,
    line: usize,
}

/// Every name that an experiment, a care, a claim or a kernel refers to and that does not exist.
/// `resolve` finds schedulers. Files that are not TOML are skipped; reading them reports the error.
pub fn missing(resolve: &Resolve<'_>) -> Vec<Missing> {
    let kinds = [Kind::Experiment, Kind::Care, Kind::Claim, Kind::Kernel];
    let definitions = kinds.into_iter().flat_map(|kind| {
        let names = assets::names(kind).into_iter();
        names.filter_map(move |name| Some((kind, assets::find(kind, &name, Path::new("")).ok()?)))
    });
    let definitions: Vec<(Kind, Asset)> = definitions.collect();
    among(&definitions, resolve)
}

fn among(definitions: &[(Kind, Asset)], resolve: &Resolve<'_>) -> Vec<Missing> {
    let mut wanted = BTreeSet::new();
    let mut texts = Vec::new();
    for (kind, asset) in definitions {
        let text = definition(asset);
        for (noun, name) in text.words.iter().filter_map(|word| reference(*kind, word)) {
            let exists = match noun {
                Noun::Scheduler => resolve(name, &asset.base).is_ok(),
                Noun::Asset(kind) => assets::find(kind, name, &asset.base).is_ok(),
            };
            if !exists {
                wanted.insert((noun, name.to_owned()));
            }
        }
        texts.push(text);
    }
    let missing = |(noun, name): (Noun, String)| {
        let places = texts.iter().flat_map(|text| text.places(&name)).collect();
        Missing { noun: noun.word(), name, places }
    };
    wanted.into_iter().map(missing).collect()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Noun {
    Scheduler,
    Asset(Kind),
}

impl Noun {
    fn word(self) -> &'static str {
        match self {
            Noun::Scheduler => "scheduler",
            Noun::Asset(kind) => kind.noun(),
        }
    }
}

impl Text {
    /// The lines that mention a name, each once.
    fn places(&self, name: &str) -> Vec<String> {
        let of_name = self.words.iter().filter(|word| named(&word.text) == name);
        let lines: BTreeSet<usize> = of_name.map(|word| word.line).collect();
        lines.into_iter().map(|line| format!("{}:{line}", self.label)).collect()
    }
}

/// What a string of a definition refers to, judged by its place.
fn reference(kind: Kind, word: &Word) -> Option<(Noun, &str)> {
    let name = named(&word.text);
    let noun = match (kind, word.path.as_str()) {
        (Kind::Experiment, "scheduler[].file") => Noun::Scheduler,
        // `policy:rr`, `kernel:6.12` and `program:scx_lavd` are not files of the tree.
        (Kind::Care, "schedulers[]")
            if ![GENERAL_NAME, TODAY_NAME].contains(&name) && !name.contains(':') =>
        {
            Noun::Scheduler
        }
        // A base is the original of no file.
        (Kind::Kernel, "original_of") if !name.is_empty() => Noun::Scheduler,
        (Kind::Experiment | Kind::Care, "workload[].name") => Noun::Asset(Kind::Workload),
        (Kind::Experiment, "machine" | "machines[]" | "workload[].machines[]") => {
            Noun::Asset(Kind::Machine)
        }
        (Kind::Claim, "test[].experiment") => Noun::Asset(Kind::Experiment),
        _ => return None,
    };
    Some((noun, name))
}

/// The name in `NAME [setting=value …]`, `NAME@KERNEL` or `BACKEND:NAME`.
fn named(text: &str) -> &str {
    let (_, text) = restricted(text);
    text.split([' ', '@']).next().unwrap_or_default()
}

fn definition(asset: &Asset) -> Text {
    let label = asset.label.trim_start_matches("<built-in>/").to_owned();
    let mut words = Vec::new();
    if let Ok(mut table) = DeTable::parse(&asset.text) {
        walk_table("", table.get_mut(), &mut |path, key, at, value| {
            let line = |at| line_and_column(&asset.text, at).0;
            if let Some(key) = key {
                words.push(Word { path: String::new(), text: key.to_owned(), line: line(at) });
            }
            if let DeValue::String(string) = value.get_ref() {
                let (path, text) = (without_positions(path), string.to_string());
                words.push(Word { path, text, line: line(value.span().start) });
            }
        });
    }
    Text { label, words }
}

/// A path without positions in lists: `scheduler[].file`.
fn without_positions(path: &str) -> String {
    let is_digit = |letter: char| letter.is_ascii_digit();
    let pieces = path.split('[').map(|piece| piece.trim_start_matches(is_digit));
    pieces.collect::<Vec<_>>().join("[")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn definition(kind: Kind, label: &str, text: &str) -> (Kind, Asset) {
        let (label, text) = (format!("<built-in>/{label}"), text.to_owned());
        (kind, Asset { label, stem: "x".into(), base: Default::default(), text })
    }

    fn resolve(file: &str, _: &Path) -> Result<(String, String), String> {
        if file == "vtime" { Ok((file.into(), String::new())) } else { Err("gone".into()) }
    }

    #[test]
    fn every_file_that_mentions_a_deleted_scheduler_is_named() {
        let experiment = "[[scheduler]]\nname = \"lost\"\nfile = \"lost\"\n[[scheduler]]\n\
                          file = \"vtime\"\n[pairs]\nlost = \"vtime\"\n";
        let care = "schedulers = [\n  \"vtime\",\n  \"lost quick=1\", \"policy:rr\",\n]\n";
        let claim = "[[test]]\n[[test.expect]]\nof = \"lost\"\nover = \"vtime\"\n";
        let kernel = "about = \"x\"\noriginal_of = \"lost version=2\"\n";
        let definitions = [
            definition(Kind::Experiment, "experiments/a.toml", experiment),
            definition(Kind::Care, "cares/b.toml", care),
            definition(Kind::Claim, "claims/c.toml", claim),
            definition(Kind::Kernel, "kernels/d.toml", kernel),
        ];
        let places = [
            "experiments/a.toml:2",
            "experiments/a.toml:3",
            "experiments/a.toml:7",
            "cares/b.toml:3",
            "claims/c.toml:3",
            "kernels/d.toml:2",
        ];
        let expected = Missing {
            noun: "scheduler",
            name: "lost".into(),
            places: places.map(str::to_owned).to_vec(),
        };
        assert_eq!(among(&definitions, &resolve), [expected]);
    }

    #[test]
    fn workloads_machines_and_experiments_can_be_missing_too() {
        let experiment = "machines = [\"uniprocessor\", \"sim:mainframe\"]\n[[workload]]\n\
                          name = \"opera\"\n[[workload]]\nname = \"hackbench\"\n";
        let claim = "[[test]]\nexperiment = \"nothing\"\n";
        let definitions = [
            definition(Kind::Experiment, "experiments/a.toml", experiment),
            definition(Kind::Claim, "claims/c.toml", claim),
        ];
        let found = among(&definitions, &resolve);
        let found: Vec<_> =
            found.iter().map(|missing| (missing.noun, missing.name.as_str())).collect();
        let expected = [("workload", "opera"), ("machine", "mainframe"), ("experiment", "nothing")];
        assert_eq!(found, expected);
    }
}
