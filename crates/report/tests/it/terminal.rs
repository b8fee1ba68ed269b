// SPDX-License-Identifier: GPL-2.0-only
//! What a terminal and a Markdown document show of the synthetic experiment.

use expect_test::expect_file;
use model::{Metric, Record, SchedulerChoice};
use report::terminal::{COLUMNS, table};
use stats::{Comparison, Options, compare};
use testing::synthetic;

fn compared(keep: impl Fn(&Record) -> bool) -> Comparison {
    let records: Vec<Record> = synthetic::experiment().into_iter().filter(keep).collect();
    compare(&records, &Options { resamples: 500, ..Options::against("eevdf-7") })
}

/// Two cells and four contestants, one of which fails once.
fn small(record: &Record) -> bool {
    let workload = &record.trial.workload;
    let hogs = workload.parameters.get("hogs").is_none_or(|&hogs| hogs == 32);
    let cells = ["messaging", "wake_under_hogs"].contains(&workload.name.as_str()) && hogs;
    cells
        && ["eevdf-7", "eevdf-6.12", "vtime", "rr"].contains(&record.trial.contestant.name.as_str())
}

#[test]
fn a_table_per_cell_and_the_answer_last() {
    expect_file!["golden/terminal.txt"].assert_eq(&table(&compared(small), None, false));
}

#[test]
fn markdown_has_a_table_per_cell() {
    expect_file!["golden/markdown.md"].assert_eq(&report::markdown::tables(&compared(small)));
}

#[test]
fn lines_fit_whatever_the_names_are() {
    let mut records: Vec<Record> = synthetic::experiment().into_iter().filter(small).collect();
    for record in &mut records {
        let trial = &mut record.trial;
        trial.contestant.name = format!("{}-\u{1b}[2J{}", trial.contestant.name, "long".repeat(40));
        trial.workload.name = "w".repeat(150);
        let long = "reason ".repeat(60);
        record.measured.metrics.push(Metric::missing("completion_ns", "none", &long));
        trial.workload.headline.push("completion_ns none".into());
    }
    let text = table(
        &compare(&records, &Options::against(&records[0].trial.contestant.name)),
        None,
        false,
    );
    for line in text.lines() {
        assert!(line.chars().count() <= COLUMNS, "{}: {line}", line.chars().count());
    }
    assert!(!text.contains('\u{1b}'), "no control character of a name may reach the terminal");
}

#[test]
fn colour_is_only_added_when_asked_for() {
    let comparison = compared(small);
    let coloured = table(&comparison, None, true);
    assert!(coloured.contains("\u{1b}[32mbetter\u{1b}[0m") && coloured.contains("\u{1b}[31mworse"));
    assert!(!table(&comparison, None, false).contains('\u{1b}'));
}

#[test]
fn few_trials_are_said_to_be_few() {
    let text = table(&compared(|record| small(record) && record.trial.block < 5), None, false);
    assert!(text.contains("No verdict on"), "{text}");
    assert!(text.contains("fewer than six trials"), "{text}");
    assert!(!text.contains("distinguishable"), "{text}");
}

#[test]
fn alike_where_there_is_a_verdict_is_not_alike_everywhere() {
    let enough = |record: &Record| record.trial.workload.name == "messaging";
    let text = table(
        &compared(|record| small(record) && (enough(record) || record.trial.block < 5)),
        None,
        false,
    );
    let alike = "in any headline measure with a verdict: eevdf-6.12, rr.";
    assert!(text.contains(alike), "{text}");
    assert!(!text.contains("in any headline measure: "), "{text}");
}

#[test]
fn nothing_to_compare_is_said_in_one_line() {
    assert_eq!(table(&compared(|_| false), None, false), "There are no records to compare.\n");
}

#[test]
fn two_backends_stand_side_by_side() {
    let records: Vec<Record> = synthetic::on_both_backends().into_iter().filter(small).collect();
    let comparison = compare(&records, &Options { resamples: 200, ..Options::against("vtime") });
    let agreement = report::agreement::agreed(&comparison, &records);
    let text = table(&comparison, agreement.as_ref(), false);
    expect_file!["golden/two_backends.txt"].assert_eq(&text);
    for line in text.lines() {
        assert!(line.chars().count() <= COLUMNS, "{}: {line}", line.chars().count());
    }
    assert!(table(&comparison, agreement.as_ref(), true).contains("\u{1b}[32m"));
}

#[test]
fn what_only_one_backend_can_run_is_not_missing() {
    let records: Vec<Record> = synthetic::on_both_backends().into_iter().filter(small).collect();
    let comparison = compare(&records, &Options::against("vtime"));
    for standing in report::answer::standings(&comparison) {
        assert!(standing.silent == 0 || standing.contestant == "rr", "{standing:?}");
    }
    let agreement = report::agreement::agreed(&comparison, &records).expect("both answered");
    let sentences = report::agreement::sentences(&comparison, &agreement);
    let only = sentences.last().expect("sentences").plain();
    assert_eq!(only, "Only on the real kernel: eevdf-6.12, eevdf-7.");
    let one: Vec<Record> = synthetic::experiment();
    assert!(report::agreement::agreed(&compare(&one, &Options::against("vtime")), &one).is_none());
}

/// Four contestants with nearly the same completion, of whose frames these parts are late.
fn frames(late: [(&str, f64); 4]) -> Vec<Record> {
    let names = late.map(|(name, _)| name);
    let mut records: Vec<Record> = synthetic::experiment()
        .into_iter()
        .filter(|record| small(record) && record.trial.workload.name == "messaging")
        .filter(|record| names.contains(&record.trial.contestant.name.as_str()))
        .collect();
    for record in &mut records {
        let part = late.iter().find(|(name, _)| *name == record.trial.contestant.name);
        let (place, part) = (f64::from(record.trial.block), part.expect("a part").1);
        record.measured.metrics.retain(|metric| metric.name != "completion_ns");
        let numbers =
            [("completion_ns", 1e9 + place), ("deadline_miss_ratio", part * (1.0 + place / 100.0))];
        let numbers = numbers.map(|(name, value)| Metric::number(name, "all", value));
        record.measured.metrics.extend(numbers);
        record.trial.workload.headline =
            vec!["completion_ns all".into(), "deadline_miss_ratio all".into()];
    }
    records
}

/// The sentences below the tables, in one line.
fn answer(records: &[Record]) -> String {
    let comparison = compare(records, &Options { resamples: 200, ..Options::against("eevdf-7") });
    let text = table(&comparison, None, false);
    let answer = text.split("\n\n").last().unwrap_or_default();
    answer.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn who_is_late_is_not_among_the_best() {
    let late = [("eevdf-7", 0.14), ("eevdf-6.12", 0.105), ("vtime", 0.0), ("rr", 0.0)];
    let said = answer(&frames(late));
    assert!(said.starts_with("rr, vtime are among the best wherever contestants are"), "{said}");
    assert!(said.contains("in 1 of 2 headline measures"), "{said}");
    assert!(said.contains("rr improves most in deadline miss ratio under messaging"), "{said}");
    assert!(said.contains("It is worse than eevdf-7 in no headline measure."), "{said}");
    assert!(said.contains("deadline miss ratio: rr, vtime; −100 %"), "{said}");
}

#[test]
fn a_file_of_the_users_own_comes_first() {
    let late = [("eevdf-7", 0.14), ("eevdf-6.12", 0.105), ("vtime", 0.0), ("rr", 0.2)];
    let mut records = frames(late);
    for record in &mut records {
        if let SchedulerChoice::File { file, .. } = &mut record.trial.contestant.scheduler
            && file == "rr"
        {
            *file = "./rr.bpf.c".into();
        }
    }
    let said = answer(&records);
    let first = "rr against eevdf-7: better in 0, worse in 1 (deadline miss ratio under messaging \
                 groups=4: 0.207 instead of 0.145); of 2 headline measures. vtime is among";
    assert!(said.starts_with(first), "{said}");
    let baseline = Options { resamples: 200, ..Options::against("rr") };
    let said = table(&compare(&records, &baseline), None, false);
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    let against = "rr against vtime: better in 0, worse in 1 (deadline miss ratio under messaging \
                   groups=4: 0.207 instead of 0); of 2";
    assert!(said.contains(against), "{said}");
}

#[test]
fn of_losses_from_0_the_largest_is_named() {
    let late = [("eevdf-7", 0.0), ("eevdf-6.12", 0.0), ("vtime", 0.0), ("rr", 0.5)];
    let mut records = frames(late);
    for record in &mut records {
        let place = f64::from(record.trial.block);
        let other = if record.trial.contestant.name == "rr" { 0.1 + place / 1000.0 } else { 0.0 };
        record.measured.metrics.push(Metric::number("deadline_miss_ratio", "other", other));
        let headline = ["deadline_miss_ratio all", "deadline_miss_ratio other"];
        record.trial.workload.headline = headline.map(String::from).to_vec();
        if let SchedulerChoice::File { file, .. } = &mut record.trial.contestant.scheduler
            && file == "rr"
        {
            *file = "./rr.bpf.c".into();
        }
    }
    let said = answer(&records);
    let first = "rr against eevdf-7: better in 0, worse in 2 (most in deadline miss ratio under \
                 messaging groups=4: 0.5";
    assert!(said.starts_with(first), "{said}");
}

#[test]
fn a_number_that_the_baseline_lacks_is_not_called_not_measured() {
    let mut records = frames([("eevdf-7", 0.1), ("eevdf-6.12", 0.1), ("vtime", 0.0), ("rr", 0.1)]);
    for record in records.iter_mut().filter(|record| record.trial.contestant.name == "eevdf-7") {
        record.measured.metrics.retain(|metric| metric.name != "completion_ns");
    }
    let comparison = compare(&records, &Options { resamples: 200, ..Options::against("eevdf-7") });
    let text = table(&comparison, None, false);
    let line = text.lines().find(|line| line.contains("vtime")).expect("a line");
    assert!(line.trim_end().ends_with("eevdf-7 has no number"), "{line}");
}
