// SPDX-License-Identifier: GPL-2.0-only
//! The results of a trial, once all tasks have ended; why a workload could not be played.
//!
//! A periodic action on the scheduler while the tasks play, such as a reload.

use std::io;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::SeqCst;

use model::Histogram;
use model::play::Group;

use crate::player::attributes::Errno;
use crate::player::clock::{Usage, now_ns, thread_cpu_ns};
use crate::player::run_state::{Fault, RunState, TaskSlot, UNKNOWN};
use crate::probes::{Probes, Readings};
use crate::program::Finished;

#[derive(Debug, Default)]
pub struct Played {
    /// From the common start to the end of the trial, nanoseconds.
    pub run_ns: u64,
    /// From the common start until the CPU times of all tasks were read, nanoseconds: they run on
    /// while that is done.
    pub sampled_ns: u64,
    /// From the common start to the end of the last finite task; `None` without finite tasks, or
    /// when not all of them ended.
    pub completion_ns: Option<u64>,
    /// One for each of [`model::play::script::measured_groups`], without `program`.
    pub groups: Vec<GroupPlayed>,
    pub program: Option<Finished>,
    pub readings: Option<Readings>,
    /// The tasks that were still running, if the trial was aborted.
    pub interrupted: Option<String>,
    /// Whether the player could get a priority above that of the workload.
    pub above_load: bool,
    /// The time until all tasks had begun, nanoseconds.
    pub start_took_ns: u64,
}

/// The measures among these are those of [`model::metric::MEASURES`].
#[derive(Clone, Debug, Default)]
pub struct GroupPlayed {
    pub name: String,
    /// Tasks that ran, forked ones included.
    pub tasks: u64,
    pub rounds: u64,
    /// Whether its tasks have timers; without, there are no deadlines.
    pub has_timers: bool,
    /// Whether its tasks play spans; without, there are no time-outs.
    pub has_spans: bool,
    /// Whether its tasks show frames; without, there are no frame times.
    pub has_frames: bool,
    pub is_finite: bool,
    /// Whether its processes replace their program, so that their ends were not seen.
    pub execs: bool,
    pub deadlines: u64,
    pub deadlines_missed: u64,
    pub timeouts: u64,
    pub stutters: u64,
    /// CPU time of each task that started by itself; `None` if a later process took the number of
    /// one that ended.
    pub cpu_ns: Option<Vec<u64>>,
    /// CPU time of the forked processes that ended by themselves, without probes.
    pub forked_cpu_ns: u64,
    pub forked: bool,
    /// User and system time, voluntary and involuntary switches, as the kernel accounts them.
    pub usage: Usage,
    pub timer_lateness: Histogram,
    pub response_time: Histogram,
    pub turnaround: Histogram,
    pub span: Histogram,
    pub frame_time: Histogram,
}

/// Reads the CPU clocks of all tasks, which sleep at the gate.
///
/// They do not read them themselves, see [`RunState::cpu_ns_at_end`]. Only a thread of their
/// process can, so a session's process does this for its own.
pub fn note_cpu_times(run: &RunState, session: Option<usize>) {
    for slot in run.slots_of(session).filter(|slot| slot.is_there()) {
        let used = thread_cpu_ns(slot.tid.load(SeqCst));
        slot.cpu_before_ns.store(used.unwrap_or(0), SeqCst);
    }
}

/// Reads the CPU clocks of all tasks that have not ended by themselves: at the end of the trial,
/// before they are told to stop.
pub fn sample_cpu_times(run: &RunState, session: Option<usize>) {
    for slot in playing(run, session) {
        let used = thread_cpu_ns(slot.tid.load(SeqCst));
        slot.cpu_after_ns.store(used.unwrap_or(0), SeqCst);
    }
}

/// Those whose CPU clocks are read.
pub fn playing(run: &RunState, session: Option<usize>) -> impl Iterator<Item = &TaskSlot> {
    let plays = |slot: &&TaskSlot| slot.is_there() && slot.end_ns.load(SeqCst) == 0;
    run.slots_of(session).filter(plays)
}

/// The CPU times of tasks that have ended by themselves, as the probes counted them.
pub fn take_cpu_times(run: &RunState, probes: &Probes) {
    for slot in run.slots.iter().filter(|slot| slot.end_ns.load(SeqCst) != 0) {
        let used_ns = probes.cpu_time_ns(slot.tid.load(SeqCst));
        let after_ns = used_ns.map_or(UNKNOWN, |ns| slot.cpu_before_ns.load(SeqCst) + ns);
        slot.cpu_after_ns.store(after_ns, SeqCst);
    }
}

/// From the common start to the last end, if all finite tasks have ended.
pub fn completion_ns(run: &RunState) -> Option<u64> {
    let control = run.control();
    if control.finite_left.load(SeqCst) > 0 {
        return None;
    }
    let finite = run.script.groups.iter().filter(|group| group.finite);
    let ends = finite.flat_map(|group| slots(run, group)).map(|slot| slot.end_ns.load(SeqCst));
    Some(ends.max()?.saturating_sub(control.start_ns.load(SeqCst)))
}

pub fn groups(run: &RunState) -> Vec<GroupPlayed> {
    (0..run.script.groups.len()).map(|number| group(run, number)).collect()
}

fn slots<'a>(run: &'a RunState, group: &Group) -> impl Iterator<Item = &'a TaskSlot> + Clone {
    run.slots(group).iter().filter(|slot| slot.is_there())
}

fn group(run: &RunState, number: usize) -> GroupPlayed {
    let (plan, tally) = (&run.script.groups[number], &run.groups[number]);
    let (slots, counts) = (slots(run, plan), tally.counts());
    let load = |word: &AtomicU64| word.load(SeqCst);
    let forked = load(&counts.forked);
    let rounds: u64 = slots.clone().map(|slot| load(&slot.rounds)).sum();
    GroupPlayed {
        name: plan.name.clone(),
        tasks: slots.clone().count() as u64 + forked,
        rounds: rounds + load(&counts.ended),
        has_timers: !plan.timers.is_empty(),
        has_spans: plan.has_spans,
        has_frames: plan.has_frames,
        is_finite: plan.finite,
        execs: plan.execs(),
        deadlines: load(&counts.deadlines),
        deadlines_missed: load(&counts.missed),
        timeouts: load(&counts.timeouts),
        stutters: load(&counts.stutters),
        cpu_ns: slots.clone().map(cpu_ns).collect(),
        forked_cpu_ns: load(&counts.cpu_ns),
        forked: forked > 0,
        usage: usage(slots, &counts.usage),
        timer_lateness: tally.lateness.histogram("timer_lateness_ns", &plan.name),
        response_time: tally.response.histogram("response_time_ns", &plan.name),
        turnaround: tally.turnaround.histogram("turnaround_ns", &plan.name),
        span: tally.span.histogram("span_ns", &plan.name),
        frame_time: tally.frames.histogram("frame_time_ns", &plan.name),
    }
}

fn cpu_ns(slot: &TaskSlot) -> Option<u64> {
    let after_ns = slot.cpu_after_ns.load(SeqCst);
    let before_ns = slot.cpu_before_ns.load(SeqCst);
    (after_ns != UNKNOWN).then(|| after_ns.saturating_sub(before_ns))
}

fn usage<'a>(slots: impl Iterator<Item = &'a TaskSlot> + Clone, forked: &[AtomicU64; 4]) -> Usage {
    std::array::from_fn(|index| {
        let own: u64 = slots.clone().map(|slot| slot.usage[index].load(SeqCst)).sum();
        own + forked[index].load(SeqCst)
    })
}

/// Why a workload could not be played to its end.
#[derive(Debug, thiserror::Error)]
pub enum PlayError {
    /// This machine or kernel cannot play it.
    #[error("{0}")]
    Unsupported(String),
    /// The workload is at fault.
    #[error("{0}")]
    Failed(String),
}

impl PlayError {
    pub fn system(what: &str) -> impl Fn(io::Error) -> PlayError {
        move |error| PlayError::Failed(format!("{what}: {error}"))
    }
}

/// A fault as text, with a remedy.
pub fn explain(run: &RunState, fault: Fault, group: usize, errno: Errno) -> PlayError {
    let group = run.script.groups.get(group).map_or("", |group| &group.name);
    let why = io::Error::from_raw_os_error(errno);
    let (what, help) = match fault {
        Fault::Policy if errno == libc::EBUSY => {
            ("its policy", "; SCHED_DEADLINE admits no more than the CPUs have time for")
        }
        Fault::Policy => ("its policy", "; real-time policies need root, deadline all CPUs"),
        Fault::Clamp => ("its clamps of the utilisation", ""),
        Fault::Nice => ("its nice value", "; raising it needs root"),
        Fault::Affinity => ("its CPUs", "; does this machine have them?"),
        Fault::Group if errno == libc::ENOENT => {
            ("its control group", "; is it there? Steps make and remove absent groups")
        }
        Fault::Group if errno == libc::EEXIST => ("its control group", "; it was made before"),
        Fault::Group if errno == libc::EBUSY => {
            ("its control group", "; tasks or groups are in the one that is to be removed")
        }
        Fault::Group if errno == libc::EINVAL || errno == libc::EPERM => {
            ("its control group", "; the scheduler may have refused the move")
        }
        Fault::Group => ("its control group", ""),
        Fault::Mutex => ("taking a mutex", "; does this kernel have CONFIG_FUTEX_PI?"),
        Fault::Message => ("sending or receiving a message", ""),
        Fault::File => ("its own file", "; set TMPDIR to a file system with O_TMPFILE and space"),
        Fault::Memory => ("writing to memory or /dev/null", "; is there so much memory?"),
        Fault::Thread => ("making a thread", "; threads and memory are limited"),
        Fault::Fork => ("forking", "; deadline tasks cannot, and processes are limited"),
        Fault::Exec => ("starting a program", ""),
    };
    let text = format!("a task of `{group}` could not go on: {what}: {why}{help}");
    match fault {
        Fault::Policy | Fault::Clamp | Fault::Nice | Fault::Affinity => {
            PlayError::Unsupported(text)
        }
        _ => PlayError::Failed(text),
    }
}

/// An action that is repeated, spread evenly over the trial's duration. A trial does not end before
/// the last repetition.
pub struct Periodic<'a> {
    left: u32,
    /// The time between two of them, and from the start to the first, nanoseconds.
    pause_ns: u64,
    /// When the next one is due; later ones keep their distance from it.
    next_ns: u64,
    action: &'a mut dyn FnMut() -> bool,
}

impl<'a> Periodic<'a> {
    /// Performs `action` `count` times; it returns whether the trial may continue.
    pub fn new(count: u32, duration_ns: u64, action: &'a mut dyn FnMut() -> bool) -> Periodic<'a> {
        let pause_ns = duration_ns / (u64::from(count) + 1);
        Periodic { left: count, pause_ns, next_ns: 0, action }
    }

    pub fn begin(&mut self, start_ns: u64) {
        self.next_ns = start_ns + self.pause_ns;
    }

    /// Performs the next one if it is due. Returns whether the trial may continue.
    pub fn run_if_due(&mut self) -> bool {
        if self.left == 0 || now_ns() < self.next_ns {
            return true;
        }
        self.left -= 1;
        let goes_on = (self.action)();
        // A long action does not shorten the time before the next one.
        self.next_ns = now_ns() + self.pause_ns;
        goes_on
    }

    /// When [`Periodic::run_if_due`] must be called next, on `CLOCK_MONOTONIC`; `None`: never
    /// again.
    pub fn next_ns(&self) -> Option<u64> {
        (self.left > 0).then_some(self.next_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_as_asked_and_none_before_its_time() {
        let mut played = 0;
        let mut play = || {
            played += 1;
            played < 3
        };
        let mut periodic = Periodic::new(5, 0, &mut play);
        periodic.begin(now_ns() + 60_000_000_000);
        assert!(periodic.run_if_due() && periodic.next_ns().is_some());
        periodic.begin(now_ns());
        assert!(periodic.run_if_due() && periodic.run_if_due());
        // The third one ends the trial.
        assert!(!periodic.run_if_due());
        assert_eq!(played, 3);
    }

    #[test]
    fn none_asked_none_awaited() {
        let mut never = || panic!("nobody asked for it");
        let mut periodic = Periodic::new(0, 1, &mut never);
        periodic.begin(0);
        assert!(periodic.run_if_due() && periodic.next_ns().is_none());
    }
}
