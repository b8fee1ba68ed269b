// SPDX-License-Identifier: GPL-2.0-only
//! A chunk: trials that one machine runs, the texts of the schedulers that no program brings, and
//! the tapes of recordings that the trials play.
//!
//! One JSON object a line: a header, the schedulers, the tapes, then the trials as `fairground
//! plan` prints them. The header says how many lines follow, so that a file that was cut off is
//! noticed. Without one, each line is a trial.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context, Result};
use compile::Source;
use model::tape_text::{self, TapeText};
use model::{SchedulerChoice, Trial};
use serde::{Deserialize, Serialize};
use store::SchedulerSource;

use crate::refuse;

const VERSION: u32 = 1;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Chunk {
    pub trials: Vec<Trial>,
    /// The schedulers that are not built in.
    pub schedulers: Vec<SchedulerSource>,
    /// The scheduler files, with their SHA-256, that the guests of the whole plan carry: with fewer
    /// of them, a guest would be another one.
    pub carried: BTreeSet<(String, String)>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    version: u32,
    schedulers: usize,
    /// A plan without recordings has the header of before there were any.
    #[serde(default, skip_serializing_if = "is_zero")]
    tapes: usize,
    trials: usize,
    carried: BTreeSet<(String, String)>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Definition {
    Chunk(Header),
    Scheduler(SchedulerSource),
    Tapes(TapeText),
}

fn is_zero(count: &usize) -> bool {
    *count == 0
}

impl Chunk {
    /// The chunk of these trials of a plan. `schedulers` are the texts of all that the plan names.
    pub fn new(trials: Vec<Trial>, plan: &[Trial], schedulers: &[SchedulerSource]) -> Chunk {
        let boots = trials.iter().any(|trial| trial.backend.boots_kernels());
        let carried = if boots { carried(plan) } else { BTreeSet::new() };
        let builtin: Vec<Source> = compile::builtin();
        let is_builtin = |sha256: &str| builtin.iter().any(|source| source.sha256 == sha256);
        let is_named = |sha256: &str| {
            carried.iter().any(|(_, carried)| carried == sha256)
                || trials.iter().any(|trial| names(trial, sha256))
        };
        let is_wanted =
            |source: &&SchedulerSource| !is_builtin(&source.sha256) && is_named(&source.sha256);
        let schedulers = schedulers.iter().filter(is_wanted).cloned().collect();
        Chunk { trials, schedulers, carried }
    }

    pub fn text(&self) -> Result<String> {
        let (schedulers, trials) = (self.schedulers.len(), self.trials.len());
        let tapes = TapeText::of(self.trials.iter().map(|trial| &*trial.workload));
        let header = Definition::Chunk(Header {
            version: VERSION,
            schedulers,
            tapes: tapes.len(),
            trials,
            carried: self.carried.clone(),
        });
        let mut lines = vec![serde_json::to_string(&header)?];
        for scheduler in &self.schedulers {
            lines.push(serde_json::to_string(&Definition::Scheduler(scheduler.clone()))?);
        }
        for tape in tapes {
            lines.push(serde_json::to_string(&Definition::Tapes(tape))?);
        }
        for trial in &self.trials {
            lines.push(serde_json::to_string(trial)?);
        }
        let text = lines.join("\n") + "\n";
        refuse_long(&text)?;
        Ok(text)
    }

    /// Reads the content of a file; `name` is for messages.
    pub fn read(text: &str, name: &str) -> Result<Chunk> {
        let (mut chunk, mut header, mut tapes) = (Chunk::default(), None, Vec::new());
        for (index, line) in text.lines().enumerate() {
            let place = |why: String| refuse(format!("{name}:{}: {why}", index + 1));
            if !is_definition(line) {
                chunk.trials.push(trial(line).map_err(place)?);
                continue;
            }
            match definition(line).map_err(place)? {
                Definition::Chunk(is) if index == 0 => header = Some(is),
                Definition::Chunk(_) => return Err(place("a second chunk begins here".into())),
                Definition::Scheduler(scheduler) => chunk.schedulers.push(scheduler),
                Definition::Tapes(tape) => tapes.push(tape),
            }
        }
        chunk
            .check(header.as_ref(), tapes.len())
            .map_err(|why| refuse(format!("{name}: {why}")))?;
        chunk.carried = header.map(|header| header.carried).unwrap_or_default();
        tape_text::attach(tapes, chunk.trials.iter_mut().map(|trial| &mut *trial.workload));
        Ok(chunk)
    }

    fn check(&self, header: Option<&Header>, tapes: usize) -> Result<(), String> {
        if self.trials.is_empty() {
            return Err("there is no trial in it; `fairground plan` prints some".into());
        }
        let Some(header) = header else { return Ok(()) };
        let counts = [
            ("trials", self.trials.len(), header.trials),
            ("schedulers", self.schedulers.len(), header.schedulers),
            ("recordings", tapes, header.tapes),
        ];
        match counts.into_iter().find(|(_, there, promised)| there != promised) {
            Some((what, there, promised)) => Err(format!(
                "it is not complete: {there} of {promised} {what} are there; copy it again"
            )),
            None => Ok(()),
        }
    }

    /// Its schedulers by their SHA-256, written into an empty folder that must stay until they are
    /// compiled.
    pub fn sources(&self, folder: &Path) -> Result<BTreeMap<String, Source>> {
        let mut sources = BTreeMap::new();
        for scheduler in &self.schedulers {
            let own = folder.join(&scheduler.sha256);
            std::fs::create_dir(&own).with_context(|| format!("cannot make {}", own.display()))?;
            let source = compile::unpack(&scheduler.files, &own)?;
            if source.sha256 != scheduler.sha256 {
                let name = &scheduler.name;
                return Err(refuse(format!("the text of {name} is not what its SHA-256 says")));
            }
            sources.insert(source.sha256.clone(), source);
        }
        Ok(sources)
    }
}

fn refuse_long(text: &str) -> Result<()> {
    let most = spec::files::CHUNK.most;
    if text.len() as u64 > most {
        return Err(refuse(format!(
            "a chunk would have more than {} MiB, because each carries the tapes of its trials; \
             cut the plan into smaller chunks, or record for a shorter time",
            most >> 20
        )));
    }
    Ok(())
}

/// The scheduler files, with their SHA-256, whose objects each guest of a plan carries.
fn carried(plan: &[Trial]) -> BTreeSet<(String, String)> {
    let on_kernels = plan.iter().filter(|trial| !trial.backend.is_model());
    let file = |trial: &Trial| match &trial.contestant.scheduler {
        SchedulerChoice::File { file, sha256, .. } => Some((file.clone(), sha256.clone())),
        _ => None,
    };
    on_kernels.filter_map(file).collect()
}

fn names(trial: &Trial, wanted: &str) -> bool {
    matches!(&trial.contestant.scheduler, SchedulerChoice::File { sha256, .. } if sha256 == wanted)
}

fn is_definition(line: &str) -> bool {
    ["{\"chunk\":", "{\"scheduler\":", "{\"tapes\":"].iter().any(|start| line.starts_with(start))
}

fn definition(line: &str) -> Result<Definition, String> {
    let definition = serde_json::from_str(line).map_err(|error| error.to_string())?;
    match &definition {
        Definition::Chunk(header) if header.version != VERSION => Err(format!(
            "a chunk of version {}, this program knows {VERSION}; use the same version everywhere",
            header.version
        )),
        Definition::Scheduler(scheduler) => scheduler.fault().map_or(Ok(definition), Err),
        Definition::Tapes(tape) => {
            tape.check()?;
            Ok(definition)
        }
        _ => Ok(definition),
    }
}

pub fn trial(line: &str) -> Result<Trial, String> {
    let trial: Trial = serde_json::from_str(line)
        .map_err(|error| format!("not one trial ({error}); `fairground plan` prints some"))?;
    if trial.schema != model::trial::SCHEMA {
        let known = model::trial::SCHEMA;
        return Err(format!("the trial has schema {}, this program knows {known}", trial.schema));
    }
    if !trial.backend.can_execute() {
        return Err("an imported trial cannot be run here".into());
    }
    Ok(trial)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cut::tests::trials;

    fn chunk() -> Chunk {
        let text = "// mine\n".to_owned();
        let sha256 = model::trial::identity([("mine.bpf.c", text.as_str())]);
        let files = vec![("mine.bpf.c".to_owned(), text)];
        let scheduler = SchedulerSource { sha256, name: "mine".into(), files };
        Chunk { trials: trials(&[0, 0, 1]), schedulers: vec![scheduler], carried: BTreeSet::new() }
    }

    const TAPES: &str = "task 1 a\nr5 p1\ntask 2 b\nw0 r7\n";

    /// The first and the last trial play the same recording.
    fn recorded() -> Chunk {
        let mut chunk = chunk();
        for index in [0, 2] {
            let sha256 = model::trial::sha256_hex(TAPES.as_bytes());
            let text = model::tape::TapesText(Some(TAPES.into()));
            let recorded = model::Recorded { sha256, text, ..model::Recorded::default() };
            chunk.trials[index].workload.recording = Some(recorded);
        }
        chunk
    }

    fn refusal(text: &str) -> String {
        Chunk::read(text, "chunk-0").expect_err("it is wrong").to_string()
    }

    #[test]
    fn a_chunk_survives_its_file() {
        let text = chunk().text().unwrap();
        assert_eq!(Chunk::read(&text, "chunk-0").unwrap(), chunk());
    }

    #[test]
    fn a_chunk_that_was_cut_off_is_refused() {
        let text = chunk().text().unwrap();
        let lines: Vec<&str> = text.lines().collect();
        let said = refusal(&lines[..lines.len() - 1].join("\n"));
        assert_eq!(said, "chunk-0: it is not complete: 2 of 3 trials are there; copy it again");
        let half = &text[..text.len() - 20];
        assert!(refusal(half).starts_with("chunk-0:5: not one trial (EOF"), "{}", refusal(half));
    }

    #[test]
    fn a_changed_scheduler_is_refused() {
        let text = chunk().text().unwrap().replace("// mine", "// ours");
        assert_eq!(refusal(&text), "chunk-0:2: the text of mine is not what its SHA-256 says");
    }

    #[test]
    fn changed_and_lost_tapes_are_refused() {
        let text = recorded().text().unwrap();
        let said = refusal(&text.replace("r5 p1", "r6 p1"));
        assert_eq!(said, "chunk-0:3: the text of the tapes is not what its SHA-256 says");
        let lines = text.lines().filter(|line| !line.starts_with("{\"tapes\":"));
        let said = refusal(&lines.collect::<Vec<_>>().join("\n"));
        assert_eq!(said, "chunk-0: it is not complete: 0 of 1 recordings are there; copy it again");
        let wrong = TapeText {
            sha256: model::trial::sha256_hex(b"task 1 a\nw7\n"),
            text: "task 1 a\nw7\n".into(),
        };
        let line = serde_json::to_string(&Definition::Tapes(wrong)).unwrap();
        let said = refusal(&format!("{line}\n"));
        assert!(said.starts_with("chunk-0:1: the tapes, line 1: tape 0 names tape 7"), "{said}");
    }

    #[test]
    fn schedulers_are_found_where_they_are_unpacked() {
        let folder = tempfile::tempdir().unwrap();
        let sources = chunk().sources(folder.path()).unwrap();
        assert_eq!(sources.values().next().unwrap().text, "// mine\n");
    }

    #[test]
    fn a_scheduler_does_not_leave_its_folder() {
        let sources = |name: &str| {
            let mut chunk = chunk();
            chunk.schedulers[0].files[0].0 = name.into();
            let folder = tempfile::tempdir().unwrap();
            let sources = chunk.sources(folder.path());
            let outside = folder.path().parent().expect("a temporary folder").join("mine.bpf.c");
            assert!(!outside.exists(), "{name}");
            sources
        };
        let above = "../".repeat(17) + "mine.bpf.c";
        for name in [above.as_str(), "/mine.bpf.c", "below/../../mine.bpf.c"] {
            let said = sources(name).unwrap_err().to_string();
            assert_eq!(said, format!("{name}: leaves its folder"));
        }
        sources("../../mine.bpf.c").expect("it lies two folders below the chunk's");
    }
}
