// SPDX-License-Identifier: GPL-2.0-only
//! Whether replays tell the truth, as Markdown for documents and the terminal.

use std::fmt::Write;

use model::metric::Unit;
use stats::replay::{Check, Kind, Pair, Proof, Way};

use crate::markdown::clean;
use crate::units;

/// A row for each program under the scheduler that it was recorded under, a row for each under all
/// of them, and what is not near or points the other way. With `all`, every figure.
pub fn tables(proofs: &[Proof], all: bool) -> String {
    let mut text = same(proofs);
    let _ = write!(text, "\n{}", directions(proofs));
    let rows: String = proofs.iter().map(|proof| figures(proof, all)).collect();
    if !rows.is_empty() {
        let what = if all { "Every figure" } else { "Figures that are not within" };
        let _ = write!(
            text,
            "\n{what}:\n\n| program | figure | program's | replay's | error |\n\
             |---|---|---:|---:|---:|\n{rows}"
        );
    }
    let rows: String = proofs.iter().map(|proof| ways(proof, all)).collect();
    if !rows.is_empty() {
        let what = if all { "Every claim of the program" } else { "Claims that disagree" };
        let _ = write!(
            text,
            "\n{what}:\n\n| program | from | to | figure | program's | | replay | simulator |\n\
             |---|---|---|---|---:|---:|---|---|\n{rows}"
        );
    }
    text
}

fn same(proofs: &[Proof]) -> String {
    let mut text = String::from(
        "| program | on | recorded under | figures | within | the program with itself | within, of \
         those it repeats |\n|---|---|---|---:|---:|---:|---:|\n",
    );
    for proof in proofs {
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {} | {} |",
            clean(&proof.cell),
            place(proof),
            clean(&proof.recorded),
            proof.checks.len(),
            share(within(&proof.checks)),
            share(within(&proof.repeats)),
            of_these(&proof.steady()),
        );
    }
    let all = |of: fn(&Proof) -> Vec<Check>| -> Vec<Check> { proofs.iter().flat_map(of).collect() };
    let (checks, repeats) = (all(|proof| proof.checks.clone()), all(|proof| proof.repeats.clone()));
    let _ = writeln!(
        text,
        "| all | | | {} | {} | {} | {} |",
        checks.len(),
        share(within(&checks)),
        share(within(&repeats)),
        of_these(&all(Proof::steady)),
    );
    text
}

fn directions(proofs: &[Proof]) -> String {
    let mut text = String::from(
        "| program | on | schedulers | differences that program and replay claim | same way | that \
         program and simulator claim | same way |\n|---|---|---:|---:|---:|---:|---:|\n",
    );
    for proof in proofs {
        let (replay, model) = (agreeing(proof, |it| it.replay), agreeing(proof, |it| it.model));
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {} | {} |",
            clean(&proof.cell),
            place(proof),
            schedulers(proof),
            replay.1,
            share(replay),
            model.1,
            share(model),
        );
    }
    let all = |of: fn(&Pair) -> Option<Way>| sum(proofs.iter().map(|proof| agreeing(proof, of)));
    let (replay, model) = (all(|it| it.replay), all(|it| it.model));
    let _ = writeln!(
        text,
        "| all | | | {} | {} | {} | {} |",
        replay.1,
        share(replay),
        model.1,
        share(model)
    );
    text
}

/// How many figures are within, and how many there are.
fn within(checks: &[Check]) -> (usize, usize) {
    (checks.iter().filter(|check| check.is_within()).count(), checks.len())
}

/// `3 of 4 (75 %)`.
fn of_these(checks: &[Check]) -> String {
    let (near, all) = within(checks);
    match all {
        0 => "–".into(),
        all => format!("{near} of {all} ({:.0} %)", 100.0 * near as f64 / all as f64),
    }
}

/// Of the differences that the program claims and the other side too: how many point the same way,
/// and how many there are.
fn agreeing(proof: &Proof, other: impl Fn(&Pair) -> Option<Way>) -> (usize, usize) {
    let claims = proof.pairs.iter().filter_map(|pair| Some((pair.program?, other(pair)?)));
    claims.fold((0, 0), |(same, all), (one, two)| (same + usize::from(one == two), all + 1))
}

fn sum(parts: impl Iterator<Item = (usize, usize)>) -> (usize, usize) {
    parts.fold((0, 0), |(a, b), (c, d)| (a + c, b + d))
}

fn share((part, all): (usize, usize)) -> String {
    match all {
        0 => "–".into(),
        all => format!("{part} ({:.0} %)", 100.0 * part as f64 / all as f64),
    }
}

fn place(proof: &Proof) -> String {
    format!("{} ({})", clean(&proof.machine), proof.backend.word())
}

fn schedulers(proof: &Proof) -> usize {
    let names = proof.pairs.iter().flat_map(|pair| &pair.schedulers);
    names.collect::<std::collections::BTreeSet<_>>().len()
}

fn figures(proof: &Proof, all: bool) -> String {
    let wanted = proof.checks.iter().filter(|check| all || !check.is_within());
    let row = |check: &Check| {
        let replay = check.replay.map(|replay| number(check.kind, replay));
        let error = check.error().map(|error| format!("{:.0} %", 100.0 * error));
        format!(
            "| {} | {} | {} | {} | {} |\n",
            clean(&proof.cell),
            figure(check.kind, &check.group),
            number(check.kind, check.program),
            replay.as_deref().unwrap_or("missing"),
            error.as_deref().unwrap_or("–"),
        )
    };
    wanted.map(row).collect()
}

fn ways(proof: &Proof, all: bool) -> String {
    let disagrees = |pair: &Pair| {
        let differs = |other: Option<Way>| other.is_some() && other != pair.program;
        differs(pair.replay) || differs(pair.model)
    };
    let wanted = proof.pairs.iter().filter(|pair| pair.program.is_some());
    let wanted = wanted.filter(|pair| all || disagrees(pair));
    let row = |pair: &Pair| {
        format!(
            "| {} | {} | {} | {} | {} | {} | {} | {} |\n",
            clean(&proof.cell),
            clean(&pair.schedulers[0]),
            clean(&pair.schedulers[1]),
            figure(pair.kind, &pair.group),
            number(pair.kind, pair.values[0]),
            number(pair.kind, pair.values[1]),
            word(pair.replay),
            word(pair.model),
        )
    };
    wanted.map(row).collect()
}

fn word(way: Option<Way>) -> &'static str {
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
    if group.is_empty() { name.into() } else { format!("{name} · {}", clean(group)) }
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
