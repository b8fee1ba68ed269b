// SPDX-License-Identifier: GPL-2.0-only
//! The forms of maps, by their types.

use compile::native::Map as Fact;

use super::arena::Arena;
use super::hash::{Bloom, Hash, MOST_HASHES, Ring, ValueQueue};
use super::kinds;
use super::outer::Outer;
use super::storage::{Storage, Values};

/// How a map keeps its entries.
pub enum Form {
    Array(Values),
    Hash(Hash),
    Queue(ValueQueue),
    Bloom(Bloom),
    Ring(Ring),
    /// A ring buffer written by user space, which the model lacks: always empty.
    UserRing,
    Storage(Storage),
    Arena(Arena),
    /// The counters of the processor, which the model lacks: nothing is in it.
    PerfEvents,
    Outer(Outer),
}

/// The form of an empty map; `cpus` is 1 where all CPUs share the values.
pub fn form(fact: &Fact, cpus: u32) -> Result<Form, String> {
    let (key, value) = (fact.key_size as usize, fact.value_size as usize);
    let entries = fact.max_entries as usize;
    // libbpf counts the CPUs for events itself.
    let needs_none = [kinds::TASK_STORAGE, kinds::CGRP_STORAGE, kinds::PERF_EVENT_ARRAY];
    if entries == 0 && !needs_none.contains(&fact.kind) {
        let why = format!("a kernel makes none without max_entries: set maps.{} = N", fact.name);
        return Err(why);
    }
    let no_memory = || format!("no memory for {entries} entries of {value} bytes");
    Ok(match fact.kind {
        kinds::ARRAY | kinds::PERCPU_ARRAY => {
            Form::Array(Values::new(entries * cpus as usize, value).ok_or_else(no_memory)?)
        }
        kinds::HASH | kinds::PERCPU_HASH | kinds::LRU_HASH | kinds::LRU_PERCPU_HASH => {
            let lru = [kinds::LRU_HASH, kinds::LRU_PERCPU_HASH].contains(&fact.kind);
            Form::Hash(Hash::new(entries, key, value, cpus, lru).ok_or_else(no_memory)?)
        }
        kinds::QUEUE | kinds::STACK => {
            Form::Queue(ValueQueue::new(entries, value, fact.kind == kinds::STACK))
        }
        kinds::BLOOM_FILTER if fact.extra > MOST_HASHES => {
            return Err(format!("a kernel makes none with map_extra = {}: at most 15", fact.extra));
        }
        kinds::BLOOM_FILTER => Form::Bloom(Bloom::new(entries, fact.extra).ok_or_else(no_memory)?),
        kinds::RINGBUF => Form::Ring(Ring::default()),
        kinds::USER_RINGBUF => Form::UserRing,
        kinds::TASK_STORAGE | kinds::CGRP_STORAGE => Form::Storage(Storage::new(fact.kind, value)),
        kinds::ARRAY_OF_MAPS | kinds::HASH_OF_MAPS if key == size_of::<u32>() => {
            Form::Outer(Outer::default())
        }
        kinds::ARENA => Form::Arena(Arena::new(entries).ok_or("no place for an arena")?),
        kinds::PERF_EVENT_ARRAY => Form::PerfEvents,
        other => return Err(format!("the model has no maps of type {}", kinds::name(other))),
    })
}
