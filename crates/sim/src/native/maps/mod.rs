// SPDX-License-Identifier: GPL-2.0-only
//! BPF maps. Values have stable addresses, because schedulers keep pointers to them during a
//! callback and timers beyond it.

pub mod arena;
mod form;
mod hash;
pub mod kinds;
mod outer;
mod storage;

use compile::native::Map as Fact;

use arena::Arena;
use form::{Form, form};
use hash::Ring;

/// `EINVAL`, `ENOENT`, … as kfuncs return them.
pub mod errno {
    pub const ENOENT: i64 = -2;
    pub const E2BIG: i64 = -7;
    pub const EBUSY: i64 = -16;
    pub const EEXIST: i64 = -17;
    pub const EINVAL: i64 = -22;
    pub const EOPNOTSUPP: i64 = -95;
}

/// `BPF_NOEXIST`: the key must be new.
pub const NOEXIST: u64 = 1;
/// `BPF_EXIST`: the key must exist; for a full queue: drop the oldest entry.
pub const EXIST: u64 = 2;

/// The part of a map that the object reads: `struct fairground_map` of the shim.
#[repr(C)]
pub struct Shared {
    /// 0: an array, which the object looks up by itself.
    kind: u32,
    max_entries: u32,
    stride: u64,
    cpu_stride: u64,
    values: *mut u8,
    pieces: *const *mut u8,
    pieces_count: u64,
}

/// A map. The part that the object reads comes first, so that both have the same address.
#[repr(C)]
pub struct Map {
    shared: Shared,
    pub name: String,
    key_size: usize,
    value_size: usize,
    /// Offsets and sizes of what updates do not copy, see [`Fact::special`].
    special: Vec<(u32, u32)>,
    cpus: u32,
    form: Form,
}

impl Map {
    /// An empty map of a scheduler on a machine with so many CPUs.
    pub fn new(fact: &Fact, cpus: u32) -> Result<Box<Map>, String> {
        let per_cpu = [kinds::PERCPU_ARRAY, kinds::PERCPU_HASH, kinds::LRU_PERCPU_HASH];
        let cpus = if per_cpu.contains(&fact.kind) { cpus } else { 1 };
        let form = form(fact, cpus).map_err(|what| format!("the map {}: {what}", fact.name))?;
        let mut map = Box::new(Map {
            shared: Shared {
                kind: 1,
                max_entries: fact.max_entries,
                stride: 0,
                cpu_stride: 0,
                values: std::ptr::null_mut(),
                pieces: std::ptr::null(),
                pieces_count: 0,
            },
            name: fact.name.clone(),
            key_size: fact.key_size as usize,
            value_size: fact.value_size as usize,
            special: fact.special.clone(),
            cpus,
            form,
        });
        map.share();
        Ok(map)
    }

    /// Tells the object where things are; needed again after memory was added.
    fn share(&mut self) {
        match &mut self.form {
            Form::Array(values) => {
                self.shared.kind = 0;
                self.shared.stride = values.stride() as u64;
                self.shared.values = values.base();
                let whole = values.stride() as u64 * u64::from(self.shared.max_entries);
                self.shared.cpu_stride = if self.cpus > 1 { whole } else { 0 };
            }
            Form::Storage(storage) => {
                self.shared.stride = storage.stride() as u64;
                (self.shared.pieces, self.shared.pieces_count) = storage.pieces();
            }
            _ => {}
        }
    }

    /// The value of a key on a CPU; null if there is none. Arrays' other lookups are the object's
    /// own.
    ///
    /// # Safety
    /// `key` must have the map's key size.
    pub unsafe fn lookup(&mut self, key: *const u8, cpu: u32) -> *mut u8 {
        let cpu = if self.cpus > 1 { cpu } else { 0 };
        if cpu >= self.cpus {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller's.
        match &mut self.form {
            Form::Array(values) => {
                let index = unsafe { key.cast::<u32>().read_unaligned() };
                if index >= self.shared.max_entries {
                    return std::ptr::null_mut();
                }
                values.at((self.shared.max_entries * cpu + index) as usize)
            }
            Form::Hash(hash) => hash.lookup(unsafe { bytes(key, self.key_size) }, cpu),
            Form::Outer(outer) => outer.at(unsafe { key.cast::<u32>().read_unaligned() }),
            _ => std::ptr::null_mut(),
        }
    }

    /// `bpf_map_update_elem` for the CPU that it runs on.
    ///
    /// # Safety
    /// `key` and `value` must have the map's sizes.
    pub unsafe fn update(&mut self, key: *const u8, value: *const u8, flags: u64, cpu: u32) -> i64 {
        // SAFETY: the caller's.
        let place = match &mut self.form {
            Form::Array(_) if flags & NOEXIST != 0 => return errno::EEXIST,
            Form::Array(_) => unsafe { self.lookup(key, cpu) },
            Form::Hash(hash) => {
                let cpu = if self.cpus > 1 { cpu } else { 0 };
                match hash.insert(unsafe { bytes(key, self.key_size) }, cpu, flags) {
                    Ok(place) => place,
                    Err(error) => return error,
                }
            }
            _ => return errno::EOPNOTSUPP,
        };
        if place.is_null() {
            return errno::E2BIG;
        }
        // SAFETY: a value has its size on both sides; they may be the same one.
        unsafe { self.copy(value, place) };
        0
    }

    /// Copies a value except what the kernel manages in it, which begins anew.
    ///
    /// # Safety
    /// Both must have the map's value size.
    unsafe fn copy(&self, from: *const u8, to: *mut u8) {
        // SAFETY: the caller's; the offsets lie in the value.
        unsafe {
            std::ptr::copy(from, to, self.value_size);
            for (offset, size) in &self.special {
                to.add(*offset as usize).write_bytes(0, *size as usize);
            }
        }
    }

    /// `bpf_map_delete_elem`.
    ///
    /// # Safety
    /// `key` must have the map's key size.
    pub unsafe fn delete(&mut self, key: *const u8) -> i64 {
        match &mut self.form {
            // SAFETY: the caller's.
            Form::Hash(hash) => hash.delete(unsafe { bytes(key, self.key_size) }),
            Form::Array(_) => errno::EINVAL,
            _ => errno::EOPNOTSUPP,
        }
    }

    /// Keys and values, for `bpf_for_each_map_elem`; hash maps in the order of their memory, which
    /// follows from the order of insertions and deletions.
    pub fn entries(&mut self, cpu: u32) -> Vec<(Vec<u8>, *mut u8)> {
        let cpu = if self.cpus > 1 { cpu } else { 0 };
        let entries = self.shared.max_entries;
        match &mut self.form {
            Form::Array(values) => (0..entries)
                .map(|index| {
                    (index.to_ne_bytes().into(), values.at((entries * cpu + index) as usize))
                })
                .collect(),
            Form::Hash(hash) => hash.entries(cpu),
            _ => Vec::new(),
        }
    }

    /// The tasks or groups that have a value, and where it is.
    pub fn owned(&self) -> Vec<(u32, *mut u8)> {
        match &self.form {
            Form::Storage(storage) => storage.owned(),
            _ => Vec::new(),
        }
    }

    /// The key of the entry that holds an address inside its value: for timers.
    pub fn key_of(&mut self, inside: *const u8) -> Option<(Vec<u8>, *mut u8)> {
        match &mut self.form {
            Form::Array(values) => {
                let index = values.index_of(inside)?;
                let key = index as u32 % self.shared.max_entries.max(1);
                Some((key.to_ne_bytes().into(), values.at(index)))
            }
            Form::Hash(hash) => hash.key_of(inside),
            _ => None,
        }
    }

    /// Whether the address is inside a value.
    pub fn contains(&mut self, inside: *const u8) -> bool {
        match &self.form {
            Form::Storage(storage) => storage.contains(inside),
            _ => self.key_of(inside).is_some(),
        }
    }

    /// The storage of a task; made with zeros or `initial` if `create`.
    ///
    /// # Safety
    /// `initial` must be null or have the map's value size.
    pub unsafe fn storage(&mut self, task: u32, create: bool, initial: *const u8) -> *mut u8 {
        let Form::Storage(storage) = &mut self.form else { return std::ptr::null_mut() };
        let (place, is_new) = match storage.find(task) {
            Some(place) => (place, false),
            None if create => (storage.make(task), true),
            None => return std::ptr::null_mut(),
        };
        if is_new && !initial.is_null() {
            // SAFETY: the caller's.
            unsafe { self.copy(initial, place) };
        }
        self.share();
        place
    }

    /// The storage of a task or a group ends with it.
    pub fn forget_owner(&mut self, kind: u32, owner: u32) {
        if let Form::Storage(storage) = &mut self.form
            && storage.kind == kind
        {
            storage.delete(owner);
        }
    }

    pub fn storage_delete(&mut self, owner: u32) -> i64 {
        match &mut self.form {
            Form::Storage(storage) => {
                if storage.delete(owner) {
                    0
                } else {
                    errno::ENOENT
                }
            }
            _ => errno::EOPNOTSUPP,
        }
    }

    /// `bpf_map_push_elem`.
    ///
    /// # Safety
    /// `value` must have the map's value size.
    pub unsafe fn push(&mut self, value: *const u8, flags: u64) -> i64 {
        match &mut self.form {
            // SAFETY: the caller's.
            Form::Queue(queue) => queue.push(unsafe { bytes(value, self.value_size) }, flags),
            // SAFETY: the caller's.
            Form::Bloom(bloom) => bloom.add(unsafe { bytes(value, self.value_size) }, flags),
            _ => errno::EOPNOTSUPP,
        }
    }

    /// `bpf_map_pop_elem`, or `bpf_map_peek_elem` if it is to stay.
    ///
    /// # Safety
    /// `to` must have the map's value size.
    pub unsafe fn pop(&mut self, to: *mut u8, stay: bool) -> i64 {
        // SAFETY: the caller's.
        let to = unsafe { std::slice::from_raw_parts_mut(to, self.value_size) };
        let queue = match &mut self.form {
            Form::Queue(queue) => queue,
            Form::Bloom(bloom) if stay => return bloom.peek(to),
            _ => return errno::EOPNOTSUPP,
        };
        if queue.pop(to, stay) {
            return 0;
        }
        // As the kernel, which leaves no old value behind.
        to.fill(0);
        errno::ENOENT
    }

    /// Fills a map of maps with the inner maps that its variable names, as libbpf does: the keys
    /// are their places in the list.
    pub fn set_inner(&mut self, variables: Vec<*mut u8>) {
        if let Form::Outer(outer) = &mut self.form {
            outer.set(variables);
        }
    }

    /// Fills a map of maps with as many new maps as it has entries.
    pub fn fill(&mut self, inner: &Fact, cpus: u32) -> Result<(), String> {
        if let Form::Outer(outer) = &mut self.form {
            let new = (0..self.shared.max_entries).map(|_| Map::new(inner, cpus));
            outer.fill(new.collect::<Result<_, _>>()?);
        }
        Ok(())
    }

    /// How many CPUs have values of their own; 1 where all share them.
    pub fn cpus(&self) -> u32 {
        self.cpus
    }

    /// How many entries it has room for; 0: any number.
    pub fn max_entries(&self) -> u32 {
        if matches!(self.form, Form::Storage(_)) { 0 } else { self.shared.max_entries }
    }

    pub fn key_size(&self) -> usize {
        self.key_size
    }

    pub fn arena(&mut self) -> Option<&mut Arena> {
        match &mut self.form {
            Form::Arena(arena) => Some(arena),
            _ => None,
        }
    }

    pub fn ring(&mut self) -> Option<&mut Ring> {
        match &mut self.form {
            Form::Ring(ring) => Some(ring),
            _ => None,
        }
    }
}

unsafe fn bytes<'a>(from: *const u8, size: usize) -> &'a [u8] {
    // SAFETY: the caller's.
    unsafe { std::slice::from_raw_parts(from, size) }
}

#[cfg(test)]
mod tests;
