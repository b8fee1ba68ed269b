// SPDX-License-Identifier: GPL-2.0-only
//! What leaves this machine, by any door: a mark is planted in each text that records and sessions
//! have, and looked for in what is written for others.

mod doors;
mod played;
mod samples;

use std::collections::{BTreeMap, BTreeSet};

use model::{Experiment, Record, SchedulerChoice, Seed, trial};
use store::exchange::privacy::fields::{KINDS, Rule, WORDS, kind_of};
use store::exchange::shell::quoted;
use store::{Origin, Session, Store};

use crate::common::Bench;
use samples::Filler;

/// As many as the largest enum has variants, the steps.
const ROUNDS: usize = 40;

const STORE: &str = "planted.db";

/// The row of a place: steps begin anew, as do the parts that both experiments and trials have, and
/// the file that stands for a program is a scheduler.
fn row(place: &str) -> String {
    const PARTS: [(&str, &str); 14] = [
        ("experiment", "experiment"),
        ("trial", "trial"),
        ("contestants", "contestant"),
        ("contestant", "contestant"),
        ("workloads", "workload"),
        ("workload", "workload"),
        ("machines", "machine"),
        ("machine", "machine"),
        ("metrics", "metric"),
        ("histograms", "histogram"),
        ("series", "series"),
        ("outcome", "outcome"),
        ("provenance", "provenance"),
        ("steps", "steps"),
    ];
    let names: Vec<&str> = place.split('.').filter(|name| *name != "in_simulator").collect();
    if names.ends_with(&["steps"]) {
        return "steps".into();
    }
    let part = |name: &str| PARTS.iter().find(|(part, _)| *part == name).map(|(_, row)| *row);
    let inner = &names[..names.len() - 1];
    let at = inner.iter().rposition(|name| part(name).is_some());
    match at {
        Some(at) => {
            let rest = names[at + 1..].join(".");
            format!("{}.{rest}", part(names[at]).expect("it was found"))
        }
        None => names.join(".").trim_start_matches("record.").to_owned(),
    }
}

/// A store in which each text is planted, and the places of texts and of words of enums.
struct Planted {
    bench: Bench,
    places: BTreeSet<String>,
    words: BTreeSet<String>,
}

/// `recorded`: all workloads replay recordings, or none does.
fn planted(recorded: bool, plant: &dyn Fn(&str) -> String) -> Planted {
    let bench = Bench::new();
    let store = Store::open(&bench.path(STORE)).expect("a store");
    let mut filler = Filler::new(plant);
    for round in 0..ROUNDS {
        filler.round = round;
        let mut experiment: Experiment = filler.fill("experiment");
        let mut record: Record = filler.fill("record");
        let origin: Origin = filler.fill("session.origin");
        repair(&mut record, &mut experiment, round);
        let scaled = experiment.scaled.iter_mut().map(|scaled| &mut scaled.workload);
        let workloads = experiment.workloads.iter_mut().chain(scaled);
        for workload in workloads.chain([&mut *record.trial.workload]) {
            workload.recording.take_if(|_| !recorded);
        }
        let session = Session {
            id: 0,
            campaign: None,
            experiment,
            plan: plant("session.plan"),
            seed: Seed(1),
            command: format!("fairground run --scheduler {}", quoted(&plant("session.command"))),
            started_unix_s: 1,
            fairground: plant("session.fairground"),
            origin: Some(origin),
        };
        let id = store.begin(&session).expect("a session");
        store.append(id, &record).expect("a record");
    }
    let own = ["session.plan", "session.command", "session.fairground"].map(str::to_owned);
    let places = filler.places.take().into_iter().chain(own).collect();
    Planted { bench, places, words: filler.words.take() }
}

/// Gives a record what a store demands of numbers and identities, and a report of baselines.
fn repair(record: &mut Record, experiment: &mut Experiment, round: usize) {
    record.trial.schema = trial::SCHEMA;
    record.trial.position = round as u32;
    record.trial.experiment.clone_from(&experiment.name);
    let contestant = &record.trial.contestant.name;
    experiment.baseline.clone_from(contestant);
    experiment.design.in_use = vec![contestant.clone()];
    if let SchedulerChoice::File { sha256, .. } = &mut record.trial.contestant.scheduler {
        *sha256 = trial::sha256_hex(b"text");
    }
    let is_missing = round % 2 == 1;
    for metric in &mut record.measured.metrics {
        metric.value.take_if(|_| is_missing);
        metric.missing.take_if(|_| !is_missing);
    }
    for series in &mut record.measured.series {
        series.missing.take_if(|_| !is_missing);
        series.values.truncate(usize::from(!is_missing));
    }
}

/// Whether a text of this row may be found somewhere, in these words.
fn may_leave(row: &str, recorded: bool) -> bool {
    let Some(kind) = kind_of(row).map(|kind| &KINDS[kind]) else { return false };
    let is_thread = kind.what == "names of groups";
    kind.rule != Rule::About && !(recorded && is_thread)
}

#[test]
fn each_text_has_a_row_and_each_row_a_text() {
    let planted = planted(true, &|_| "word".into());
    let places: BTreeSet<String> = planted.places.iter().map(|place| row(place)).collect();
    let new: Vec<&String> = places.iter().filter(|row| kind_of(row).is_none()).collect();
    assert!(new.is_empty(), "privacy/fields.rs must say whether these may leave, and why: {new:?}");
    let words: BTreeSet<String> = planted.words.iter().map(|place| row(place)).collect();
    let gone: Vec<&&str> = KINDS
        .iter()
        .flat_map(|kind| kind.fields)
        .filter(|field| !places.contains(**field) && !words.contains(**field))
        .collect();
    assert!(gone.is_empty(), "no text is there: {gone:?}");
    for kind in KINDS {
        assert!(!kind.what.is_empty() && !kind.why.is_empty());
    }
}

#[test]
fn what_leaves_has_a_row_and_is_listed_before() {
    for recorded in [false, true] {
        let marks = |place: &str| format!("Mark{}x", trial::hex16(&row(place)));
        let planted = planted(recorded, &marks);
        let rows: BTreeMap<String, String> =
            planted.places.iter().map(|place| (marks(place), row(place))).collect();
        let told = doors::listed(&planted.bench);
        let share = ("share".to_owned(), doors::unplayable(&planted.bench));
        for (door, text) in doors::but_share(&planted.bench).into_iter().chain([share]) {
            for (mark, row) in rows.iter().filter(|(mark, _)| text.contains(mark.as_str())) {
                assert!(may_leave(row, recorded), "{door}: {row}: {mark}");
                let what = KINDS[kind_of(row).expect("it may leave")].what;
                assert!(what == WORDS || told.contains(what), "{row}: {what} in {told}");
            }
        }
    }
}

#[test]
fn no_folder_person_or_host_leaves_by_any_door() {
    let planted = planted(true, &|place| {
        let mark = &trial::hex16(&row(place))[..6];
        format!("x ../Zfold{mark} er/Zsub{mark}/File{mark}.c planteduser joe@Zhost{mark}.acme y")
    });
    let share = ("share".to_owned(), doors::unplayable(&planted.bench));
    for (door, text) in doors::but_share(&planted.bench).into_iter().chain([share]) {
        for word in ["Zfold", "Zsub", "planteduser", "plantedhome", "joe@", "Zhost", "acme"] {
            let at = text.find(word);
            let around = at.map(|at| {
                let from = text.floor_char_boundary(at.saturating_sub(200));
                &text[from..text.floor_char_boundary((at + 100).min(text.len()))]
            });
            assert!(at.is_none(), "{door}: {word} in {around:?}");
        }
    }
}
