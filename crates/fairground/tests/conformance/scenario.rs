// SPDX-License-Identifier: GPL-2.0-only
//! The scenarios: `scenarios.toml` as values, and as trials.

use std::collections::BTreeMap;
use std::path::Path;

use model::{
    Backend, Channel, Clock, Contestant, ControlGroup, Costs, KnobValue, Machine, Mutex,
    SchedulerChoice, Step, TaskGroup, Trial, Workload,
};
use serde::Deserialize;

use super::sequence::MARK;

/// The scenario's tasks begin so long after the common start: the threads have settled by then.
const BEGIN_US: u64 = 20_000;

/// Between the marking task and the scenario's first one.
const LEAD_US: u64 = 1_000;

/// After the window, until the workload's end.
const TAIL_US: u64 = 5_000;

/// The tracing scheduler; its flags and callbacks are varied line by line.
const SOURCE: &str = include_str!("trace.bpf.c");
/// Its parts, each with the line in which it is put.
const PARTS: [(&str, &str); 2] = [
    ("#include \"trace_mistakes.h\"\n", include_str!("trace_mistakes.h")),
    ("#include \"trace_groups.h\"\n", include_str!("trace_groups.h")),
];
const INCLUDE: &str = "#include <scx/common.bpf.h>";
/// The member of its table that further callbacks come behind.
const LAST: &str = "	       .disable		= (void *)trace_disable,";
const FLAGS: &str = "= SCX_OPS_KEEP_BUILTIN_IDLE";

/// One thing to compare.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// What happens, in a few words.
    pub name: String,
    /// Which part of the callbacks is compared.
    #[serde(default)]
    pub view: View,
    #[serde(default = "one")]
    pub cpus: u32,
    #[serde(default = "window")]
    pub window_us: u64,
    /// Only so many callbacks of each CPU, from the window's begin.
    pub lines: Option<usize>,
    /// Whether ticks count: when they come is chance where they change nothing.
    #[serde(default)]
    pub ticks: bool,
    #[serde(default)]
    pub flags: Vec<String>,
    /// Callbacks that it lacks.
    #[serde(default)]
    pub without: Vec<String>,
    /// Callbacks that it has in addition.
    #[serde(default)]
    pub with: Vec<String>,
    #[serde(default)]
    pub knobs: BTreeMap<String, KnobValue>,
    /// Why the arms differ; the test then expects that they do.
    pub diverges: Option<String>,
    /// Who takes part; delays count from the window's begin.
    #[serde(default, rename = "task")]
    pub tasks: Vec<TaskGroup>,
    #[serde(default, rename = "group")]
    pub groups: Vec<ControlGroup>,
    #[serde(default, rename = "channel")]
    pub channels: Vec<Channel>,
    #[serde(default, rename = "mutex")]
    pub mutexes: Vec<Mutex>,
}

/// Which part of the callbacks is compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum View {
    /// All between two marks.
    #[default]
    Window,
    /// Between the marks, what the scenario's tasks are told of: others run in between.
    Tasks,
    /// All from the first mark to the scheduler's mistake, and what the kernel says of it.
    Mistake,
    /// Only that it is not loaded, and why.
    Refused,
    /// The lives of the scheduler and of tasks, from loading to unloading.
    Life,
}

fn one() -> u32 {
    1
}

fn window() -> u64 {
    30_000
}

#[derive(Deserialize)]
struct File {
    scenario: Vec<Scenario>,
}

pub fn all() -> Vec<Scenario> {
    let file: File = toml::from_str(include_str!("scenarios.toml")).expect("scenarios.toml");
    file.scenario
}

impl Scenario {
    pub fn scheduler(&self) -> String {
        let mut text = SOURCE.to_owned();
        for (line, part) in PARTS {
            text = text.replacen(line, part, 1);
        }
        if !self.flags.is_empty() {
            let more = format!("{FLAGS} | {}", self.flags.join(" | "));
            text = text.replacen(FLAGS, &more, 1);
        }
        for callback in &self.without {
            let member = format!("\t       .{callback}\t");
            assert!(text.contains(&member), "{}: no callback {callback}", self.name);
            text = text.replacen(INCLUDE, &format!("{INCLUDE}\n#define WITHOUT_{callback}"), 1);
            let kept = text.lines().filter(|line| !line.starts_with(&member));
            text = kept.flat_map(|line| [line, "\n"]).collect();
        }
        for callback in &self.with {
            text = text.replacen(INCLUDE, &format!("{INCLUDE}\n#define WITH_{callback}"), 1);
            let member = format!("{LAST}\n\t       .{callback} = (void *)trace_{callback},");
            text = text.replacen(LAST, &member, 1);
        }
        text
    }

    /// The question that an arm answers.
    pub fn trial(&self, backend: Backend, file: &str, sha256: &str) -> Trial {
        let (file, sha256) = (file.to_owned(), sha256.to_owned());
        let scheduler = SchedulerChoice::File {
            file,
            sha256,
            knobs: self.knobs.clone(),
            settings: BTreeMap::new(),
        };
        // What the kernel's work costs on the other arm decides which CPU is first.
        let costs = match self.cpus {
            1 => Costs::default(),
            _ => spec::machine::load("counted_2", Path::new(""), 1).expect("it is built in").costs,
        };
        let machine = Machine {
            cpus: self.cpus,
            clock: Clock::Virtual,
            memory_mib: 512,
            costs,
            ..Machine::default()
        };
        Trial {
            experiment: "conformance".into(),
            backend,
            contestant: Contestant::new("trace", scheduler).into(),
            workload: self.workload().into(),
            machine: machine.into(),
            boot: self.cpus,
            timeout_ms: 20_000,
            probes: false,
            ..Trial::default()
        }
    }

    fn workload(&self) -> Workload {
        let later = |group: &TaskGroup| TaskGroup {
            delay_us: group.delay_us + BEGIN_US + LEAD_US,
            ..group.clone()
        };
        let mark = vec![
            Step::Nice(1),
            Step::SleepUs(self.window_us),
            Step::Nice(2),
            Step::SleepUs(1_000_000),
        ];
        // The end of the last finite task wakes the lab, which would be seen.
        let rest = vec![Step::SleepUs(1_000_000)];
        let marks = [group(MARK, BEGIN_US, mark), group("rest", 0, rest)];
        Workload {
            name: self.name.clone(),
            duration_us: Some(BEGIN_US + self.window_us + TAIL_US),
            tasks: self.tasks.iter().map(later).chain(marks).collect(),
            control_groups: self.groups.clone(),
            channels: self.channels.clone(),
            mutexes: self.mutexes.clone(),
            ..Workload::default()
        }
    }
}

fn group(name: &str, delay_us: u64, steps: Vec<Step>) -> TaskGroup {
    TaskGroup { delay_us, affinity: vec![0], ..TaskGroup::once(name, steps) }
}
