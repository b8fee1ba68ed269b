// SPDX-License-Identifier: GPL-2.0-only
//! Helpers outside sched_ext: time, random numbers, maps, memory, printing.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ffi::{CStr, c_char};

use super::bpf_timers;
use super::format::format;
use super::kfuncs::kfuncs;
use super::maps::{Map, errno};
use super::simulator::{This, core, memory, task};

/// A map variable of the scheduler. Its first word points to the map.
type MapVariable = *mut u8;

/// `BPF_LOCAL_STORAGE_GET_F_CREATE`.
const CREATE: u64 = 1;

kfuncs! {
    fn ktime_get_ns(; this) -> u64 {
        core(this).now()
    }

    fn jiffies64(; this) -> u64 {
        core(this).jiffies()
    }

    fn prandom_u32(; this) -> u32 {
        ((*this).random.next_u64() >> 32) as u32
    }

    fn current_task(; this) -> *mut u8 {
        let current = core(this).current();
        core(this).task_memory(current)
    }

    fn task_from_pid(pid: i32; this) -> *mut u8 {
        let found = core(this).task_from_pid(pid);
        memory(core(this), found)
    }

    fn exit_bstr(code: i64, fmt: *const c_char, data: *const u64, size: u32; this) {
        let message = text(fmt, data, size);
        core(this).exit_bpf(code, message)
    }

    fn error_bstr(fmt: *const c_char, data: *const u64, size: u32; this) {
        let message = text(fmt, data, size);
        core(this).error_bpf(message)
    }

    fn dump_bstr(fmt: *const c_char, data: *const u64, size: u32; this) {
        (*this).dump.push_str(&text(fmt, data, size));
    }

    fn trace_vprintk(fmt: *const c_char, fmt_size: u32, data: *const u64, size: u32; this) -> i64 {
        let _ = fmt_size;
        let line = text(fmt, data, size);
        let length = line.len() as i64;
        (*this).note(line.trim_end().to_owned());
        length
    }

    fn snprintf(
        to: *mut u8, to_size: u32, fmt: *const c_char, data: *const u64, size: u32; this
    ) -> i64 {
        let _ = this;
        let text = text(fmt, data, size);
        let kept = text.len().min((to_size as usize).saturating_sub(1));
        if to_size > 0 {
            std::ptr::copy_nonoverlapping(text.as_ptr(), to, kept);
            to.add(kept).write(0);
        }
        text.len() as i64 + 1
    }

    fn map_lookup(map: *mut Map, key: *const u8; this) -> *mut u8 {
        (*map).lookup(key, (*(*this).state).cpu)
    }

    fn map_lookup_percpu(map: MapVariable, key: *const u8, cpu: u32; this) -> *mut u8 {
        let _ = this;
        (*map_of(map)).lookup(key, cpu)
    }

    fn map_update(map: MapVariable, key: *const u8, value: *const u8, flags: u64; this) -> i64 {
        (*map_of(map)).update(key, value, flags, (*(*this).state).cpu)
    }

    fn map_delete(map: MapVariable, key: *const u8; this) -> i64 {
        let key_bytes = std::slice::from_raw_parts(key, (*map_of(map)).key_size());
        bpf_timers::forget(this, map, key_bytes);
        (*map_of(map)).delete(key)
    }

    fn map_push(map: MapVariable, value: *const u8, flags: u64; this) -> i64 {
        let _ = this;
        (*map_of(map)).push(value, flags)
    }

    fn map_pop(map: MapVariable, value: *mut u8; this) -> i64 {
        let _ = this;
        (*map_of(map)).pop(value, false)
    }

    fn map_peek(map: MapVariable, value: *mut u8; this) -> i64 {
        let _ = this;
        (*map_of(map)).pop(value, true)
    }

    fn for_each_map_elem(
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

    fn storage_make(map: *mut Map, p: *mut u8, value: *const u8, flags: u64; this) -> *mut u8 {
        match task(this, p, "bpf_task_storage_get") {
            Some(task) => (*map).storage(task.0, flags & CREATE != 0, value),
            None => std::ptr::null_mut(),
        }
    }

    fn storage_delete(map: MapVariable, p: *mut u8; this) -> i64 {
        let task = task(this, p, "bpf_task_storage_delete");
        task.map_or(errno::EINVAL, |task| (*map_of(map)).storage_delete(task.0))
    }

    fn ringbuf_reserve(map: MapVariable, size: u64, flags: u64; this) -> *mut u8 {
        let _ = (flags, this);
        (*map_of(map)).ring().map_or(std::ptr::null_mut(), |ring| ring.reserve(size))
    }

    fn ringbuf_submit(data: *const u8, flags: u64; this) {
        let _ = flags;
        settle(this, data, true)
    }

    fn ringbuf_discard(data: *const u8, flags: u64; this) {
        let _ = flags;
        settle(this, data, false)
    }

    fn ringbuf_output(map: MapVariable, data: *const u8, size: u64, flags: u64; this) -> i64 {
        let _ = (flags, this);
        let record = std::slice::from_raw_parts(data, size as usize);
        let kept = (*map_of(map)).ring().is_some_and(|ring| ring.output(record));
        if kept { 0 } else { errno::E2BIG }
    }

    // The model's user space reads immediately, so nothing is pending.
    fn ringbuf_query(map: MapVariable, flags: u64; this) -> u64 {
        let _ = (map, flags, this);
        0
    }

    // The model has no writer in user space.
    fn user_ringbuf_drain(
        map: MapVariable, callback: *const u8, context: *mut u8, flags: u64; this
    ) -> i64 {
        let _ = (map, callback, context, flags, this);
        0
    }

    fn allocate(size: u64; this) -> *mut u8 {
        let _ = this;
        match Layout::from_size_align(size as usize, ALIGNMENT) {
            Ok(layout) if size > 0 => alloc_zeroed(layout),
            _ => std::ptr::null_mut(),
        }
    }

    fn free(place: *mut u8, size: u64; this) {
        let _ = this;
        if let Ok(layout) = Layout::from_size_align(size as usize, ALIGNMENT) {
            dealloc(place, layout);
        }
    }

    fn copy(to: *mut u8, from: *const u8, size: usize; this) -> *mut u8 {
        let _ = this;
        libc::memcpy(to.cast(), from.cast(), size).cast()
    }

    fn copy_within(to: *mut u8, from: *const u8, size: usize; this) -> *mut u8 {
        let _ = this;
        libc::memmove(to.cast(), from.cast(), size).cast()
    }

    fn fill(to: *mut u8, byte: i32, size: usize; this) -> *mut u8 {
        let _ = this;
        libc::memset(to.cast(), byte, size).cast()
    }

    fn compare(a: *const u8, b: *const u8, size: usize; this) -> i32 {
        let _ = this;
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

unsafe fn settle(this: This, data: *const u8, submit: bool) {
    // SAFETY: the object's trial.
    let maps = unsafe { &mut (*this).maps };
    let settled =
        maps.iter_mut().filter_map(|map| map.ring()).any(|ring| ring.settle(data, submit));
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
