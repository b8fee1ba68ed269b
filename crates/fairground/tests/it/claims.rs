// SPDX-License-Identifier: GPL-2.0-only
//! The 135 runs of a student's report on SCHED_OTHER, SCHED_RR and SCHED_FIFO, as printed in its
//! appendix: what our runs of the same 27 cells are held against.
//!
//! The table has a trap. Where a page breaks, the last run of a group stands on the line of the
//! next group's label: "CFS Small 12.08 s" is the fifth run of RR, Large. So rows are counted (five
//! for each policy and size), and a label may stand on its group's first row or on the one before.

/// The appendix as a text. The last page has a column of labels less than the others.
const PRINTED: &str = include_str!("../../../../claims/data/s4.txt");

/// Runs of each cell.
const RUNS: usize = 5;
/// The policies in the table's order, in our names: its CFS is what SCHED_OTHER was.
const POLICIES: [(&str, &str); 3] =
    [("RR", "SCHED_RR"), ("CFS", "SCHED_OTHER"), ("FIFO", "SCHED_FIFO")];
/// The sizes in the table's order, and how many processes they stand for.
const SIZES: [(&str, u32); 3] = [("Small", 10), ("Medium", 100), ("Large", 1000)];
/// Rows of a class.
const ROWS: usize = POLICIES.len() * SIZES.len() * RUNS;

/// What the processes do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Class {
    /// They compute π.
    Cpu,
    /// They copy a file.
    Io,
    Mixed,
}

/// One run.
#[derive(Clone, Debug, PartialEq)]
struct Row {
    /// What the processes do.
    class: Class,
    /// Under which policy, in our names.
    policy: &'static str,
    /// How many processes.
    size: u32,
    /// From start to end, seconds.
    wall_s: f64,
    /// CPU time in user mode, seconds.
    user_s: f64,
    /// CPU time in the kernel, seconds.
    system_s: f64,
    /// CPU time per wall time: 4 is all that the four CPUs have.
    cpu_ratio: f64,
    /// Involuntary context switches.
    involuntary: u64,
    /// Voluntary context switches.
    voluntary: u64,
}

/// All rows as printed, in order.
///
/// # Errors
/// The line that is not as the table should be.
fn rows() -> Result<Vec<Row>, String> {
    parse(PRINTED)
}

/// Reads a table of this form.
///
/// # Errors
/// The line that is not as the table should be.
fn parse(text: &str) -> Result<Vec<Row>, String> {
    let mut class = None;
    let mut rows: Vec<Row> = Vec::new();
    let lines = text.lines().enumerate().filter(|(_, line)| !line.starts_with('#'));
    for (number, line) in lines.filter(|(_, line)| !line.trim().is_empty()) {
        let fail = |what: &str| format!("line {}: {what}: '{line}'", number + 1);
        let fields: Vec<&str> = line.split('\t').map(str::trim).collect();
        let Some((labels, numbers)) = fields.split_last_chunk::<6>() else {
            return Err(fail("too few fields"));
        };
        class = labels.iter().find_map(|label| named(label)).or(class);
        if labels.contains(&"Scheduler") {
            continue;
        }
        let place = rows.len() % ROWS;
        labels_fit(place, labels).map_err(&fail)?;
        let class = class.ok_or_else(|| fail("a row before any class"))?;
        rows.push(row(class, place, numbers).ok_or_else(|| fail("not six numbers"))?);
    }
    let each = [Class::Cpu, Class::Io, Class::Mixed];
    let counts = each.map(|class| rows.iter().filter(|row| row.class == class).count());
    if counts == [ROWS; 3] { Ok(rows) } else { Err(format!("{counts:?} rows, not {ROWS} each")) }
}

fn named(label: &str) -> Option<Class> {
    match label {
        "CPU" => Some(Class::Cpu),
        "IO" => Some(Class::Io),
        "Mixed" => Some(Class::Mixed),
        _ => None,
    }
}

/// A label belongs to the group of this row, as its first, or to the next one, as this one's last.
fn labels_fit(place: usize, labels: &[&str]) -> Result<(), &'static str> {
    let group = place / RUNS;
    let next = (group + 1).min(ROWS / RUNS - 1);
    let (first, last) = (place.is_multiple_of(RUNS), place % RUNS == RUNS - 1);
    let belongs = |label: &str, group: usize| {
        let (policy, size) = (POLICIES[group / SIZES.len()].0, SIZES[group % SIZES.len()].0);
        label.is_empty() || named(label).is_some() || label == policy || label == size
    };
    let is = |group| labels.iter().all(|label| belongs(label, group));
    let unlabelled = labels.iter().all(|label| label.is_empty());
    if unlabelled || (first && is(group)) || (last && is(next)) {
        return Ok(());
    }
    Err("a label where none belongs")
}

fn row(class: Class, place: usize, numbers: &[&str; 6]) -> Option<Row> {
    let [wall, user, system, cpu, involuntary, voluntary] = numbers;
    let group = place / RUNS;
    Some(Row {
        class,
        policy: POLICIES[group / SIZES.len()].1,
        size: SIZES[group % SIZES.len()].1,
        wall_s: wall.parse().ok()?,
        user_s: user.parse().ok()?,
        system_s: system.parse().ok()?,
        cpu_ratio: cpu.strip_suffix('%')?.parse::<f64>().ok()? / 100.0,
        involuntary: involuntary.parse().ok()?,
        voluntary: voluntary.parse().ok()?,
    })
}

fn cell(class: Class, policy: &str, size: u32) -> Vec<Row> {
    let all = rows().unwrap().into_iter();
    all.filter(|row| (row.class, row.policy, row.size) == (class, policy, size)).collect()
}

fn median<T: PartialOrd + Copy>(mut values: Vec<T>) -> T {
    values.sort_by(|a, b| a.partial_cmp(b).unwrap());
    values[values.len() / 2]
}

#[test]
fn every_cell_has_its_five_runs() {
    for class in [Class::Cpu, Class::Io, Class::Mixed] {
        for (_, policy) in POLICIES {
            for (_, size) in SIZES {
                assert_eq!(cell(class, policy, size).len(), RUNS, "{class:?} {policy} {size}");
            }
        }
    }
}

#[test]
fn the_run_behind_the_page_break_is_rrs() {
    let large = cell(Class::Cpu, "SCHED_RR", 1000);
    assert_eq!((large[4].wall_s, large[4].involuntary, large[4].voluntary), (12.08, 134, 1008));
    assert!(cell(Class::Cpu, "SCHED_OTHER", 10).iter().all(|row| row.wall_s < 1.0));
}

/// CPU time and wall time are printed independently of their ratio: a slipped row or digit
/// would show. Times are cut to hundredths, which matters below a second.
#[test]
fn rows_agree_with_themselves() {
    for row in rows().unwrap().iter().filter(|row| row.wall_s > 1.0) {
        let ratio = (row.user_s + row.system_s) / row.wall_s;
        assert!((ratio - row.cpu_ratio).abs() < 0.03, "{row:?} {ratio}");
    }
}

#[test]
fn medians_are_the_published_analysis() {
    let medians = |class, size| {
        ["SCHED_RR", "SCHED_OTHER", "SCHED_FIFO"].map(|policy| {
            let rows = cell(class, policy, size);
            let involuntary = rows.iter().map(|row| row.involuntary).collect();
            (median(rows.iter().map(|row| row.wall_s).collect()), median(involuntary))
        })
    };
    let cpu = [(12.09, 88), (13.38, 12_598), (12.13, 50)];
    assert_eq!(medians(Class::Cpu, 1000), cpu);
    assert_eq!(medians(Class::Cpu, 100), [(1.26, 9), (1.58, 2_305), (1.22, 8)]);
    assert_eq!(medians(Class::Io, 1000), [(37.56, 429), (27.99, 73_939), (38.64, 109)]);
    assert_eq!(medians(Class::Io, 100), [(3.66, 19), (2.58, 7_712), (3.52, 11)]);
    assert_eq!(medians(Class::Mixed, 1000), [(51.33, 684), (40.49, 83_025), (51.13, 149)]);
    assert_eq!(medians(Class::Mixed, 10), [(0.39, 5), (0.48, 715), (0.46, 5)]);
}

fn mean(rows: &[Row], of: impl Fn(&Row) -> f64) -> f64 {
    rows.iter().map(of).sum::<f64>() / rows.len() as f64
}

/// What a measure of ours is called there, and its mean of five.
fn published(measure: &str, rows: &[Row]) -> f64 {
    match measure.split(' ').next().unwrap_or_default() {
        "completion_ns" => mean(rows, |row| row.wall_s),
        "user_time_ns" => mean(rows, |row| row.user_s),
        "system_time_ns" => mean(rows, |row| row.system_s),
        "involuntary_switches" => mean(rows, |row| row.involuntary as f64),
        "voluntary_switches" => mean(rows, |row| row.voluntary as f64),
        other => panic!("{other} was not published"),
    }
}

/// All 27 cells stand beside ours, with the means of their five runs.
#[test]
fn the_claims_have_the_means_of_all_cells() {
    let mut cells = 0;
    for (claim, class, parameter) in [
        ("s4-cpu-equal", Class::Cpu, "cpu"),
        ("s4-io-cfs", Class::Io, "io"),
        ("s4-mixed-cfs", Class::Mixed, "mixed"),
    ] {
        let claim = fairground::claims::read(claim).unwrap();
        for one in claim.tests.iter().flat_map(|test| &test.beside) {
            let words = one.cell.as_deref().unwrap().split(' ');
            let size = words.filter_map(|word| word.split_once('='));
            let (_, size) = size.into_iter().find(|(name, _)| *name == parameter).unwrap();
            for (policy, value) in &one.published {
                let rows = cell(class, policy, size.parse().unwrap());
                let mean = published(&one.measure, &rows);
                assert!((mean - value).abs() < 1e-3, "{policy} {one:?}: {mean}");
                cells += 1;
            }
        }
    }
    assert_eq!(cells, 27 * 5, "wall, user and system time, and both kinds of switches");
}

#[test]
fn a_label_in_the_midst_of_a_group_is_an_error() {
    let slipped = PRINTED.replace("\t\tMedium\t1.22", "\t\t\t1.22");
    let slipped = slipped.replace("\t\t\t1.54", "\t\tMedium\t1.54");
    assert!(parse(&slipped).unwrap_err().contains("a label where none belongs"));
    assert!(parse(&PRINTED.replace("\t\t\t1.54", "\t\t\t-")).is_err());
    let lost = PRINTED.replace("\t\t\t1.54\t5.56\t0.04\t363%\t12\t108\n", "");
    assert!(parse(&lost).is_err());
}
