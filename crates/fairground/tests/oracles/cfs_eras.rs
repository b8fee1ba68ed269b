// SPDX-License-Identifier: GPL-2.0-only
//! Oracles of cfs: what one version of Linux does and another one does not (`kernel/sched/fair.c`),
//! on one CPU, where the latency is 6 ms and the minimum granularity 0.75 ms.

use crate::oracle::{Oracle, facts};

pub fn oracles() -> Vec<Oracle> {
    vec![
        facts!(
            "./tests/schedulers/cfs_facts.bpf.c era=60100",
            "cfs limit",
            "6.3 was the first to limit a slice to the latency (check_preempt_tick)",
            ("ran 24.1 of 30", 0),
        ),
        facts!(
            "./tests/schedulers/cfs_facts.bpf.c era=50900",
            "cfs 5.9 base_slice",
            "a slice can be as short as the task's part of the latency (sched_slice)",
            ("slice of nice 19 beside nice 0", 86_621),
        ),
        facts!(
            "./tests/schedulers/cfs_facts.bpf.c era=51000",
            "cfs 5.10 base_slice",
            "5.10.y has taken over from later versions that no slice is shorter than the minimum \
             granularity (sched_slice)",
            ("slice of nice 19 beside nice 0", 750_000),
        ),
    ]
}
