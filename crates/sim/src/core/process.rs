// SPDX-License-Identifier: GPL-2.0-only
//! What the threads of a process share in memory: `signal_struct` with the list of the threads, and
//! `struct pid`, whose form `task_struct.h` of the shim gives.

use super::memory::{TaskLayout, get, put};

/// Offsets in `signal_struct`: two counters and the list's head.
const LIVE: u32 = 0;
const NR_THREADS: u32 = 4;
const THREAD_HEAD: u32 = 8;
/// And how many pointers to `struct pid` there are; that of the thread is not among them.
const PIDS: u32 = 24;
const PID_TYPES: u32 = 4;
const AUTOGROUP: u32 = 56;
/// Of `prev` in `list_head`; `next` comes first.
const PREV: u32 = 8;
/// Of `numbers[0].nr` and `numbers[0].ns` in `struct pid`.
const NUMBER: u32 = 8;
const NAMESPACE: u32 = 16;

/// A new thread joins its process; the leader's process begins with it.
pub(super) fn join(block: *mut u8, leader: *mut u8, pid: i32, at: &TaskLayout) {
    if at.objects.make_group == 0 {
        // A scheduler without the shim's layout, which has no room for this.
        return;
    }
    put(block, at.thread_pid, block.wrapping_add(at.own_pid as usize));
    put(block, at.own_pid + NUMBER, pid);
    put(block, at.own_pid + NAMESPACE, at.objects.pid_namespace);
    let is_leader = block == leader;
    let own = block.wrapping_add(at.own_signal as usize);
    let signal = if is_leader { own } else { get(leader, at.signal) };
    let head = signal.wrapping_add(THREAD_HEAD as usize);
    put(block, at.signal, signal);
    if is_leader {
        put(head, 0, head);
        put(head, PREV, head);
        for kind in 1..PID_TYPES {
            put(signal, PIDS + kind * 8, block.wrapping_add(at.own_pid as usize));
        }
    }
    let node = block.wrapping_add(at.thread_node as usize);
    let last: *mut u8 = get(head, PREV);
    link(last, node);
    link(node, head);
    count(signal, 1);
}

pub(super) fn enter_session(block: *mut u8, autogroup: u64, at: &TaskLayout) {
    if at.objects.make_session != 0 {
        put(get::<*mut u8>(block, at.signal), AUTOGROUP, autogroup);
    }
}

/// A thread that has ended leaves its process (`__exit_signal`).
pub(super) fn leave(block: *mut u8, at: &TaskLayout) {
    if at.objects.make_group == 0 {
        return;
    }
    let node = block.wrapping_add(at.thread_node as usize);
    link(get(node, PREV), get(node, 0));
    count(get(block, at.signal), -1);
}

fn link(node: *mut u8, next: *mut u8) {
    put(node, 0, next);
    put(next, PREV, node);
}

fn count(signal: *mut u8, by: i32) {
    for at in [LIVE, NR_THREADS] {
        put(signal, at, get::<i32>(signal, at) + by);
    }
}
