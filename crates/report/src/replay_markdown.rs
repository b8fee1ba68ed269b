// SPDX-License-Identifier: GPL-2.0-only
//! Whether replays tell the truth, as Markdown for documents and the terminal.

use std::collections::BTreeSet;

use model::metric::Unit;
use stats::replay::{Check, Kind, Pair, Proof, Way};

use crate::table::Align::{Left, Right};
use crate::table::Table;
use crate::units;

/// A row for each program under the scheduler that it was recorded under, a row for each under all
/// of them, and what is not near or points the other way. With `all`, every figure.
pub fn tables(proofs: &[Proof], all: bool) -> String {
    let mut text =
        format!("{}\n{}", same_scheduler(proofs).markdown(), all_schedulers(proofs).markdown());
    let figures = if all { "Every figure" } else { "Figures that are not within" };
    let claims = if all { "Every claim of the program" } else { "Claims that disagree" };
    for (title, table) in [(figures, figure_rows(proofs, all)), (claims, claim_rows(proofs, all))] {
        if !table.is_empty() {
            text += &format!("\n{title}:\n\n{}", table.markdown());
        }
    }
    text
}

/// A row of a table: one replay, or the sum of all.
struct Row<'a> {
    cell: &'a str,
    place: String,
    recorded: &'a str,
    proofs: &'a [Proof],
}

/// A row for each proof, the last one for all.
fn rows(proofs: &[Proof]) -> impl Iterator<Item = Row<'_>> {
    let each = proofs.iter().map(|proof| Row {
        cell: &proof.cell,
        place: format!("{} ({})", proof.machine, proof.backend.word()),
        recorded: &proof.recorded,
        proofs: std::slice::from_ref(proof),
    });
    each.chain([Row { cell: "all", place: String::new(), recorded: "", proofs }])
}

fn same_scheduler(proofs: &[Proof]) -> Table {
    let mut table = Table::new(&[
        ("program", Left),
        ("on", Left),
        ("recorded under", Left),
        ("figures", Right),
        ("within", Right),
        ("the program with itself", Right),
        ("within, of those it repeats", Right),
    ]);
    for Row { cell, place, recorded, proofs } in rows(proofs) {
        let checks: Vec<&Check> = proofs.iter().flat_map(|proof| &proof.checks).collect();
        let repeats: Vec<&Check> = proofs.iter().flat_map(|proof| &proof.repeats).collect();
        let steady: Vec<Check> = proofs.iter().flat_map(Proof::steady).collect();
        let share = |checks: &[&Check]| units::share(within(checks.iter().copied()), checks.len());
        table.add([
            cell.into(),
            place,
            recorded.into(),
            checks.len().to_string(),
            share(&checks),
            share(&repeats),
            share_of(within(&steady), steady.len()),
        ]);
    }
    table
}

fn all_schedulers(proofs: &[Proof]) -> Table {
    let mut table = Table::new(&[
        ("program", Left),
        ("on", Left),
        ("schedulers", Right),
        ("differences that program and replay claim", Right),
        ("same way", Right),
        ("that program and simulator claim", Right),
        ("same way", Right),
    ]);
    for Row { cell, place, proofs, .. } in rows(proofs) {
        let pairs = || proofs.iter().flat_map(|proof| &proof.pairs);
        let names: BTreeSet<&String> = pairs().flat_map(|pair| &pair.schedulers).collect();
        let (same, both) = agreeing(pairs().map(|pair| (pair.program, pair.replay)));
        let (model_same, model_both) = agreeing(pairs().map(|pair| (pair.program, pair.model)));
        table.add([
            cell.into(),
            place.clone(),
            if place.is_empty() { String::new() } else { names.len().to_string() },
            both.to_string(),
            units::share(same, both),
            model_both.to_string(),
            units::share(model_same, model_both),
        ]);
    }
    table
}

/// How many figures are within.
fn within<'a>(checks: impl IntoIterator<Item = &'a Check>) -> usize {
    checks.into_iter().filter(|check| check.is_within()).count()
}

/// `3 of 4 (75 %)`.
fn share_of(part: usize, all: usize) -> String {
    match all {
        0 => "–".into(),
        all => format!("{part} of {all} ({:.0} %)", 100.0 * part as f64 / all as f64),
    }
}

/// Of the differences that both sides claim: how many point the same way, and how many there are.
fn agreeing(claims: impl Iterator<Item = (Option<Way>, Option<Way>)>) -> (usize, usize) {
    let both = claims.filter_map(|(program, replay)| Some((program?, replay?)));
    both.fold((0, 0), |(same, all), (program, replay)| {
        (same + usize::from(program == replay), all + 1)
    })
}

fn figure_rows(proofs: &[Proof], all: bool) -> Table {
    let mut table = Table::new(&[
        ("program", Left),
        ("figure", Left),
        ("program's", Right),
        ("replay's", Right),
        ("error", Right),
    ]);
    let checks =
        proofs.iter().flat_map(|proof| proof.checks.iter().map(move |check| (proof, check)));
    for (proof, check) in checks.filter(|(_, check)| all || !check.is_within()) {
        let replay = check.replay.map(|replay| number(check.kind, replay));
        let error = check.error().map(|error| format!("{:.0} %", 100.0 * error));
        table.add([
            proof.cell.clone(),
            figure(check.kind, &check.group),
            number(check.kind, check.program),
            replay.unwrap_or_else(|| "missing".into()),
            error.unwrap_or_else(|| "–".into()),
        ]);
    }
    table
}

fn claim_rows(proofs: &[Proof], all: bool) -> Table {
    let mut table = Table::new(&[
        ("program", Left),
        ("from", Left),
        ("to", Left),
        ("figure", Left),
        ("program's", Right),
        ("", Right),
        ("replay", Left),
        ("simulator", Left),
    ]);
    let disagrees = |pair: &Pair| {
        [pair.replay, pair.model].iter().any(|way| way.is_some() && *way != pair.program)
    };
    let pairs = proofs.iter().flat_map(|proof| proof.pairs.iter().map(move |pair| (proof, pair)));
    let claimed = pairs.filter(|(_, pair)| pair.program.is_some());
    for (proof, pair) in claimed.filter(|(_, pair)| all || disagrees(pair)) {
        let [from, to] = pair.schedulers.clone();
        table.add([
            proof.cell.clone(),
            from,
            to,
            figure(pair.kind, &pair.group),
            number(pair.kind, pair.values[0]),
            number(pair.kind, pair.values[1]),
            claim(pair.replay).into(),
            claim(pair.model).into(),
        ]);
    }
    table
}

fn claim(way: Option<Way>) -> &'static str {
    match way {
        Some(Way::Larger) => "larger",
        Some(Way::Smaller) => "smaller",
        None => "claims nothing",
    }
}

fn figure(kind: Kind, group: &str) -> String {
    let name = match kind {
        Kind::Wall => "wall time",
        Kind::Switches => "switches",
        Kind::Wakeups => "wake-ups",
        Kind::Cpu => "CPU time",
        Kind::DelayP50 => "run delay p50",
        Kind::DelayP99 => "run delay p99",
        Kind::DelayMean => "mean run delay",
    };
    if group.is_empty() { name.into() } else { format!("{name} · {group}") }
}

fn number(kind: Kind, value: f64) -> String {
    let unit = match kind {
        Kind::Switches | Kind::Wakeups => Unit::Count,
        _ => Unit::Nanoseconds,
    };
    units::number(value, unit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Backend;

    fn proof() -> Proof {
        let check = |kind, replay| Check { kind, group: "a".into(), program: 100.0, replay };
        let pair = |program, replay| Pair {
            schedulers: ["rr".into(), "vtime".into()],
            kind: Kind::Wall,
            group: String::new(),
            values: [1e6, 2e6],
            program,
            replay,
            model: None,
        };
        let (larger, smaller) = (Some(Way::Larger), Some(Way::Smaller));
        Proof {
            cell: "hackbench".into(),
            machine: "uniprocessor".into(),
            backend: Backend::Vm,
            recorded: "eevdf".into(),
            checks: vec![
                check(Kind::Cpu, Some(101.0)),
                check(Kind::DelayP50, Some(130.0)),
                check(Kind::DelayP99, None),
            ],
            repeats: Vec::new(),
            pairs: vec![pair(larger, larger), pair(larger, smaller), pair(None, larger)],
        }
    }

    #[test]
    fn shares_are_of_what_both_have() {
        let text = tables(&[proof()], false);
        for row in [
            "| hackbench | uniprocessor (vm) | eevdf | 3 | 1 (33 %) | – | – |",
            "| hackbench | uniprocessor (vm) | 2 | 2 | 1 (50 %) | 0 | – |",
            "| hackbench | run delay p50 · a | 100 ns | 130 ns | 30 % |",
            "| hackbench | run delay p99 · a | 100 ns | missing | – |",
            "| hackbench | rr | vtime | wall time | 1.00 ms | 2.00 ms | smaller | claims nothing |",
        ] {
            assert!(text.contains(row), "{row}\n{text}");
        }
        assert!(!text.contains("CPU time"), "{text}");
        assert!(tables(&[proof()], true).contains("CPU time · a"));
    }
}
