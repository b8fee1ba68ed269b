// SPDX-License-Identifier: GPL-2.0-only
//! What a scheduler does and holds while a traced trial runs, as the kernel tells it.

use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use compile::variables::{map_types, sees_sessions};
use libbpf_rs::btf::Btf;
use libbpf_rs::{AsRawLibbpf, Map, MapCore, MapFlags, MapType, Object, OpenMap, OpenObject};
use model::inside::{
    CallbackRuns, ENTRIES_MOST, GROUP_STORAGE, Inside, MapAtEnd, MapReading, NO_TYPES, NOT_READ,
    TASK_STORAGE, TOO_MANY, map_kind,
};
use model::{Member, ValueType};

use super::{LoadedScheduler, knobs};
use crate::probes::{count_runs, run_statistics};

/// Looks into a scheduler from [`begin`](Watch::begin) on.
pub struct Watch {
    /// The callbacks and the names of their programs, in the order of the ops table.
    pub callbacks: Vec<(String, String)>,
    /// Whether the code looks at the sessions of tasks.
    pub sees_sessions: bool,
    /// The maps that the file defines, and the types of their keys and values.
    maps: Vec<(String, Option<[ValueType; 2]>)>,
    /// The kernel counts as long as this is open.
    counting: Option<OwnedFd>,
    /// Runs and time of each program so far.
    before: BTreeMap<String, (u64, u64)>,
}

impl Watch {
    pub fn new(open: &OpenObject, btf: &Btf, ops_members: &[Member]) -> Watch {
        let named = |map: OpenMap| {
            let name = map.name().to_string_lossy().into_owned();
            let is_own = map.map_type() != MapType::StructOps && !name.contains('.');
            is_own.then(|| (name, map_types(btf, &map)))
        };
        Watch {
            callbacks: callbacks(open, ops_members),
            sees_sessions: sees_sessions(btf),
            maps: open.maps().filter_map(named).collect(),
            counting: None,
            before: BTreeMap::new(),
        }
    }

    pub fn begin(&mut self, object: &Object) {
        self.counting = count_runs();
        self.before = runs(object);
    }

    pub fn inside(&self, object: &Object) -> Inside {
        let mut inside = Inside::default();
        match &self.counting {
            Some(_) => inside.callbacks = self.calls(object),
            None => inside.missing.push(
                "calls of its callbacks: the kernel counts no BPF programs for this user".into(),
            ),
        }
        inside.missing.push(
            "the depth of its queues: a kernel has no tracepoints for what is put into them".into(),
        );
        inside.missing.push(
            "its variables over time: to read them, a task of Fairground's would have to run every \
             few milliseconds"
                .into(),
        );
        for (name, types) in &self.maps {
            let map = object.maps().find(|map| map.name() == name.as_str());
            match map.ok_or_else(|| "it is not there".into()).and_then(|map| at_end(&map, types)) {
                Ok(map) => inside.maps.push(map),
                Err(why) => inside.missing.push(format!("the map {name}: {why}")),
            }
        }
        inside
    }

    fn calls(&self, object: &Object) -> Vec<CallbackRuns> {
        let now = runs(object);
        let since = |(name, program): &(String, String)| {
            let (calls_before, before_ns) = self.before.get(program).copied().unwrap_or_default();
            let (calls, time_ns) = now.get(program).copied().unwrap_or_default();
            let calls = calls.saturating_sub(calls_before);
            let time_ns = time_ns.saturating_sub(before_ns);
            (calls > 0).then(|| CallbackRuns { name: name.clone(), calls, time_ns })
        };
        self.callbacks.iter().filter_map(since).collect()
    }
}

impl LoadedScheduler {
    pub fn has_callback(&self, name: &str) -> bool {
        self.watch.callbacks.iter().any(|(own, _)| own == name)
    }

    /// Whether it looks at the sessions of tasks, which no callback tells.
    pub fn sees_sessions(&self) -> bool {
        self.watch.sees_sessions
    }

    /// Looks into the scheduler from now on.
    pub fn watch(&mut self) {
        self.watch.begin(&self.object);
    }

    /// What it did since then, and holds.
    pub fn inside(&self) -> Inside {
        self.watch.inside(&self.object)
    }

    /// The global variables that it can change, as `name = value`.
    pub fn variables(&self) -> Vec<String> {
        let mut found = Vec::new();
        let sections: BTreeSet<&str> = self.variables.iter().map(|one| &*one.section).collect();
        for name in sections {
            let Some(bytes) = knobs::section(&self.object, name) else { continue };
            for global in self.variables.iter().filter(|global| global.section == name) {
                let own = bytes.get(global.offset..global.offset + global.ty.size);
                found.extend(own.map(|own| format!("{} = {}", global.name, global.ty.whole(own))));
            }
        }
        found
    }
}

fn runs(object: &Object) -> BTreeMap<String, (u64, u64)> {
    let loaded = object.progs().filter(|program| program.autoload());
    let counted = loaded.filter_map(|program| {
        let runs = run_statistics(program.as_fd().as_raw_fd())?;
        Some((program.name().to_string_lossy().into_owned(), runs))
    });
    counted.collect()
}

/// In the ops table of an opened object, callbacks are pointers to libbpf's programs.
fn callbacks(open: &OpenObject, ops_members: &[Member]) -> Vec<(String, String)> {
    let place = |program: &libbpf_rs::OpenProgram| program.as_libbpf_object().as_ptr() as u64;
    let name = |program: &libbpf_rs::OpenProgram| program.name().to_string_lossy().into_owned();
    let programs: BTreeMap<u64, String> =
        open.progs().map(|program| (place(&program), name(&program))).collect();
    let table = open.maps().find(|map| map.map_type() == MapType::StructOps);
    let ops = table.as_ref().and_then(OpenMap::initial_value).unwrap_or_default();
    let callback = |member: &Member| {
        let bytes = ops.get(member.offset..member.offset + size_of::<u64>())?;
        let place = u64::from_le_bytes(bytes.try_into().ok()?);
        Some((member.name.clone(), programs.get(&place)?.clone()))
    };
    ops_members.iter().filter_map(callback).collect()
}

/// What a map holds. The error says why that is not told.
fn at_end(map: &Map, types: &Option<[ValueType; 2]>) -> Result<MapAtEnd, String> {
    let number = map.map_type() as u32;
    let kind = map_kind(number).ok_or(NOT_READ)?;
    if [TASK_STORAGE, GROUP_STORAGE].contains(&number) {
        return Err(format!("the kernel has no list of what is in a {kind}"));
    }
    let [key, value] = types.as_ref().ok_or(NO_TYPES)?;
    let keys: Vec<Vec<u8>> = map.keys().take(ENTRIES_MOST + 1).collect();
    if keys.len() > ENTRIES_MOST {
        return Err(TOO_MANY.into());
    }
    let entry = |own: Vec<u8>| {
        let values = if map.map_type().is_percpu() {
            map.lookup_percpu(&own, MapFlags::ANY).ok()??
        } else {
            vec![map.lookup(&own, MapFlags::ANY).ok()??]
        };
        Some((key.whole(&own), values))
    };
    let entries = keys.into_iter().filter_map(entry).collect();
    let (name, max_entries) = (map.name().to_string_lossy().into_owned(), map.max_entries().into());
    Ok(MapReading { name, kind, max_entries, value, entries }.at_end())
}
