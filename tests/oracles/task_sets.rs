// SPDX-License-Identifier: GPL-2.0-only
//! Random sets of hogs and sleepers, and their workloads.

use proptest::prelude::*;

#[derive(Clone, Debug)]
pub struct Task {
    pub nice: i32,
    /// 0: the default.
    pub slice_us: u64,
    pub run_us: u64,
    /// 0: never.
    pub sleep_us: u64,
}

/// How long a hog runs and sleeps.
pub const HOG: Just<(u64, u64)> = Just((100_000, 0));

pub fn task(times: impl Strategy<Value = (u64, u64)>) -> impl Strategy<Value = Task> {
    let slice_us = prop_oneof![Just(0u64), 100u64..10_000];
    (-10..=10i32, slice_us, times).prop_map(|(nice, slice_us, (run_us, sleep_us))| Task {
        nice,
        slice_us,
        run_us,
        sleep_us,
    })
}

pub fn hog_or_sleeper() -> impl Strategy<Value = Task> {
    task(prop_oneof![1 => HOG, 3 => (50u64..8_000, 50u64..20_000)])
}

/// A workload of these tasks, each with its nice value, slice, run time and sleep.
pub fn task_set(tasks: &[Task]) -> String {
    let mut text = "duration_us = 400000\n".to_owned();
    for (number, Task { nice, slice_us, run_us, sleep_us }) in tasks.iter().enumerate() {
        let sleep =
            if *sleep_us > 0 { format!(", {{ sleep_us = {sleep_us} }}") } else { "".into() };
        text += &format!(
            "[[task]]\nname = \"t{number}\"\nsteps = [{{ run_us = {run_us} }}{sleep}]\n\
             policy = {{ class = \"other\", nice = {nice}, runtime_us = {slice_us} }}\n"
        );
    }
    text
}
