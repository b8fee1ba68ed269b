// SPDX-License-Identifier: GPL-2.0-only
//! Oracles of muqss that follow from details of its source (`kernel/sched/MuQSS.c`): its clock, and
//! whom a new task displaces.

use model::Record;

use crate::look::{begins_ms, printed_all, stints, within};
use crate::oracle::{Oracle, Run, Where};
use crate::slices::hogs;

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

/// The percentage of the turns after half a second that last `us` µs, give or take 60 µs.
fn turns_of(record: &Record, us: u64) -> u64 {
    let late = stints(record).into_iter().filter(|it| begins_ms(it) >= 500);
    let lengths: Vec<u64> = late.map(|it| (it.to_ns - it.from_ns) / 1000).collect();
    let such = lengths.iter().filter(|length| length.abs_diff(us) <= 60).count();
    (such * 100 / lengths.len().max(1)) as u64
}

pub fn oracles() -> Vec<Oracle> {
    vec![
        Oracle {
            name: "muqss jiffies",
            claim: "a tick counts as 2^30 / HZ ns in a slice (update_clocks): at 250 Hz a slice in \
                    which two of them come ends at the second, 0.59 ms early, as every other slice \
                    of two hogs does; with long_jiffies=false none does",
            place: Where::Everywhere,
            runs: vec![
                Run::new("muqss", hogs!("0", "0")),
                Run::new("muqss long_jiffies=false", hogs!("0", "0")),
            ],
            holds: |records| {
                within("of 100 turns, whole ones", turns_of(&records[0], 6_291), 40, 52)?;
                within("of 100 turns, those of 5.709 ms", turns_of(&records[0], 5_709), 38, 52)?;
                within("of 100 such turns, without", turns_of(&records[1], 5_709), 0, 5)
            },
        },
        Oracle {
            name: "muqss children",
            claim: "the maker of a process stops, so that its child is first; that of a thread goes \
                    on, for it is not the thread's parent (wake_up_new_task)",
            place: Where::Simulator,
            runs: vec![Run::new(CHILDREN, MAKER)],
            holds: |records| {
                printed_all(&records[0], &[("for a child of maker", 1), ("for a thread", 0)])
            },
        },
    ]
}
