// SPDX-License-Identifier: GPL-2.0-only
//! What a simulated scheduler claims to have measured: its answer from the trial's identity on.

use std::fmt::Write;

use model::Record;

use crate::common::{Bench, hostile, simulated};

/// What the simulator says of good trials, without the identity.
pub fn answers() -> Vec<Vec<u8>> {
    let bench = Bench::new();
    let run = simulated("./tiny.toml", "fifo", "1");
    bench.run(&[&["run"], &run[..], &["--exploratory"]].concat()).success();
    bench.records("fairground.db").iter().map(answer).collect()
}

fn answer(record: &Record) -> Vec<u8> {
    let facts = &record.provenance;
    let answer = serde_json::json!({
        "outcome": record.outcome, "measured": record.measured, "trace": null,
        "before": facts.scheduler_before, "after": facts.scheduler_after,
        "printed": ["a line"], "notes": facts.notes,
    });
    answer.to_string().replacen('{', ",", 1).into_bytes()
}

/// A scheduler that says what its knobs hold. It is the same for all answers, and compiled once.
pub fn scheduler() -> String {
    let text = std::fs::read_to_string(hostile("forge.bpf.c")).expect("a scheduler");
    let (before, rest) = text.split_once("\tsay(\",\\\"outcome").expect("its own words");
    let (_, after) = rest.split_once("\treturn bytes;").expect("its end");
    format!("{before}\tout((const char *)said, length);\n\treturn bytes;{after}")
        .replace("@MEASURED@", "The answer")
        .replace("UEI_DEFINE(uei);", KNOBS)
}

const KNOBS: &str = "UEI_DEFINE(uei);\nconst volatile u8 said[1 << 18];\n\
                     const volatile u32 length;";

/// The side file with which it says an answer.
pub fn values(answer: &[u8]) -> String {
    let answer = &answer[..answer.len().min(1 << 18)];
    let mut said = String::new();
    for byte in answer {
        let _ = write!(said, "{byte},");
    }
    format!("[knobs]\nsaid = [{said}]\nlength = {}\n", answer.len())
}

/// The scheduler beside the forger has the record that it always has.
pub fn look_beside(bench: &Bench) -> Result<(), String> {
    static ALONE: std::sync::OnceLock<String> = std::sync::OnceLock::new();
    let beside = |bench: &Bench, store: &str| {
        let records = bench.records(store);
        let beside = records.iter().find(|record| record.trial.contestant.name == "fifo");
        beside.map(|record| format!("{:?} {:?}", record.outcome, record.measured))
    };
    let alone = ALONE.get_or_init(|| {
        let bench = Bench::new();
        let words: Vec<&str> = super::RUN_FORGED.split_whitespace().collect();
        let words: Vec<&str> =
            words.into_iter().map(|word| if word == "FILE" { "vtime" } else { word }).collect();
        bench.run(&words).success();
        beside(&bench, "imported.db").expect("a record")
    });
    match beside(bench, "imported.db") {
        Some(found) if found == *alone => Ok(()),
        found => Err(format!("the record beside it is {found:?}")),
    }
}
