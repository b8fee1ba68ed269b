// SPDX-License-Identifier: GPL-2.0-only
//! Crashes and endless callbacks of native schedulers: what the worker process reports before it
//! ends.
//!
//! BPF's verifier refuses programs that could do harm; natively they run, and crash. Signal
//! handlers turn a crash into a report, a profiling timer notices callbacks that do not end, and
//! divisions by zero get the result that BPF defines. The state is global to the process, because
//! each trial with a native scheduler has a process of its own (`isolate`).

use std::ffi::{c_int, c_long, c_void};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, AtomicU64, Ordering::Relaxed};

use compile::native::{Native, find_line};
use model::Outcome;
use serde::{Deserialize, Serialize};

use super::callbacks::CALLBACKS;
#[cfg(target_arch = "x86_64")]
use super::division::{self, machine, set_result, third_argument, writes};
#[cfg(target_arch = "x86_64")]
use super::zero_reads;

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

/// From here on an address is one of the host, another one in each process.
const HOSTS: u64 = 1 << 40;

/// In place of a system call's number: the instruction that reads the processor's clock.
const CLOCK: u64 = u64::MAX;
/// In place of an address: an allocation failed.
const NO_MEMORY: u64 = 1;
/// In place of an address: the allocator has found its memory damaged.
const DAMAGED: u64 = 2;
static IS_DAMAGED: AtomicBool = AtomicBool::new(false);

/// A crash, or a callback that does not end. It goes through a pipe as bytes.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SchedulerFault {
    /// The signal; `SIGPROF` for a callback that does not end.
    pub signal: i32,
    /// The running callback, an index into [`CALLBACKS`].
    pub callback: u32,
    /// The invalid address; for `SIGSYS` the number of the system call.
    pub address: u64,
    /// The instruction's offset in the object; 0 if unknown.
    pub place: u64,
    /// 1 if the fault happened in a kfunc that the instruction at `place` called.
    pub in_kfunc: u64,
    /// 1 if the address was to be written.
    pub writes: u64,
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
        if self.signal == libc::SIGSYS {
            return self.refusal(native);
        }
        let what = match self.signal {
            libc::SIGPROF => "does not end".to_owned(),
            libc::SIGSEGV | libc::SIGBUS if self.address < 4096 => "uses a null pointer".into(),
            libc::SIGSEGV | libc::SIGBUS if self.address >= HOSTS => {
                "uses an invalid address".into()
            }
            libc::SIGSEGV | libc::SIGBUS => format!("uses the invalid address {:#x}", self.address),
            libc::SIGILL => "runs into an invalid instruction".into(),
            libc::SIGFPE => "makes an arithmetic error".into(),
            libc::SIGABRT if self.address == NO_MEMORY => "needs more memory than there is".into(),
            libc::SIGABRT if self.address == DAMAGED => {
                "has damaged memory outside its own variables".into()
            }
            signal => format!("ends with signal {signal}"),
        };
        let callback = CALLBACKS.get(self.callback as usize).copied().unwrap_or("");
        let who = if callback.is_empty() { "the simulator" } else { callback };
        let name = native.map(|native| native.name.as_str()).unwrap_or("scheduler");
        let inside = if self.in_kfunc == 1 { ", in a kfunc that it calls" } else { "" };
        format!("{name}: {who} {what}{inside}{}{}", self.line(native), self.on_a_kernel())
    }

    /// What a kernel does instead with a read through a null pointer, and what else makes a kfunc
    /// crash.
    fn on_a_kernel(&self) -> &'static str {
        if !matches!(self.signal, libc::SIGSEGV | libc::SIGBUS) {
            return "";
        }
        if self.in_kfunc == 1 {
            return "; it gave the kfunc a wrong pointer, or has written outside its own variables, \
                    which the verifier refuses: `fairground check` asks it";
        }
        if self.address >= 4096 || self.writes > 0 {
            return "";
        }
        "; on a kernel a null pointer of its own structures reads as 0, and the verifier refuses \
         any other: `fairground check` asks it"
    }

    /// In words: what the sandbox forbids, in which callback, where.
    fn refusal(&self, native: Option<&Native>) -> String {
        let what = match self.address {
            CLOCK => "read the processor's clock (rdtsc)".to_owned(),
            call => format!("called {}", process::sandbox::name(call as i64)),
        };
        let (who, place) = match CALLBACKS.get(self.callback as usize) {
            Some(&callback) if !callback.is_empty() => {
                ("the scheduler", format!(", in {callback}"))
            }
            _ => ("the simulator", String::new()),
        };
        format!("{who} {what}, which the sandbox forbids{place}{}", self.line(native))
    }

    fn line(&self, native: Option<&Native>) -> String {
        if self.place == 0 {
            return String::new();
        }
        let line = native.and_then(|native| find_line(&native.object, self.place));
        line.map(|line| format!(" ({}:{})", line.file, line.line)).unwrap_or_default()
    }

    /// The outcome of a trial that ended this way.
    pub fn outcome(&self, native: Option<&Native>) -> Outcome {
        let reason = self.reason(native);
        match self.signal {
            libc::SIGPROF => Outcome::Hung { reason },
            libc::SIGSYS => Outcome::Failed { reason },
            libc::SIGABRT if self.address == NO_MEMORY => Outcome::Failed { reason },
            _ => Outcome::Crashed { text: reason },
        }
    }
}

/// Installs the handlers: from now on a fault is written to the descriptor `report` and ends this
/// process.
pub fn watch(report: c_int) -> std::io::Result<()> {
    REPORT.store(report, Relaxed);
    use_own_stack()?;
    for signal in [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE] {
        handle(signal, on_fault)?;
    }
    #[cfg(target_arch = "x86_64")]
    handle(libc::SIGTRAP, on_step)?;
    handle(libc::SIGPROF, on_sample)?;
    handle(libc::SIGSYS, on_forbidden)?;
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

/// Gives the handlers a stack of their own, because stack overflow is one of the faults.
fn use_own_stack() -> std::io::Result<()> {
    const BYTES: usize = 64 << 10;
    let memory = Box::leak(Box::<[u8]>::new_uninit_slice(BYTES));
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
    if signal == libc::SIGSEGV && reads_clock(info, context) {
        report(libc::SIGSYS, CLOCK, context);
    }
    // SAFETY: the kernel passes a valid structure.
    let address = unsafe { (*info).si_addr() } as u64;
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the context is the kernel's, and the scheduler was interrupted.
    if signal == libc::SIGSEGV
        && is_object(machine(context).0)
        && unsafe { zero_reads::resolve(context, address, writes(context)) }
    {
        return;
    }
    report(signal, address, context);
}

/// The processor has executed an instruction alone.
#[cfg(target_arch = "x86_64")]
extern "C" fn on_step(signal: c_int, _info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the context is the kernel's.
    if !unsafe { zero_reads::end(context) } {
        report(signal, 0, context);
    }
}

/// Whether the instruction reads the processor's clock.
#[cfg(target_arch = "x86_64")]
fn reads_clock(info: *mut libc::siginfo_t, context: *mut c_void) -> bool {
    /// The kernel raised the signal without an address.
    const BY_KERNEL: c_int = 0x80;
    let (instruction, _) = machine(context);
    // SAFETY: the system gave the structure, and has just executed the instruction.
    unsafe {
        (*info).si_code == BY_KERNEL
            && is_object(instruction)
            && (*(instruction as *const [u8; 2]) == [0x0f, 0x31]
                || *(instruction as *const [u8; 3]) == [0x0f, 0x01, 0xf9])
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn reads_clock(_info: *mut libc::siginfo_t, _context: *mut c_void) -> bool {
    false
}

/// A system call that the sandbox forbids. What the C library tries by itself is refused with an
/// error, with which it goes on: `abort` blocks signals, and the allocator reads a setting of the
/// kernel. `abort` itself is a crash.
extern "C" fn on_forbidden(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    /// Where the structure has the number, on all architectures with 64 bits.
    const NUMBER: usize = 24;
    // SAFETY: the system gave the structure, and filled this part of it for this signal.
    let call = unsafe { info.cast::<u8>().add(NUMBER).cast::<c_int>().read() };
    match c_long::from(call) {
        libc::SYS_rt_sigprocmask => set_result(context, -i64::from(libc::EPERM)),
        libc::SYS_openat if !is_object(machine(context).0) => {
            set_result(context, -i64::from(libc::EPERM));
        }
        // What the allocator says of damaged memory before it calls `abort`.
        libc::SYS_writev if !is_object(machine(context).0) => {
            IS_DAMAGED.store(true, Relaxed);
            set_result(context, -i64::from(libc::EPERM));
        }
        libc::SYS_tgkill if third_argument(context) == libc::SIGABRT as u64 => {
            let why = match IS_DAMAGED.load(Relaxed) {
                true => DAMAGED,
                false if is_memory_left() => 0,
                false => NO_MEMORY,
            };
            report(libc::SIGABRT, why, context)
        }
        _ => report(signal, call as u64, context),
    }
}

/// Whether half of a gibibyte could still be had: a growing table asks for as much as it has.
fn is_memory_left() -> bool {
    const HALF: usize = 512 << 20;
    let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: new memory, given back at once.
    unsafe {
        let place = libc::mmap(std::ptr::null_mut(), HALF, libc::PROT_NONE, kind, -1, 0);
        place != libc::MAP_FAILED && libc::munmap(place, HALF) == 0
    }
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
    let place = if !in_kfunc {
        instruction
    } else if is_first {
        caller(stack)
    } else {
        0
    };
    let fault = SchedulerFault {
        signal,
        callback: CALLBACK.load(Relaxed),
        address,
        place: if place > 0 { offset(place) } else { 0 },
        in_kfunc: u64::from(in_kfunc && place > 0),
        writes: u64::from(signal == libc::SIGSEGV && writes(context)),
    };
    // SAFETY: both calls are async-signal-safe.
    unsafe {
        libc::write(REPORT.load(Relaxed), (&raw const fault).cast(), SchedulerFault::SIZE);
        libc::_exit(STATUS)
    }
}

/// Whether code or data of the scheduler's object is there.
pub(super) fn is_object(address: u64) -> bool {
    (FIRST.load(Relaxed)..LAST.load(Relaxed)).contains(&address)
}

/// The offset of an address in the object.
pub(super) fn offset(address: u64) -> u64 {
    address - FIRST.load(Relaxed)
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
