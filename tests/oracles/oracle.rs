// SPDX-License-Identifier: GPL-2.0-only
//! An oracle: runs, and what must hold of their records. Most are rows of `tables/NAME.toml`; what
//! a table cannot say is a function of `orders.rs`, `turns.rs` or `echo.rs`.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use model::Record;
use serde::Deserialize;

use crate::measure;

/// What is known, and how to see it.
#[derive(Clone)]
pub struct Oracle {
    /// The scheduler and the number in its list, `cfs 2`.
    pub name: &'static str,
    /// What must hold, one sentence with its source.
    pub claim: &'static str,
    pub place: Where,
    pub runs: Vec<Run>,
    /// Judges the trials' records, in their order; all ended well. The error says what is seen.
    pub holds: Holds,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Where {
    /// In the simulator, and on a real kernel.
    Everywhere,
    /// In the simulator only: times that a real kernel's own work would blur.
    Simulator,
    /// On a real kernel of before 6.12 only, which throttles real-time tasks.
    OldKernel,
}

/// A scheduler under a workload on a machine.
#[derive(Clone)]
pub struct Run {
    /// As after `--scheduler`: a name with its knobs. `facts/NAME` is a file of `facts/`.
    pub scheduler: &'static str,
    /// A load with its parameters, or a workload's TOML text.
    pub workload: &'static str,
    pub cpus: u32,
    /// Ticks per second in the simulator; real kernels have 250.
    pub hz: u32,
    /// Whether real-time and deadline tasks have a limit.
    pub is_limited: bool,
    /// Whether the kernel's admission control is to refuse it.
    pub is_refused: bool,
    /// Measures and the ranges in which they must lie.
    pub expected: Vec<String>,
}

type Holds = fn(&[Record]) -> Result<(), String>;

/// What can be seen in the simulator, and on a real kernel.
pub fn everywhere(name: &'static str, claim: &'static str, runs: Vec<Run>, holds: Holds) -> Oracle {
    Oracle { name, claim, place: Where::Everywhere, runs, holds }
}

/// What can be seen in the simulator only.
pub fn simulated(name: &'static str, claim: &'static str, runs: Vec<Run>, holds: Holds) -> Oracle {
    Oracle { name, claim, place: Where::Simulator, runs, holds }
}

impl Oracle {
    /// Whether one of its runs needs several CPUs.
    pub fn has_several_cpus(&self) -> bool {
        self.runs.iter().any(|run| run.cpus > 1)
    }
}

impl Run {
    /// On one CPU with 250 ticks per second.
    pub fn new(scheduler: &'static str, workload: &'static str) -> Run {
        Run {
            scheduler,
            workload,
            cpus: 1,
            hz: 250,
            is_limited: true,
            is_refused: false,
            expected: Vec::new(),
        }
    }

    /// Whether each measure of the record lies in its range.
    pub fn check(&self, record: &Record) -> Result<(), String> {
        let failed = self.expected.iter().find_map(|text| measure::check(record, text).err());
        failed.map_or(Ok(()), |why| Err(format!("{why} ({}, {})", self.scheduler, self.workload)))
    }
}

/// The oracles of a scheduler and the loads that only they use.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    #[serde(default)]
    everywhere: Vec<Row>,
    #[serde(default)]
    simulated: Vec<Row>,
    #[serde(default)]
    older: Vec<Row>,
    #[serde(default)]
    loads: toml::Table,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    name: String,
    claim: String,
    /// What all runs share.
    #[serde(default)]
    all: Cells,
    run: Vec<Cells>,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Cells {
    scheduler: Option<String>,
    load: Option<String>,
    cpus: Option<u32>,
    hz: Option<u32>,
    limited: Option<bool>,
    refused: bool,
    /// What the scheduler prints, `what: number`.
    prints: Vec<String>,
    /// `measure: range`.
    expect: Vec<String>,
}

static TABLES: LazyLock<BTreeMap<String, Table>> = LazyLock::new(|| {
    let folder = testing::project::root().join("tests/oracles/tables");
    let files = std::fs::read_dir(&folder).expect("the tables' folder");
    let table = |entry: std::io::Result<std::fs::DirEntry>| {
        let path = entry.expect("a table").path();
        let text = std::fs::read_to_string(&path).expect("a table is text");
        let read = toml::from_str(&text);
        let table = read.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let name = path.file_stem().expect("a table has a name");
        (name.to_string_lossy().into_owned(), table)
    };
    files.map(table).collect()
});

pub fn tables() -> Vec<Oracle> {
    let rows = |(_, table): (&'static String, &'static Table)| {
        let everywhere = table.everywhere.iter().map(|row| oracle(row, Where::Everywhere));
        let simulated = table.simulated.iter().map(|row| oracle(row, Where::Simulator));
        let older = table.older.iter().map(|row| oracle(row, Where::OldKernel));
        everywhere.chain(simulated).chain(older)
    };
    TABLES.iter().flat_map(rows).collect()
}

fn oracle(row: &'static Row, place: Where) -> Oracle {
    let runs = row.run.iter().map(|own| run(&row.all, own)).collect();
    Oracle { name: &row.name, claim: &row.claim, place, runs, holds: |_| Ok(()) }
}

fn run(all: &'static Cells, own: &'static Cells) -> Run {
    let scheduler = own.scheduler.as_ref().or(all.scheduler.as_ref()).expect("a scheduler");
    let load = own.load.as_ref().or(all.load.as_ref()).map_or("short", String::as_str);
    let printed = all.prints.iter().chain(&own.prints).map(|line| format!("printed {line}"));
    Run {
        cpus: own.cpus.or(all.cpus).unwrap_or(1),
        hz: own.hz.or(all.hz).unwrap_or(250),
        is_limited: own.limited.or(all.limited).unwrap_or(true),
        is_refused: own.refused,
        expected: printed.chain(all.expect.iter().chain(&own.expect).cloned()).collect(),
        ..Run::new(scheduler, load)
    }
}

/// The load `NAME` of `loads.toml`, or `TABLE.NAME` of a table.
pub fn load(name: &str) -> Option<&'static toml::Table> {
    static SHARED: LazyLock<toml::Table> =
        LazyLock::new(|| toml::from_str(include_str!("loads.toml")).expect("a table of loads"));
    let (loads, name) = match name.split_once('.') {
        Some((table, name)) => (&TABLES.get(table)?.loads, name),
        None => (&*SHARED, name),
    };
    loads.get(name)?.as_table()
}
