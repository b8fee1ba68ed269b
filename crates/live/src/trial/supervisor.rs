// SPDX-License-Identifier: GPL-2.0-only
//! The supervisor: runs a trial in a process of its own, and returns a record whatever happens to
//! that process.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Mutex, Once, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use model::{Outcome, Record, Trial};
use process::{Pipe, Process, silence};

use crate::facts::{Context, active};
use crate::player::attributes::{Previous, rise_above, sink_below};
use crate::player::{busy, fork_isolation, tapes};
use crate::trial::{preparation, run, scheduler};
use crate::{control_groups, facts, reaping};

/// How long a worker may take to stop after SIGTERM. Unloading a scheduler is part of that.
const GRACE: Duration = Duration::from_secs(15);

/// How many times a trial's time limit everything before its workload may take of CPU time.
const LOADS_MAX: u32 = 10;

/// Exit code of a worker that could not send its record.
const NOT_SENT: i32 = 101;

/// How often the stop flag is checked. In the guest nothing ever raises it.
const LOOK: Duration = Duration::from_millis(100);

/// Runs a trial in a process of its own, so that a hang or a crash costs the trial and not the
/// experiment. The supervisor has a higher priority than the workload if it has the privilege. When
/// `stop` becomes true, the trial ends early, and its record says so.
pub fn supervise(trial: &Trial, context: &Context, stop: &AtomicBool) -> Record {
    let mut context = context.clone();
    if !context.virtual_clock && context.calibration_rounds_per_ms.is_none() {
        context.calibration_rounds_per_ms = Some(calibrated());
    }
    if trial.workload.recording.is_some() {
        context.calls = tapes::call_costs();
    }
    let folder = match preparation::Folder::for_trial(trial, &context) {
        Ok(folder) => folder,
        Err(outcome) => return without_measurement(trial, &context, outcome),
    };
    context.folder = folder.path().map(Path::to_owned);
    supervise_work(trial, &context, stop, GRACE, &|begins| run(trial, &context, begins))
}

/// Rounds of the busy loop per millisecond, measured once per process.
fn calibrated() -> u64 {
    static ROUNDS: OnceLock<u64> = OnceLock::new();
    *ROUNDS.get_or_init(busy::calibrate)
}

/// Two trials at the same time would disturb each other's measurements.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// The work of a worker. It calls its argument when the workload begins.
pub(super) type Work<'a> = &'a dyn Fn(&dyn Fn()) -> Record;

/// The worker writes this when the workload begins. JSON allows it in front of the record.
const BEGINS: &[u8] = b"\n";

/// Like [`supervise`], for any work.
pub(super) fn supervise_work(
    trial: &Trial,
    context: &Context,
    stop: &AtomicBool,
    grace: Duration,
    work: Work,
) -> Record {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let began = Instant::now();
    let above = rise_above().ok();
    reaping::open();
    let look = if context.in_guest { None } else { Some(LOOK) };
    let careful = |begins: &dyn Fn()| {
        process::caught(|| work(begins))
            .unwrap_or_else(|message| without_measurement(trial, context, defect(&message)))
    };
    let (answer, ended) = match Worker::start(&careful) {
        Ok(mut worker) => {
            let limit = Duration::from_millis(trial.timeout_ms);
            (worker.await_record(limit, grace, look, stop), Some(worker.process))
        }
        Err(why) => {
            (Err(Outcome::Failed { reason: format!("no process for the trial: {why}") }), None)
        }
    };
    reaping::kill_leftovers();
    if !context.in_guest {
        control_groups::sweep();
    }
    let left = leave_no_scheduler(trial);
    step_down(above, ended, context.in_guest);
    let mut record = answer.unwrap_or_else(|outcome| without_measurement(trial, context, outcome));
    record.provenance.notes.extend(left);
    if record.provenance.wall_ms == 0 && !context.virtual_clock {
        record.provenance.wall_ms = began.elapsed().as_millis() as u64;
    }
    record
}

/// Waits for a worker that has ended, and gives up the high priority.
///
/// A worker can have ended while its last thread still removes its own entry from `/proc`, and
/// waiting for the worker spins until that is done (`shrink_dcache_parent`). With one CPU the
/// thread never runs below a spinning real-time task, unless the kernel keeps some time for
/// ordinary tasks, and Project C does not. So the wait comes last, with a low priority.
fn step_down(above: Option<Previous>, ended: Option<Process>, in_guest: bool) {
    // Nothing else runs in a guest any more. On a busy host the lowest priority could take long.
    let sinks = in_guest && above.is_some();
    let restore = || above.iter().for_each(Previous::restore);
    if sinks {
        sink_below()
    } else {
        restore()
    }
    ended.map(Process::wait);
    if sinks {
        restore();
    }
}

fn without_measurement(trial: &Trial, context: &Context, outcome: Outcome) -> Record {
    Record::without_measurement(trial.clone(), outcome, facts::provenance(context))
}

/// The outcome of a trial whose worker panicked: a defect of Fairground.
fn defect(message: &str) -> Outcome {
    let text = if message.is_empty() { "no reason" } else { message };
    Outcome::Failed { reason: format!("the lab itself failed; please report it: {text}") }
}

/// Ensures that no scheduler of the worker is still active. The kernel unloads it when the
/// worker's last file is closed. If that does not happen, SysRq-S forces it.
fn leave_no_scheduler(trial: &Trial) -> Option<String> {
    if !trial.contestant.scheduler.is_sched_ext() || scheduler::await_disabled() {
        return None;
    }
    let ops = active().sched_ext_ops;
    let _ = std::fs::write("/proc/sysrq-trigger", "S");
    let gone = scheduler::await_disabled();
    let how = if gone { "had to be removed with SysRq-S" } else { "could not be removed; reboot" };
    Some(format!("the scheduler `{ops}` outlived its trial and {how}"))
}

struct Worker {
    process: Process,
    /// Readable when the process has ended.
    handle: OwnedFd,
    answer: File,
    bytes: Vec<u8>,
    /// Whether the worker has closed its end of the pipe.
    is_silent: bool,
}

impl Worker {
    fn start(work: Work) -> std::io::Result<Worker> {
        let Pipe { read, write } = process::pipe()?;
        let _ = fork_isolation::offset();
        silence_panics_of_workers();
        let process = Process::fork(move || be_worker(work, File::from(write)))?;
        // SAFETY: no pointers. The child does the same, because either may run first.
        unsafe { libc::setpgid(process.pid(), process.pid()) };
        // SAFETY: no pointers. Reading must never block: forked tasks may hold the other end open.
        unsafe { libc::fcntl(read.as_raw_fd(), libc::F_SETFL, libc::O_NONBLOCK) };
        Ok(Worker {
            handle: process.handle()?,
            process,
            answer: File::from(read),
            bytes: Vec::new(),
            is_silent: false,
        })
    }

    /// Waits for the record. Tells the worker to stop when its time is over, and kills it when it
    /// does not stop. Everything before the workload has the same time again, and more while it
    /// works: loading depends on the host, and must neither shorten nor prevent the workload.
    fn await_record(
        &mut self,
        limit: Duration,
        grace: Duration,
        look: Option<Duration>,
        stop: &AtomicBool,
    ) -> Result<Record, Outcome> {
        let forked = Instant::now();
        let (mut loads_since, mut used) = (forked, Duration::ZERO);
        // When it was told to stop, and when the workload began.
        let (mut stopped_at, mut played_at) = (None, None);
        let (mut by_user, mut killed) = (false, None);
        let status = loop {
            if let Some(status) = self.ended() {
                break status;
            }
            let now = Instant::now();
            if !self.bytes.is_empty() {
                played_at.get_or_insert(now);
            }
            let end = stopped_at.map_or(played_at.unwrap_or(loads_since) + limit, |at| at + grace);
            let is_loading = stopped_at.is_none() && played_at.is_none();
            if is_loading && now >= end && !stop.load(SeqCst) {
                let before = std::mem::replace(&mut used, self.cpu_time());
                let worked = used.saturating_sub(before);
                if silence::has_worked(now - loads_since, worked) && used < limit * LOADS_MAX {
                    loads_since = now;
                    continue;
                }
            }
            if stopped_at.is_none() && (stop.load(SeqCst) || now >= end) {
                by_user = stop.load(SeqCst);
                stopped_at = Some(now);
                self.process.kill(libc::SIGTERM);
                continue;
            }
            if now >= end && killed.is_none() {
                killed = Some(process::waits_in(self.process.pid()));
                // The whole process group: only the worker itself handles SIGTERM.
                self.process.kill_group(libc::SIGKILL);
                reaping::kill_leftovers();
            }
            let left = if killed.is_some() { LOOK } else { end.saturating_duration_since(now) };
            self.wait(look.map_or(left, |look| look.min(left)).max(Duration::from_millis(1)));
        };
        self.read();
        if by_user {
            return Err(Outcome::Failed { reason: "stopped by the user".into() });
        }
        let answer = serde_json::from_slice(&self.bytes);
        answer.map_err(|_| died(status, killed.as_deref(), forked.elapsed(), grace))
    }

    /// The CPU time of the worker and of the programs that it has started.
    fn cpu_time(&self) -> Duration {
        let all = reaping::groups().chain([self.process.pid()]);
        all.filter_map(process::cpu_time).sum()
    }

    /// Its exit status, once it has ended.
    fn ended(&mut self) -> Option<i32> {
        self.read();
        self.process.ended()
    }

    fn read(&mut self) {
        // "Would block" is an error here; the bytes before it are kept.
        self.is_silent |= self.answer.read_to_end(&mut self.bytes).is_ok();
    }

    /// Sleeps until the worker writes or ends, at most for `patience`.
    ///
    /// A pipe whose other end is closed is always ready. Polling it would keep the supervisor
    /// running, above a worker that needs the CPU to come to its end.
    fn wait(&self, patience: Duration) {
        let answer = (!self.is_silent).then(|| self.answer.as_fd());
        process::await_readable([Some(self.handle.as_fd()), answer], patience);
    }
}

/// The outcome of a trial whose worker ended without a record. `killed`: where it was then.
fn died(status: i32, killed: Option<&str>, after: Duration, grace: Duration) -> Outcome {
    if let Some(place) = killed {
        let reason = format!(
            "nothing answered: killed after {} ms, {} ms after it was told to stop; it {place}",
            after.as_millis(),
            grace.as_millis()
        );
        return Outcome::Hung { reason };
    }
    let how = if libc::WIFSIGNALED(status) {
        format!("was killed by {}", signal_name(libc::WTERMSIG(status)))
    } else {
        format!("left without a record (status {status})")
    };
    Outcome::Failed { reason: format!("the process that ran the trial {how}") }
}

fn signal_name(signal: i32) -> String {
    nix::sys::signal::Signal::try_from(signal)
        .map_or_else(|_| format!("signal {signal}"), |signal| signal.as_str().to_owned())
}

/// Whether this process is a worker, whose panics are told by its record only.
static IS_WORKER: AtomicBool = AtomicBool::new(false);

/// Silences the panics of workers that are forked later. A worker must not replace the hook itself:
/// if another thread panicked when it was forked, the hook stays locked in the worker for ever.
fn silence_panics_of_workers() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if !IS_WORKER.load(SeqCst) {
                before(panic);
            }
        }));
    });
}

/// Does the work and sends its record; returns the process's exit code.
fn be_worker(work: Work, mut answer: File) -> i32 {
    // SAFETY: no pointers.
    unsafe { libc::setpgid(0, 0) };
    let alarm = reaping::stop_on_signals();
    IS_WORKER.store(true, SeqCst);
    let begins = || drop((&answer).write_all(BEGINS));
    let record = work(&begins);
    let sent = serde_json::to_vec(&record).ok().and_then(|json| answer.write_all(&json).ok());
    drop(alarm);
    if sent.is_some() { 0 } else { NOT_SENT }
}
