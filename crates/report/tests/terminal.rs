// SPDX-License-Identifier: GPL-2.0-only
//! What a terminal and a Markdown document show of the synthetic experiment.

mod synthetic;

use expect_test::expect;
use model::{Metric, Record};
use report::terminal::{COLUMNS, table};
use stats::{Comparison, Options, compare};

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
    expect![[r#"
        messaging groups=4 on one (vm), real clock
          completion_ns all, lower is better
            contestant           n/boots     median 95 % interval    against eevdf-7
            eevdf-7                  8/8     1.12 s [1.10, 1.14]                                  baseline
            eevdf-6.12               8/8     1.12 s [1.10, 1.14]     ↑ +0.3 % [−1.5, +2.4]        not distinguishable
            rr                       8/8     1.13 s [1.06, 1.18]     ↑ +1.1 % [−6.3, +5.9]        not distinguishable
            vtime                    8/8     1.27 s [1.26, 1.30]     ↑ +13.7 % [+11.9, +15.6]     worse

        wake_under_hogs hogs=32 on one (vm), real clock
          wakeup_latency_ns.p99 fair_waker, lower is better
            contestant           n/boots     median 95 % interval    against eevdf-7
            eevdf-7                  8/8    25.6 ms [21.3, 29.7]                                  baseline
            eevdf-6.12               8/8    26.7 ms [20.8, 32.4]     ↑ +4.2 % [−17.7, +28.4]      not distinguishable
            rr                       7/7    70.8 ms [43.2, 84.6]     ↑ +176 % [+53.8, +260]       worse
            vtime                    8/8    6.06 ms [4.99, 10.0]     ↓ −75.2 % [−81.0, −61.9]     better
          wakeup_latency_ns.p99 rt_waker, lower is better
            contestant           n/boots     median 95 % interval    against eevdf-7
            eevdf-7                  8/8    13.1 µs [9.78, 14.8]                                  baseline
            eevdf-6.12               8/8    13.0 µs [11.6, 15.9]     ↑ +7.7 % [−14.5, +41.4]      not distinguishable
            rr                       7/7    13.2 µs [8.28, 13.9]     ↓ −6.3 % [−33.8, +26.5]      not distinguishable
            vtime                    8/8    12.5 µs [8.92, 14.7]     ↓ −3.2 % [−23.3, +23.1]      not distinguishable
          ! rr: 1 ejected: runnable task stall (hog[304] failed to run for 30.2s)

        No contestant gains more than it loses against eevdf-7, counted in headline measures.
        The others, better and worse: vtime 1 and 1, rr 0 and 1.
        Not told apart from eevdf-7 in any headline measure: eevdf-6.12.
        1 of 64 trials did not end well: 1 ejected.
        - messaging, completion: none better than eevdf-7.
        - wake_under_hogs, wakeup latency p99 · fair_waker: vtime is better, by −75.2 % [−81.0, −61.9].
        - wake_under_hogs, wakeup latency p99 · rt_waker: none better than eevdf-7.
    "#]].assert_eq(&table(&compared(small), false));
}

#[test]
fn markdown_has_a_table_per_cell() {
    expect![[r#"
        No contestant gains more than it loses against eevdf-7, counted in headline measures. The others, better and worse: vtime 1 and 1, rr 0 and 1. Not told apart from eevdf-7 in any headline measure: eevdf-6.12. 1 of 64 trials did not end well: 1 ejected.

        **messaging groups=4 on one (vm)**

        | | completion |
        |---|---:|
        | eevdf-7 | 1.12 s |
        | eevdf-6.12 | 1.12 s, +0.3 % [−1.5, +2.4] not distinguishable |
        | rr | 1.13 s, +1.1 % [−6.3, +5.9] not distinguishable |
        | vtime | 1.27 s, +13.7 % [+11.9, +15.6] worse |

        **wake\_under\_hogs hogs=32 on one (vm)**

        | | wakeup latency p99 · fair\_waker | wakeup latency p99 · rt\_waker |
        |---|---:|---:|
        | eevdf-7 | 25.6 ms | 13.1 µs |
        | eevdf-6.12 | 26.7 ms, +4.2 % [−17.7, +28.4] not distinguishable | 13.0 µs, +7.7 % [−14.5, +41.4] not distinguishable |
        | rr | 70.8 ms, +176 % [+53.8, +260] worse | 13.2 µs, −6.3 % [−33.8, +26.5] not distinguishable |
        | vtime | 6.06 ms, −75.2 % [−81.0, −61.9] better | 12.5 µs, −3.2 % [−23.3, +23.1] not distinguishable |
    "#]].assert_eq(&report::markdown::tables(&compared(small)));
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
    let text =
        table(&compare(&records, &Options::against(&records[0].trial.contestant.name)), false);
    for line in text.lines() {
        assert!(line.chars().count() <= COLUMNS, "{}: {line}", line.chars().count());
    }
    assert!(!text.contains('\u{1b}'), "no control character of a name may reach the terminal");
}

#[test]
fn colour_is_only_added_when_asked_for() {
    let comparison = compared(small);
    let coloured = table(&comparison, true);
    assert!(coloured.contains("\u{1b}[32mbetter\u{1b}[0m") && coloured.contains("\u{1b}[31mworse"));
    assert!(!table(&comparison, false).contains('\u{1b}'));
}

#[test]
fn nothing_to_compare_is_said_in_one_line() {
    assert_eq!(table(&compared(|_| false), false), "There are no records to compare.\n");
}
