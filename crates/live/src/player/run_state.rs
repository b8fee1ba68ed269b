// SPDX-License-Identifier: GPL-2.0-only
//! The state of a trial: everything that tasks, forked processes and the main thread share.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering::SeqCst};

use model::play::{Group, Script, Tally};
use process::Pipe;

use crate::control_groups::GroupFiles;
use crate::player::attributes::{Errno, cpu_set};
use crate::player::busy::BusyLoop;
use crate::player::clock::own_cpu_ns;
use crate::player::futex::{Barrier, Condition, Lock, Patience, Semaphore};
use crate::player::input_output;
use crate::player::shared_memory::{SessionState, Shareable, Shared, SharedHistogram};
use crate::player::threads::MadeThreads;
use crate::probes::Announcer;

/// Communication between the main thread and all tasks. One exists.
#[repr(C)]
pub struct Control {
    /// 0 until the common start.
    pub gate: AtomicU32,
    /// Threads that wait at the gate.
    pub ready: AtomicU32,
    /// Whether events count: 1 from the common start to the end of the trial.
    pub counting: AtomicU32,
    pub stop: AtomicU32,
    /// How long tasks wait for mutexes that inherit.
    pub patience: Patience,
    pub alive: AtomicU32,
    pub finite_left: AtomicU32,
    /// Tasks that have not played all their steps.
    pub playing: AtomicU32,
    /// The common start on `CLOCK_MONOTONIC`.
    pub start_ns: AtomicU64,
    /// The end of the trial on `CLOCK_MONOTONIC`.
    pub end_ns: AtomicU64,
    /// When the CPU times of all tasks were read, on `CLOCK_MONOTONIC`.
    pub sampled_ns: AtomicU64,
    /// The first fault, packed; 0: none.
    pub fault: AtomicU64,
}

/// The whole life of a thread that a tape makes: the group and the number of its task, and the
/// group of its maker. A tape can make threads that play tapes, so that the way to there cannot
/// be an import.
pub type MadeMain = fn(&RunState, (usize, u32), usize);

/// In place of a CPU time.
pub const UNKNOWN: u64 = u64::MAX;

#[repr(C, align(64))]
pub struct TaskSlot {
    /// The thread's number in the kernel.
    pub tid: AtomicU32,
    /// Completed repetitions while counting.
    pub rounds: AtomicU64,
    /// CPU time before the common start.
    pub cpu_before_ns: AtomicU64,
    /// CPU time at the task's end, or [`UNKNOWN`].
    pub cpu_after_ns: AtomicU64,
    /// When it ended on `CLOCK_MONOTONIC`; 0: it was stopped.
    pub end_ns: AtomicU64,
    /// Whether its thread is done with everything.
    pub gone: AtomicU32,
    /// `getrusage`: user and system time, voluntary and involuntary switches.
    pub usage: [AtomicU64; 4],
}

impl TaskSlot {
    /// Whether its thread has been made.
    pub fn is_there(&self) -> bool {
        self.tid.load(SeqCst) != 0
    }
}

/// A group's counts, and the attributes that its tasks set for themselves.
pub struct GroupTally {
    pub comm: CString,
    /// The CPUs that its tasks start on; `None`: all.
    pub cpus: Option<libc::cpu_set_t>,
    /// `timer_lateness_ns`.
    pub lateness: SharedHistogram,
    /// `response_time_ns`.
    pub response: SharedHistogram,
    /// `turnaround_ns`.
    pub turnaround: SharedHistogram,
    /// `span_ns`.
    pub span: SharedHistogram,
    /// `frame_time_ns`.
    pub frames: SharedHistogram,
    pub counts: Shared<Counts>,
}

/// A group's counts. One exists per group.
#[repr(C)]
pub struct Counts {
    /// Releases whose deadline lay inside the trial.
    pub deadlines: AtomicU64,
    /// Of these, the ones missed.
    pub missed: AtomicU64,
    /// Spans that took longer than their limit.
    pub timeouts: AtomicU64,
    pub stutters: AtomicU64,
    pub forked: AtomicU64,
    /// Forked processes that played their steps to the end.
    pub ended: AtomicU64,
    pub cpu_ns: AtomicU64,
    /// Their user and system time, voluntary and involuntary switches.
    pub usage: [AtomicU64; 4],
}

/// The last release of a timer that tasks share.
#[repr(C)]
pub struct Release(AtomicU64);

impl Release {
    /// Moves it to the next release, as `next` of the last one says; before the first it is
    /// `start_ns`. Returns the last one.
    pub fn claim(&self, start_ns: u64, next: impl Fn(u64) -> u64) -> u64 {
        let last = |seen| if seen == 0 { start_ns } else { seen };
        let moved = self.0.fetch_update(SeqCst, SeqCst, |seen| Some(next(last(seen))));
        last(moved.unwrap_or(0))
    }
}

// SAFETY: it is an atomic.
unsafe impl Shareable for Release {}
// SAFETY: they consist of atomics.
unsafe impl Shareable for Control {}
// SAFETY: as above.
unsafe impl Shareable for TaskSlot {}
// SAFETY: as above.
unsafe impl Shareable for Counts {}

/// Everything that the tasks of one trial share, by the numbers of its script.
pub struct RunState {
    pub script: Script,
    pub busy: BusyLoop,
    control: Shared<Control>,
    /// One for each task, but for forked processes.
    pub slots: Shared<TaskSlot>,
    pub groups: Vec<GroupTally>,
    pub locks: Shared<Lock>,
    pub conditions: Shared<Condition>,
    pub semaphores: Shared<Semaphore>,
    pub barriers: Shared<Barrier>,
    /// By number: the last release of each timer that tasks share; 0: none yet.
    pub releases: Shared<Release>,
    /// By number; [`model::play::script::Pipes`] says which are a channel's.
    pub pipes: Vec<Pipe>,
    /// By the number of a tape: the pipe in which its task sleeps, if it receives.
    mailboxes: Vec<Option<Pipe>>,
    pub made_threads: MadeThreads,
    pub made_main: MadeMain,
    /// The lists of CPUs that tasks change to, in the kernel's form.
    pub affinities: Vec<libc::cpu_set_t>,
    /// The files of the control groups; none if the workload has no groups.
    pub group_files: GroupFiles,
    /// Tells the probes to which group a child will belong, once they are there.
    pub announcer: OnceLock<Announcer>,
    /// An eventfd that wakes the main thread.
    pub bell: OwnedFd,
    /// Where tasks keep their files.
    pub directory: CString,
    /// The process group of forked processes; 0: no task forks.
    pub children: AtomicI32,
    /// By number: what a session's process is told, and answers.
    pub sessions: Shared<SessionState>,
}

impl RunState {
    /// The state before the common start. Fails when the kernel refuses memory, pipes or files.
    pub fn new(
        script: Script,
        busy: BusyLoop,
        made_main: MadeMain,
        group_files: GroupFiles,
    ) -> io::Result<RunState> {
        let pipes = input_output::pipes(&script)?;
        let directory = std::env::temp_dir();
        let run = RunState {
            busy,
            control: Shared::new(1)?,
            slots: Shared::new(script.tasks())?,
            groups: script.groups.iter().map(GroupTally::new).collect::<io::Result<_>>()?,
            locks: Shared::new(script.locks.len())?,
            conditions: Shared::new(script.conditions)?,
            semaphores: Shared::new(script.semaphores)?,
            barriers: Shared::new(script.barriers.len())?,
            releases: Shared::new(script.timers)?,
            pipes,
            mailboxes: input_output::mailboxes(&script)?,
            made_threads: MadeThreads::new(&script).map_err(io::Error::from_raw_os_error)?,
            made_main,
            affinities: script
                .affinities
                .iter()
                .map(|cpus| kernel_set(cpus))
                .collect::<io::Result<_>>()?,
            group_files,
            announcer: OnceLock::new(),
            bell: input_output::bell()?,
            directory: CString::new(directory.as_os_str().as_bytes())?,
            children: AtomicI32::new(0),
            sessions: Shared::new(script.sessions.len())?,
            script,
        };
        if run.script.starting_tasks() < run.script.tasks() {
            run.populate();
        }
        let control = run.control();
        control.patience.begin();
        control.alive.store(run.script.starting_tasks() as u32, SeqCst);
        control.playing.store(run.script.tasks() as u32, SeqCst);
        control.finite_left.store(run.script.finite_tasks() as u32, SeqCst);
        Ok(run)
    }

    /// Brings the pages that threads touch which are made during the trial. Others have been there
    /// long enough.
    fn populate(&self) {
        self.slots.populate();
        self.semaphores.populate();
        self.groups.iter().for_each(|group| group.turnaround.populate());
    }

    /// The places of a group's tasks, but for forked processes.
    pub fn slots(&self, group: &Group) -> &[TaskSlot] {
        &self.slots[group.first_task..group.first_task + group.starts_ns.len()]
    }

    /// The places of the tasks of a session; none: of those of none.
    pub fn slots_of(&self, session: Option<usize>) -> impl Iterator<Item = &TaskSlot> {
        let own = self.script.groups.iter().filter(move |group| group.session == session);
        own.flat_map(|group| self.slots(group))
    }

    pub fn control(&self) -> &Control {
        &self.control[0]
    }

    /// The pipe in which a semaphore's waiter sleeps, if it receives.
    pub fn mailbox(&self, semaphore: usize) -> Option<&Pipe> {
        let tape = self.script.mailboxes.get(semaphore).copied().flatten()?;
        self.mailboxes.get(tape)?.as_ref()
    }

    pub fn stopped(&self) -> bool {
        self.control().stop.load(SeqCst) != 0
    }

    pub fn counting(&self) -> bool {
        self.control().counting.load(SeqCst) != 0
    }

    /// The calling task's CPU time at its end; `None` if the probes count it.
    ///
    /// In EEVDF a task that reads its own clock is accounted for, and gives way if its slice is
    /// over (`task_sched_runtime`, `update_curr`). No other program does so at its end.
    pub fn cpu_ns_at_end(&self) -> Option<u64> {
        self.announcer.get().is_none().then(own_cpu_ns)
    }

    /// Wakes the main thread. Async-signal-safe.
    pub fn ring(&self) {
        let one = 1u64.to_ne_bytes();
        // SAFETY: eight bytes, as eventfd(2) wants them. A full counter has woken it anyway.
        unsafe { libc::write(self.bell.as_raw_fd(), one.as_ptr().cast(), one.len()) };
    }

    /// Reports that a task cannot go on; only the first report is kept. Async-signal-safe.
    pub fn report(&self, fault: Fault, group: usize, errno: Errno) {
        let packed = 1 << 63 | (fault as u64) << 48 | (group as u64) << 32 | errno as u32 as u64;
        let _ = self.control().fault.compare_exchange(0, packed, SeqCst, SeqCst);
        self.ring();
    }

    /// The first fault: what failed, in which group, and why.
    pub fn fault(&self) -> Option<(Fault, usize, Errno)> {
        let packed = self.control().fault.load(SeqCst);
        let fault = FAULTS[((packed >> 48) & 0x7fff) as usize % FAULTS.len()];
        (packed != 0).then_some((fault, (packed >> 32) as usize & 0xffff, packed as u32 as Errno))
    }
}

impl GroupTally {
    /// Without counts. Fails when the kernel gives no memory.
    pub fn new(group: &model::play::Group) -> io::Result<GroupTally> {
        let cpus = (!group.affinity.is_empty()).then(|| kernel_set(&group.affinity));
        Ok(GroupTally {
            comm: CString::new(group.name.as_str())?,
            cpus: cpus.transpose()?,
            lateness: SharedHistogram::new()?,
            response: SharedHistogram::new()?,
            turnaround: SharedHistogram::new()?,
            span: SharedHistogram::new()?,
            frames: SharedHistogram::new()?,
            counts: Shared::new(1)?,
        })
    }

    /// A span that took `ns` and may take `limit_ns`. Async-signal-safe.
    pub fn span(&self, ns: u64, limit_ns: u64) {
        self.span.record(ns);
        self.counts().timeouts.fetch_add(u64::from(ns > limit_ns), SeqCst);
    }

    pub fn counts(&self) -> &Counts {
        &self.counts[0]
    }
}

impl Tally for &GroupTally {
    fn response(&mut self, ns: u64) {
        self.response.record(ns);
    }

    fn lateness(&mut self, ns: u64) {
        self.lateness.record(ns);
    }

    fn deadlines(&mut self, passed: u64, missed: u64) {
        self.counts().deadlines.fetch_add(passed, SeqCst);
        self.counts().missed.fetch_add(missed, SeqCst);
    }

    fn frame(&mut self, ns: u64, is_stutter: bool) {
        self.frames.record(ns);
        self.counts().stutters.fetch_add(u64::from(is_stutter), SeqCst);
    }
}

fn kernel_set(list: &[u32]) -> io::Result<libc::cpu_set_t> {
    cpu_set(list).ok_or_else(|| io::Error::from_raw_os_error(libc::EINVAL))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub enum Fault {
    Policy,
    Affinity,
    Group,
    Nice,
    Clamp,
    Mutex,
    Message,
    File,
    Memory,
    Fork,
    Thread,
    Exec,
}

const FAULTS: [Fault; 12] = [
    Fault::Policy,
    Fault::Affinity,
    Fault::Group,
    Fault::Nice,
    Fault::Clamp,
    Fault::Mutex,
    Fault::Message,
    Fault::File,
    Fault::Memory,
    Fault::Fork,
    Fault::Thread,
    Fault::Exec,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_fault_is_kept() {
        let run =
            RunState::new(Script::default(), BusyLoop::counted(), |_, _, _| (), Default::default())
                .unwrap();
        assert_eq!(run.fault(), None);
        run.report(Fault::Exec, 7, libc::ENOENT);
        run.report(Fault::Policy, 1, libc::EPERM);
        assert_eq!(run.fault(), Some((Fault::Exec, 7, libc::ENOENT)));
    }
}
