// SPDX-License-Identifier: GPL-2.0-only
//! Oracles of muqss that follow from details of its source (`kernel/sched/MuQSS.c`): whom a new task
//! displaces.

use crate::look::printed_all;
use crate::oracle::{Oracle, Run, Where};

/// muqss, which prints for which new tasks their makers stop.
const CHILDREN: &str = "./tests/schedulers/muqss_children.bpf.c";

/// A process that makes another one.
const MAKER: &str = "
duration_us = 50000
[[task]]
name = \"maker\"
repeat = 1
steps = [{ run_us = 1000 }, { fork = { task = \"child\" } }, \"wait_children\"]
[[task]]
name = \"child\"
template = true
steps = [{ run_us = 1000 }]
";

pub fn oracles() -> Vec<Oracle> {
    vec![
        Oracle {
            name: "muqss children",
            claim: "the maker of a process stops, so that its child is first; that of a thread goes \
                    on, for it is not the thread's parent (wake_up_new_task)",
            place: Where::Everywhere,
            runs: vec![Run::new(CHILDREN, MAKER)],
            holds: |records| {
                printed_all(&records[0], &[("for a child of maker", 1), ("for a thread", 0)])
            },
        },
    ]
}
