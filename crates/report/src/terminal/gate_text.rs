// SPDX-License-Identifier: GPL-2.0-only
//! The result of a gate as text: the verdict first, then every line.

use stats::Verdict;
use stats::decide::gate::{Broken, Gate, Line};

use super::layout::hanging;
use crate::units;

/// The verdict in a sentence, the changes, and what could not be compared.
pub fn gate(gate: &Gate) -> String {
    let mut text = format!("{}\n", verdict(gate));
    gate.broken.iter().for_each(|one| text += &format!("  broken  {}\n", broken(one)));
    text += &table(gate.lines.iter().collect());
    gate.one_sided.iter().for_each(|place| text += &format!("  cannot be compared: {place}\n"));
    gate.other_objects
        .iter()
        .for_each(|said| text += &hanging(&format!("note: {said}"), "  ", "    "));
    text
}

/// What has changed since the last run, for somebody who looks at every run.
pub fn changes(gate: &Gate) -> String {
    let is_change = |line: &&Line| matches!(line.change, Verdict::Worse | Verdict::Better);
    let changed: Vec<&Line> = gate.lines.iter().filter(is_change).collect();
    let (count, all, percent) = (changed.len(), gate.lines.len(), gate.margin_percent);
    let mut text =
        format!("since the last run: {count} of {all} numbers changed by more than {percent} %\n");
    gate.broken.iter().for_each(|one| text += &format!("  broken  {}\n", broken(one)));
    text + &table(changed)
}

fn table(mut lines: Vec<&Line>) -> String {
    lines.sort_by_key(|line| line.change);
    let width = lines.iter().map(|line| line.change.words().len()).max().unwrap_or(0);
    let row = |one: &Line| format!("  {:width$}  {}\n", one.change.words(), line(one));
    lines.into_iter().map(row).collect()
}

/// A contestant whose trials do not end well any more.
pub fn broken(broken: &Broken) -> String {
    let ((failed, all), outcome) = (broken.failed, &broken.outcome);
    let (name, cell) = (&broken.contestant, &broken.cell);
    format!("{name}, {cell}: {failed} of {all} trials, {outcome}")
}

fn verdict(gate: &Gate) -> String {
    let count = |change| gate.lines.iter().filter(|line| line.change == change).count();
    let (worse, better, broken) =
        (count(Verdict::Worse), count(Verdict::Better), gate.broken.len());
    let word = if gate.is_shut() { "regressed" } else { "passed" };
    let looked = gate.lines.len();
    let margin = gate.margin_percent;
    let silent = match count(Verdict::NotMeasured) + count(Verdict::TooFewTrials) {
        0 => String::new(),
        number => format!(", {number} without a verdict"),
    };
    format!(
        "{word}: {worse} of {looked} numbers worse and {better} better by more than {margin} %, \
         {broken} broken{silent}"
    )
}

/// A number before and now.
pub fn line(line: &Line) -> String {
    let number = |value| units::number_or_dash(value, line.unit);
    let percent = line.percent.map(|percent| format!(", {percent:+.1} %")).unwrap_or_default();
    let interval =
        line.interval.map(|interval| format!(" [{:+.1}, {:+.1}]", interval.low, interval.high));
    let p_value = line.p_value.map(|p| format!(", p {p:.3}")).unwrap_or_default();
    format!(
        "{}  {} → {}{percent}{}{p_value}, n {}  {}, {}",
        line.contestant,
        number(line.before),
        number(line.now),
        interval.unwrap_or_default(),
        line.trials,
        units::measure(&line.measure),
        line.cell
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::metric::{Direction, Unit};

    fn changed(change: Verdict, percent: f64) -> Line {
        Line {
            cell: "messaging on one (sim)".into(),
            contestant: "mine".into(),
            measure: "completion_ns all".parse().expect("a measure"),
            unit: Unit::Nanoseconds,
            direction: Direction::Lower,
            before: Some(1e6),
            now: Some(1e6 * (1.0 + percent / 100.0)),
            percent: Some(percent),
            interval: None,
            p_value: None,
            trials: 8,
            change,
        }
    }

    #[test]
    fn what_is_worse_stands_first() {
        let gate = Gate {
            margin_percent: 1.0,
            lines: vec![
                changed(Verdict::Equal, 0.0),
                changed(Verdict::Worse, 3.0),
                Line { now: None, percent: None, ..changed(Verdict::NotMeasured, 0.0) },
            ],
            broken: vec![Broken {
                cell: "frames on one (sim)".into(),
                contestant: "mine".into(),
                outcome: "ejected: stalled".into(),
                failed: (2, 8),
            }],
            one_sided: vec!["hogs on one (sim), now only".into()],
            other_objects: [String::from("mine has another object")].into(),
        };
        let expected = "\
regressed: 1 of 3 numbers worse and 0 better by more than 1 %, 1 broken, 1 without a verdict
  broken  mine, frames on one (sim): 2 of 8 trials, ejected: stalled
  worse          mine  1.00 ms → 1.03 ms, +3.0 %, n 8  completion, messaging on one (sim)
  exactly equal  mine  1.00 ms → 1.00 ms, +0.0 %, n 8  completion, messaging on one (sim)
  not measured   mine  1.00 ms → –, n 8  completion, messaging on one (sim)
  cannot be compared: hogs on one (sim), now only
  note: mine has another object
";
        assert_eq!(super::gate(&gate), expected);
        let expected = "\
since the last run: 1 of 3 numbers changed by more than 1 %
  broken  mine, frames on one (sim): 2 of 8 trials, ejected: stalled
  worse  mine  1.00 ms → 1.03 ms, +3.0 %, n 8  completion, messaging on one (sim)
";
        assert_eq!(changes(&gate), expected);
    }
}
