// SPDX-License-Identifier: GPL-2.0-only
//! From what groups do on average to tapes, by chance from a seed.
//!
//! The tasks are played in time, each with a CPU of its own: a task computes for a drawn time,
//! wakes others on the way, draws what it sleeps for, and goes on when that has come. A wait is
//! written when its waker has been, so the tapes can be played to their ends. A task does as much
//! work for each second as in the recording, also if CPUs were what it waited for there.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use model::tape::{GroupModel, Stream};
use model::{Beat, Seed, Tape};

/// The most beats that are drawn.
const BEATS_MAX: usize = 4_000_000;

/// What is drawn.
#[derive(Clone, Copy, Debug)]
pub struct Length {
    /// The length of the recording.
    pub recorded_ns: u64,
    /// That of the tapes.
    pub drawn_ns: u64,
}

impl Length {
    /// As much of something as in the recording, for the drawn length; rounded, so that a recording
    /// that lasts microseconds longer keeps the tasks that have one burst.
    fn scaled(&self, recorded: u64) -> u64 {
        let (drawn_ns, recorded_ns) =
            (u128::from(self.drawn_ns), u128::from(self.recorded_ns.max(1)));
        let scaled = (u128::from(recorded) * drawn_ns + recorded_ns / 2) / recorded_ns;
        u64::try_from(scaled).unwrap_or(u64::MAX)
    }
}

/// Draws a tape for each task; `counts` are the tasks of the groups.
///
/// # Errors
/// There would be too many beats, or a group wakes one that is not there.
pub fn tapes(
    groups: &[GroupModel],
    counts: &[u32],
    length: Length,
    seed: Seed,
) -> Result<Vec<Tape>, String> {
    let mut play = Play::new(groups, counts, length, seed)?;
    play.begin();
    while let Some(Reverse((at_ns, _, task))) = play.due.pop() {
        if play.beats > BEATS_MAX {
            return Err(format!(
                "more than {BEATS_MAX} beats; draw a shorter time or fewer copies"
            ));
        }
        if at_ns < length.drawn_ns {
            play.burst(task, at_ns);
        }
    }
    Ok(play.tapes)
}

struct Play<'a> {
    groups: &'a [GroupModel],
    /// The groups that each one wakes, with how often for each burst, in thousandths.
    wakes: Vec<Vec<(usize, u64)>>,
    length: Length,
    seed: Seed,
    tasks: Vec<Drawn>,
    tapes: Vec<Tape>,
    /// When tasks go on; the second number keeps the order of equal times.
    due: BinaryHeap<Reverse<(u64, u64, usize)>>,
    /// The tasks of each group that wait for another one.
    waiting: Vec<VecDeque<usize>>,
    turns: u64,
    beats: usize,
}

struct Drawn {
    group: usize,
    timer_ns: u64,
    bursts_left: u64,
}

impl<'a> Play<'a> {
    fn new(
        groups: &'a [GroupModel],
        counts: &[u32],
        length: Length,
        seed: Seed,
    ) -> Result<Play<'a>, String> {
        let (mut tasks, mut tapes) = (Vec::new(), Vec::new());
        for (group, (of, count)) in groups.iter().zip(counts).enumerate() {
            let bursts = length.scaled(of.bursts);
            for number in 0..u64::from(*count) {
                // The remainder goes to the first ones.
                let rest = u64::from(*count) - 1 - number;
                let bursts_left = bursts.saturating_add(rest) / u64::from(*count);
                tasks.push(Drawn { group, timer_ns: 0, bursts_left });
                tapes.push(Tape { name: of.name.clone(), ..Tape::default() });
            }
        }
        let waiting = vec![VecDeque::new(); groups.len()];
        let wakes = groups.iter().map(|group| woken(group, groups)).collect::<Result<_, _>>()?;
        let due = BinaryHeap::new();
        Ok(Play { groups, wakes, length, seed, tasks, tapes, due, waiting, turns: 0, beats: 0 })
    }

    /// As many tasks of each group begin by computing as in the recording.
    fn begin(&mut self) {
        let mut computing: Vec<u32> = self.groups.iter().map(|it| it.begins_computing).collect();
        for task in 0..self.tasks.len() {
            let left = &mut computing[self.tasks[task].group];
            if *left > 0 {
                *left -= 1;
                self.go_on(task, 0);
            } else {
                self.sleep(task, 0);
            }
        }
    }

    fn go_on(&mut self, task: usize, at_ns: u64) {
        self.turns += 1;
        self.due.push(Reverse((at_ns, self.turns, task)));
    }

    fn write(&mut self, task: usize, beat: Beat) {
        self.beats += 1;
        self.tapes[task].beats.push(beat);
    }

    /// A number below the bound; 0 for 0.
    fn chance(&mut self, bound: u64) -> u64 {
        if bound == 0 { 0 } else { self.seed.below(bound) }
    }

    fn one_of(&mut self, values: &[u64]) -> u64 {
        let place = self.chance(values.len() as u64) as usize;
        values.get(place).copied().unwrap_or(0)
    }

    /// The task computes, wakes others on the way, and sleeps.
    fn burst(&mut self, task: usize, at_ns: u64) {
        let Some(left) = self.tasks[task].bursts_left.checked_sub(1) else { return };
        self.tasks[task].bursts_left = left;
        let groups = self.groups;
        let group = &groups[self.tasks[task].group];
        let never_sleeps = group.waits == 0 && group.timers == 0 && group.delays == 0;
        let mut burst_ns = self.one_of(&group.burst_ns);
        if never_sleeps {
            burst_ns = self.length.scaled(burst_ns);
            self.tasks[task].bursts_left = 0;
        }
        let woken = self.woken_now(task);
        let piece_ns = burst_ns / (woken.len() as u64 + 1);
        let mut now_ns = at_ns;
        for other in woken {
            self.compute(task, piece_ns);
            now_ns = now_ns.saturating_add(piece_ns);
            self.wake(task, other, now_ns);
        }
        self.compute(task, burst_ns - (now_ns - at_ns));
        if !never_sleeps && self.tasks[task].bursts_left > 0 {
            self.sleep(task, at_ns.saturating_add(burst_ns));
        }
    }

    fn compute(&mut self, task: usize, ns: u64) {
        if ns > 0 {
            self.write(task, Beat::Run(ns));
        }
    }

    /// The groups that the task wakes in this burst.
    fn woken_now(&mut self, task: usize) -> Vec<usize> {
        let edges = self.wakes[self.tasks[task].group].clone();
        let mut woken = Vec::new();
        for (group, thousandths) in edges {
            let more = self.chance(1000) < thousandths % 1000;
            // Nobody can wake more tasks than there are.
            let times = (thousandths / 1000 + u64::from(more)).min(self.tasks.len() as u64);
            woken.extend((0..times).map(|_| group));
        }
        woken
    }

    /// The task that waits longest goes on; without one nobody is woken.
    fn wake(&mut self, task: usize, group: usize, now_ns: u64) {
        if let Some(other) = self.waiting[group].pop_front() {
            self.write(task, Beat::Post(other as u32, Stream::NONE));
            self.write(other, Beat::Wait(task as u32, Stream::NONE));
            self.go_on(other, now_ns);
        }
    }

    fn sleep(&mut self, task: usize, now_ns: u64) {
        let groups = self.groups;
        let number = self.tasks[task].group;
        let group = &groups[number];
        let sleeps = group.waits.saturating_add(group.timers).saturating_add(group.delays);
        let kind = self.chance(sleeps);
        if kind < group.waits {
            self.waiting[number].push_back(task);
        } else if kind < group.waits.saturating_add(group.timers) {
            let until_ns = self.tasks[task].timer_ns.saturating_add(self.one_of(&group.timer_ns));
            // Time goes on also if a model says that it does not.
            let until_ns = until_ns.max(now_ns.saturating_add(1));
            self.tasks[task].timer_ns = until_ns;
            self.timed(task, Beat::Until(until_ns), until_ns);
        } else if sleeps > 0 {
            let delay_ns = self.one_of(&group.delay_ns).max(1);
            self.timed(task, Beat::Sleep(delay_ns), now_ns.saturating_add(delay_ns));
        }
    }

    /// A sleep beyond the end is the end.
    fn timed(&mut self, task: usize, beat: Beat, until_ns: u64) {
        if until_ns < self.length.drawn_ns {
            self.write(task, beat);
            self.go_on(task, until_ns);
        }
    }
}

/// The groups that a group wakes, and how often for each of its bursts, in thousandths.
fn woken(group: &GroupModel, groups: &[GroupModel]) -> Result<Vec<(usize, u64)>, String> {
    let edge = |(name, wakes): (&String, &u64)| {
        let place = groups.iter().position(|other| other.name == *name);
        let place =
            place.ok_or_else(|| format!("'{}' wakes '{name}', which is no group", group.name))?;
        Ok((place, wakes.saturating_mul(1000) / group.bursts.max(1)))
    };
    group.wakes.iter().map(edge).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pipeline() -> Vec<GroupModel> {
        let text = "task 1 a\nr10 u1000 r300 p1 u2000 r500 p1 u3000 r400 p1 u4000\n\
                    task 2 b\nw0 r700 w0 r900 w0 r800\ntask 3 hog\nr3500";
        let tapes = model::tape::read(text).expect("tapes");
        crate::distill::groups(&tapes, &[("a".into(), 1), ("b".into(), 1), ("hog".into(), 1)])
    }

    fn cpu_ns(tapes: &[Tape], name: &str) -> u64 {
        let own = tapes.iter().filter(|tape| tape.name == name).flat_map(|tape| &tape.beats);
        own.map(|beat| if let Beat::Run(ns) = beat { *ns } else { 0 }).sum()
    }

    #[test]
    fn what_is_drawn_is_like_the_recording_and_as_long_as_asked() {
        let length = Length { recorded_ns: 4_000, drawn_ns: 400_000 };
        let tapes = tapes(&pipeline(), &[1, 1, 1], length, Seed(7)).expect("tapes");
        for (name, expected) in [("a", 121_000.0), ("b", 240_000.0), ("hog", 350_000.0)] {
            let drawn = cpu_ns(&tapes, name) as f64;
            assert!((drawn / expected - 1.0).abs() < 0.15, "{name}: {drawn}, not {expected}");
        }
        let posts =
            tapes[0].beats.iter().filter(|beat| **beat == Beat::Post(1, Stream::NONE)).count();
        let waits =
            tapes[1].beats.iter().filter(|beat| **beat == Beat::Wait(0, Stream::NONE)).count();
        assert_eq!(posts, waits);
        assert!((200..=400).contains(&posts), "{posts}");
    }

    #[test]
    fn a_recording_that_lasts_a_moment_longer_keeps_the_tasks_with_one_burst() {
        let length = Length { recorded_ns: 2_000_003, drawn_ns: 2_000_000 };
        let tapes = tapes(&pipeline(), &[1, 1, 1], length, Seed(1)).expect("tapes");
        assert!(cpu_ns(&tapes, "hog") > 0, "{tapes:?}");
    }

    #[test]
    fn a_seed_draws_the_same_and_another_one_something_else() {
        let length = Length { recorded_ns: 4_000, drawn_ns: 40_000 };
        let draw = |seed| tapes(&pipeline(), &[2, 2, 1], length, Seed(seed)).expect("tapes");
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
    }

    #[test]
    fn what_cannot_be_drawn_is_refused() {
        let mut groups = pipeline();
        groups[0].timer_ns = vec![0];
        groups[0].bursts = u64::MAX;
        groups[0].burst_ns = vec![0];
        let length = Length { recorded_ns: 1, drawn_ns: 1_000_000_000 };
        let why = tapes(&groups, &[1, 1, 1], length, Seed(1)).expect_err("too many");
        assert!(why.starts_with("more than 4000000 beats"), "{why}");
        groups[1].wakes.insert("nobody".into(), 1);
        let why = tapes(&groups, &[1, 1, 1], length, Seed(1)).expect_err("no group");
        assert_eq!(why, "'b' wakes 'nobody', which is no group");
    }
}
