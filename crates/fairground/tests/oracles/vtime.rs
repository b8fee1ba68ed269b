// SPDX-License-Identifier: GPL-2.0-only
//! Oracles of vtime: what weighted fair queueing promises.

use crate::look::{near, share, value};
use crate::oracle::{Oracle, Run, Where};

const NICE_0_AND_5: &str = "
duration_us = 4000000
[[task]]
name = \"zero\"
steps = [{ run_us = 100000 }]
[[task]]
name = \"five\"
policy = { class = \"other\", nice = 5 }
steps = [{ run_us = 100000 }]
";

const FIVE_HOGS: &str = "
duration_us = 4000000
[[task]]
name = \"hog\"
count = 5
steps = [{ run_us = 100000 }]
";

/// The third hog would have one of the CPUs for itself if the visits of the other one cost more than
/// they last.
const VISITED: &str = "
duration_us = 3000000
[[task]]
name = \"hog\"
count = 3
steps = [{ run_us = 100000 }]
[[task]]
name = \"visitor\"
affinity = [0]
policy = { class = \"fifo\", priority = 10 }
steps = [{ run_us = 10 }, { timer = { period_us = 1000 } }]
";

pub fn oracles() -> Vec<Oracle> {
    vec![
        Oracle {
            name: "vtime 1",
            claim: "hogs of nice 0 and 5 share as their weights do, 1024 : 335 = 75.35 %",
            place: Where::Everywhere,
            runs: vec![Run::new("vtime", NICE_0_AND_5)],
            holds: |records| near("the share of nice 0", share(&records[0], "zero"), 0.7535, 0.01),
        },
        Oracle {
            name: "vtime 2",
            claim: "five hogs on two CPUs have equal shares, because all wait in one queue",
            place: Where::Simulator,
            runs: vec![Run { cpus: 2, ..Run::new("vtime", FIVE_HOGS) }],
            holds: |records| {
                near("Jain's index", value(&records[0], "jain_index", "hog"), 1.0, 0.001)
            },
        },
        Oracle {
            name: "vtime 3",
            claim: "three hogs on two CPUs have equal shares, also where a real-time task \
                    interrupts one CPU each millisecond: a slice is charged once, in however many \
                    pieces it runs",
            place: Where::Simulator,
            runs: vec![Run { cpus: 2, ..Run::new("vtime", VISITED) }],
            holds: |records| {
                near("Jain's index", value(&records[0], "jain_index", "hog"), 1.0, 0.001)
            },
        },
    ]
}
