// SPDX-License-Identifier: GPL-2.0-only
//! Findings, expectations and reasons in words.

use model::claim::{By, Expectation, Is, Place, Published, Test};
use model::metric::Unit;
use stats::decide::replication::{Estimate, Finding, Reproduction};
use stats::{Interval, MeasureKey};

use super::Tested;
use crate::units;

/// A number of a claim's file in the form that it compares by: `1.05 ×`, `+4.00 ms`, `0.953`.
pub fn amount(expectation: &Expectation, value: f64) -> String {
    match (expectation.by, unit(expectation)) {
        _ if value.is_infinite() => if value > 0.0 { "∞" } else { "−∞" }.into(),
        (By::Ratio, _) => format!("{value} ×"),
        (By::Difference, unit) if value > 0.0 => format!("+{}", units::number(value, unit)),
        (_, unit) => units::number(value, unit),
    }
}

fn unit(expectation: &Expectation) -> Unit {
    let key = expectation.measure.parse::<MeasureKey>();
    key.map_or(Unit::Count, |key| key.unit_and_direction().0)
}

/// A measured number and its interval.
fn estimated(
    expectation: &Expectation,
    Estimate { value, interval }: Estimate,
) -> (String, String) {
    if expectation.by != By::Ratio {
        let ends = units::interval(interval, value, unit(expectation));
        return (amount(expectation, value), ends);
    }
    let Interval { low, high } = interval;
    let places = places([value, low, high]);
    let ratio = |ratio: f64| match places {
        Some(places) => format!("{ratio:.places$}"),
        None => units::number(ratio, Unit::Ratio),
    };
    (format!("{} ×", ratio(value)), format!("[{}, {}]", ratio(low), ratio(high)))
}

/// The decimals that ratios near 1 need to show on which side of 1 they are.
fn places(ratios: [f64; 3]) -> Option<usize> {
    let near = ratios.iter().all(|ratio| (0.5..2.0).contains(ratio));
    let gaps = ratios.iter().map(|ratio| (ratio - 1.0).abs()).filter(|gap| *gap > 0.0);
    let least = gaps.fold(0.1, f64::min);
    near.then(|| (2..6).find(|&places| least >= 10f64.powi(1 - places as i32)).unwrap_or(6))
}

fn cells(expectation: &Expectation) -> impl Iterator<Item = &str> {
    let other = expectation.other().and_then(|place| place.cell);
    expectation.place().cell.into_iter().chain(other)
}

/// A cell by what distinguishes it from the others: its workload, and the parameters that differ.
pub(super) fn short(cell: &str, cells: &[&str]) -> String {
    let workload = |cell: &str| cell.split(' ').next().unwrap_or_default().to_owned();
    let others = || cells.iter().filter(|other| workload(other) == workload(cell));
    let differs = |word: &&str| others().any(|other| !other.split(' ').any(|own| own == *word));
    let words = cell.split(' ').skip(1).filter(differs);
    std::iter::once(workload(cell).as_str()).chain(words).collect::<Vec<_>>().join(" ")
}

/// The finding: `completion: muqss 1.31 × cfs [1.28, 1.35], 6 and 6 trials`, with its cell and
/// machine where the test looks at several.
pub fn found(test: &Test, expectation: &Expectation, finding: &Finding) -> String {
    let all = || test.expect.iter().chain(&test.because);
    let Place { cell, machine, .. } = expectation.place();
    let cells: Vec<&str> = all().flat_map(cells).collect();
    let mut place = String::new();
    if expectation.over_cell.is_none() && all().any(|other| other.place().cell != cell) {
        place += &format!(" in {}", short(cell.unwrap_or_default(), &cells));
    }
    if expectation.over_machine.is_none() && all().any(|other| other.place().machine != machine) {
        place += &format!(" on {}", machine.unwrap_or_default());
    }
    number(expectation, finding, &place, &cells)
}

fn number(expectation: &Expectation, finding: &Finding, place: &str, cells: &[&str]) -> String {
    let (ours, other) = sides(expectation, cells);
    let measure = format!("{}{place}", measure(&expectation.measure));
    let Some(estimate) = finding.estimate else {
        let why = finding.why.as_deref().unwrap_or("no number");
        return format!("{measure}: {why}");
    };
    let (value, ends) = estimated(expectation, estimate);
    let trials = finding.of.units.len();
    let Some(over) = &finding.over else {
        let trials = units::count(trials as u64, "trial");
        return format!("{measure}: {ours} {value} {ends}, {trials}");
    };
    let against = if expectation.by == By::Ratio { "" } else { "against " };
    let others = over.units.len();
    format!("{measure}: {ours} {value} {against}{other} {ends}, {trials} and {others} trials")
}

/// The two sides by what differs.
fn sides(expectation: &Expectation, cells: &[&str]) -> (String, String) {
    let name = |place: Place<'_>, contestant: &str| {
        let mut name = contestant.to_owned();
        if expectation.over_cell.is_some()
            && let Some(cell) = place.cell
        {
            name += &format!(" in {}", short(cell, cells));
        }
        if expectation.over_machine.is_some()
            && let Some(machine) = place.machine
        {
            name += &format!(" on {machine}");
        }
        name
    };
    let ours = name(expectation.place(), &expectation.of);
    let itself = expectation.over.as_deref().unwrap_or("itself");
    let other = expectation.other().map(|place| name(place, itself));
    (ours, other.unwrap_or_default())
}

fn measure(text: &str) -> String {
    text.parse().map_or_else(|_| text.to_owned(), |key| units::measure(&key))
}

/// The expectation: `more, by 1.05 × to 4.00 ×`.
pub fn expected(expectation: &Expectation) -> String {
    let size = expectation.ends().map(|(low, high)| match (low, high) {
        (low, high) if low == high => amount(expectation, low),
        (low, high) if high.is_infinite() => format!("{} or more", amount(expectation, low)),
        (low, high) if low.is_infinite() => format!("{} or less", amount(expectation, high)),
        (low, high) => format!("{} to {}", amount(expectation, low), amount(expectation, high)),
    });
    let than = expectation.than.map(|than| format!(" than {}", amount(expectation, than)));
    let than = than.unwrap_or_default();
    match (expectation.is, size) {
        (Is::Equal, size) => format!("equal: {}", size.unwrap_or_default()),
        (Is::More, Some(size)) => format!("more{than}: {size}"),
        (Is::Less, Some(size)) => format!("less{than}: {size}"),
        (Is::More, None) => format!("more{than}"),
        (Is::Less, None) => format!("less{than}"),
    }
}

/// The meaning of the number, compared with the expectation.
pub fn consequence(expectation: &Expectation, finding: &Finding) -> String {
    let neutral = expectation.neutral().map(|value| amount(expectation, value));
    let neutral = neutral.unwrap_or_default();
    match (finding.verdict, expectation.is) {
        (Reproduction::Reproduced, _) => "as published".into(),
        (Reproduction::DirectionOnly, _) => "same direction, another size".into(),
        (Reproduction::NotReproduced, Is::Equal) => "the interval exceeds the size".into(),
        (Reproduction::NotReproduced, _) => format!("the interval holds {neutral}"),
        (Reproduction::Contradicted, Is::Equal) => "the interval lies outside the size".into(),
        (Reproduction::Contradicted, _) => "the opposite".into(),
        (Reproduction::NoData | Reproduction::Untested, _) => "no number".into(),
    }
}

/// The printed numbers in one line, or a description of the published picture.
pub fn published(numbers: &[Published]) -> String {
    let printed = |number: &Published| {
        let of = number.of.as_ref().map(|of| format!("{of} ")).unwrap_or_default();
        format!("{of}{} {}", plain(number.value), number.unit)
    };
    let mut text = String::new();
    for group in numbers.chunk_by(|first, second| first.what == second.what) {
        let numbers: Vec<String> = group.iter().map(printed).collect();
        let separator = if text.is_empty() { "" } else { "; " };
        text += &format!("{separator}{}: {}", group[0].what, numbers.join(", "));
    }
    if text.is_empty() { "no numbers; see the protocol".into() } else { text }
}

/// A number as its author printed it.
fn plain(value: f64) -> String {
    value.to_string().replace('-', "−")
}

/// Why a test has no verdict from data.
pub fn absence(tested: &Tested) -> String {
    let finding = tested.expect.iter().find(|finding| finding.verdict == tested.verdict);
    let why = tested.why.as_ref().or(finding.and_then(|finding| finding.why.as_ref()));
    why.cloned().unwrap_or_else(|| "it did not run".into())
}

/// The kernels' releases, or the simulator.
pub fn kernels(releases: &[String]) -> String {
    match releases {
        [] => "the simulator alone".into(),
        _ => releases.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_named_by_what_tells_them_apart() {
        let cells = ["server a=1 b=2 c=3", "server a=1 b=4 c=3", "hogs n=1"];
        assert_eq!(cells.map(|cell| short(cell, &cells)), ["server b=2", "server b=4", "hogs"]);
    }

    #[test]
    fn ratios_near_one_show_their_side() {
        assert_eq!(places([1.3, 1.2, 1.4]), Some(2));
        assert_eq!(places([0.98, 0.97, 0.99]), Some(3));
        assert_eq!(places([1.0031, 1.0012, 1.02]), Some(4));
        assert_eq!(places([1.0, 1.0, 1.0]), Some(2));
        assert_eq!(places([1.9, 1.8, 2.5]), None, "three digits are enough");
    }
}
