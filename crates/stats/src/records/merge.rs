// SPDX-License-Identifier: GPL-2.0-only
//! Records of several stores as one set: the same question asked under the same conditions becomes
//! one cell, and everything else stays in cells of its own.
//!
//! - Under a virtual clock the same trial gives the same bytes on every host. Records of two stores
//!   share a cell if workload, machine, schedulers, kernels and program are the same, and every
//!   trial that both have measured has the same measurements; it then counts once. If the
//!   measurements differ, one store is wrong, and both are shown.
//! - Under a real clock two stores are two hosts, or one host at two times. Their trials were not
//!   randomised together, so a difference between contestants could be one between hosts: they
//!   never share a cell. A trial that is in both stores, as in a copy, counts once.
//!
//! Cells that stay apart carry their store's name after the machine's: `laptop @ B.db`.
//!
//! Programs that several compilers made of one scheduler's text. The text's SHA-256 is the same for
//! everybody, with a compiler or without; what ran is the object, whose hash the record has. Other
//! compilers, flags and headers make other objects, and their numbers are not one contestant's.

use std::collections::{BTreeMap, BTreeSet};

use model::trial::KnownAs;
use model::{Clock, Contestant, Provenance, Record, Shared};

use crate::records::columns::CellKey;

/// The number of cells that are named for each reason.
const NAMED: usize = 3;

#[derive(Clone, Debug)]
pub struct Part {
    /// Its name in tables: the file's name.
    pub label: String,
    pub records: Vec<Record>,
}

#[derive(Clone, Debug, Default)]
pub struct Merged {
    /// The records, each trial once; machines of cells that stay apart have the store in their
    /// name.
    pub records: Vec<Record>,
    /// Notes on the merge, a sentence each.
    pub notes: Vec<String>,
    /// Trials that differ although they should be equal, a line each.
    pub contradictions: Vec<String>,
}

/// Why two stores' records of a cell cannot share one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Why {
    Place,
    Definition(String),
    Contradiction(String),
}

/// Records that share a cell, and the parts that they come from.
#[derive(Default)]
struct Group {
    parts: Vec<usize>,
    records: Vec<Record>,
}

/// Puts parts together, in their order.
pub fn merge(parts: Vec<Part>) -> Merged {
    let labels: Vec<String> = parts.iter().map(|part| part.label.clone()).collect();
    let mut all = Merged::default();
    let mut reasons: BTreeMap<Why, Vec<String>> = BTreeMap::new();
    let mut twice: BTreeMap<(usize, usize), usize> = BTreeMap::new();
    for (key, shares) in by_cell(parts) {
        let mut groups: Vec<Group> = Vec::new();
        for (part, records) in shares {
            let fits = groups.iter().position(|group| {
                let why = apart(&group.records, &records, clock_of(&records));
                let cell = format!("{} ({})", name(&records), key.backend.word());
                why.map(|why| reasons.entry(why).or_default().push(cell)).is_none()
            });
            let group = fits.unwrap_or_else(|| {
                groups.push(Group::default());
                groups.len() - 1
            });
            let first = groups[group].parts.first().copied();
            let known = add(&mut groups[group], part, records);
            if let (Some(first), true) = (first, known > 0) {
                *twice.entry((first, part)).or_default() += known;
            }
        }
        all.records.extend(labelled(groups, &labels));
    }
    all.notes.extend(twice.into_iter().map(|((first, second), trials)| {
        let (first, second) = (&labels[first], &labels[second]);
        format!(
            "{trials} trials are in {first} and in {second}, byte for byte the same; they count \
             once"
        )
    }));
    for (why, cells) in reasons {
        let (sentence, contradicts) = words(&why, &cells);
        all.notes.push(sentence);
        all.contradictions.extend(contradicts);
    }
    all
}

fn by_cell(parts: Vec<Part>) -> BTreeMap<CellKey, BTreeMap<usize, Vec<Record>>> {
    let mut cells: BTreeMap<CellKey, BTreeMap<usize, Vec<Record>>> = BTreeMap::new();
    for (index, part) in parts.into_iter().enumerate() {
        for record in part.records {
            // One name for machines of two sizes is a difference, too.
            let key = CellKey { cpus: 0, ..CellKey::from_record(&record) };
            cells.entry(key).or_default().entry(index).or_default().push(record);
        }
    }
    cells
}

fn clock_of(records: &[Record]) -> Clock {
    records.first().map_or(Clock::Real, |record| record.trial.clock())
}

fn name(records: &[Record]) -> String {
    let trial = records.first().map(|record| &record.trial);
    trial.map_or_else(String::new, |trial| {
        format!("{} on {}", trial.workload.cell(), trial.machine.name)
    })
}

/// Adds what is not there yet, and counts what is.
fn add(group: &mut Group, part: usize, records: Vec<Record>) -> usize {
    group.parts.push(part);
    let known: BTreeSet<TrialIdentity> = group.records.iter().map(identity).collect();
    let before = records.len();
    let new = records.into_iter().filter(|record| !known.contains(&identity(record)));
    let old = group.records.len();
    group.records.extend(new);
    before - (group.records.len() - old)
}

/// What makes two records the same trial: under a virtual clock the trial alone.
type TrialIdentity = (String, Option<(String, u64, String)>);

fn identity(record: &Record) -> TrialIdentity {
    let provenance = &record.provenance;
    let when = || (provenance.boot_id.clone(), provenance.started_unix_s, record.measured.hash());
    (record.trial.id(), (record.trial.clock() == Clock::Real).then(when))
}

/// Why two sets of records cannot share a cell; `None` if they can.
fn apart(known: &[Record], new: &[Record], clock: Clock) -> Option<Why> {
    if clock == Clock::Real {
        let known_trials: BTreeSet<TrialIdentity> = known.iter().map(identity).collect();
        let shared = new.iter().any(|record| known_trials.contains(&identity(record)));
        return (!shared).then_some(Why::Place);
    }
    let unlike = definitions(known, new).or_else(|| conditions(known, new));
    unlike.map(Why::Definition).or_else(|| contradiction(known, new).map(Why::Contradiction))
}

/// Definitions that share a name and differ.
fn definitions(known: &[Record], new: &[Record]) -> Option<String> {
    let (known, new) = (&known.first()?.trial, &new.first()?.trial);
    if known.workload != new.workload {
        return Some(format!("the workload {} is defined differently", known.workload.name));
    }
    (known.machine != new.machine)
        .then(|| format!("the machine {} is defined differently", known.machine.name))
}

/// Differences in kernel, program or scheduler of the same contestants.
fn conditions(known: &[Record], new: &[Record]) -> Option<String> {
    let programs = |records: &[Record]| -> BTreeSet<String> {
        records.iter().map(|record| record.provenance.fairground.clone()).collect()
    };
    if programs(known) != programs(new) {
        let list = |records| programs(records).into_iter().collect::<Vec<_>>().join(", ");
        let (known, new) = (list(known), list(new));
        return Some(format!("Fairground {known} measured the one and {new} the other"));
    }
    let theirs: BTreeMap<&str, &Record> =
        known.iter().map(|record| (record.trial.contestant.name.as_str(), record)).collect();
    new.iter().find_map(|record| {
        let name = record.trial.contestant.name.as_str();
        let known = theirs.get(name)?;
        if known.trial.contestant != record.trial.contestant {
            return Some(format!("{name} is not the same scheduler in both"));
        }
        unlike_kernels(name, &known.provenance, &record.provenance)
            .or_else(|| unlike_guests(name, &known.provenance, &record.provenance))
            .or_else(|| unlike_objects(name, known, record))
    })
}

fn unlike_kernels(name: &str, known: &Provenance, new: &Provenance) -> Option<String> {
    let (before, now) = (&known.kernel_release, &new.kernel_release);
    let is_same = before == now && known.kernel_sha256 == new.kernel_sha256;
    if is_same || before.is_empty() || now.is_empty() {
        return None;
    }
    Some(format!("{name} ran on kernel {before} and on {now}, which are not the same image"))
}

fn unlike_guests(name: &str, known: &Provenance, new: &Provenance) -> Option<String> {
    let (fact, before, now) = known.unlike_guest(new)?;
    Some(format!(
        "{name} ran in two guests, which differ in {fact} ({} and {})",
        before.get(..12).unwrap_or(before),
        now.get(..12).unwrap_or(now)
    ))
}

fn unlike_objects(name: &str, known: &Record, new: &Record) -> Option<String> {
    let (before, now) = (known.provenance.object()?, new.provenance.object()?);
    (before != now).then(|| {
        format!("{name} is two objects ({before} and {now}), of two compilers or sets of headers")
    })
}

/// A trial with two different records.
fn contradiction(known: &[Record], new: &[Record]) -> Option<String> {
    let answer = |record: &Record| (record.outcome.word(), record.measured.hash());
    let answers: BTreeMap<String, _> =
        known.iter().map(|record| (record.trial.id(), answer(record))).collect();
    let contradicts = |record: &&Record| {
        answers.get(&record.trial.id()).is_some_and(|known| *known != answer(record))
    };
    let record = new.iter().find(contradicts)?;
    let (id, name) = (record.trial.id(), &record.trial.contestant.name);
    Some(format!("trial {id} of {name} has measured two different things"))
}

/// The records of a cell's groups; with the store in the machine's name if there are several.
fn labelled(groups: Vec<Group>, labels: &[String]) -> Vec<Record> {
    let several = groups.len() > 1;
    let mut all = Vec::new();
    for group in groups {
        let names: Vec<&str> = group.parts.iter().map(|&part| labels[part].as_str()).collect();
        let place = names.join(" + ");
        for mut record in group.records {
            if several {
                let machine = &mut record.trial.machine.name;
                *machine = format!("{machine} @ {place}");
            }
            all.push(record);
        }
    }
    all
}

/// The sentence for a reason, and whether it is a contradiction.
fn words(why: &Why, cells: &[String]) -> (String, Option<String>) {
    let mut cells = cells.to_vec();
    cells.dedup();
    let more = cells.len().saturating_sub(NAMED);
    let mut named = cells[..cells.len() - more].join("; ");
    if more > 0 {
        named += &format!("; and {more} more");
    }
    match why {
        Why::Place => (
            format!(
                "measured in real time at several places or times, which stay in cells of their \
                 own: {named}"
            ),
            None,
        ),
        Why::Definition(what) => (format!("kept apart, because {what}: {named}"), None),
        Why::Contradiction(what) => {
            let line = format!(
                "the same trial must measure the same, but {what} (in a guest, another build of \
                 Fairground is another program): {named}"
            );
            (line.clone(), Some(line))
        }
    }
}

/// Adds the processor's name to the machine's name, where the clock is real and the name is known.
/// Numbers of two processors are not compared.
pub fn name_processor(record: &mut Record) {
    let processor = &record.provenance.cpu_model;
    if record.trial.clock() == Clock::Real && !processor.is_empty() {
        record.trial.machine.name = format!("{}, {processor}", record.trial.machine.name);
    }
}

/// Adds the processor's name to all records if they were measured on more than one processor.
pub fn name_processors_if_several(campaigns: &mut [Vec<Record>]) {
    let real = campaigns.iter().flatten().filter(|record| record.trial.clock() == Clock::Real);
    let processors: BTreeSet<&str> =
        real.map(|record| record.provenance.cpu_model.as_str()).collect();
    if processors.len() > 1 {
        campaigns.iter_mut().flatten().for_each(name_processor);
    }
}

/// A contestant's name, and whether it is simulated: the simulator runs an object of its own.
type Key = (String, bool);

/// An object with its contestant, and how many trials ran it.
struct Object {
    hash: String,
    contestant: Shared<Contestant>,
    trials: usize,
}

/// Gives a name of its own to each further object that the records of one contestant ran, and says
/// so in a sentence for each contestant.
pub fn name_objects_if_several(records: &mut [Record]) -> Vec<String> {
    let mut objects: BTreeMap<Key, Vec<Object>> = BTreeMap::new();
    for record in records {
        let Some(hash) = record.provenance.object().map(str::to_owned) else { continue };
        let contestant = &record.trial.contestant;
        let key = (contestant.name.clone(), record.trial.backend.is_model());
        let known = objects.entry(key).or_default();
        let place = known.iter().position(|object| object.hash == hash).unwrap_or_else(|| {
            let mut contestant = contestant.clone();
            if !known.is_empty() {
                contestant.name = format!("{} (object {})", contestant.name, short(&hash));
            }
            known.push(Object { hash, contestant, trials: 0 });
            known.len() - 1
        });
        known[place].trials += 1;
        if place > 0 {
            record.trial.known_as = KnownAs(Some(record.trial.id()));
            record.trial.contestant = known[place].contestant.clone();
        }
    }
    objects.into_iter().filter(|(_, known)| known.len() > 1).map(sentence).collect()
}

fn sentence(((name, is_simulated), known): (Key, Vec<Object>)) -> String {
    let each = |object: &Object| {
        let Object { hash, contestant, trials } = object;
        format!("{} as `{}` ({trials} trials)", short(hash), contestant.name)
    };
    let place = if is_simulated { "in the simulator" } else { "on kernels" };
    format!(
        "`{name}` ran {place} as {} objects, so not one compiler with one set of headers made \
         them; each is a contestant of its own: {}.",
        known.len(),
        known.iter().map(each).collect::<Vec<_>>().join(", ")
    )
}

fn short(hash: &str) -> &str {
    hash.get(..8).unwrap_or(hash)
}

#[cfg(test)]
mod tests {
    use model::record::OBJECT;
    use model::{Outcome, Trial};

    use super::*;

    fn record(name: &str, object: Option<&str>) -> Record {
        let mut trial = Trial::default();
        trial.contestant.name = name.into();
        let mut record = Record::without_measurement(trial, Outcome::Ok, Default::default());
        let object = object.map(|hash| (OBJECT.to_owned(), hash.to_owned()));
        record.provenance.programs = object.into_iter().collect();
        record
    }

    #[test]
    fn each_further_object_is_a_contestant_with_the_same_trial() {
        let one = [("mine", Some("11aa22bb33")), ("kernel", None), ("other", Some("11aa22bb33"))];
        let mut records: Vec<Record> = one.map(|(name, object)| record(name, object)).into();
        assert!(name_objects_if_several(&mut records).is_empty());
        records.push(record("mine", Some("44dd55ee66")));
        let trial = records[0].trial.id();
        let notes = name_objects_if_several(&mut records);
        let names: Vec<&str> = records.iter().map(|r| r.trial.contestant.name.as_str()).collect();
        assert_eq!(names, ["mine", "kernel", "other", "mine (object 44dd55ee)"]);
        assert_eq!((records[0].trial.id(), records[3].trial.id()), (trial.clone(), trial));
        let [note] = notes.as_slice() else { panic!("{notes:?}") };
        let said = "11aa22bb as `mine` (1 trials), 44dd55ee as `mine (object 44dd55ee)` (1 trials)";
        assert!(note.contains(said) && note.contains("not one compiler"), "{note}");
    }
}
