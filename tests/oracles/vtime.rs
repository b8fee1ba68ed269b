// SPDX-License-Identifier: GPL-2.0-only
//! Oracles of vtime: what weighted fair queueing promises.

use crate::look::{near, share, value};
use crate::oracle::{Oracle, Run, everywhere, simulated};

pub fn oracles() -> Vec<Oracle> {
    vec![
        everywhere(
            "vtime 1",
            "hogs of nice 0 and 5 share as their weights do, 1024 : 335 = 75.35 %",
            vec![Run::new("vtime", "vtime.nice_0_and_5")],
            |records| near("the share of nice 0", share(&records[0], "zero"), 0.7535, 0.01),
        ),
        simulated(
            "vtime 2",
            "five hogs on two CPUs have equal shares, because all wait in one queue",
            vec![Run { cpus: 2, ..Run::new("vtime", "vtime.five_hogs") }],
            |records| near("Jain's index", value(&records[0], "jain_index", "hog"), 1.0, 0.001),
        ),
        simulated(
            "vtime 3",
            "three hogs on two CPUs have equal shares, also where a real-time task interrupts one \
             CPU each millisecond: a slice is charged once, in however many pieces it runs",
            vec![Run { cpus: 2, ..Run::new("vtime", "vtime.visited") }],
            |records| near("Jain's index", value(&records[0], "jain_index", "hog"), 1.0, 0.001),
        ),
    ]
}
