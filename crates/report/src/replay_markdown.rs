// SPDX-License-Identifier: GPL-2.0-only
//! Whether replays tell the truth, as Markdown for documents and the terminal.

use std::collections::BTreeSet;

use model::metric::Unit;
use stats::replay::{Answers, Check, Kind, Pair, Proof, Proofs, Side, Way};

use crate::table::Align::{Left, Right};
use crate::table::Table;
use crate::units;

/// What trials without traces say, and then, by groups of tasks, what those with traces say. With
/// `all`, every figure.
pub fn tables(Proofs { judged, traced }: &Proofs, all: bool) -> String {
    let traced = tables_of(traced, all);
    format!("{}\nTraced on both sides, by groups of tasks:\n\n{traced}", tables_of(judged, all))
}

/// A row for each program under the scheduler that it was recorded under, a row for each under all
/// of them, how large the differences are, and what is not near or has no same answer.
fn tables_of(proofs: &[Proof], all: bool) -> String {
    let tables = [same_scheduler(proofs), all_schedulers(proofs), by_size(proofs)];
    let mut text = tables.map(|table| table.markdown()).join("\n");
    let figures = if all { "Every figure" } else { "Figures that are not within" };
    let claims =
        if all { "Every claim of the program" } else { "Claims that the replay does not have" };
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
        ("differences that the program claims", Right),
        ("replay: same way", Right),
        ("opposite", Right),
        ("silent", Right),
        ("wall time: same / opposite / silent", Right),
        ("simulator: same way", Right),
        ("opposite", Right),
        ("silent", Right),
    ]);
    for Row { cell, place, proofs, .. } in rows(proofs) {
        let pairs = || proofs.iter().flat_map(|proof| &proof.pairs);
        let names: BTreeSet<&String> = pairs().flat_map(|pair| &pair.schedulers).collect();
        let replay = Answers::of(pairs(), |pair| pair.replay);
        let walls = pairs().filter(|pair| pair.kind == Kind::Wall);
        let [same, opposite, silent] = shares(&replay);
        let [model_same, model_opposite, model_silent] =
            shares(&Answers::of(pairs(), |pair| pair.model));
        table.add([
            cell.into(),
            place.clone(),
            if place.is_empty() { String::new() } else { names.len().to_string() },
            replay.all().to_string(),
            same,
            opposite,
            silent,
            counts(&Answers::of(walls, |pair| pair.replay)),
            model_same,
            model_opposite,
            model_silent,
        ]);
    }
    table
}

fn shares(of: &Answers) -> [String; 3] {
    [of.same, of.opposite, of.silent].map(|part| units::share(part, of.all()))
}

fn counts(of: &Answers) -> String {
    format!("{} / {} / {}", of.same, of.opposite, of.silent)
}

/// How large the program's differences are that its replay has, and has not.
fn by_size(proofs: &[Proof]) -> Table {
    const SIZES: [(&str, f64); 4] = [
        ("below 1.1 times", 1.1),
        ("1.1 to 1.5", 1.5),
        ("1.5 to 3", 3.0),
        ("3 and more", f64::MAX),
    ];
    let mut table = Table::new(&[
        ("the program's difference", Left),
        ("replay: same / opposite / silent", Right),
        ("wall time: same / opposite / silent", Right),
    ]);
    let mut least = 0.0;
    for (name, most) in SIZES {
        let fits = |pair: &&Pair| pair.times() >= least && pair.times() < most;
        let pairs = || proofs.iter().flat_map(|proof| &proof.pairs).filter(fits);
        let of = |is_wall: bool| {
            let fits = pairs().filter(|pair| (pair.kind == Kind::Wall) == is_wall);
            counts(&Answers::of(fits, |pair| pair.replay))
        };
        table.add([name.to_owned(), of(false), of(true)]);
        least = most;
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
        ("replay's", Right),
        ("replay", Left),
        ("simulator", Left),
    ]);
    let disagrees = |pair: &Pair| {
        let is_opposite = pair.model.way.is_some_and(|way| Some(way) != pair.program);
        pair.replay.way != pair.program || is_opposite
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
            two_numbers(pair.kind, pair.values),
            pair.replay.values.map_or("–".into(), |values| two_numbers(pair.kind, values)),
            claim(pair.replay).into(),
            claim(pair.model).into(),
        ]);
    }
    table
}

fn two_numbers(kind: Kind, [from, to]: [f64; 2]) -> String {
    format!("{} → {}", number(kind, from), number(kind, to))
}

fn claim(side: Side) -> &'static str {
    match (side.way, side.values) {
        (Some(Way::Larger), _) => "larger",
        (Some(Way::Smaller), _) => "smaller",
        (None, None) => "–",
        (None, Some(_)) => "claims nothing",
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
            replay: Side { values: Some([1e6, 1e6]), way: replay },
            model: Side::default(),
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
            pairs: vec![
                pair(larger, larger),
                pair(larger, smaller),
                pair(None, larger),
                pair(larger, None),
                pair(larger, None),
            ],
        }
    }

    #[test]
    fn shares_are_of_what_both_have() {
        let text = tables_of(&[proof()], false);
        for row in [
            "| hackbench | uniprocessor (vm) | eevdf | 3 | 1 (33 %) | – | – |",
            "| uniprocessor (vm) | 2 | 4 | 1 (25 %) | 1 (25 %) | 2 (50 %) | 1 / 1 / 2 |",
            "| 1.5 to 3 | 0 / 0 / 0 | 1 / 1 / 2 |",
            "| hackbench | run delay p50 · a | 100 ns | 130 ns | 30 % |",
            "| hackbench | run delay p99 · a | 100 ns | missing | – |",
            "| rr | vtime | wall time | 1.00 ms → 2.00 ms | 1.00 ms → 1.00 ms | smaller | – |",
        ] {
            assert!(text.contains(row), "{row}\n{text}");
        }
        assert!(!text.contains("CPU time"), "{text}");
        assert!(tables_of(&[proof()], true).contains("CPU time · a"));
    }
}
