// SPDX-License-Identifier: GPL-2.0-only
//! A task's own buffer in memory, and `/dev/null`.
//!
//! The buffer is mapped, not allocated, because a forked process uses it too. A thread has touched
//! its buffer before the common start, so that no page fault is in the trial; a forked process
//! touches it when it first writes to it.

use std::fs;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use model::play::{Group, Op, Script};

use crate::player::attributes::{check, errno};
use crate::player::mapping::Memory;
use crate::player::run_state::Fault;
use crate::player::task::{End, Flow, Task};

/// Bytes that are written between two looks whether the trial is over.
const PIECE: u64 = 256 * 1024;

const MIB: u64 = 1024 * 1024;

/// Leaves out of future forks what the probes and a scheduler's file have brought into this
/// process: the pages of their BPF maps, and free memory. A fork copies the page tables of both, so
/// that a workload's forks would take longer, and longer still under a file than under the kernel's
/// own scheduler.
pub fn lighten_forks() {
    #[cfg(target_env = "gnu")]
    // SAFETY: no pointers; the allocator does so by itself at times.
    unsafe {
        libc::malloc_trim(0);
    }
    let maps = fs::read_to_string("/proc/self/maps").unwrap_or_default();
    for (start, end) in maps.lines().filter(|line| line.ends_with(":bpf-map")).filter_map(range) {
        // SAFETY: the range is a mapping of a BPF map; forked tasks have no use for it.
        unsafe { libc::madvise(start as *mut libc::c_void, end - start, libc::MADV_DONTFORK) };
    }
}

/// The addresses at the beginning of a line of `/proc/PID/maps`.
fn range(line: &str) -> Option<(usize, usize)> {
    let (start, end) = line.split(' ').next()?.split_once('-')?;
    Some((usize::from_str_radix(start, 16).ok()?, usize::from_str_radix(end, 16).ok()?))
}

/// Refuses a script whose tasks write to more memory than this machine has left: the kernel would
/// kill the player for it.
pub fn refuse_too_much(script: &Script) -> Result<(), String> {
    let of_group =
        |group: &Group| written_bytes(group).saturating_mul(group.starts_ns.len() as u64);
    let wanted = script.groups.iter().map(of_group).fold(0, u64::saturating_add);
    if wanted == 0 {
        return Ok(());
    }
    let facts = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    match left_bytes(&facts) {
        Some(left) if wanted > left => Err(format!(
            "the tasks write to {} MiB of memory, and this machine has {} MiB left",
            wanted / MIB,
            left / MIB
        )),
        _ => Ok(()),
    }
}

/// What a machine has left, from proc_meminfo(5).
fn left_bytes(facts: &str) -> Option<u64> {
    let line = facts.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    Some(line.trim().strip_suffix(" kB")?.parse::<u64>().ok()? * 1024)
}

fn written_bytes(group: &Group) -> u64 {
    let written =
        group.ops.iter().map(|op| if let Op::Fill { buffer, .. } = op { *buffer } else { 0 });
    written.max().unwrap_or(0)
}

/// Maps the buffer of a task that has one, and touches what it will write to.
pub fn prepare(task: &mut Task) -> Flow {
    let plan = task.plan();
    if plan.memory_bytes() > 0 {
        own(task)?.fill(0, written_bytes(plan));
    }
    Ok(())
}

/// Writes `bytes` bytes to the task's memory, in pieces of `buffer` bytes from its start.
pub fn write(task: &mut Task, bytes: u64, buffer: u64) -> Flow {
    let mut done = 0;
    while done < bytes {
        task.over()?;
        let from = done % buffer;
        let some = (bytes - done).min(buffer - from).min(PIECE);
        own(task)?.fill(from, some);
        done += some;
    }
    Ok(())
}

/// Writes `bytes` bytes to `/dev/null`, at most `buffer` in one call.
pub fn discard(task: &mut Task, bytes: u64, buffer: u64) -> Flow {
    let (fd, start) = (null(task)?, own(task)?.start());
    let mut done = 0;
    while done < bytes {
        task.over()?;
        let some = (bytes - done).min(buffer) as usize;
        // SAFETY: the mapping holds `buffer` bytes.
        let moved = unsafe { libc::write(fd, start.cast(), some) };
        match check(moved as i64) {
            Ok(()) => done += moved as u64,
            Err(libc::EINTR) => {}
            Err(errno) => return Err(task.fail(Fault::Memory, errno)),
        }
    }
    Ok(())
}

fn own<'t>(task: &'t mut Task) -> Result<&'t mut Memory, End> {
    if task.memory.is_none() {
        let mapped = Memory::map(task.plan().memory_bytes());
        task.memory = Some(mapped.map_err(|errno| task.fail(Fault::Memory, errno))?);
    }
    task.memory.as_mut().ok_or(End::Stopped)
}

fn null(task: &mut Task) -> Result<i32, End> {
    if task.null.is_none() {
        // SAFETY: a valid C string.
        let fd = unsafe { libc::open(c"/dev/null".as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC) };
        if fd < 0 {
            return Err(task.fail(Fault::Memory, errno()));
        }
        // SAFETY: the kernel has just given it to us.
        task.null = Some(unsafe { OwnedFd::from_raw_fd(fd) });
    }
    Ok(task.null.as_ref().map_or(-1, |null| null.as_raw_fd()))
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;
    use std::ptr;

    use libbpf_rs::{MapHandle, MapType};

    use super::*;

    #[test]
    fn what_is_left_is_read_from_the_kernels_facts() {
        let facts = "MemTotal:       24689672 kB\nMemAvailable:   23019 kB\n";
        assert_eq!((left_bytes(facts), left_bytes("MemTotal: 5 kB")), (Some(23_571_456), None));
    }

    /// The number of BPF maps that a process has mapped.
    fn mapped_maps(pid: libc::pid_t) -> usize {
        let maps = fs::read_to_string(format!("/proc/{pid}/maps")).expect("mappings");
        maps.lines().filter(|line| line.ends_with(":bpf-map")).count()
    }

    #[test]
    fn a_forked_process_has_no_bpf_maps() {
        testing::beyond_cargo_test!("needs a right to use BPF");
        let flags = libbpf_sys::BPF_F_MMAPABLE;
        let options = libbpf_sys::bpf_map_create_opts {
            sz: size_of::<libbpf_sys::bpf_map_create_opts>() as libbpf_sys::size_t,
            map_flags: flags,
            ..Default::default()
        };
        let map = MapHandle::create(MapType::Array, Some("forks"), 4, 4096, 1, &options);
        let map = testing::need!(map.map_err(|why| format!("BPF maps need a privilege: {why}")));
        let (access, fd) = (libc::PROT_READ | libc::PROT_WRITE, map.as_fd().as_raw_fd());
        // SAFETY: a new mapping, where the kernel likes.
        let page = unsafe { libc::mmap(ptr::null_mut(), 4096, access, libc::MAP_SHARED, fd, 0) };
        assert!(page != libc::MAP_FAILED && mapped_maps(std::process::id() as i32) > 0);
        lighten_forks();
        // SAFETY: the child only waits for its end.
        let child = unsafe { libc::fork() };
        if child == 0 {
            // SAFETY: no pointers.
            unsafe { libc::pause() };
        }
        let inherited = mapped_maps(child);
        // SAFETY: the child is ours, and no status is asked for; the mapping is ours, too.
        unsafe {
            libc::kill(child, libc::SIGKILL);
            libc::waitpid(child, ptr::null_mut(), 0);
            libc::munmap(page, 4096);
        }
        assert_eq!(inherited, 0);
    }
}
