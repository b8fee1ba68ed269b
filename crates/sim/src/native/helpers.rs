// SPDX-License-Identifier: GPL-2.0-only
//! Helpers outside sched_ext: time, random numbers, maps, memory, printing.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ffi::{CStr, c_char};

use super::bpf_timers;
use super::format::format;
use super::kfuncs::kfuncs;
use super::maps::{Map, errno};
use super::references;
use super::simulator::{This, core, memory, task};

/// A map variable of the scheduler. Its first word points to the map.
type MapVariable = *mut u8;

/// `BPF_LOCAL_STORAGE_GET_F_CREATE`.
const CREATE: u64 = 1;

kfuncs! {
    fn bpf_ktime_get_ns(; this) -> u64 {
        core(this).now()
    }

    fn bpf_jiffies64(; this) -> u64 {
        core(this).jiffies()
    }

    fn bpf_get_prandom_u32(; this) -> u32 {
        ((*this).random.next_u64() >> 32) as u32
    }

    fn bpf_get_current_task_btf(; this) -> *mut u8 {
        let current = core(this).current();
        core(this).task_memory(current)
    }

    fn fairground_task_from_pid(pid: i32; this) -> *mut u8 {
        let found = core(this).task_from_pid(pid);
        memory(core(this), found)
    }

    fn fairground_unowned(kfunc: *const c_char, caller: u64; this) {
        references::refuse_release(core(this), kfunc, caller)
    }

    fn scx_bpf_exit_bstr(code: i64, fmt: *const c_char, data: *const u64, size: u32; this) {
        let message = text(fmt, data, size);
        core(this).exit_bpf(code, message)
    }

    fn scx_bpf_error_bstr(fmt: *const c_char, data: *const u64, size: u32; this) {
        let message = text(fmt, data, size);
        core(this).error_bpf(message)
    }

    fn scx_bpf_dump_bstr(fmt: *const c_char, data: *const u64, size: u32; this) {
    }

    fn bpf_trace_vprintk(
        fmt: *const c_char, fmt_size: u32, data: *const u64, size: u32; this
    ) -> i64 {
        let line = text(fmt, data, size);
        let length = line.len() as i64;
        (*this).note(line.trim_end().to_owned());
        length
    }

    fn bpf_snprintf(
        to: *mut u8, to_size: u32, fmt: *const c_char, data: *const u64, size: u32; this
    ) -> i64 {
        let text = text(fmt, data, size);
        let kept = text.len().min((to_size as usize).saturating_sub(1));
        if to_size > 0 {
            std::ptr::copy_nonoverlapping(text.as_ptr(), to, kept);
            to.add(kept).write(0);
        }
        text.len() as i64 + 1
    }

    fn fairground_map_lookup(map: *mut Map, key: *const u8; this) -> *mut u8 {
        (*map).lookup(key, (*(*this).state).cpu)
    }

    fn bpf_map_lookup_percpu_elem(map: MapVariable, key: *const u8, cpu: u32; this) -> *mut u8 {
        (*map_of(map)).lookup(key, cpu)
    }

    fn bpf_map_update_elem(
        map: MapVariable, key: *const u8, value: *const u8, flags: u64; this
    ) -> i64 {
        (*map_of(map)).update(key, value, flags, (*(*this).state).cpu)
    }

    fn bpf_map_delete_elem(map: MapVariable, key: *const u8; this) -> i64 {
        let key_bytes = std::slice::from_raw_parts(key, (*map_of(map)).key_size());
        bpf_timers::forget(this, map, key_bytes);
        (*map_of(map)).delete(key)
    }

    fn bpf_map_push_elem(map: MapVariable, value: *const u8, flags: u64; this) -> i64 {
        (*map_of(map)).push(value, flags)
    }

    fn bpf_map_pop_elem(map: MapVariable, value: *mut u8; this) -> i64 {
        (*map_of(map)).pop(value, false)
    }

    fn bpf_map_peek_elem(map: MapVariable, value: *mut u8; this) -> i64 {
        (*map_of(map)).pop(value, true)
    }

    fn bpf_for_each_map_elem(
        map: MapVariable, callback: MapCallback, context: *mut u8, flags: u64; this
    ) -> i64 {
        if flags != 0 {
            return errno::EINVAL;
        }
        let entries = (*map_of(map)).entries((*(*this).state).cpu);
        let mut visited = 0;
        for (mut key, value) in entries {
            visited += 1;
            if callback(map, key.as_mut_ptr(), value, context) != 0 {
                break;
            }
        }
        visited
    }

    fn fairground_storage_make(
        map: *mut Map, p: *mut u8, value: *const u8, flags: u64; this
    ) -> *mut u8 {
        match task(this, p, "bpf_task_storage_get") {
            Some(task) => (*map).storage(task.0, flags & CREATE != 0, value),
            None => std::ptr::null_mut(),
        }
    }

    fn bpf_task_storage_delete(map: MapVariable, p: *mut u8; this) -> i64 {
        let task = task(this, p, "bpf_task_storage_delete");
        task.map_or(errno::EINVAL, |task| (*map_of(map)).storage_delete(task.0))
    }

    fn bpf_cgrp_storage_get(
        map: MapVariable, cgroup: *const u8, value: *const u8, flags: u64; this
    ) -> *mut u8 {
        match core(this).machine.group_at(cgroup) {
            Some(group) => (*map_of(map)).storage(group, flags & CREATE != 0, value),
            None => std::ptr::null_mut(),
        }
    }

    fn bpf_cgrp_storage_delete(map: MapVariable, cgroup: *const u8; this) -> i64 {
        let group = core(this).machine.group_at(cgroup);
        group.map_or(errno::EINVAL, |group| (*map_of(map)).storage_delete(group))
    }

    fn fairground_ring_reserve(map: MapVariable, size: u64; this) -> *mut u8 {
        (*map_of(map)).ring().map_or(std::ptr::null_mut(), |ring| ring.reserve(size))
    }

    fn fairground_ring_settle(data: *const u8; this) {
        settle(this, data)
    }

    fn bpf_ringbuf_output(map: MapVariable, data: *const u8, size: u64, flags: u64; this) -> i64 {
        if (*map_of(map)).ring().is_some() { 0 } else { errno::E2BIG }
    }

    // The model's user space reads immediately, so nothing is pending.
    fn bpf_ringbuf_query(map: MapVariable, flags: u64; this) -> u64 {
        0
    }

    // The model has no writer in user space.
    fn bpf_user_ringbuf_drain(
        map: MapVariable, callback: *const u8, context: *mut u8, flags: u64; this
    ) -> i64 {
        0
    }

    fn bpf_arena_alloc_pages(
        map: MapVariable, at: *mut u8, pages: u32, node: i32, flags: u64; this
    ) -> *mut u8 {
        let arena = (*map_of(map)).arena().filter(|_| flags == 0);
        arena.map_or(std::ptr::null_mut(), |arena| arena.allocate(at, pages))
    }

    fn bpf_arena_free_pages(map: MapVariable, at: *mut u8, pages: u32; this) {
        if let Some(arena) = (*map_of(map)).arena() {
            arena.free(at, pages);
        }
    }

    fn bpf_arena_reserve_pages(map: MapVariable, at: *mut u8, pages: u32; this) -> i32 {
        (*map_of(map)).arena().map_or(-libc::EINVAL, |arena| arena.reserve(at, pages))
    }

    fn fairground_allocate(size: u64; this) -> *mut u8 {
        match Layout::from_size_align(size as usize, ALIGNMENT) {
            Ok(layout) if size > 0 => alloc_zeroed(layout),
            _ => std::ptr::null_mut(),
        }
    }

    fn fairground_free(place: *mut u8, size: u64; this) {
        if let Ok(layout) = Layout::from_size_align(size as usize, ALIGNMENT) {
            dealloc(place, layout);
        }
    }

    fn memcpy(to: *mut u8, from: *const u8, size: usize; this) -> *mut u8 {
        libc::memcpy(to.cast(), from.cast(), size).cast()
    }

    fn memmove(to: *mut u8, from: *const u8, size: usize; this) -> *mut u8 {
        libc::memmove(to.cast(), from.cast(), size).cast()
    }

    fn memset(to: *mut u8, byte: i32, size: usize; this) -> *mut u8 {
        libc::memset(to.cast(), byte, size).cast()
    }

    fn memcmp(a: *const u8, b: *const u8, size: usize; this) -> i32 {
        libc::memcmp(a.cast(), b.cast(), size)
    }
}

/// `long callback(struct bpf_map *map, void *key, void *value, void *context)`.
type MapCallback = unsafe extern "C" fn(MapVariable, *mut u8, *mut u8, *mut u8) -> i64;

/// Alignment of memory that the scheduler allocates, bytes.
const ALIGNMENT: usize = 16;

unsafe fn map_of(variable: MapVariable) -> *mut Map {
    // SAFETY: the loader wrote the map's address to the variable.
    unsafe { variable.cast::<*mut Map>().read() }
}

unsafe fn settle(this: This, data: *const u8) {
    // SAFETY: the object's trial.
    let maps = unsafe { &mut (*this).maps };
    let settled = maps.iter_mut().filter_map(|map| map.ring()).any(|ring| ring.settle(data));
    if !settled {
        // SAFETY: helpers are called inside a callback only.
        unsafe { core(this) }.error("a ring buffer's record was submitted twice".into());
    }
}

/// Formats a text like `bpf_printk`.
unsafe fn text(fmt: *const c_char, data: *const u64, size: u32) -> String {
    // SAFETY: the macros of the ecosystem's headers pass a literal, and the size of `data`.
    unsafe {
        let words =
            if size == 0 { &[] } else { std::slice::from_raw_parts(data, size as usize / 8) };
        format(&CStr::from_ptr(fmt).to_string_lossy(), words)
    }
}
