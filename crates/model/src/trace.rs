// SPDX-License-Identifier: GPL-2.0-only
//! Scheduling events of one trial.

use serde::{Deserialize, Serialize};

/// The events of one trial in order of time, and the names of the tasks in them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trace {
    /// Who the process numbers are. Process 0 is every CPU's idle task.
    pub tasks: Vec<TraceTask>,
    /// The events.
    pub events: Vec<TraceEvent>,
    /// Events that could not be kept; not 0 means that the trace has holes, and the report says so.
    pub lost: u64,
}

/// A task of a trace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TraceTask {
    /// The kernel's task number (thread id).
    pub pid: u32,
    /// The thread's name.
    pub comm: String,
    /// The task group, empty for tasks that do not belong to the workload.
    pub group: String,
}

/// One event. Unknown fields are not refused here: serde cannot do that beside `flatten`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceEvent {
    /// Nanoseconds since the common start of the workload.
    pub time_ns: u64,
    /// The CPU that it happened on.
    pub cpu: u32,
    /// What happened.
    #[serde(flatten)]
    pub what: What,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "event")]
pub enum What {
    /// The CPU switched tasks (`sched_switch`).
    Switch {
        /// The task that stopped running.
        prev: u32,
        /// Its kernel priority (0 … 139).
        prev_prio: u32,
        /// Its state as ftrace writes it: `R` could run on, `R+` preempted, `S` sleeps, `D` disk,
        /// `X` dead …
        prev_state: String,
        /// The task that runs now.
        next: u32,
        /// Its kernel priority.
        next_prio: u32,
    },
    /// A sleeping task is being woken (`sched_waking`); `target` is the CPU that it last ran on.
    Waking {
        /// The woken task.
        pid: u32,
        /// Its kernel priority.
        prio: u32,
        /// The CPU that it will wait on, as far as known.
        target: u32,
    },
    /// A new task (`sched_process_fork`).
    Fork {
        /// Who forked.
        parent: u32,
        /// The new task.
        child: u32,
    },
    /// A task ended (`sched_process_exit`).
    Exit {
        /// Who.
        pid: u32,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_event_comes_back() {
        let switch = What::Switch {
            prev: 1,
            prev_prio: 120,
            prev_state: "R+".into(),
            next: 0,
            next_prio: 139,
        };
        let kinds = [
            switch,
            What::Waking { pid: 1, prio: 49, target: 3 },
            What::Fork { parent: 1, child: 2 },
            What::Exit { pid: 2 },
        ];
        let events = kinds.map(|what| TraceEvent { time_ns: 7, cpu: 0, what });
        let trace = Trace { tasks: Vec::new(), events: events.into(), lost: 0 };
        let json = serde_json::to_string(&trace).expect("plain data");
        assert_eq!(serde_json::from_str::<Trace>(&json).expect("our own JSON"), trace);
    }
}
