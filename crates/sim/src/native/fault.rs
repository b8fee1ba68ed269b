// SPDX-License-Identifier: GPL-2.0-only
//! Crashes and endless callbacks of native schedulers: what the worker process reports before it
//! ends.
//!
//! DIVERGES: a BPF program that follows a null pointer inside a kernel structure reads zeros; here
//! it crashes, except in `BPF_CORE_READ` and `bpf_probe_read_kernel`.
//!
//! BPF's verifier refuses programs that could do harm; natively they run, and crash. Signal
//! handlers turn a crash into a report, a profiling timer notices callbacks that do not end, and
//! divisions by zero get the result that BPF defines. The state is global to the process, because
//! each trial with a native scheduler has a process of its own (`isolate`).

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering::Relaxed};

use compile::native::{Native, find_line};
use model::Outcome;
use serde::{Deserialize, Serialize};

#[cfg(target_arch = "x86_64")]
use super::division;

/// The callbacks' names by number. Number 0: no callback runs.
pub const CALLBACKS: &[&str] = &[
    "",
    "init",
    "exit",
    "init_task",
    "exit_task",
    "enable",
    "disable",
    "select_cpu",
    "enqueue",
    "dequeue",
    "dispatch",
    "tick",
    "runnable",
    "running",
    "stopping",
    "quiescent",
    "yield",
    "set_weight",
    "set_cpumask",
    "update_idle",
    "cpu_online",
    "cpu_offline",
    "a timer",
];

/// The number of the running callback.
pub static CALLBACK: AtomicU32 = AtomicU32::new(0);
/// Number of callbacks so far.
pub static CALLS: AtomicU64 = AtomicU64::new(0);

/// The file descriptor to which a fault is written.
static REPORT: AtomicI32 = AtomicI32::new(-1);
/// The object's address range.
static FIRST: AtomicU64 = AtomicU64::new(0);
static LAST: AtomicU64 = AtomicU64::new(0);
/// [`CALLS`] at the last sample, and for how many samples it has not changed.
static SAMPLED_CALLS: AtomicU64 = AtomicU64::new(0);
static UNCHANGED: AtomicU32 = AtomicU32::new(0);
static REPORTS: AtomicU32 = AtomicU32::new(0);

/// The period of the profiling timer, in CPU time.
const SAMPLE_PERIOD_US: i64 = 20_000;
/// A callback that runs for this many samples never ends: 0.16 s, where callbacks in the kernel
/// take microseconds.
const MOST_SAMPLES: u32 = 8;

/// The worker's exit status after a report.
const STATUS: c_int = 70;

/// A crash, or a callback that does not end. It goes through a pipe as bytes.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SchedulerFault {
    /// The signal; `SIGPROF` for a callback that does not end.
    pub signal: i32,
    /// The running callback, an index into [`CALLBACKS`].
    pub callback: u32,
    /// The invalid address.
    pub address: u64,
    /// The instruction's offset in the object; 0 if unknown.
    pub place: u64,
    /// 1 if the fault happened in a kfunc that the instruction at `place` called.
    pub in_kfunc: u64,
}

impl SchedulerFault {
    /// Size of a report in bytes.
    pub const SIZE: usize = size_of::<SchedulerFault>();

    /// Decodes the report of a worker.
    pub fn from_bytes(bytes: &[u8; SchedulerFault::SIZE]) -> SchedulerFault {
        // SAFETY: all fields are integers, for which each bit pattern is valid.
        unsafe { bytes.as_ptr().cast::<SchedulerFault>().read_unaligned() }
    }

    /// A sentence that names the scheduler, the callback, the fault and the source line.
    pub fn reason(&self, native: Option<&Native>) -> String {
        let what = match self.signal {
            libc::SIGPROF => "does not end".to_owned(),
            libc::SIGSEGV | libc::SIGBUS if self.address < 4096 => "uses a null pointer".into(),
            libc::SIGSEGV | libc::SIGBUS => format!("uses the invalid address {:#x}", self.address),
            libc::SIGILL => "runs into an invalid instruction".into(),
            libc::SIGFPE => "makes an arithmetic error".into(),
            signal => format!("ends with signal {signal}"),
        };
        let callback = CALLBACKS.get(self.callback as usize).copied().unwrap_or("");
        let who = if callback.is_empty() { "the simulator" } else { callback };
        let name = native.map(|native| native.name.as_str()).unwrap_or("scheduler");
        let inside = if self.in_kfunc == 1 { ", in a kfunc that it calls" } else { "" };
        format!("{name}: {who} {what}{inside}{}", self.line(native))
    }

    fn line(&self, native: Option<&Native>) -> String {
        let found = native.filter(|_| self.place > 0);
        let line = found.and_then(|native| find_line(&native.object, self.place));
        line.map(|line| format!(" ({}:{})", line.file, line.line)).unwrap_or_default()
    }

    /// The outcome of a trial that ended this way.
    pub fn outcome(&self, native: Option<&Native>) -> Outcome {
        let reason = self.reason(native);
        match self.signal {
            libc::SIGPROF => Outcome::Hung { reason },
            _ => Outcome::Crashed { text: reason },
        }
    }
}

/// Installs the handlers: from now on a fault is written to the descriptor `report` and ends this
/// process.
///
/// # Errors
/// When a system call fails.
pub fn watch(report: c_int) -> std::io::Result<()> {
    REPORT.store(report, Relaxed);
    use_own_stack()?;
    for signal in [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE] {
        handle(signal, on_fault)?;
    }
    handle(libc::SIGPROF, on_sample)?;
    let every = libc::timeval { tv_sec: 0, tv_usec: SAMPLE_PERIOD_US };
    let timer = libc::itimerval { it_interval: every, it_value: every };
    // SAFETY: the structure lives during the call.
    check(unsafe { libc::setitimer(libc::ITIMER_PROF, &timer, std::ptr::null_mut()) })
}

/// Sets the address range of the scheduler's object, which tells its code from the simulator's.
pub fn object_at((first, last): (u64, u64)) {
    FIRST.store(first, Relaxed);
    LAST.store(last, Relaxed);
}

/// The running callback, and the source line of its call of the kfunc that is in progress:
/// `enqueue (mine.bpf.c:31)`. Empty outside callbacks.
pub fn place(object: &[u8]) -> String {
    let callback = CALLBACKS.get(CALLBACK.load(Relaxed) as usize).copied().unwrap_or_default();
    if callback.is_empty() {
        return String::new();
    }
    let mut caller = 0_u64;
    // SAFETY: the callback function writes to `caller` only, which outlives the call.
    unsafe { _Unwind_Backtrace(look_at_frame, (&raw mut caller).cast()) };
    let first = FIRST.load(Relaxed);
    let line = (caller > 0).then(|| find_line(object, caller - 1 - first)).flatten();
    let line = line.map(|line| format!(" ({}:{})", line.file, line.line));
    format!("{callback}{}", line.unwrap_or_default())
}

/// What a callback of the unwinder returns: `_URC_NO_REASON`, `_URC_NORMAL_STOP`.
const CONTINUE: c_int = 0;
const STOP: c_int = 4;

unsafe extern "C" {
    /// The unwinder that panics use.
    fn _Unwind_Backtrace(
        look: extern "C" fn(*mut c_void, *mut c_void) -> c_int,
        argument: *mut c_void,
    ) -> c_int;
    fn _Unwind_GetIP(frame: *mut c_void) -> usize;
}

/// Stops at the first frame in the object, so that the unwinder never unwinds the object itself.
extern "C" fn look_at_frame(frame: *mut c_void, caller: *mut c_void) -> c_int {
    // SAFETY: the frame is the unwinder's; `caller` is the number that `place` passed.
    let (address, caller) = unsafe { (_Unwind_GetIP(frame) as u64, &mut *caller.cast::<u64>()) };
    if !is_object(address) {
        return CONTINUE;
    }
    *caller = address;
    STOP
}

/// Gives the handlers a stack of their own, because stack overflow is one of the faults.
fn use_own_stack() -> std::io::Result<()> {
    const BYTES: usize = 64 << 10;
    let memory = Box::leak(vec![0u8; BYTES].into_boxed_slice());
    let stack = libc::stack_t { ss_sp: memory.as_mut_ptr().cast(), ss_flags: 0, ss_size: BYTES };
    // SAFETY: the memory is never freed.
    check(unsafe { libc::sigaltstack(&stack, std::ptr::null_mut()) })
}

type Handler = extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void);

fn handle(signal: c_int, handler: Handler) -> std::io::Result<()> {
    // SAFETY: the handlers below are async-signal-safe.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER | libc::SA_RESTART;
        check(libc::sigaction(signal, &action, std::ptr::null_mut()))
    }
}

fn check(result: c_int) -> std::io::Result<()> {
    if result == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}

extern "C" fn on_fault(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the context is the kernel's; the code at its instruction pointer is mapped.
    if signal == libc::SIGFPE
        && is_object(machine(context).0)
        && unsafe { division::resolve(context) }
    {
        return;
    }
    // SAFETY: the kernel passes a valid structure.
    let address = unsafe { (*info).si_addr() } as u64;
    report(signal, address, context);
}

extern "C" fn on_sample(signal: c_int, _info: *mut libc::siginfo_t, context: *mut c_void) {
    let calls = CALLS.load(Relaxed);
    if CALLBACK.load(Relaxed) == 0 || SAMPLED_CALLS.swap(calls, Relaxed) != calls {
        UNCHANGED.store(0, Relaxed);
        return;
    }
    if UNCHANGED.fetch_add(1, Relaxed) + 1 >= MOST_SAMPLES {
        report(signal, 0, context);
    }
}

fn report(signal: c_int, address: u64, context: *mut c_void) -> ! {
    let (instruction, stack) = machine(context);
    let in_kfunc = !is_object(instruction);
    // The search may itself fault beyond the end of a short stack. The nested report does not
    // search again.
    let is_first = REPORTS.fetch_add(1, Relaxed) == 0;
    let place = match in_kfunc {
        true if is_first => caller(stack),
        true => 0,
        false => instruction,
    };
    let fault = SchedulerFault {
        signal,
        callback: CALLBACK.load(Relaxed),
        address,
        place: if place > 0 { place - FIRST.load(Relaxed) } else { 0 },
        in_kfunc: u64::from(in_kfunc && place > 0),
    };
    // SAFETY: both calls are async-signal-safe.
    unsafe {
        libc::write(REPORT.load(Relaxed), (&raw const fault).cast(), SchedulerFault::SIZE);
        libc::_exit(STATUS)
    }
}

fn is_object(address: u64) -> bool {
    (FIRST.load(Relaxed)..LAST.load(Relaxed)).contains(&address)
}

/// The topmost word on the stack that is an address in the object: most likely the return address
/// of the innermost call, but possibly a pointer to the object's data.
fn caller(stack: u64) -> u64 {
    const WORDS: u64 = 512;
    let words = (0..WORDS).map(|index| {
        // SAFETY: the used part of the stack is mapped; beyond its end a fault follows, which
        // `report` handles.
        unsafe { ((stack + index * 8) as *const u64).read() }
    });
    words.into_iter().find(|&word| is_object(word)).map_or(0, |word| word - 1)
}

/// Instruction and stack pointer of the interrupted code.
#[cfg(target_arch = "x86_64")]
fn machine(context: *mut c_void) -> (u64, u64) {
    // SAFETY: the kernel passes a valid context.
    let registers = unsafe { &(*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs };
    (registers[libc::REG_RIP as usize] as u64, registers[libc::REG_RSP as usize] as u64)
}

/// Instruction and stack pointer of the interrupted code.
#[cfg(target_arch = "aarch64")]
fn machine(context: *mut c_void) -> (u64, u64) {
    // SAFETY: the kernel passes a valid context.
    let machine = unsafe { &(*context.cast::<libc::ucontext_t>()).uc_mcontext };
    (machine.pc, machine.sp)
}
