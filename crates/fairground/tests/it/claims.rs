// SPDX-License-Identifier: GPL-2.0-only
//! The 135 runs of a student's report on SCHED_OTHER, SCHED_RR and SCHED_FIFO, as printed in its
//! appendix: what our runs of the same 27 cells are held against.
//!
//! The table has a trap. Where a page breaks, the last run of a group stands on the line of the
//! next group's label: "CFS Small 12.08 s" is the fifth run of RR, Large. So rows are counted: five
//! for each policy and size, in this order.

/// The appendix as a text.
const PRINTED: &str = include_str!("../../../../claims/data/s4.txt");

const RUNS: usize = 5;
/// The kinds of work in the table's order, each with its claim and the workload's parameter.
const CLASSES: [(&str, &str); 3] =
    [("s4-cpu-equal", "cpu"), ("s4-io-cfs", "io"), ("s4-mixed-cfs", "mixed")];
/// The policies in the table's order, in our names: its CFS is what SCHED_OTHER was.
const POLICIES: [&str; 3] = ["SCHED_RR", "SCHED_OTHER", "SCHED_FIFO"];
/// The sizes in the table's order: how many processes.
const SIZES: [u32; 3] = [10, 100, 1000];

/// What each column is called here: wall, user and system time in seconds, both kinds of switches.
/// The fourth column is their ratio.
const MEASURES: [(&str, usize); 5] = [
    ("completion_ns", 0),
    ("user_time_ns", 1),
    ("system_time_ns", 2),
    ("involuntary_switches", 4),
    ("voluntary_switches", 5),
];

/// The numbers of all runs, in order.
fn rows() -> Vec<[f64; 6]> {
    let lines = PRINTED.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty());
    let lines = lines.filter(|line| !line.contains("Scheduler"));
    lines.map(|line| numbers(line).unwrap_or_else(|| panic!("'{line}'"))).collect()
}

/// The last six fields of a line; before them stand labels.
fn numbers(line: &str) -> Option<[f64; 6]> {
    let fields: Vec<&str> = line.split('\t').map(str::trim).collect();
    let (_, last) = fields.split_last_chunk::<6>()?;
    let mut numbers = [0.0; 6];
    for (number, field) in numbers.iter_mut().zip(last) {
        *number = field.trim_end_matches('%').parse().ok()?;
    }
    Some(numbers)
}

/// The mean of a cell's runs.
fn mean(rows: &[[f64; 6]], class: usize, policy: &str, size: u32, column: usize) -> f64 {
    let policy = POLICIES.iter().position(|known| *known == policy).expect("a policy");
    let size = SIZES.iter().position(|known| *known == size).expect("a size");
    let first = ((class * POLICIES.len() + policy) * SIZES.len() + size) * RUNS;
    rows[first..first + RUNS].iter().map(|row| row[column]).sum::<f64>() / RUNS as f64
}

/// CPU time and wall time are printed independently of their ratio: a slipped row or digit would
/// show. Times are cut to hundredths, which matters below a second.
#[test]
fn rows_agree_with_themselves() {
    let rows = rows();
    assert_eq!(rows.len(), CLASSES.len() * POLICIES.len() * SIZES.len() * RUNS);
    for [wall_s, user_s, system_s, percent, ..] in rows.into_iter().filter(|row| row[0] > 1.0) {
        let ratio = (user_s + system_s) / wall_s;
        assert!((ratio - percent / 100.0).abs() < 0.03, "{wall_s} s: {ratio}");
    }
}

/// All 27 cells stand beside ours, with the means of their five runs.
#[test]
fn the_claims_have_the_means_of_all_cells() {
    let (rows, mut numbers) = (rows(), 0);
    for (class, (claim, parameter)) in CLASSES.into_iter().enumerate() {
        let claim = fairground::claims::read(claim).unwrap();
        for row in claim.tests.iter().flat_map(|test| &test.beside) {
            let mut words = row.cell.as_deref().unwrap().split(' ');
            let size = words.find_map(|word| word.strip_prefix(parameter)?.strip_prefix('='));
            let size = size.expect("a size").parse().unwrap();
            let name = row.measure.split(' ').next().unwrap_or_default();
            let (_, column) = MEASURES.iter().find(|(known, _)| *known == name).expect("published");
            for (policy, value) in &row.published {
                let mean = mean(&rows, class, policy, size, *column);
                assert!((mean - value).abs() < 1e-3, "{policy} {row:?}: {mean}");
                numbers += 1;
            }
        }
    }
    assert_eq!(numbers, 27 * MEASURES.len());
}
