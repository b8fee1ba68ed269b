// SPDX-License-Identifier: GPL-2.0-only
//! What rt-app knows of a timer only when it has read all tasks: who shares it, and its mode.

use std::collections::{BTreeMap, BTreeSet};

use model::Step;
use model::workload::Timer;

use super::phase::Phase;
use super::task::Task;

/// A timer: a name that begins with `unique` is one for each task that uses it.
type Key = (Option<usize>, String);

/// What all uses of a timer say together.
#[derive(Default)]
struct Uses {
    threads: u64,
    absolute: bool,
}

/// Gives every use of a timer what all of them say; `forked` are the tasks that others fork.
pub fn settle(tasks: &mut [Task], forked: &[usize]) {
    let mut all: BTreeMap<Key, Uses> = BTreeMap::new();
    for (index, task) in tasks.iter().enumerate() {
        let mut named = BTreeSet::new();
        for timer in task.phases.iter().flat_map(Phase::steps).filter_map(timer_of) {
            let uses = all.entry(key(index, timer)).or_default();
            uses.absolute |= !timer.relative;
            if named.insert(&timer.name) {
                // How often it will be forked is not known.
                let forked = 2 * u64::from(forked.contains(&index));
                uses.threads = uses.threads.saturating_add(task.instances).saturating_add(forked);
            }
        }
    }
    for (index, task) in tasks.iter_mut().enumerate() {
        for step in task.phases.iter_mut().flat_map(Phase::steps_mut) {
            if let Step::Timer(timer) = step
                && let Some(uses) = all.get(&key(index, timer))
            {
                timer.relative = !uses.absolute;
                timer.shared = uses.threads > 1 && !is_unique(timer);
            }
        }
    }
}

fn key(task: usize, timer: &Timer) -> Key {
    (is_unique(timer).then_some(task), timer.name.clone())
}

fn is_unique(timer: &Timer) -> bool {
    timer.name.starts_with("unique")
}

fn timer_of(step: &Step) -> Option<&Timer> {
    match step {
        Step::Timer(timer) => Some(timer),
        _ => None,
    }
}
