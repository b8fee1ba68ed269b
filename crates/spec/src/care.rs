// SPDX-License-Identifier: GPL-2.0-only
//! Cares: a file of `cares/` → its workloads, the deciding measures, the guarded measures, and the
//! candidates.

use std::path::Path;

use model::{MeasureKey, ModelError};
use serde::Deserialize;

use super::cells::{self, Choice};
use super::expression::Names;
use super::source::{Document, Places, unknown_name};
use super::{SpecError, check, today, workload};
use crate::assets::{self, Kind};

/// What a care calls the schedulers of [`GENERAL`].
pub(crate) const GENERAL_NAME: &str = "general";

/// What a care calls the schedulers of today, see [`today`].
pub(crate) const TODAY_NAME: &str = "today";

/// The general-purpose schedulers.
pub const GENERAL: [&str; 12] = [
    "cfs", "eevdf", "bore_cfs", "bore", "bfs", "muqss", "bmq", "pds", "cacule", "tt", "echo", "ule",
];

/// One thing that a user may care about.
#[derive(Clone, Debug, PartialEq)]
pub struct Care {
    /// The file's stem.
    pub name: String,
    /// The aim, in the user's words.
    pub about: String,
    /// The candidates, in the form of `--scheduler`.
    pub schedulers: Vec<String>,
    /// The workloads, in the form of `--workload`.
    pub workloads: Vec<String>,
    pub decides: Criterion,
    /// The guarded measures.
    pub keeps: Vec<Criterion>,
}

/// A measure of one of the workloads, and the smallest difference that matters.
#[derive(Clone, Debug, PartialEq)]
pub struct Criterion {
    /// Which of [`Care::workloads`].
    pub workload: usize,
    pub measure: MeasureKey,
    /// Its meaning, in plain words.
    pub words: String,
    /// Smaller differences do not matter, in percent.
    pub percent: f64,
    /// Smaller differences do not matter, in the measure's unit.
    pub least: f64,
    /// How far the simulator's differences are from a kernel's; `None`: not known.
    pub model_error: Option<ModelError>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CareFile {
    name: String,
    about: String,
    #[serde(default = "usual")]
    schedulers: Vec<String>,
    workload: Vec<toml::Table>,
    decides: Written,
    #[serde(default)]
    keeps: Vec<Written>,
}

fn usual() -> Vec<String> {
    [GENERAL_NAME, TODAY_NAME].map(str::to_owned).into()
}

/// A criterion of the file, not yet resolved.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    workload: String,
    measure: String,
    words: String,
    percent: f64,
    #[serde(default)]
    least: f64,
    model_error: Option<ModelError>,
}

/// The key of a `[[workload]]` table with the name that criteria use for it.
const AS: &str = "as";

/// Reads a care by name or path, for a machine with that many CPUs.
pub fn read(name: &str, base: &Path, cpus: u32) -> Result<Care, SpecError> {
    let asset = assets::find(Kind::Care, name, base)?;
    let mut document = Document::parse(&asset.label, &asset.text)?;
    let names = Names::from([("cpus".to_owned(), i64::from(cpus))]);
    document.evaluate(&names, |path| path.starts_with("workload["))?;
    document.set_name(&asset.stem)?;
    let file: CareFile = document.read()?;
    let reader = Reader { file: &file, places: &document.places, base: &asset.base, cpus };
    reader.care()
}

/// A file that is being read.
struct Reader<'a> {
    file: &'a CareFile,
    places: &'a Places,
    base: &'a Path,
    cpus: u32,
}

impl Reader<'_> {
    fn care(&self) -> Result<Care, SpecError> {
        let file = self.file;
        if file.schedulers.is_empty() {
            let error = self.places.error("schedulers", "no candidates");
            return Err(error.hint("name at least one, as --scheduler has them"));
        }
        let choices: Vec<(String, Choice)> =
            (0..file.workload.len()).map(|at| self.choice(at)).collect::<Result<_, _>>()?;
        let decides = self.criterion("decides", &file.decides, &choices)?;
        if decides.measure.unit_and_direction().1 == model::metric::Direction::Neutral {
            let message = format!("'{}' has no better side", decides.measure.name);
            let hint = "take a measure with a direction: lower or higher is better";
            return Err(self.places.error("decides.measure", message).hint(hint));
        }
        let keeps = file.keeps.iter().enumerate();
        let kept = |(at, written)| self.criterion(&format!("keeps[{at}]"), written, &choices);
        Ok(Care {
            name: file.name.clone(),
            about: file.about.clone(),
            schedulers: file.schedulers.iter().flat_map(|name| named(name)).collect(),
            workloads: choices.iter().map(|(_, choice)| choice.option()).collect(),
            decides,
            keeps: keeps.map(kept).collect::<Result<_, _>>()?,
        })
    }

    /// A workload with the name that criteria use: its own, or that after `as`.
    fn choice(&self, at: usize) -> Result<(String, Choice), SpecError> {
        let mut table = self.file.workload[at].clone();
        let name = match table.remove(AS) {
            None => None,
            Some(toml::Value::String(name)) => Some(name),
            Some(_) => {
                let error = self.places.error(&format!("workload[{at}].{AS}"), "not a name");
                return Err(error.hint("write as = \"stream\""));
            }
        };
        let choice = cells::from_table(&table, at, self.places, self.base)?;
        let name = name.unwrap_or_else(|| choice.name().to_owned());
        let before = &self.file.workload[..at];
        let is_name =
            |value: Option<&toml::Value>| value.and_then(|text| text.as_str()) == Some(&name);
        if before.iter().any(|table| is_name(table.get(AS).or_else(|| table.get("name")))) {
            let message = format!("a second workload '{name}'");
            let error = self.places.error(&format!("workload[{at}]"), message);
            return Err(error.hint(format!("name the second one: as = \"{name}2\"")));
        }
        Ok((name, choice))
    }

    fn criterion(
        &self,
        path: &str,
        written: &Written,
        choices: &[(String, Choice)],
    ) -> Result<Criterion, SpecError> {
        let names: Vec<&str> = choices.iter().map(|(name, _)| name.as_str()).collect();
        let Some(at) = names.iter().position(|name| *name == written.workload) else {
            let path = format!("{path}.workload");
            return Err(unknown_name(self.places, &path, "workload", &written.workload, &names));
        };
        let place = format!("{path}.measure");
        let choice = &choices[at].1;
        let asset = assets::find(Kind::Workload, choice.name(), self.base).map_err(|error| {
            self.places.error(&format!("workload[{at}]"), error.message).maybe_hint(error.hint)
        })?;
        let load = workload::resolve(&asset, &choice.first(), self.cpus)?.workload;
        check::measure(&place, &load, &written.measure, self.places)?;
        let measure = written.measure.parse();
        let error = match written.model_error {
            Some(ModelError::Percent(number) | ModelError::Value(number)) => number,
            None => 0.0,
        };
        let numbers =
            [("percent", written.percent), ("least", written.least), ("model_error", error)];
        for (name, number) in numbers {
            if !(number >= 0.0 && number.is_finite()) {
                let error = self.places.error(&format!("{path}.{name}"), "not 0 or more");
                return Err(error.hint("write 0 or a positive number"));
            }
        }
        Ok(Criterion {
            workload: at,
            measure: measure.map_err(|error: String| self.places.error(&place, error))?,
            words: written.words.clone(),
            percent: written.percent,
            least: written.least,
            model_error: written.model_error,
        })
    }
}

/// The schedulers that a name in a care stands for.
fn named(name: &str) -> Vec<String> {
    match name {
        GENERAL_NAME => GENERAL.map(str::to_owned).to_vec(),
        TODAY_NAME => today::names(),
        name => vec![name.to_owned()],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn care(second: &str, measured: &str) -> Result<Care, SpecError> {
        let folder = tempfile::tempdir().expect("a folder");
        let text = format!(
            "about = \"x\"\nschedulers = [\"fifo\"]\n[[workload]]\nname = \"audio\"\n[[workload]]\n\
             name = \"audio\"\nothers = 1\n{second}\n[decides]\nworkload = \"{measured}\"\n\
             measure = \"deadline_miss_ratio audio\"\nwords = \"x\"\npercent = 10\n"
        );
        std::fs::write(folder.path().join("mine.toml"), text).expect("written");
        read("./mine.toml", folder.path(), 2)
    }

    #[test]
    fn general_and_today_stand_for_their_schedulers() {
        let read = |name| super::read(name, Path::new(""), 2).expect("a care").schedulers;
        let (games, general) = (read("games"), GENERAL.len());
        assert_eq!(games[..general], GENERAL);
        assert_eq!(games[general..], today::names());
        assert_eq!(read("audio")[..general + today::names().len()], games);
        assert_eq!(read("audio").last().map(String::as_str), Some("policy:rr:50"));
    }

    #[test]
    fn a_workload_can_be_there_twice_under_two_names() {
        let decides = |name| care("as = \"quiet\"", name).expect("a care").decides.workload;
        assert_eq!((decides("audio"), decides("quiet")), (0, 1));
        let twice = care("", "audio").expect_err("which one is meant?").to_string();
        assert!(twice.contains("a second workload 'audio'"), "{twice}");
        assert!(twice.contains("as = \"audio2\""), "{twice}");
        let number = care("as = 2", "audio").expect_err("no name").to_string();
        assert!(number.contains("not a name"), "{number}");
    }
}
