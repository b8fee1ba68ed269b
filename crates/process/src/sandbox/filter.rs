// SPDX-License-Identifier: GPL-2.0-only
//! Which system calls a trial's process may make: what the simulator needs for memory, for its
//! answer and for its end. Everything else raises `SIGSYS`, whose handler reports the call.

use std::collections::BTreeMap;
use std::os::fd::RawFd;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch,
};

/// Memory and the process's own end. No clock and no chance: what a scheduler does must not depend
/// on the host.
const ALLOWED: &[libc::c_long] = &[
    libc::SYS_brk,
    libc::SYS_mmap,
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_mprotect,
    libc::SYS_madvise,
    libc::SYS_futex,
    // `abort` and panics ask who they are; the C library asks for the number of CPUs when memory
    // runs out.
    libc::SYS_getpid,
    libc::SYS_gettid,
    libc::SYS_sched_getaffinity,
    libc::SYS_sched_yield,
    libc::SYS_rt_sigreturn,
    libc::SYS_restart_syscall,
    libc::SYS_exit,
    libc::SYS_exit_group,
];

/// The filter: the calls of [`ALLOWED`], and writing to these descriptors.
pub fn program(writable: &[RawFd]) -> Result<BpfProgram, seccompiler::BackendError> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> =
        ALLOWED.iter().map(|call| (*call, Vec::new())).collect();
    let to = |fd: &RawFd| {
        let is_fd =
            SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, *fd as u64)?;
        SeccompRule::new(vec![is_fd])
    };
    rules.insert(libc::SYS_write, writable.iter().map(to).collect::<Result<_, _>>()?);
    // What [`without_new_code`] needs; each filter only takes more away.
    let first = |value| {
        let is = SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, value)?;
        Ok::<_, seccompiler::BackendError>(vec![SeccompRule::new(vec![is])?])
    };
    rules.insert(libc::SYS_prctl, first(libc::PR_SET_NO_NEW_PRIVS as u64)?);
    rules.insert(libc::SYS_seccomp, first(libc::SECCOMP_SET_MODE_FILTER.into())?);
    let arch = TargetArch::try_from(std::env::consts::ARCH)?;
    SeccompFilter::new(rules, SeccompAction::Trap, SeccompAction::Allow, arch)?.try_into()
}

/// The filter of a process whose code is all there: no memory becomes code, which nobody could look
/// through for instructions that depend on the host.
pub fn without_new_code() -> Result<BpfProgram, seccompiler::BackendError> {
    let code = libc::PROT_EXEC as u64;
    let mut rules =
        BTreeMap::from([(libc::SYS_prctl, Vec::new()), (libc::SYS_seccomp, Vec::new())]);
    for call in [libc::SYS_mmap, libc::SYS_mprotect] {
        let masked = SeccompCmpOp::MaskedEq(code);
        let is_code = SeccompCondition::new(2, SeccompCmpArgLen::Dword, masked, code)?;
        rules.insert(call, vec![SeccompRule::new(vec![is_code])?]);
    }
    let arch = TargetArch::try_from(std::env::consts::ARCH)?;
    SeccompFilter::new(rules, SeccompAction::Allow, SeccompAction::Trap, arch)?.try_into()
}

/// Whether the kernel knows filters that raise `SIGSYS`.
pub fn is_known() -> bool {
    let action = libc::SECCOMP_RET_TRAP;
    // SAFETY: the kernel reads one number.
    let answer = unsafe {
        libc::syscall(libc::SYS_seccomp, libc::SECCOMP_GET_ACTION_AVAIL, 0, &raw const action)
    };
    answer == 0
}
