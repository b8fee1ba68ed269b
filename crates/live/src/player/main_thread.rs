// SPDX-License-Identifier: GPL-2.0-only
//! The main thread: starts all tasks at one instant, sleeps, and ends them whatever they do.
//!
//! It runs at a higher priority than they do, if permitted. Tasks in a system call are woken by a
//! signal, again and again until they have left, so it does not matter what they wait for.

use std::os::fd::AsRawFd;
use std::path::Path;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Once};
use std::thread::JoinHandle;
use std::{io, ptr};

use model::Workload;
use model::play::{Script, Setting};

use crate::control_groups::ControlGroups;
use crate::player::attributes::{self, rise_above};
use crate::player::children::ProcessGroup;
use crate::player::clock::{now_ns, timespec};
use crate::player::fork_isolation::ForkIsolation;
use crate::player::input_output::silence;
use crate::player::played::{self, Periodic, PlayError, Played, explain};
use crate::player::run_state::{RunState, TaskSlot};
use crate::player::sessions::Sessions;
use crate::player::{BusyLoop, children, futex, memory, sessions, threads};
use crate::probes::Probes;
use crate::program::{Held, Running};
use crate::reaping;

/// The interval at which a real program's output is read.
const LOOK_NS: u64 = 1_000_000_000;

/// The interval at which remaining tasks are signalled.
const INSIST_NS: u64 = 5_000_000;

pub struct Options<'a> {
    /// The inputs of the script besides the workload. A real program gets its policy too.
    pub setting: Setting,
    /// The folder in which a real program works; `None`: the current one.
    pub folder: Option<&'a Path>,
    pub busy: BusyLoop,
    /// The groups of the workload, if it has some.
    pub control_groups: Option<&'a ControlGroups>,
    /// The probes, attached to [`model::play::script::measured_groups`], if there are any.
    pub probes: Option<&'a Probes>,
    /// Called when the trial is aborted, before the tasks are ended: a scheduler that does not run
    /// them would not let them end.
    pub on_interrupt: &'a mut dyn FnMut(),
    pub periodic: Periodic<'a>,
}

/// Plays a workload to its end. The error says what could not be played, and why.
pub fn play(workload: &Workload, options: Options) -> Result<Played, PlayError> {
    let script = Script::new(workload, options.setting)
        .map_err(|refusal| PlayError::Failed(refusal.to_string()))?;
    memory::refuse_too_much(&script).map_err(PlayError::Unsupported)?;
    if script.sessions.is_empty() {
        memory::lighten_forks();
    }
    allow_interruption();
    attributes::follow_scheduler();
    let system = PlayError::system;
    let files = options.control_groups.map(|groups| groups.files(&script)).transpose();
    let files = files.map_err(system("control groups"))?.unwrap_or_default();
    let run = RunState::new(script, options.busy, threads::made_main, files)
        .map_err(system("preparing the trial"))?;
    let run = Arc::new(run);
    let forks = run.script.forks();
    let processes =
        forks.then(|| ProcessGroup::start(&run)).transpose().map_err(system("forking"))?;
    let held = hold_for_session(workload, &options, &run)?;
    if let Some(probes) = options.probes.filter(|_| !run.sessions.is_empty()) {
        let _ = run.announcer.set(probes.announcer());
    }
    let sessions = Sessions::start(&run, held.as_ref())?;
    let program = hold_program(workload, &options, &run, held)?;
    // In a process with other threads these may fork, too, and their children need every stack.
    let _isolation = is_only_thread().then(ForkIsolation::begin);
    let started = threads::start_all(&run, None)
        .and_then(|threads| sessions.start_threads().map(|()| threads));
    let threads = match started {
        Ok(threads) => threads,
        Err(error) => {
            abandon(&run);
            return Err(system("starting the tasks' threads")(error));
        }
    };
    let above = rise_above().ok();
    let result = play_until_end(&run, program, threads, options);
    drop((sessions, processes));
    if let Some(previous) = &above {
        previous.restore();
    }
    result.map(|played| Played { above_load: above.is_some(), ..played })
}

fn is_only_thread() -> bool {
    std::fs::read_dir("/proc/self/task").is_ok_and(|threads| threads.count() == 1)
}

/// The program that a session's process will start, if it is in a session.
fn hold_for_session(
    workload: &Workload,
    options: &Options,
    run: &RunState,
) -> Result<Option<Held>, PlayError> {
    let hold = |program: &model::Program| {
        Held::new(&program.command, &options.setting.policy, options.folder)
    };
    let program = workload.program.as_ref().filter(|_| run.script.program_session.is_some());
    program.map(hold).transpose().map_err(PlayError::system("starting the program"))
}

fn hold_program(
    workload: &Workload,
    options: &Options,
    run: &RunState,
    mut own: Option<Held>,
) -> Result<Option<Running>, PlayError> {
    let policy = &options.setting.policy;
    let mut hold = |program: &model::Program| {
        let held = match own.take() {
            Some(own) => Running::of(own, sessions::program(run))?,
            None => Running::hold(&program.command, policy, options.folder)?,
        };
        if let Some(group) = run.script.program_group {
            let placed = run.group_files.place(group, held.pid());
            placed.map_err(io::Error::from_raw_os_error)?;
        }
        Ok::<_, io::Error>(held)
    };
    let held = workload.program.as_ref().map(&mut hold);
    held.transpose().map_err(PlayError::system("starting the program"))
}

/// From the threads at the gate to the last one's end.
fn play_until_end(
    run: &Arc<RunState>,
    mut program: Option<Running>,
    threads: Vec<JoinHandle<()>>,
    mut options: Options,
) -> Result<Played, PlayError> {
    let probes = options.probes;
    let tracked = match probes {
        Some(probes) => track(run, probes, program.as_ref()),
        None => Ok(()),
    };
    let start_took_ns = start(run, program.as_mut(), probes);
    let mut end = Ending::Over;
    if tracked.is_ok() {
        end = wait_for_end(run, program.as_mut(), &mut options.periodic);
    }
    let interrupted = (end == Ending::Interrupted).then(|| still_running(run, &program));
    end_counting(run);
    if let Some(probes) = probes {
        played::take_cpu_times(run, probes);
    }
    let counted = probes.map(|probes| (probes, probes.stop()));
    let completion_ns = played::completion_ns(run);
    if interrupted.is_some() {
        (options.on_interrupt)();
    }
    dismiss(run, threads);
    let readings = counted.map(|(probes, window)| probes.readings(window));
    let program = program.map(Running::finish);
    tracked.map_err(PlayError::Failed)?;
    if let Some((fault, group, errno)) = run.fault() {
        return Err(explain(run, fault, group, errno));
    }
    let control = run.control();
    let since_start =
        |ns: &AtomicU64| ns.load(SeqCst).saturating_sub(control.start_ns.load(SeqCst));
    Ok(Played {
        run_ns: since_start(&control.end_ns),
        sampled_ns: since_start(&control.sampled_ns),
        completion_ns,
        groups: played::groups(run),
        program,
        readings,
        interrupted,
        above_load: false,
        start_took_ns,
    })
}

fn track(run: &RunState, probes: &Probes, program: Option<&Running>) -> Result<(), String> {
    for (number, group) in run.script.groups.iter().enumerate() {
        // Others are announced when they are made.
        let there = run.slots(group).iter().filter(|slot| slot.is_there());
        for slot in there {
            probes.track(slot.tid.load(SeqCst), number)?;
        }
        if let Some(&child) = group.forked().first() {
            probes.set_fork_group(number, child)?;
        }
    }
    // The probes outlive the tasks: they belong to our caller.
    let _ = run.announcer.set(probes.announcer());
    program.map_or(Ok(()), |program| probes.track(program.pid(), run.script.groups.len()))
}

/// The common start; how long it took, nanoseconds.
fn start(run: &RunState, program: Option<&mut Running>, probes: Option<&Probes>) -> u64 {
    let control = run.control();
    played::note_cpu_times(run, None);
    if let Some(probes) = probes {
        probes.start();
    }
    control.counting.store(1, SeqCst);
    let start_ns = now_ns();
    control.start_ns.store(start_ns, SeqCst);
    control.gate.store(1, SeqCst);
    futex::wake(&control.gate, i32::MAX);
    if let Some(program) = program {
        program.release();
    }
    now_ns() - start_ns
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    /// The workload has ended, or a task has failed.
    Over,
    /// The supervisor told us to stop.
    Interrupted,
}

fn wait_for_end(
    run: &RunState,
    mut program: Option<&mut Running>,
    periodic: &mut Periodic,
) -> Ending {
    let control = run.control();
    let start_ns = control.start_ns.load(SeqCst);
    periodic.begin(start_ns);
    let end_ns = run.script.duration_ns.map(|ns| start_ns + ns);
    loop {
        let program_ended = program.as_deref_mut().map(Running::poll);
        if control.fault.load(SeqCst) != 0 || is_over(run, program_ended) {
            return Ending::Over;
        }
        if reaping::is_interrupted() {
            return Ending::Interrupted;
        }
        if !periodic.run_if_due() {
            return Ending::Over;
        }
        let now_ns = now_ns();
        if periodic.next_ns().is_none() && end_ns.is_some_and(|end_ns| end_ns <= now_ns) {
            return Ending::Over;
        }
        let due_ns = periodic.next_ns().or(end_ns);
        let handle = program.as_deref().map_or(-1, |program| program.handle());
        let look_ns = program.is_some().then_some(LOOK_NS);
        let patience_ns = due_ns.map(|due_ns| due_ns.saturating_sub(now_ns));
        let patience_ns = patience_ns.into_iter().chain(look_ns).min();
        poll(&[run.bell.as_raw_fd(), reaping::alarm(), handle], patience_ns);
        silence(&run.bell);
    }
}

/// Whether the workload has ended by itself.
fn is_over(run: &RunState, program_ended: Option<bool>) -> bool {
    let control = run.control();
    let finite_ended = control.finite_left.load(SeqCst) == 0;
    match program_ended {
        Some(ended) => ended,
        None if run.script.duration_ns.is_some() => control.playing.load(SeqCst) == 0,
        None => finite_ended,
    }
}

/// From here on nothing counts. The tasks continue until [`dismiss`], so that the probes do not see
/// them exit.
fn end_counting(run: &RunState) {
    let control = run.control();
    control.counting.store(0, SeqCst);
    control.end_ns.store(now_ns(), SeqCst);
    played::sample_cpu_times(run, None);
    sessions::sample_cpu_times(run);
    control.sampled_ns.store(now_ns(), SeqCst);
}

/// Ends all tasks and waits until they have left.
fn dismiss(run: &RunState, threads: Vec<JoinHandle<()>>) {
    let control = run.control();
    control.stop.store(1, SeqCst);
    control.patience.end();
    futex::wake(&control.stop, i32::MAX);
    loop {
        let alive = control.alive.load(SeqCst);
        if alive == 0 {
            break;
        }
        // Those of a process that was killed have not said that they leave.
        if !signal_all(run) && !run.sessions.is_empty() {
            break;
        }
        futex::wait_until(&control.alive, alive, now_ns() + INSIST_NS);
    }
    for thread in threads {
        // A panic would be a defect of Fairground; its task has no results.
        let _ = thread.join();
    }
    children::join_threads(run);
}

/// Ends the threads that wait for a start that will not come.
fn abandon(run: &RunState) {
    let control = run.control();
    control.stop.store(1, SeqCst);
    control.patience.end();
    control.gate.store(1, SeqCst);
    futex::wake(&control.gate, i32::MAX);
    signal_all(run);
}

fn signal_all(run: &RunState) -> bool {
    let is_left = |slot: &&TaskSlot| slot.is_there() && slot.gone.load(SeqCst) == 0;
    let mut is_one_left = false;
    for session in run.script.starters() {
        let process = sessions::process(run, session);
        for slot in run.slots_of(session).filter(is_left) {
            let tid = slot.tid.load(SeqCst);
            // SAFETY: no pointers. A thread that has just left is not found, which is fine.
            is_one_left |=
                unsafe { libc::syscall(libc::SYS_tgkill, process, tid, libc::SIGUSR2) } == 0;
        }
    }
    is_one_left
}

/// Makes the signal interrupt system calls, and do nothing else.
fn allow_interruption() {
    static ONCE: Once = Once::new();
    extern "C" fn nothing(_signal: i32) {}
    ONCE.call_once(|| {
        // SAFETY: zeros are a valid sigaction without flags: no restart of system calls.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = nothing as *const () as usize;
            libc::sigaction(libc::SIGUSR2, &action, ptr::null_mut());
        }
    });
}

/// Sleeps until a descriptor is readable (negative ones never are) or the time is over.
fn poll(fds: &[i32], patience_ns: Option<u64>) {
    let entry = |&fd: &i32| libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
    let mut entries: [libc::pollfd; 4] = [entry(&-1); 4];
    for (place, fd) in entries.iter_mut().zip(fds) {
        *place = entry(fd);
    }
    let patience = patience_ns.map(timespec);
    let patience = patience.as_ref().map_or(ptr::null(), |time| time as *const _);
    // SAFETY: four valid entries; a valid time or none.
    unsafe { libc::ppoll(entries.as_mut_ptr(), 4, patience, ptr::null()) };
}

/// The tasks that had not ended, as text.
fn still_running(run: &RunState, program: &Option<Running>) -> String {
    let mut running = Vec::new();
    for group in &run.script.groups {
        let count = run.slots(group).iter().filter(|slot| slot.end_ns.load(SeqCst) == 0).count();
        if count > 0 {
            running.push(format!("{count} of {}", group.name));
        }
    }
    running.extend(program.iter().map(|_| "the program".to_owned()));
    format!("still running: {}", running.join(", "))
}
