// SPDX-License-Identifier: GPL-2.0-only
//! Plays what one task of a recording did.
//!
//! A recorded time on a CPU contains the system calls with which the task slept and woke others.
//! The player makes such calls itself, and has its own work to do. So it does not compute for each
//! recorded time, but until its thread's CPU time is the sum of all recorded ones so far: whatever
//! has cost more or less than in the recording is made up for as soon as possible.

use std::sync::atomic::Ordering::SeqCst;

use model::Beat;
use play::tapes::{self, Course, Parts};

use crate::player::clock::{now_ns, own_cpu_ns};
use crate::player::run_state::{Fault, TaskSlot};
use crate::player::steps::use_cpu;
use crate::player::task::{End, Flow, Task};
use crate::player::{attributes, births};

/// What is not worth a look at the clock.
const NEAR_NS: u64 = 20_000;
/// What a thread does after its last beat costs about as much: it looks at its clock, leaves its
/// results, and sleeps. The recorded end is in the last recorded time.
const END_NS: u64 = 10_000;
/// Where more than this is left to compute, a part of it is kept for after a look.
const LONG_NS: u64 = 10_000_000;
const KEPT_PART: u64 = 8;
/// The most beats between two looks.
const LOOK_BEATS: u64 = 64;
/// After a sleep a task has a new slice, so that a look does no harm. It is worth its cost after as
/// many beats: what a beat costs depends on how many of them sleep.
const LOOK_BEATS_AWAKE: u64 = 32;

/// The CPU time that a thread should have used, and what it probably has.
///
/// Looking at the thread's clock costs a system call, and in EEVDF a task that does so gives way
/// if its slice is over, which it otherwise does at a tick. So the clock is looked at rarely; in
/// between, beats count for what they have cost so far.
struct Account {
    /// The thread's clock at the common start.
    began_ns: u64,
    /// All recorded computing so far.
    due_ns: u64,
    /// The thread's clock at the last look, from the common start.
    seen_ns: u64,
    /// Computed since then.
    computed_ns: u64,
    /// Beats since then.
    beats: u64,
    /// How many beats are played until the next look.
    next_look: u64,
    /// What a beat has cost on average, but for computing.
    beat_ns: u64,
    /// Whether the last beat was a sleep.
    slept: bool,
}

impl Account {
    fn new(began_ns: u64) -> Account {
        Account {
            began_ns,
            due_ns: 0,
            seen_ns: 0,
            computed_ns: 0,
            beats: 0,
            next_look: 1,
            beat_ns: 0,
            slept: false,
        }
    }

    /// The CPU time that the thread has used, if beats cost what they did before.
    fn used_ns(&self) -> u64 {
        self.seen_ns + self.computed_ns + self.beats * self.beat_ns
    }

    fn look(&mut self) {
        let now_ns = own_cpu_ns().saturating_sub(self.began_ns);
        let cost_ns = now_ns.saturating_sub(self.seen_ns + self.computed_ns);
        self.beat_ns = cost_ns.checked_div(self.beats).unwrap_or(self.beat_ns);
        (self.seen_ns, self.computed_ns, self.beats) = (now_ns, 0, 0);
    }

    /// Computes until the account is even.
    fn compute(&mut self, task: &Task, ns: u64) -> Flow {
        self.due_ns += ns;
        if self.beats >= self.next_look {
            self.next_look = (self.next_look * 2).min(LOOK_BEATS);
            self.look();
        } else if self.slept && self.beats >= LOOK_BEATS_AWAKE {
            self.look();
        }
        loop {
            let left_ns = self.due_ns.saturating_sub(self.used_ns());
            let is_sure = left_ns < LONG_NS || task.run.busy.is_exact();
            let piece_ns = if is_sure { left_ns } else { left_ns - left_ns / KEPT_PART };
            use_cpu(task, piece_ns)?;
            self.computed_ns += piece_ns;
            if is_sure {
                return Ok(());
            }
            self.look();
        }
    }

    /// Computes for the last time.
    fn end(&mut self, task: &Task, ns: u64) -> Flow {
        self.due_ns = (self.due_ns + ns).saturating_sub(END_NS);
        self.compute(task, 0)?;
        self.look();
        let left_ns = self.due_ns.saturating_sub(self.seen_ns);
        if left_ns < NEAR_NS { Ok(()) } else { self.compute(task, 0) }
    }
}

/// Where a task is in its tape.
struct Place<'a> {
    beats: &'a [Beat],
    parts: &'a Parts,
    course: Course,
    /// When the task began, by the machine's clock.
    start_ns: u64,
}

impl<'a> Place<'a> {
    fn new(task: &Task<'a>) -> Place<'a> {
        let (script, plan) = (&task.run.script, task.plan());
        let beats = script.tape(task.group, task.number);
        let course = match script.first_wait(task.group, task.number) {
            Some(_) => Course::after_first_wait(beats),
            None => Course::default(),
        };
        let common_ns = task.run.control().start_ns.load(SeqCst);
        let start_ns = common_ns + plan.starts_ns[task.number as usize];
        Place { beats, parts: script.parts(task.group, task.number), course, start_ns }
    }

    /// Waits for a message of a stream. Whatever comes first is next, if the tape has it.
    fn read(&mut self, task: &Task, beat: Beat) -> Result<bool, End> {
        let letters = &task.run.letters;
        let mut slept = false;
        loop {
            let has_come = |number: u32| letters[number as usize].load(SeqCst) > 0;
            if let Some(number) = self.course.choose(self.beats, self.parts, has_come) {
                // No other task takes them.
                letters[number as usize].fetch_sub(1, SeqCst);
                return Ok(slept);
            }
            slept |= wait(task, beat)?;
            self.course.come(beat.other().unwrap_or_default());
        }
    }
}

/// Plays the task's tape to its end, but for a wait that it begins with.
pub fn play(task: &Task) -> Flow {
    let run = task.run;
    let began_ns =
        task.slot.map_or_else(own_cpu_ns, |slot: &TaskSlot| slot.cpu_before_ns.load(SeqCst));
    let mut account = Account::new(began_ns);
    if run.script.is_made(task.group, task.number) {
        // The recorded one had to begin, too.
        account.look();
    }
    let mut place = Place::new(task);
    while let Some(beat) = place.course.beat(place.beats) {
        task.over()?;
        match beat {
            Beat::Run(ns) if place.course.is_last(place.beats, place.parts) => {
                return account.end(task, ns);
            }
            Beat::Run(ns) => account.compute(task, ns)?,
            other => account.slept = play_beat(task, other, &mut place)?,
        }
        account.beats += 1;
        place.course.next(place.parts);
    }
    account.end(task, 0)
}

/// Plays a beat that computes nothing; whether the task slept.
fn play_beat(task: &Task, beat: Beat, place: &mut Place) -> Result<bool, End> {
    let (run, start_ns) = (task.run, place.start_ns);
    match beat {
        Beat::Run(_) => {}
        Beat::Post(semaphore, _) => {
            if let Some(letters) = tapes::letters(beat) {
                run.letters[letters as usize].fetch_add(1, SeqCst);
            }
            let semaphore = semaphore as usize;
            run.semaphores[semaphore].post_to(run.mailbox(semaphore));
        }
        Beat::Fork(tape) => births::make(task, tape)?,
        Beat::Wait(..) | Beat::Receive(..) | Beat::Take(..) if tapes::letters(beat).is_some() => {
            return place.read(task, beat);
        }
        Beat::Wait(..) | Beat::Receive(..) | Beat::Take(..) => return wait(task, beat),
        Beat::Sleep(ns) => return sleep_until(task, now_ns().saturating_add(ns)),
        // Kernels disagree whether a sleep until a time that has passed is one.
        Beat::Until(ns) if now_ns() < start_ns + ns => return sleep_until(task, start_ns + ns),
        Beat::Until(_) => {}
        Beat::Nice(nice) => {
            attributes::set_nice(nice).map_err(|errno| task.fail(Fault::Nice, errno))?;
        }
        Beat::Yield => {
            // SAFETY: no arguments.
            unsafe { libc::sched_yield() };
        }
    }
    Ok(false)
}

/// Waits until a post has been made, as the beat does it; whether the task slept.
fn wait(task: &Task, beat: Beat) -> Result<bool, End> {
    let (run, stop) = (task.run, &task.run.control().stop);
    let number = beat.other().unwrap_or_default() as usize;
    Ok(match beat {
        Beat::Wait(..) => run.semaphores[number].wait(stop)?,
        _ => run.semaphores[number].receive(run.mailbox(number), stop)?,
    })
}

fn sleep_until(task: &Task, until_ns: u64) -> Result<bool, End> {
    task.sleep_until(until_ns).map(|()| true)
}
