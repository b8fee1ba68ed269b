// SPDX-License-Identifier: GPL-2.0-only
//! The supervisor: runs a trial in a process of its own, and gets an answer whatever happens to it.

use std::any::Any;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use model::{Outcome, Record, Trial};

use crate::active::active;
use crate::context::Context;
use crate::player::attributes::{check, rise_above};
use crate::player::busy;
use crate::player::run_state::pipe;
use crate::trial::{preparation, run, scheduler};
use crate::{custody, facts};

/// How long a worker may take to stop when it is told to: it waits itself for a scheduler to leave.
const GRACE: Duration = Duration::from_secs(15);

/// How often the stop flag is looked at. In our own virtual machine nobody raises it.
const LOOK: Duration = Duration::from_millis(100);

/// Runs a trial in a process of its own: one that hangs or dies costs the trial, not the
/// experiment. The supervisor runs above the load where it may. When `stop` becomes true, the trial
/// is ended early, and its record says so.
pub fn supervise(trial: &Trial, context: &Context, stop: &AtomicBool) -> Record {
    let mut context = context.clone();
    if !context.virtual_clock && context.calibration_rounds_per_ms.is_none() {
        context.calibration_rounds_per_ms = Some(calibrated());
    }
    let folder = match preparation::Folder::of(trial, &context) {
        Ok(folder) => folder,
        Err(outcome) => return without_measurement(trial, &context, outcome),
    };
    context.folder = folder.path().map(Path::to_owned);
    supervise_work(trial, &context, stop, GRACE, &|begins| run(trial, &context, begins))
}

/// One measurement for all trials of this process.
fn calibrated() -> u64 {
    static ROUNDS: OnceLock<u64> = OnceLock::new();
    *ROUNDS.get_or_init(busy::calibrate)
}

/// Two trials at a time would measure each other.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// What a worker does; it calls what it is given when the workload begins.
pub(super) type Work<'a> = &'a dyn Fn(&dyn Fn()) -> Record;

/// What the worker says when the workload begins: JSON does not mind it before the record.
const BEGINS: &[u8] = b"\n";

/// As [`supervise`], for any work.
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
    custody::open();
    let look = if context.in_guest { None } else { Some(LOOK) };
    let careful = |begins: &dyn Fn()| {
        catch_unwind(AssertUnwindSafe(|| work(begins)))
            .unwrap_or_else(|panic| without_measurement(trial, context, defect(panic.as_ref())))
    };
    let answer = match Worker::start(&careful) {
        Ok(mut worker) => {
            worker.run_if_due(Duration::from_millis(trial.timeout_ms), grace, look, stop)
        }
        Err(why) => Err(Outcome::Failed { reason: format!("no process for the trial: {why}") }),
    };
    custody::kill_leftovers();
    let left = leave_no_scheduler(trial);
    if let Some(previous) = &above {
        previous.restore();
    }
    let mut record = answer.unwrap_or_else(|outcome| without_measurement(trial, context, outcome));
    record.provenance.notes.extend(left);
    if record.provenance.wall_ms == 0 && !context.virtual_clock {
        record.provenance.wall_ms = began.elapsed().as_millis() as u64;
    }
    record
}

fn without_measurement(trial: &Trial, context: &Context, outcome: Outcome) -> Record {
    Record::without_measurement(trial.clone(), outcome, facts::provenance(context))
}

/// A defect of ours, as an outcome.
fn defect(panic: &(dyn Any + Send)) -> Outcome {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no reason");
    Outcome::Failed { reason: format!("the lab itself failed; please report it: {text}") }
}

/// After the worker, no scheduler of its may be active: the kernel takes it out when the worker's
/// last file is closed. Where that does not come about, the kernel's own emergency brake (SysRq-S)
/// is used.
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
    pid: libc::pid_t,
    handle: OwnedFd,
    answer: File,
    bytes: Vec<u8>,
    /// Whether the worker has closed its end of the pipe.
    is_silent: bool,
}

impl Worker {
    fn start(work: Work) -> std::io::Result<Worker> {
        let pipe = pipe()?;
        // SAFETY: the child is a copy of this thread alone; the C library keeps its allocator
        // usable.
        let pid = unsafe { libc::fork() };
        if pid == 0 {
            be_worker(work, File::from(pipe.write));
        }
        check(i64::from(pid)).map_err(std::io::Error::from_raw_os_error)?;
        // SAFETY: no pointers; the descriptor is new and ours.
        let handle = unsafe {
            libc::setpgid(pid, pid);
            OwnedFd::from_raw_fd(libc::syscall(libc::SYS_pidfd_open, pid, 0) as i32)
        };
        // SAFETY: no pointers. Reading must never wait: others may hold the other end.
        unsafe { libc::fcntl(pipe.read.as_raw_fd(), libc::F_SETFL, libc::O_NONBLOCK) };
        Ok(Worker {
            pid,
            handle,
            answer: File::from(pipe.read),
            bytes: Vec::new(),
            is_silent: false,
        })
    }

    /// Waits for the record; tells the worker to stop when its time is over, and kills it when it
    /// does not. What comes before the workload has as much time again: how long loading takes
    /// depends on the host, and must not be taken from the workload's.
    fn run_if_due(
        &mut self,
        limit: Duration,
        grace: Duration,
        look: Option<Duration>,
        stop: &AtomicBool,
    ) -> Result<Record, Outcome> {
        let (mut told, mut by_user, mut killed) = (None, false, false);
        let (forked, mut began, mut is_playing) = (Instant::now(), Instant::now(), false);
        let status = loop {
            if let Some(status) = self.ended() {
                break status;
            }
            let now = Instant::now();
            if !is_playing && !self.bytes.is_empty() {
                (began, is_playing) = (now, true);
            }
            let end = told.unwrap_or(began) + if told.is_some() { grace } else { limit };
            if told.is_none() && stop.load(SeqCst) {
                by_user = true;
                told = Some(now);
                self.kill(libc::SIGTERM);
            } else if now >= end && told.is_none() {
                told = Some(now);
                self.kill(libc::SIGTERM);
            } else if now >= end && !killed {
                killed = true;
                self.kill(libc::SIGKILL);
                custody::kill_leftovers();
            }
            let left = if killed { LOOK } else { end.saturating_duration_since(now) };
            self.wait(look.map_or(left, |look| look.min(left)).max(Duration::from_millis(1)));
        };
        self.read();
        if by_user {
            return Err(Outcome::Failed { reason: "stopped by the user".into() });
        }
        let answer = serde_json::from_slice(&self.bytes);
        answer.map_err(|_| died(status, killed, forked.elapsed(), grace))
    }

    /// Its exit status, once it has ended.
    fn ended(&mut self) -> Option<i32> {
        self.read();
        let mut status = 0;
        // SAFETY: the status is ours.
        let pid = unsafe { libc::waitpid(self.pid, &mut status, libc::WNOHANG) };
        (pid != 0).then_some(status)
    }

    fn read(&mut self) {
        // "Would block" is an error here, and what was read before it is kept.
        self.is_silent |= self.answer.read_to_end(&mut self.bytes).is_ok();
    }

    fn kill(&self, signal: i32) {
        // SAFETY: no pointers. The polite signal is for the worker alone, who knows what to do.
        unsafe { libc::kill(if signal == libc::SIGKILL { -self.pid } else { self.pid }, signal) };
    }

    /// Sleeps until the worker says something or ends, or the time is over.
    ///
    /// A pipe whose other end is closed is always ready. Looking at it any longer would keep the
    /// supervisor running, above a worker that needs the CPU to come to its end.
    fn wait(&self, patience: Duration) {
        const NOTHING: i32 = -1;
        let entry = |fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
        let answer = if self.is_silent { NOTHING } else { self.answer.as_raw_fd() };
        let mut entries = [entry(self.handle.as_raw_fd()), entry(answer)];
        let patience = crate::player::clock::timespec(patience.as_nanos() as u64);
        // SAFETY: two valid entries and a valid time.
        unsafe { libc::ppoll(entries.as_mut_ptr(), 2, &patience, std::ptr::null()) };
    }
}

/// What became of a worker without a record.
fn died(status: i32, killed: bool, after: Duration, grace: Duration) -> Outcome {
    let reason = match () {
        _ if killed => {
            return Outcome::Hung {
                reason: format!(
                    "nothing answered: killed after {} ms, {} ms after it was told to stop",
                    after.as_millis(),
                    grace.as_millis()
                ),
            };
        }
        _ if libc::WIFSIGNALED(status) => {
            let signal = libc::WTERMSIG(status);
            format!("the process that ran the trial was killed by {}", signal_name(signal))
        }
        _ => format!("the process that ran the trial left without a record (status {status})"),
    };
    Outcome::Failed { reason }
}

fn signal_name(signal: i32) -> String {
    nix::sys::signal::Signal::try_from(signal)
        .map_or_else(|_| format!("signal {signal}"), |signal| signal.as_str().to_owned())
}

fn be_worker(work: Work, mut answer: File) -> ! {
    // SAFETY: no pointers. The worker must not outlive the one who could end it.
    unsafe {
        libc::setpgid(0, 0);
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
    }
    let alarm = custody::obey();
    std::panic::set_hook(Box::new(|_| {}));
    let begins = || drop((&answer).write_all(BEGINS));
    let record = work(&begins);
    let sent = serde_json::to_vec(&record).ok().and_then(|json| answer.write_all(&json).ok());
    drop(alarm);
    // SAFETY: leaves without running anything that belongs to the parent.
    unsafe { libc::_exit(if sent.is_some() { 0 } else { 101 }) }
}
