// SPDX-License-Identifier: GPL-2.0-only
//! What originals change of their bases, next to what the files written after them change, as
//! Markdown for documents and the terminal.

use std::collections::BTreeMap;

use stats::EffectPair;
use stats::view::effect::Change;

use crate::table::Align::{Left, Right};
use crate::table::Table;
use crate::units;

/// How many effects there are, and how many of those that move are alike.
#[derive(Clone, Copy, Default)]
struct Count {
    all: usize,
    moving: usize,
    same_sign: usize,
    same_size: usize,
}

impl Count {
    fn with(mut self, effect: &EffectPair) -> Count {
        self.all += 1;
        if effect.moves() {
            self.moving += 1;
            self.same_sign += usize::from(effect.has_same_sign());
            self.same_size += usize::from(effect.has_same_size());
        }
        self
    }

    fn fields(self) -> [String; 4] {
        let share = |part| units::share(part, self.moving);
        let (all, moving) = (self.all.to_string(), self.moving.to_string());
        [all, moving, share(self.same_sign), share(self.same_size)]
    }
}

/// How often files agree with their originals, and every headline measure that either moves.
pub fn tables(effects: &[EffectPair]) -> String {
    format!(
        "Each original against its own base, next to the file against the file's base. Headline \
         measures that either changes by more than 5 %:\n\n{}\n{}\n",
        summary(effects).markdown(),
        rows(effects).markdown()
    )
}

fn summary(effects: &[EffectPair]) -> Table {
    let mut by_file: BTreeMap<(&str, &str), Count> = BTreeMap::new();
    for effect in effects {
        let count = by_file.entry((&effect.file, &effect.original)).or_default();
        *count = count.with(effect);
    }
    let all = effects.iter().fold(Count::default(), |count, effect| count.with(effect));
    let mut table = Table::new(&[
        ("file", Left),
        ("original", Left),
        ("measures", Right),
        ("moved by either", Right),
        ("same sign", Right),
        ("same size (factor 1.25)", Right),
    ]);
    for ((file, original), count) in by_file.into_iter().chain([(("all", ""), all)]) {
        let [measures, moved, sign, size] = count.fields();
        table.add([file.into(), original.into(), measures, moved, sign, size]);
    }
    table
}

fn rows(effects: &[EffectPair]) -> Table {
    let mut table = Table::new(&[
        ("cell", Left),
        ("file", Left),
        ("measure", Left),
        ("base → original", Right),
        ("", Right),
        ("file's base → file", Right),
        ("", Right),
        ("agree", Left),
    ]);
    for effect in effects.iter().filter(|effect| effect.moves()) {
        let [original, original_percent] = change(effect.in_original, effect);
        let [file, file_percent] = change(effect.in_file, effect);
        table.add([
            format!("{} on {}", effect.cell, effect.machine),
            effect.file.clone(),
            units::measure(&effect.measure),
            original,
            original_percent,
            file,
            file_percent,
            agreement(effect).into(),
        ]);
    }
    table
}

/// `4.00 ms → 2.00 ms` and `−50.0 %`.
fn change(change: Change, effect: &EffectPair) -> [String; 2] {
    let number = |value| units::number(value, effect.unit);
    let percent = change.factor().map(|factor| units::percent(100.0 * (factor - 1.0)));
    let ends = format!("{} → {}", number(change.base), number(change.changed));
    [ends, percent.unwrap_or_else(|| "from 0".into())]
}

fn agreement(effect: &EffectPair) -> &'static str {
    match (effect.has_same_sign(), effect.has_same_size()) {
        (true, true) => "yes",
        (true, false) => "in sign",
        (false, true) => "in size",
        (false, false) => "no",
    }
}

#[cfg(test)]
mod tests {
    use model::metric::Unit;

    use super::*;

    #[test]
    fn agreement_is_counted_over_what_moves() {
        let effect = |file: &str, [a, b]: [f64; 2], [c, d]: [f64; 2]| EffectPair {
            cell: "messaging groups=1".into(),
            machine: "uniprocessor".into(),
            file: file.into(),
            original: format!("{file}-original"),
            measure: "completion_ns all".parse().expect("a measure"),
            unit: Unit::Nanoseconds,
            in_original: Change { base: a, changed: b },
            in_file: Change { base: c, changed: d },
        };
        let effects = [
            effect("tt", [80e6, 81e6], [90e6, 90e6]),
            effect("pds", [80e6, 160e6], [100e6, 190e6]),
            effect("pds", [80e6, 160e6], [100e6, 90e6]),
            effect("pds", [0.0, 1e6], [0.0, 0.0]),
        ];
        let text = tables(&effects);
        let line = |start: &str| {
            let line = text.lines().find(|line| line.starts_with(start));
            line.unwrap_or_else(|| panic!("no {start} in {text}")).to_owned()
        };
        assert_eq!(line("| pds"), "| pds | pds-original | 3 | 3 | 1 (33 %) | 1 (33 %) |");
        assert_eq!(line("| tt"), "| tt | tt-original | 1 | 0 | – | – |");
        assert_eq!(line("| all"), "| all | | 4 | 3 | 1 (33 %) | 1 (33 %) |");
        let rows = text.lines().filter_map(|row| row.strip_prefix("| messaging groups=1 on "));
        let rows: Vec<&str> = rows.map(|row| row.trim_start_matches("uniprocessor | ")).collect();
        let agreeing = "80.0 ms → 160 ms | +100 % | 100 ms → 190 ms | +90.0 % | yes |";
        assert_eq!(rows[0], format!("pds | completion | {agreeing}"));
        assert!(rows[1].ends_with("| 100 ms → 90.0 ms | −10.0 % | no |"), "{}", rows[1]);
        assert!(rows[2].contains("| 0 ns → 1.00 ms | from 0 |"), "{}", rows[2]);
        assert_eq!(rows.len(), 3, "what does not move has no row: {text}");
    }
}
