// SPDX-License-Identifier: GPL-2.0-only
//! An experiment's file and the command line → [`model::Experiment`].

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use model::{Backend, Contestant, Design, Experiment, Machine, Workload};
use serde::Deserialize;

use super::cells::{self, Cells, Choice};
use super::contestants::{self, Admitted, Entrant, Relations};
use super::source::{Document, Places, advice, unknown_name};
use super::{Host, Overrides, SpecError, contestant, machine};
use crate::assets::{self, Kind};
use crate::{capability, commands, mentions, plan};

const BLOCKS: u32 = 10;
/// The default time limit of a trial.
const TIMEOUT_S: u64 = 60;
/// A replay may take this many times as long as its recording, and [`TIMEOUT_S`].
const REPLAY_FACTOR: u64 = 4;
const MACHINE: &str = "uniprocessor";
/// More repeats than this are a mistake.
const REPEATS_MAX: u32 = 10_000;
/// The longest time for one trial: a day.
pub(crate) const TIMEOUT_S_MAX: u64 = 86_400;
/// The name and the question of an experiment that has no file.
const ADHOC: (&str, &str) = ("adhoc", "How do these schedulers compare?");

/// An experiment, and notes about its files.
#[derive(Clone, Debug, PartialEq)]
pub struct ResolvedExperiment {
    /// The experiment; everything that its file refers to has been read.
    pub experiment: Experiment,
    /// Parts of the files that are ignored, e.g. rt-app's logging options.
    pub notes: Vec<String>,
    /// Which of its contestants belong together.
    pub relations: Relations,
    /// The places that name its contestants, for messages.
    pub origins: BTreeMap<String, SpecError>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct ExperimentFile {
    question: Option<String>,
    #[serde(default, deserialize_with = "model::experiment::one_or_more")]
    on: Vec<Backend>,
    machine: Option<String>,
    machines: Option<Vec<String>>,
    baseline: Option<String>,
    blocks: Option<u32>,
    trials_per_boot: Option<u32>,
    #[serde(default)]
    autogroup: bool,
    timeout_s: Option<u64>,
    #[serde(default)]
    trace: Vec<String>,
    #[serde(default)]
    pairs: BTreeMap<String, String>,
    #[serde(default)]
    bases: BTreeMap<String, String>,
    #[serde(default)]
    scheduler: Vec<contestant::Entry>,
    #[serde(default)]
    workload: Vec<toml::Table>,
}

/// Reads an experiment by name or path and changes it as the command line says.
pub fn experiment(
    name: &str,
    over: &Overrides,
    host: &Host,
) -> Result<ResolvedExperiment, SpecError> {
    let asset = assets::find(Kind::Experiment, name, Path::new(""))?;
    let document = Document::parse(&asset.label, &asset.text)?;
    let mut file: ExperimentFile = document.read()?;
    if over.options_only {
        (file.scheduler, file.baseline) = (Vec::new(), None);
        (file.pairs, file.bases) = (BTreeMap::new(), BTreeMap::new());
    }
    if file.question.as_ref().is_none_or(|question| question.trim().is_empty()) {
        let hint = "begin with question = \"…\": one sentence";
        return Err(document.places.error("question", "the question is missing").hint(hint));
    }
    resolve(file, &asset.stem, &asset.base, &document.places, over, host)
}

/// An experiment from the command line alone.
pub fn adhoc(over: &Overrides, host: &Host) -> Result<ResolvedExperiment, SpecError> {
    let places = Places::new("command line", "");
    let file = ExperimentFile { question: Some(ADHOC.1.into()), ..ExperimentFile::default() };
    resolve(file, ADHOC.0, Path::new(""), &places, over, host)
}

/// A recording's replay lasts as long as the recording, and longer where CPUs are slow or fewer.
fn default_timeout_s(workloads: &[Workload]) -> u64 {
    let recordings = workloads.iter().filter_map(|workload| workload.recording.as_ref());
    let longest_us = recordings.map(|recorded| recorded.length_us).max().unwrap_or(0);
    TIMEOUT_S
        + (longest_us / 1_000_000).saturating_mul(REPLAY_FACTOR).min(TIMEOUT_S_MAX - TIMEOUT_S)
}

fn resolve(
    file: ExperimentFile,
    name: &str,
    base: &Path,
    places: &Places,
    over: &Overrides,
    host: &Host,
) -> Result<ResolvedExperiment, SpecError> {
    let backends = backends(&file, over)?;
    if !backends.iter().all(|backend| backend.can_execute()) {
        let error = places.error("on", "nothing can be asked of imported results");
        return Err(error.hint("write sim, vm or live"));
    }
    let live = backends.iter().any(|backend| backend.uses_running_kernel());
    let (mut machines, only_on) = machines(&file, live, base, places, over, host)?;
    let choices = choices(&file, base, places, over)?;
    let mut notes = Vec::new();
    let is_named = file.machine.is_some() || file.machines.is_some() || !over.machines.is_empty();
    let is_free = !is_named && over.given_machine.is_none() && !live;
    let cells = cells::with_machine(&choices, &mut machines, is_free, host.cpus, &mut notes)?;
    let Cells { workloads, scaled, on: cells_on } = cells;
    let of_commands = (!over.commands.is_empty()).then_some(commands::TIMEOUT_S);
    let chosen = over.timeout_s.or(of_commands).or(file.timeout_s);
    let timeout_s = chosen.unwrap_or_else(|| default_timeout_s(&workloads));
    let timeout_s = range(places, "timeout_s", timeout_s, TIMEOUT_S_MAX)?;
    let blocks = over.blocks.or(file.blocks).unwrap_or(BLOCKS);
    let trials_per_boot = over.trials_per_boot.or(file.trials_per_boot).unwrap_or(1);
    let most = u64::from(REPEATS_MAX);
    range(places, "blocks", u64::from(blocks), most)?;
    range(places, "trials_per_boot", u64::from(trials_per_boot), most)?;
    let trace = trace(&file, over, &workloads, places)?;
    let wanted = over.baseline.as_ref().or(file.baseline.as_ref()).cloned();
    let entrants = contestants::all(file.scheduler, base, places, over, host, &mut notes)?;
    let admitted = match host.running {
        Some(running) if live => contestants::admit(&entrants, &running())?,
        _ => Admitted::default(),
    };
    let origin = |entrant: &Entrant| (entrant.contestant.name.clone(), entrant.origin.clone());
    let origins = entrants.iter().map(origin).collect();
    let contestants: Vec<Contestant> =
        entrants.into_iter().map(|entrant| entrant.contestant).collect();
    let baseline = baseline(wanted, &contestants, places, over)?;
    let relations = Relations { counterparts: file.pairs, bases: file.bases };
    relations.check(&contestants, places)?;
    let mut experiment = Experiment {
        name: name.into(),
        question: file.question.unwrap_or_default(),
        backends,
        baseline,
        contestants,
        workloads,
        scaled,
        machines,
        only_on,
        cells_on,
        not_on_live: admitted.left_out,
        blocks,
        trials_per_boot,
        timeout_ms: timeout_s * 1000,
        trace,
        trace_every_trial: false,
        races: false,
        probes: !over.no_probes,
        design: Design { exploratory: over.exploratory, ..Design::default() },
    };
    notes.extend(accepted(&experiment, admitted.note, live, places)?);
    notes.extend(common_baseline(&mut experiment));
    Ok(ResolvedExperiment { experiment, notes, relations, origins })
}

/// Refuses what is too large or cannot run; gives the notes about what is left out.
fn accepted(
    experiment: &Experiment,
    note: Option<String>,
    live: bool,
    places: &Places,
) -> Result<Vec<String>, SpecError> {
    let trials = plan::size(experiment);
    if trials > plan::TRIALS_MAX {
        let most = plan::TRIALS_MAX;
        let message = format!("a plan of {trials} trials; {most} are the most");
        return Err(places.error("blocks", message).hint("write fewer blocks, runs or cells"));
    }
    if let Some(reason) = capability::why_impossible(experiment) {
        return Err(places.error("on", reason).hint("leave the vm backend out: --on sim"));
    }
    if let Some(reason) = capability::why_refused(experiment) {
        let hint = "choose another --machine, or leave the scheduler out";
        return Err(places.error("machine", reason).hint(hint));
    }
    let mut notes = capability::ignored_fields(experiment);
    notes.extend(capability::played_on_others(experiment));
    notes.extend(capability::left_out(experiment));
    notes.extend(note);
    if capability::runnable(experiment).is_empty() {
        let reason = notes.last().cloned().unwrap_or_default();
        let cannot = if live { "nothing can run on live" } else { "nothing can be simulated" };
        let error = places.error("on", format!("{cannot}: {reason}"));
        return Err(error.hint("write on = \"vm\", or --on vm"));
    }
    Ok(notes)
}

/// All backends use the same baseline. If one backend cannot run it, the baseline is the first
/// contestant that all can run, and the returned sentence says so.
fn common_baseline(experiment: &mut Experiment) -> Option<String> {
    let everywhere = capability::on_every_backend(experiment);
    let wanted = &experiment.baseline;
    if everywhere.contains(wanted) {
        return None;
    }
    let new = everywhere.first()?.clone();
    let note = format!("{wanted} does not run on all backends, so the baseline is {new}");
    experiment.baseline = new;
    Some(note)
}

fn range(places: &Places, name: &str, value: u64, most: u64) -> Result<u64, SpecError> {
    if (1..=most).contains(&value) {
        return Ok(value);
    }
    let error = places.error(name, format!("{name} = {value} is out of range"));
    Err(error.hint(format!("write 1 … {most}")))
}

/// The backends: those of the command line, else of the file, else the simulator, which needs
/// nothing but this program.
fn backends(file: &ExperimentFile, over: &Overrides) -> Result<Vec<Backend>, SpecError> {
    let twice = |(index, backend): (usize, &Backend)| over.on[..index].contains(backend);
    if over.on.iter().enumerate().any(twice) {
        return Err(SpecError::new("--on", "the same backend twice").hint("name each once"));
    }
    if !over.commands.is_empty() {
        return commands::backends(&over.on);
    }
    let chosen = [&over.on, &file.on].into_iter().find(|list| !list.is_empty());
    Ok(chosen.cloned().unwrap_or_else(|| vec![Backend::default()]))
}

/// The machines, and those of them that only one backend has: `sim:desktop_16`. `live` always runs
/// on the host.
fn machines(
    file: &ExperimentFile,
    live: bool,
    base: &Path,
    places: &Places,
    over: &Overrides,
    host: &Host,
) -> Result<(Vec<Machine>, BTreeMap<String, Backend>), SpecError> {
    if file.machine.is_some() && file.machines.is_some() {
        let error = places.error("machines", "both 'machine' and 'machines'");
        return Err(error.hint("write one of them"));
    }
    let here = vec![machine::HERE.to_owned()];
    let (path, names) = match (&file.machine, &file.machines) {
        _ if over.given_machine.is_some() => {
            ("", over.given_machine.iter().map(|given| given.name.clone()).collect())
        }
        _ if live && over.machines.is_empty() => ("", here),
        _ if !over.machines.is_empty() => ("", over.machines.clone()),
        (Some(name), _) => ("machine", vec![name.clone()]),
        (None, Some(names)) => ("machines", names.clone()),
        (None, None) => ("", vec![MACHINE.into()]),
    };
    if live && names != [machine::HERE] {
        let hint = format!("leave --machine out, or write --machine {}", machine::HERE);
        return Err(SpecError::new("--on live", "runs on the machine that it is on").hint(hint));
    }
    if let Some(given) = &over.given_machine {
        return Ok((vec![given.clone()], BTreeMap::new()));
    }
    if names.is_empty() {
        return Err(places.error("machines", "no machines").hint("name at least one"));
    }
    let (mut machines, mut only_on) = (Vec::new(), BTreeMap::new());
    for (only, name) in names.iter().map(|name| machine::restricted(name)) {
        let machine = machine::load(name, base, host.cpus);
        let mut machine = machine.map_err(|error| placed(error, name, places, path))?;
        // The running kernel stays as it is.
        machine.autogroup |= (file.autogroup || over.autogroup) && !live;
        only_on.extend(only.map(|only| (machine.name.clone(), only)));
        machines.push(machine);
    }
    for (index, machine) in machines.iter().enumerate() {
        if machines[..index].iter().any(|other| other.name == machine.name) {
            let message = format!("a second machine '{}'", machine.name);
            let error = places.error(&format!("machines[{index}]"), message);
            return Err(error.hint("give each its own name"));
        }
    }
    Ok((machines, only_on))
}

/// Moves the error about a name to the place where the name is written.
pub fn placed(error: SpecError, name: &str, places: &Places, path: &str) -> SpecError {
    if error.file != name || path.is_empty() {
        return error;
    }
    let hint = error.hint.map(|hint| format!("{hint}; {}", mentions::HINT));
    places.error(path, assets::naming(&error.message, name)).maybe_hint(hint)
}

fn choices(
    file: &ExperimentFile,
    base: &Path,
    places: &Places,
    over: &Overrides,
) -> Result<Vec<Choice>, SpecError> {
    if !over.commands.is_empty() {
        let of = |command: &String| cells::from_command(command, &over.prepare);
        return over.commands.iter().map(of).collect();
    }
    if !over.workloads.is_empty() {
        return over.workloads.iter().map(|text| cells::from_option(text)).collect();
    }
    if file.workload.is_empty() {
        let hint = "add a [[workload]] with name = \"…\", or --workload NAME";
        return Err(places.error("", "no workload").hint(hint));
    }
    let entries = file.workload.iter().enumerate();
    let read = |(index, table)| cells::from_table(table, index, places, base);
    // Who names machines, or runs on this one, wants all cells there.
    let is_free = !over.machines.is_empty() || over.on.contains(&Backend::Live);
    let choice = |choice: Choice| if is_free { choice.everywhere() } else { choice };
    entries.map(|entry| read(entry).map(choice)).collect()
}

/// The contestant that the others are compared with; by default the first.
fn baseline(
    wanted: Option<String>,
    contestants: &[Contestant],
    places: &Places,
    over: &Overrides,
) -> Result<String, SpecError> {
    let Some(wanted) = wanted else { return Ok(contestants[0].name.clone()) };
    let names: Vec<&str> = contestants.iter().map(|contestant| contestant.name.as_str()).collect();
    if names.contains(&wanted.as_str()) {
        return Ok(wanted);
    }
    if over.baseline.is_some() {
        let error = SpecError::new("--baseline", format!("unknown scheduler '{wanted}'"));
        return Err(error.maybe_hint(advice(&wanted, names)));
    }
    Err(unknown_name(places, "baseline", "scheduler", &wanted, &names))
}

/// The full names of the cells to trace: `wake_under_hogs hogs=3` chooses every cell of the
/// workload whose parameters agree, `all` every cell.
fn trace(
    file: &ExperimentFile,
    over: &Overrides,
    workloads: &[Workload],
    places: &Places,
) -> Result<Vec<String>, SpecError> {
    let mut chosen = BTreeSet::new();
    let from_file = file.trace.iter().enumerate().map(|(at, text)| (format!("trace[{at}]"), text));
    let from_options = over.trace.iter().map(|text| (String::new(), text));
    // The command line may have replaced the workloads that the file would trace.
    let replaced = !(over.workloads.is_empty() && over.commands.is_empty());
    for (path, text) in from_file.chain(from_options) {
        let cells: Vec<String> =
            workloads.iter().filter(|cell| matches(text, cell)).map(Workload::cell).collect();
        if cells.is_empty() && (!replaced || path.is_empty()) {
            let names: Vec<String> = workloads.iter().map(Workload::cell).collect();
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let error = match path.as_str() {
                "" => SpecError::new("--trace", format!("unknown cell '{text}'")),
                path => places.error(path, format!("unknown cell '{text}'")),
            };
            return Err(error.maybe_hint(advice(text, names)));
        }
        chosen.extend(cells);
    }
    Ok(workloads.iter().map(Workload::cell).filter(|cell| chosen.contains(cell)).collect())
}

/// Whether `NAME [param=value …]` means a cell: its workload, and every parameter that it names.
pub fn matches(text: &str, workload: &Workload) -> bool {
    let cell = workload.cell();
    let words: Vec<&str> = cell.split(' ').collect();
    let mut wanted = text.split_whitespace();
    text == "all"
        || wanted.next() == Some(&workload.name) && wanted.all(|word| words[1..].contains(&word))
}
