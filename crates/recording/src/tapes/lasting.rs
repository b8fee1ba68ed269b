// SPDX-License-Identifier: GPL-2.0-only
//! Tasks that could have gone on for longer with what they did.

use std::collections::BTreeSet;

use model::TapeOp;

use super::task::TaskWriter;
use crate::event::TaskIndex;

/// A task waits this often at most, at its start and its end, for tasks that do not go on.
const ONCE_MOST: usize = 3;

/// The tasks that were there for more than half of the recording and in its last tenth, and that
/// need hardly any others. `asleep`: those that sleep when it ends; they need a task that wakes
/// them.
pub fn lasting(
    mut tasks: BTreeSet<TaskIndex>,
    tapes: &[Vec<TapeOp>],
    asleep: &[bool],
) -> BTreeSet<TaskIndex> {
    loop {
        let goes_on = |task: &TaskIndex| {
            let wakers = tapes[task.0 as usize].iter().filter_map(|op| op.waker());
            let (going_on, once): (Vec<u32>, Vec<u32>) =
                wakers.partition(|waker| tasks.contains(&TaskIndex(*waker)));
            once.len() <= ONCE_MOST && (!asleep[task.0 as usize] || !going_on.is_empty())
        };
        let left: BTreeSet<TaskIndex> = tasks.iter().copied().filter(goes_on).collect();
        if left.len() == tasks.len() {
            return left;
        }
        tasks = left;
    }
}

/// Those that were there for that long.
pub fn present(writers: &[TaskWriter], end_ns: u64) -> BTreeSet<TaskIndex> {
    let tasks = (0..).map(TaskIndex).zip(writers);
    tasks.filter(|(_, writer)| writer.lasts(end_ns)).map(|(task, _)| task).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_needs_others_goes_on_only_with_them() {
        let text = "task 0 worker\nw1 r5 p3\ntask 1 main\nr1 w4 w4 w4 w4 p0\ntask 2 idler\nr1\n\
                    task 3 server\nw0 r1\ntask 4 child\nr1 p1 p1 p1 p1";
        let tapes = model::tape::read(text).expect(text);
        let ops: Vec<Vec<TapeOp>> = tapes.into_iter().map(|tape| tape.ops).collect();
        let there: BTreeSet<TaskIndex> = (0..4).map(TaskIndex).collect();
        let asleep = [false, false, true, true, false];
        let found = lasting(there, &ops, &asleep);
        assert_eq!(found, [TaskIndex(0), TaskIndex(3)].into());
    }
}
