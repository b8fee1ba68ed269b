// SPDX-License-Identifier: GPL-2.0-only
//! Tasks that yield until another one has done something (`while (!done) sched_yield()`).
//!
//! A trace does not show for what a task looks between two yields. It shows that the task computed
//! next to nothing between them, then went on computing, and that only one other task ran after
//! the last look that was in vain. If that holds for several loops of the task, which differ in
//! their numbers of yields and in their lengths, neither a count nor a clock has ended them. So
//! that other task has.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use model::TapeOp;
use model::tape::{Reader, Stream};

use super::Writer;
use super::messages::{NOBODY, NOTHING};
use super::task::{TaskWriter, are_equal, median};
use crate::event::{SleepsFor, TaskIndex, Waker};

/// Fewer yields, or fewer loops, show no pattern.
const YIELDS_LEAST: u64 = 3;
const LOOPS_LEAST: usize = 3;
/// What takes so many times as long as a look is work.
const WORK: u64 = 4;

/// A row of yields with nothing but computing between them.
#[derive(Clone, Debug)]
pub struct YieldLoop {
    /// The places of the first and the last yield on the tape.
    places: RangeInclusive<usize>,
    yields: u64,
    /// The most that it has computed between two yields.
    most_ns: u64,
    from_ns: u64,
    until_ns: u64,
    /// Who ran between the last yield and the next look.
    others: BTreeSet<TaskIndex>,
    /// The only one of these, and the place on its tape to which it had come.
    release: Option<(TaskIndex, usize)>,
}

/// A loop that another task has ended.
struct Spin {
    task: TaskIndex,
    places: RangeInclusive<usize>,
    look_ns: u32,
    release: (TaskIndex, usize),
}

impl YieldLoop {
    fn at(place: usize, at_ns: u64) -> YieldLoop {
        YieldLoop {
            places: place..=place,
            yields: 1,
            most_ns: 0,
            from_ns: at_ns,
            until_ns: at_ns,
            others: BTreeSet::new(),
            release: None,
        }
    }

    /// Whether the next yield belongs to the same loop, after so much computing: a look is no work.
    fn goes_on(&mut self, ran_ns: u64, next: &YieldLoop) -> bool {
        if self.yields >= 2 && ran_ns / WORK > self.most_ns {
            return false;
        }
        if self.yields == 2 && ran_ns < self.most_ns / WORK {
            // What came before the last yield was work.
            let last = YieldLoop::at(*self.places.end(), self.until_ns);
            *self = last;
        }
        self.places = *self.places.start()..=*next.places.end();
        self.yields += 1;
        self.most_ns = self.most_ns.max(ran_ns);
        (self.others, self.release) = (next.others.clone(), None);
        true
    }
}

impl Writer {
    /// The task has just yielded, which is its tape's last operation.
    pub fn note_yield(&mut self, task: TaskIndex, at_ns: u64) {
        if !self.task(task).keeps {
            return;
        }
        let running = self.cpus.values().filter_map(|(_, running)| *running);
        let is_other = |other: &TaskIndex| *other != task && self.tasks[other.0 as usize].keeps;
        let others = running.filter(is_other).collect();
        self.yielded.insert(task);
        let TaskWriter { ops, yield_loops: rows, .. } = self.task(task);
        let place = ops.len() - 1;
        let new = YieldLoop { others, ..YieldLoop::at(place, at_ns) };
        let between = rows.last().map(|row| &ops[row.places.end() + 1..place]);
        let is_idle = between.is_some_and(|between| between.iter().copied().all(is_idle));
        let goes_on = match rows.last_mut().filter(|_| is_idle) {
            Some(row) => row.goes_on(ran_ns(between.unwrap_or_default()), &new),
            None => false,
        };
        if goes_on {
            return self.looked_in_vain(task);
        }
        if rows.last().is_some_and(|row| row.yields < YIELDS_LEAST) {
            rows.pop();
        }
        rows.push(new);
    }

    /// The task has yielded again, so it has released nobody.
    fn looked_in_vain(&mut self, task: TaskIndex) {
        for other in &self.yielded {
            if let Some(row) = self.tasks[other.0 as usize].yield_loops.last_mut() {
                row.others.remove(&task);
            }
        }
    }

    /// A task gets a CPU. If it has yielded, it looks again.
    pub fn note_look(&mut self, task: TaskIndex, at_ns: u64) {
        let keeps = self.task(task).keeps;
        for other in self.yielded.iter().filter(|other| keeps && **other != task) {
            if let Some(row) = self.tasks[other.0 as usize].yield_loops.last_mut() {
                row.others.insert(task);
            }
        }
        if !self.yielded.remove(&task) {
            return;
        }
        let Some(row) = self.task(task).yield_loops.last_mut() else { return };
        row.until_ns = at_ns;
        let mut others = row.others.iter().copied();
        if let (Some(other), None) = (others.next(), others.next())
            && row.yields >= YIELDS_LEAST
        {
            let place = self.post(other, NOBODY, at_ns);
            if let Some(row) = self.task(task).yield_loops.last_mut() {
                row.release = Some((other, place));
            }
        }
    }

    /// Puts loops that another task has ended in place of their yields.
    pub fn find_spins(&mut self) {
        let spins: Vec<Spin> = self.tasks.iter().enumerate().flat_map(spins).collect();
        // A task that looks itself releases nobody.
        let looks = |(task, place): (TaskIndex, usize)| {
            let rows = &self.tasks[task.0 as usize].yield_loops;
            rows.iter().any(|row| row.yields >= YIELDS_LEAST && row.places.contains(&place))
        };
        let spins: Vec<Spin> = spins.into_iter().filter(|spin| !looks(spin.release)).collect();
        for Spin { task, places, look_ns, release: (by, place) } in spins {
            let ops = &mut self.task(task).ops;
            let first = *places.start();
            ops[places].iter_mut().filter(|op| is_look(**op)).for_each(|op| *op = NOTHING);
            ops[first] = TapeOp::Spin(by.0, look_ns);
            self.task(by).ops[place] = TapeOp::Post(task.0, Stream::NONE, Reader::Awake);
        }
    }
}

fn is_look(op: TapeOp) -> bool {
    matches!(op, TapeOp::Run(_) | TapeOp::Yield)
}

/// What tells nothing but that the task computed.
fn is_idle(op: TapeOp) -> bool {
    is_look(op) || op == NOTHING
}

/// The loops of a task that another one has ended, if it has such.
fn spins((index, writer): (usize, &TaskWriter)) -> Vec<Spin> {
    let waits = |row: &&YieldLoop| look_ns(row, &writer.ops).is_some();
    let rows: Vec<&YieldLoop> = writer.yield_loops.iter().filter(waits).collect();
    let yields: Vec<u64> = rows.iter().map(|row| row.yields).collect();
    let lengths: Vec<u64> = rows.iter().map(|row| row.until_ns - row.from_ns).collect();
    let by_count = yields.windows(2).all(|pair| pair[0] == pair[1]);
    if rows.len() < LOOPS_LEAST || by_count || are_equal(&lengths) {
        return Vec::new();
    }
    let spin = |row: &&YieldLoop| {
        let (task, places) = (TaskIndex(index as u32), row.places.clone());
        let look_ns = look_ns(row, &writer.ops)?;
        Some(Spin { task, places, look_ns, release: row.release? })
    };
    rows.iter().filter_map(spin).collect()
}

/// What the task computes between two yields, if that is next to nothing beside what it computes
/// after the last one.
fn look_ns(row: &YieldLoop, ops: &[TapeOp]) -> Option<u32> {
    let (first, last) = (*row.places.start(), *row.places.end());
    let after = &ops[last + 1..];
    let end = after.iter().position(|op| !is_idle(*op) || *op == TapeOp::Yield);
    let after_ns = ran_ns(&after[..end.unwrap_or(after.len())]);
    if row.yields < YIELDS_LEAST || after_ns / WORK <= row.most_ns {
        return None;
    }
    let looks = ops[first + 1..last].split(|op| *op == TapeOp::Yield);
    u32::try_from(median(looks.map(ran_ns).collect()).max(1)).ok()
}

fn ran_ns(ops: &[TapeOp]) -> u64 {
    ops.iter().map(|op| if let TapeOp::Run(ns) = *op { ns } else { 0 }).sum()
}

/// Whether the task would have gone on for anything that came.
pub fn polls(reason: SleepsFor) -> bool {
    matches!(reason, SleepsFor::Any | SleepsFor::Signal)
}

/// A wait for a task, by the way in which its wake-up tells the scheduler that the waker may soon
/// sleep.
pub fn wait(by: TaskIndex, reason: SleepsFor) -> TapeOp {
    match reason {
        SleepsFor::Pipe
        | SleepsFor::Room
        | SleepsFor::Network
        | SleepsFor::Child
        | SleepsFor::Any => TapeOp::Receive(by.0, Stream::NONE, Reader::Asleep),
        _ => TapeOp::Wait(by.0, Stream::NONE),
    }
}

/// Whether a sleep that no other task ended was a timer's. Where the source does not tell, sleeps
/// for data of a device are uninterruptible, and others have a time-out or an alarm.
pub fn is_timer(waker: Waker, reason: SleepsFor) -> bool {
    match (waker, reason) {
        (Waker::Timer, _) => true,
        (_, SleepsFor::Disk | SleepsFor::Network | SleepsFor::Room | SleepsFor::Other) => false,
        (Waker::Interrupt | Waker::Task(_), _) => false,
        (Waker::Unknown, _) => true,
    }
}

#[cfg(test)]
mod tests {
    use crate::tapes::tests::{first_tape, tapes};

    const LOOK_NS: u64 = 10_000;
    const WORK_NS: u64 = 900_000;

    /// Task 0 yields as often as it is told, and computes afterwards. Between two yields task 1
    /// computes ten times as long as task 0 does, or a passer-by does half of that.
    fn events(yields: &[u64], after_ns: u64, passer_by: bool) -> String {
        let (mut text, mut now) = ("0 >0".to_owned(), 0);
        let mut then = |ns: u64, switch: &str| {
            now += ns;
            text += &format!(", {now} {switch}");
        };
        for count in yields {
            for at in 0..*count {
                then(if at == 0 { after_ns } else { LOOK_NS }, "0:yields>1");
                if passer_by {
                    then(5 * LOOK_NS, "1>2");
                    then(5 * LOOK_NS, "2>0");
                } else {
                    then(10 * LOOK_NS, "1>0");
                }
            }
        }
        then(after_ns, "0:ended>1");
        then(LOOK_NS, "1:futex>");
        text
    }

    #[test]
    fn a_task_that_yields_until_another_one_is_ready_waits_for_it() {
        let found = tapes(&events(&[3, 5, 2, 4], WORK_NS, false), 2);
        let two = "y r10000 y r900000";
        let expected = format!("r900000 l1.10000 r900000 l1.10000 r900000 {two} l1.10000 r900000");
        assert_eq!(found[0], expected);
        assert_eq!(found[1], "r300000 d0 r500000 d0 r600000 d0 r10000");
    }

    #[test]
    fn what_may_have_another_cause_stays_a_yield() {
        let same_count = tapes(&events(&[4, 4, 4], WORK_NS, false), 2);
        let works_between = tapes(&events(&[3, 5, 4], 2 * LOOK_NS, false), 2);
        let few = tapes(&events(&[3, 5], WORK_NS, false), 2);
        let two_others = tapes(&events(&[3, 5, 4], WORK_NS, true), 3);
        let nobody_played = vec![first_tape(&events(&[3, 5, 4], WORK_NS, false), 2)];
        let counts = [12, 12, 8, 12, 12];
        let all = [same_count, works_between, few, two_others, nobody_played];
        for (found, yields) in all.iter().zip(counts) {
            assert!(!found.iter().any(|tape| tape.contains(['l', 'p'])), "{found:?}");
            assert_eq!(found[0].split(' ').filter(|op| *op == "y").count(), yields, "{found:?}");
        }
    }
}
