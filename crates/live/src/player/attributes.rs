// SPDX-License-Identifier: GPL-2.0-only
//! A thread's name, policy, nice value and CPUs, straight from the kernel: no allocation, so that
//! forked processes may use it.

use std::ffi::CStr;
use std::mem;
use std::sync::atomic::{AtomicBool, Ordering};

use model::play::LAB_PRIORITY;
use model::{Policy, PolicyClass, UtilClamp};

/// `errno` of a call that failed.
pub type Errno = i32;

/// `struct sched_attr` of sched_setattr(2), its first version.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct SchedAttr {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    runtime: u64,
    deadline: u64,
    period: u64,
}

/// The same with clamps of the utilisation, its second version.
#[repr(C)]
struct ClampedAttr {
    base: SchedAttr,
    min: u32,
    max: u32,
}

/// The policy of tasks that ask for sched_ext.
const SCHED_EXT: i32 = 7;

/// Whether sched_ext takes only the tasks that ask for it. Forked processes inherit it.
static ASK_FOR_EXT: AtomicBool = AtomicBool::new(false);

/// From now on, ordinary tasks get the policy `SCHED_EXT` if the scheduler in use takes only tasks
/// that ask for it (`SCX_OPS_SWITCH_PARTIAL`).
pub fn follow_scheduler() {
    let sched_ext = crate::facts::sched_ext;
    let is_partial = sched_ext("state").is_some_and(|state| state == "enabled")
        && sched_ext("switch_all").is_some_and(|all| all == "0");
    ASK_FOR_EXT.store(is_partial, Ordering::SeqCst);
}

/// Whether ordinary tasks get the policy `SCHED_EXT`.
pub fn ask_for_ext() -> bool {
    ASK_FOR_EXT.load(Ordering::SeqCst)
}

const RESET_ON_FORK: u64 = 1;
const RECLAIM: u64 = 2;
/// The policy and its parameters stay.
const KEEP_ALL: u64 = 0x18;
const CLAMP_MIN: u64 = 0x20;
const CLAMP_MAX: u64 = 0x40;

/// Gives a thread (0: the calling one) a policy.
///
/// MuQSS disregards the nice value in sched_setattr(2) if the policy stays the same
/// (`__sched_setscheduler`), so it is set once more where the kernel has not taken it.
pub fn set_policy(tid: u32, policy: &Policy) -> Result<(), Errno> {
    set(tid, &attributes(policy))?;
    let is_fair = matches!(policy.class, PolicyClass::Other | PolicyClass::Batch);
    if is_fair && nice_of(tid) != policy.nice {
        set_nice_of(tid, policy.nice)?;
    }
    Ok(())
}

/// Clamps the utilisation of the calling thread. A kernel without clamps leaves it as it is, which
/// the record says.
pub fn set_util_clamp(clamp: &UtilClamp) -> Result<(), Errno> {
    match set_clamped(&clamped(clamp)) {
        Err(libc::EOPNOTSUPP) => Ok(()),
        result => result,
    }
}

fn clamped(clamp: &UtilClamp) -> ClampedAttr {
    let mut flags = KEEP_ALL;
    for (value, flag) in [(clamp.min, CLAMP_MIN), (clamp.max, CLAMP_MAX)] {
        flags |= if value.is_some() { flag } else { 0 };
    }
    let size = mem::size_of::<ClampedAttr>() as u32;
    ClampedAttr {
        base: SchedAttr { size, flags, ..SchedAttr::default() },
        min: clamp.min.unwrap_or(0),
        max: clamp.max.unwrap_or(0),
    }
}

fn set_clamped(attributes: &ClampedAttr) -> Result<(), Errno> {
    // SAFETY: the structure is valid and carries its size.
    check(unsafe { libc::syscall(libc::SYS_sched_setattr, 0, attributes, 0) })
}

/// Raises the calling thread, without its children, above everything but `SCHED_DEADLINE`, and
/// returns its earlier attributes. Fails without privilege.
pub fn rise_above() -> Result<Previous, Errno> {
    let previous = Previous::of(0)?;
    let policy = Policy { class: PolicyClass::Fifo, priority: LAB_PRIORITY, ..Policy::default() };
    set(0, &SchedAttr { flags: RESET_ON_FORK, ..attributes(&policy) })?;
    Ok(previous)
}

/// Lowers the calling thread below everything else, as far as the kernel lets it.
pub fn sink_below() {
    // Going down needs no privilege; there is nothing better to do if it fails.
    let _ = set_policy(0, &Policy { class: PolicyClass::Idle, ..Policy::default() });
}

/// A thread's earlier attributes.
pub struct Previous {
    tid: u32,
    attributes: SchedAttr,
}

impl Previous {
    /// What a thread has now; 0 is the calling thread.
    pub fn of(tid: u32) -> Result<Previous, Errno> {
        let mut attributes = SchedAttr::default();
        let size = mem::size_of::<SchedAttr>() as u32;
        // SAFETY: the kernel writes at most `size` bytes.
        check(unsafe { libc::syscall(libc::SYS_sched_getattr, tid, &mut attributes, size, 0) })?;
        Ok(Previous { tid, attributes })
    }

    pub fn restore(&self) {
        // Going down needs no privilege; there is nothing better to do if it fails.
        let _ = set(self.tid, &self.attributes);
    }
}

pub fn set_nice(nice: i32) -> Result<(), Errno> {
    set_nice_of(0, nice)
}

pub fn nice() -> i32 {
    nice_of(0)
}

fn set_nice_of(tid: u32, nice: i32) -> Result<(), Errno> {
    // SAFETY: no pointers.
    check(i64::from(unsafe { libc::setpriority(libc::PRIO_PROCESS, tid, nice) }))
}

pub fn nice_of(tid: u32) -> i32 {
    // SAFETY: no pointers. −1 is a value here; for a thread that has gone it is an error, too.
    unsafe { libc::getpriority(libc::PRIO_PROCESS, tid) }
}

/// Whether the calling thread is an ordinary one of nice 0. A new thread always should be, but
/// kernels with Project C ignore `SCHED_FLAG_RESET_ON_FORK` of sched_setattr(2): there it is as far
/// above the workload as the thread that [`rise_above`] has raised.
pub fn is_plain() -> bool {
    // SAFETY: no pointers.
    let policy = unsafe { libc::sched_getscheduler(0) };
    policy == libc::SCHED_OTHER && nice() == 0
}

/// Makes the calling thread an ordinary one of nice 0, if it may be one.
pub fn become_plain() {
    if !is_plain() {
        // Only raising the nice value needs a privilege, and few schedulers look at it here.
        let _ = set_policy(0, &Policy::default());
    }
}

pub fn set_affinity(cpus: &libc::cpu_set_t) -> Result<(), Errno> {
    // SAFETY: the set is valid.
    check(i64::from(unsafe { libc::sched_setaffinity(0, mem::size_of_val(cpus), cpus) }))
}

/// The kernel's form of a list of CPUs; `None` when a number is beyond what it can hold.
pub fn cpu_set(cpus: &[u32]) -> Option<libc::cpu_set_t> {
    // SAFETY: a set of zeros is a valid, empty set.
    let mut set: libc::cpu_set_t = unsafe { mem::zeroed() };
    for &cpu in cpus {
        if cpu as usize >= libc::CPU_SETSIZE as usize {
            return None;
        }
        // SAFETY: the number is in range.
        unsafe { libc::CPU_SET(cpu as usize, &mut set) };
    }
    Some(set)
}

/// All CPUs that the kernel's form of a set has room for.
pub fn every_cpu() -> libc::cpu_set_t {
    // SAFETY: every pattern of bits is a set.
    unsafe { mem::transmute([u8::MAX; size_of::<libc::cpu_set_t>()]) }
}

/// Sets the calling thread's `comm`.
pub fn set_comm(comm: &CStr) {
    // SAFETY: a valid C string; the kernel keeps 15 bytes.
    unsafe { libc::prctl(libc::PR_SET_NAME, comm.as_ptr()) };
}

/// Asks for exact timers: fair tasks' sleeps otherwise end up to 50 µs late.
pub fn set_timer_slack(ns: u64) {
    // SAFETY: no pointers.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, ns) };
}

fn attributes(policy: &Policy) -> SchedAttr {
    const US: u64 = 1_000;
    let fair = matches!(policy.class, PolicyClass::Other | PolicyClass::Batch);
    let base = SchedAttr {
        size: mem::size_of::<SchedAttr>() as u32,
        policy: number(policy.class) as u32,
        ..SchedAttr::default()
    };
    match policy.class {
        // Kernels before 6.12 ignore `sched_runtime`, which requests a slice.
        _ if fair => SchedAttr { nice: policy.nice, runtime: policy.runtime_us * US, ..base },
        PolicyClass::Fifo | PolicyClass::Rr => SchedAttr { priority: policy.priority, ..base },
        PolicyClass::Deadline => SchedAttr {
            flags: if policy.reclaim { RECLAIM } else { 0 },
            runtime: policy.runtime_us * US,
            deadline: relative_deadline_us(policy) * US,
            period: policy.period_us * US,
            ..base
        },
        _ => base,
    }
}

fn relative_deadline_us(policy: &Policy) -> u64 {
    if policy.deadline_us == 0 { policy.period_us } else { policy.deadline_us }
}

fn number(class: PolicyClass) -> i32 {
    match class {
        PolicyClass::Other | PolicyClass::Batch if ask_for_ext() => SCHED_EXT,
        PolicyClass::Other => libc::SCHED_OTHER,
        PolicyClass::Batch => libc::SCHED_BATCH,
        PolicyClass::Idle => libc::SCHED_IDLE,
        PolicyClass::Fifo => libc::SCHED_FIFO,
        PolicyClass::Rr => libc::SCHED_RR,
        PolicyClass::Deadline => libc::SCHED_DEADLINE,
    }
}

fn set(tid: u32, attributes: &SchedAttr) -> Result<(), Errno> {
    // SAFETY: the structure is valid and carries its size.
    check(unsafe { libc::syscall(libc::SYS_sched_setattr, tid, attributes, 0) })
}

/// The last call's `errno` if it failed. Async-signal-safe.
pub fn check(result: i64) -> Result<(), Errno> {
    if result == -1 { Err(errno()) } else { Ok(()) }
}

/// The calling thread's `errno`.
pub fn errno() -> Errno {
    // SAFETY: a thread's own errno is always there.
    unsafe { *libc::__errno_location() }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn a_thread_can_lower_itself() {
        let policy = Policy { class: PolicyClass::Batch, nice: 7, ..Policy::default() };
        let seen = std::thread::spawn(move || {
            set_policy(0, &policy).unwrap();
            // SAFETY: no pointers.
            (unsafe { libc::sched_getscheduler(0) }, nice())
        });
        assert_eq!(seen.join().unwrap(), (libc::SCHED_BATCH, 7));
    }

    #[test]
    fn a_plain_thread_is_told_from_others() {
        let policy = Policy { class: PolicyClass::Idle, ..Policy::default() };
        let seen = std::thread::spawn(move || {
            let before = is_plain() == (nice() == 0);
            set_policy(0, &policy).unwrap();
            (before, is_plain())
        });
        assert_eq!(seen.join().unwrap(), (true, false));
    }

    #[test]
    fn the_deadline_defaults_to_the_period() {
        let mut policy = Policy { class: PolicyClass::Deadline, ..Policy::default() };
        (policy.runtime_us, policy.period_us) = (2_000, 10_000);
        let attributes = attributes(&policy);
        assert_eq!((attributes.deadline, attributes.policy), (10_000_000, 6));
    }

    #[test]
    fn clamps_keep_the_policy_and_what_is_not_named() {
        let clamp = |min, max| clamped(&UtilClamp { min, max });
        let both = clamp(Some(256), Some(512));
        assert_eq!((both.base.size, both.base.flags, both.min, both.max), (56, 0x78, 256, 512));
        assert_eq!(clamp(None, Some(0)).base.flags, 0x58);
        let has_clamps = Path::new("/proc/sys/kernel/sched_util_clamp_min").exists();
        let set = |clamp: UtilClamp| {
            std::thread::spawn(move || (set_clamped(&clamped(&clamp)), set_util_clamp(&clamp)))
        };
        let seen = set(UtilClamp { min: None, max: Some(512) }).join().unwrap();
        let expected = if has_clamps { Ok(()) } else { Err(libc::EOPNOTSUPP) };
        assert_eq!(seen, (expected, Ok(())));
    }

    #[test]
    fn nonsense_is_refused() {
        let policy = Policy { class: PolicyClass::Fifo, priority: 1_000, ..Policy::default() };
        assert_eq!(set_policy(0, &policy), Err(libc::EINVAL));
        assert!(cpu_set(&[5_000_000]).is_none());
    }
}
