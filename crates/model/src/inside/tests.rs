// SPDX-License-Identifier: GPL-2.0-only
//! Samples and maps with known answers.

use super::*;
use crate::{ValueKind, ValueType};

const MS: u64 = 1_000_000;

fn byte() -> ValueType {
    ValueType { name: "u8".into(), size: 1, kind: ValueKind::Unsigned }
}

fn bytes(length: usize) -> ValueType {
    let kind = ValueKind::List { of: Box::new(byte()), length };
    ValueType { name: "list".into(), size: length, kind }
}

#[test]
fn samples_of_a_long_trial_are_further_apart() {
    let mut samples = Samples::new([("now".into(), byte())]);
    assert_eq!(samples.next_ns(), Some(0));
    for at in 0..=150_u64 {
        samples.take(at * MS, &[at as u8]);
    }
    // A pause: until it ends the variable keeps its value.
    samples.take(170 * MS, &[151]);
    let mut inside = Inside::default();
    samples.tell(&[200], &mut inside);
    let [series] = &inside.variables[..] else { panic!("{inside:?}") };
    assert_eq!(series.interval_ns, 2 * MS);
    let sampled: Vec<i128> = (0..=150).step_by(2).chain([151; 10]).chain([200]).collect();
    assert_eq!(series.values, sampled);
    assert_eq!((&series.name, series.part), (&"now".into(), None));
}

#[test]
fn of_an_array_what_changed_is_told_and_what_is_too_large_is_said() {
    let large = bytes(1 << 20);
    let variables = [("load", bytes(5)), ("large", large), ("same", byte())];
    let mut samples = Samples::new(variables.map(|(name, ty)| (name.into(), ty)));
    assert_eq!(samples.names().collect::<Vec<_>>(), ["load", "same"]);
    samples.take(0, &[1, 0, 2, 3, 0, 7]);
    let mut inside = Inside::default();
    samples.tell(&[9, 0, 1, 3, 0, 7], &mut inside);
    let told: Vec<_> =
        inside.variables.iter().map(|one| (&*one.name, one.part, &*one.values)).collect();
    let [min, median, max] = Part::ALL.map(Some);
    let load = |part, values| ("load[]", part, values);
    assert_eq!(told, [load(min, &[1, 1][..]), load(median, &[2, 3]), load(max, &[3, 9])]);
    assert_eq!(inside.missing, ["large over time: at most 256 KiB are sampled"]);
}

#[test]
fn a_map_is_told_by_its_greatest_keys() {
    let reading = |entries: Vec<(String, Vec<Vec<u8>>)>| {
        let (name, value) = ("loads".into(), &byte());
        MapReading { name, kind: "hash", max_entries: 8, value, entries }.at_end()
    };
    let entry = |key: &str, values: &[u8]| {
        (key.to_owned(), values.iter().map(|value| vec![*value]).collect())
    };
    let per_cpu = reading(vec![entry("a", &[1, 9]), entry("b", &[9, 0]), entry("c", &[0, 2])]);
    assert_eq!((per_cpu.entries, per_cpu.max_entries), (3, 8));
    let [numbers] = &per_cpu.numbers[..] else { panic!("{per_cpu:?}") };
    assert_eq!((numbers.min, numbers.median, numbers.max), (0, 2, 9));
    let top = [("a on CPU 1", 9), ("b on CPU 0", 9), ("c on CPU 1", 2)];
    assert_eq!(numbers.top, top.map(|(key, number)| (key.to_owned(), number)));
    let array = |entries| {
        let (name, value) = ("loads".into(), &byte());
        MapReading { name, kind: "per-CPU array", max_entries: 9, value, entries }.at_end()
    };
    let used = array(vec![entry("0", &[0, 0]), entry("1", &[0, 4])]);
    assert_eq!((used.entries, used.numbers[0].min, used.numbers[0].max), (1, 0, 4));
    let equal = reading(vec![entry("a", &[5]), entry("b", &[5])]);
    assert_eq!((equal.numbers[0].max, equal.numbers[0].top.len()), (5, 0));
    assert_eq!(reading(Vec::new()).numbers, []);
}
