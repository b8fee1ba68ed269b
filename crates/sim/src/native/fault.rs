// SPDX-License-Identifier: GPL-2.0-only
//! When a scheduler's native code goes wrong: what the worker process still says before it ends.
//!
//! DIVERGES: a BPF program that follows a null pointer inside a kernel structure reads zeros; here
//! it crashes, except in `BPF_CORE_READ` and `bpf_probe_read_kernel`.
//!
//! BPF's verifier refuses programs that could do harm; natively they run, and crash. Signal
//! handlers turn a crash into a report, a clock notices callbacks that do not end, and divisions by
//! zero are what they are in BPF. All of it is per process, because a trial that needs it has a
//! process of its own (`isolate`).

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering::Relaxed};

use compile::native::{Native, find_line};
use model::Outcome;
use serde::{Deserialize, Serialize};

#[cfg(target_arch = "x86_64")]
use super::division;

/// The callbacks, by number; 0 is none.
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

/// Which callback runs, and how many did.
pub static CALLBACK: AtomicU32 = AtomicU32::new(0);
/// See above.
pub static CALLS: AtomicU64 = AtomicU64::new(0);

static REPORT: AtomicI32 = AtomicI32::new(-1);
static FIRST: AtomicU64 = AtomicU64::new(0);
static LAST: AtomicU64 = AtomicU64::new(0);
static SEEN_CALLS: AtomicU64 = AtomicU64::new(0);
static UNCHANGED: AtomicU32 = AtomicU32::new(0);
static REPORTING: AtomicU32 = AtomicU32::new(0);

/// How often the clock looks, in CPU time.
const LOOK_EVERY_US: i64 = 20_000;
/// A callback that is still the same after so many looks never ends: 0.16 s, where the kernel's own
/// take microseconds.
const LOOKS: u32 = 8;

/// The worker's exit status after a report.
pub const STATUS: c_int = 70;

/// What went wrong.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SchedulerFault {
    /// The signal; `SIGPROF` for a callback that does not end.
    pub signal: i32,
    /// The number of the callback, see [`CALLBACKS`].
    pub callback: u32,
    /// The address that was used.
    pub address: u64,
    /// Where in the object, relative to its beginning; 0 if unknown.
    pub place: u64,
    /// 1 if it happened in a kfunc that was called from there.
    pub in_kfunc: u64,
}

impl SchedulerFault {
    /// As many bytes as [`SchedulerFault::from_bytes`] needs.
    pub const SIZE: usize = size_of::<SchedulerFault>();

    /// Reads what a worker wrote.
    pub fn from_bytes(bytes: &[u8; SchedulerFault::SIZE]) -> SchedulerFault {
        // SAFETY: plain numbers; every pattern of bits is a value.
        unsafe { bytes.as_ptr().cast::<SchedulerFault>().read_unaligned() }
    }

    /// In words: what, in which callback, where.
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

    /// The trial's outcome.
    pub fn outcome(&self, native: Option<&Native>) -> Outcome {
        let reason = self.reason(native);
        match self.signal {
            libc::SIGPROF => Outcome::Hung { reason },
            _ => Outcome::Crashed { text: reason },
        }
    }
}

/// Watches over this process from now on: faults are written to `report`, and end it.
///
/// # Errors
/// When the system refuses.
pub fn watch(report: c_int) -> std::io::Result<()> {
    REPORT.store(report, Relaxed);
    own_stack()?;
    for signal in [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE] {
        handle(signal, on_fault)?;
    }
    handle(libc::SIGPROF, on_look)?;
    let every = libc::timeval { tv_sec: 0, tv_usec: LOOK_EVERY_US };
    let timer = libc::itimerval { it_interval: every, it_value: every };
    // SAFETY: the structure lives during the call.
    check(unsafe { libc::setitimer(libc::ITIMER_PROF, &timer, std::ptr::null_mut()) })
}

/// Tells whose code lies where.
pub fn object_at((first, last): (u64, u64)) {
    FIRST.store(first, Relaxed);
    LAST.store(last, Relaxed);
}

/// Which callback runs, and the line of its source from which it has called a kfunc that has not
/// come back yet: `enqueue (mine.bpf.c:31)`. Empty outside callbacks.
pub fn place(object: &[u8]) -> String {
    let callback = CALLBACKS.get(CALLBACK.load(Relaxed) as usize).copied().unwrap_or_default();
    if callback.is_empty() {
        return String::new();
    }
    let mut caller = 0_u64;
    // SAFETY: the function only looks, and `caller` outlives the call.
    unsafe { _Unwind_Backtrace(look_at_frame, (&raw mut caller).cast()) };
    let first = FIRST.load(Relaxed);
    let line = (caller > 0).then(|| find_line(object, caller - 1 - first)).flatten();
    let line = line.map(|line| format!(" ({}:{})", line.file, line.line));
    format!("{callback}{}", line.unwrap_or_default())
}

/// The unwinder's answers: go on, and stop.
const CONTINUE: c_int = 0;
const STOP: c_int = 4;

unsafe extern "C" {
    /// The unwinder that panics use, too.
    fn _Unwind_Backtrace(
        look: extern "C" fn(*mut c_void, *mut c_void) -> c_int,
        argument: *mut c_void,
    ) -> c_int;
    fn _Unwind_GetIP(frame: *mut c_void) -> usize;
}

/// Stops at the first frame in the object, before it has to be unwound itself.
extern "C" fn look_at_frame(frame: *mut c_void, caller: *mut c_void) -> c_int {
    // SAFETY: the unwinder gave the frame, `place` the number.
    let (address, caller) = unsafe { (_Unwind_GetIP(frame) as u64, &mut *caller.cast::<u64>()) };
    if !is_object(address) {
        return CONTINUE;
    }
    *caller = address;
    STOP
}

/// Handlers need a stack of their own, because a full stack is one of the faults.
fn own_stack() -> std::io::Result<()> {
    const BYTES: usize = 64 << 10;
    let memory = Box::leak(vec![0u8; BYTES].into_boxed_slice());
    let stack = libc::stack_t { ss_sp: memory.as_mut_ptr().cast(), ss_flags: 0, ss_size: BYTES };
    // SAFETY: the memory is never given back.
    check(unsafe { libc::sigaltstack(&stack, std::ptr::null_mut()) })
}

type Handler = extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void);

fn handle(signal: c_int, handler: Handler) -> std::io::Result<()> {
    // SAFETY: the handlers below only do what signal handlers may.
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
    // SAFETY: the system gave the context; the code that it points to is mapped.
    if signal == libc::SIGFPE
        && is_object(machine(context).0)
        && unsafe { division::resolve(context) }
    {
        return;
    }
    // SAFETY: the system gave it.
    let address = unsafe { (*info).si_addr() } as u64;
    report(signal, address, context);
}

extern "C" fn on_look(signal: c_int, _info: *mut libc::siginfo_t, context: *mut c_void) {
    let calls = CALLS.load(Relaxed);
    if CALLBACK.load(Relaxed) == 0 || SEEN_CALLS.swap(calls, Relaxed) != calls {
        UNCHANGED.store(0, Relaxed);
        return;
    }
    if UNCHANGED.fetch_add(1, Relaxed) + 1 >= LOOKS {
        report(signal, 0, context);
    }
}

fn report(signal: c_int, address: u64, context: *mut c_void) -> ! {
    let (instruction, stack) = machine(context);
    let in_kfunc = !is_object(instruction);
    // The search may itself run into a fault, off the end of a short stack; then there is no second
    // one.
    let is_first = REPORTING.fetch_add(1, Relaxed) == 0;
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
    // SAFETY: both calls may be made by signal handlers.
    unsafe {
        libc::write(REPORT.load(Relaxed), (&raw const fault).cast(), SchedulerFault::SIZE);
        libc::_exit(STATUS)
    }
}

fn is_object(address: u64) -> bool {
    (FIRST.load(Relaxed)..LAST.load(Relaxed)).contains(&address)
}

/// The last return address on the stack that lies in the object's code; data of the object that
/// happens to lie there may be taken for it.
fn caller(stack: u64) -> u64 {
    const WORDS: u64 = 512;
    let words = (0..WORDS).map(|index| {
        // SAFETY: the stack that was in use is mapped; its end is a fault, which `report` expects.
        unsafe { ((stack + index * 8) as *const u64).read() }
    });
    words.into_iter().find(|&word| is_object(word)).map_or(0, |word| word - 1)
}

/// Instruction and stack pointer of the interrupted code.
#[cfg(target_arch = "x86_64")]
fn machine(context: *mut c_void) -> (u64, u64) {
    // SAFETY: the system gave it.
    let registers = unsafe { &(*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs };
    (registers[libc::REG_RIP as usize] as u64, registers[libc::REG_RSP as usize] as u64)
}

/// Instruction and stack pointer of the interrupted code.
#[cfg(target_arch = "aarch64")]
fn machine(context: *mut c_void) -> (u64, u64) {
    // SAFETY: the system gave it.
    let machine = unsafe { &(*context.cast::<libc::ucontext_t>()).uc_mcontext };
    (machine.pc, machine.sp)
}
