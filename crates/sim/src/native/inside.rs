// SPDX-License-Identifier: GPL-2.0-only
//! What a scheduler does and holds during a traced trial.

use compile::native::{Native, Variable};
use model::ValueType;
use model::inside::{
    CallbackRuns, ENTRIES_MOST, GROUP_STORAGE, Inside, MapAtEnd, MapReading, NO_TYPES, NOT_READ,
    Samples, TASK_STORAGE, TOO_MANY, map_kind,
};

use super::callbacks::CALLBACKS;
use super::maps::Map;
use super::scheduler::NativeScheduler;
use crate::core::{Core, TaskId};

/// Looks into a scheduler from the common start until the workload has ended.
#[derive(Default)]
pub struct Watch {
    /// Calls and time of each callback, by its number.
    runs: Vec<(u64, u64)>,
    /// The variables that the scheduler can change.
    variables: Vec<Variable>,
    /// Those that are sampled, in the order of a sample's bytes.
    sampled: Vec<Variable>,
    samples: Samples,
    /// The kind of each map, and the types of its keys and values.
    maps: Vec<(u32, Option<[ValueType; 2]>)>,
    /// What was found when the workload had ended.
    found: Option<Found>,
}

/// What a scheduler did and held, and its variables at the end, as `name = value`.
pub type Found = (Inside, Vec<String>);

impl Watch {
    pub fn new(native: &Native) -> Watch {
        let facts = &native.facts;
        let changing = facts.variables.iter().filter(|variable| !variable.is_constant);
        let variables: Vec<Variable> = changing.cloned().collect();
        let named = variables.iter().map(|variable| (variable.name.clone(), variable.ty.clone()));
        let samples = Samples::new(named);
        let sampled = |name| variables.iter().find(|variable| variable.name == name).cloned();
        Watch {
            runs: vec![(0, 0); CALLBACKS.len()],
            sampled: samples.names().filter_map(sampled).collect(),
            variables,
            maps: facts.maps.iter().map(|map| (map.kind, map.types.clone())).collect(),
            samples,
            found: None,
        }
    }

    fn looks(&self, core: &Core) -> bool {
        core.has_begun() && self.found.is_none()
    }

    /// What was found; nothing of a workload that never ended.
    pub fn take_found(&mut self) -> Found {
        self.found.take().unwrap_or_default()
    }

    fn callbacks(&self) -> Vec<CallbackRuns> {
        let named = CALLBACKS.iter().zip(&self.runs).filter(|(_, (calls, _))| *calls > 0);
        let runs = named.map(|(name, &(calls, time_ns))| CallbackRuns {
            name: (*name).into(),
            calls,
            time_ns,
        });
        runs.collect()
    }
}

impl<const RACES: bool, const INSIDE: bool> NativeScheduler<RACES, INSIDE> {
    /// Before a callback on this CPU: samples the variables if it is time, as no callback has
    /// changed them since it was. Returns the present time.
    #[cold]
    pub(super) fn look_before_call(&self, core: &Core, cpu: u32) -> u64 {
        let now_ns = core.machine.clock(cpu);
        let watch = &mut *self.watch.borrow_mut();
        let since_ns = core.recorder.since_start(now_ns);
        let is_due = watch.samples.next_ns().is_some_and(|due_ns| due_ns <= since_ns);
        if is_due && watch.looks(core) {
            watch.samples.take(since_ns, &self.row(&watch.sampled));
        }
        now_ns
    }

    /// A callback has returned, which began on this CPU at this time.
    #[cold]
    pub(super) fn count_call(&self, core: &Core, number: u32, (cpu, began_ns): (u32, u64)) {
        let watch = &mut *self.watch.borrow_mut();
        if watch.looks(core) {
            let (calls, time_ns) = &mut watch.runs[number as usize];
            *calls += 1;
            *time_ns += core.machine.costs.callback_ns + core.machine.clock(cpu) - began_ns;
        }
    }

    /// The workload has ended: what follows belongs to unloading.
    pub(super) fn look_at_end(&self, core: &Core) {
        let watch = &mut *self.watch.borrow_mut();
        if INSIDE && watch.found.is_none() {
            let mut inside = Inside { callbacks: watch.callbacks(), ..Inside::default() };
            watch.samples.tell(&self.row(&watch.sampled), &mut inside);
            // SAFETY: ours, and no callback runs.
            let maps = unsafe { &mut (*self.simulator).maps };
            for (map, (kind, types)) in maps.iter_mut().zip(&watch.maps) {
                match map_at_end(core, map, *kind, types.as_ref()) {
                    Ok(map) => inside.maps.push(map),
                    Err(why) => inside.missing.push(format!("the map {}: {why}", map.name)),
                }
            }
            let words = |variable: &Variable| {
                format!("{} = {}", variable.name, variable.ty.whole(self.bytes(variable)))
            };
            watch.found = Some((inside, watch.variables.iter().map(words).collect()));
        }
    }

    /// The bytes of variables, one after the other.
    fn row(&self, variables: &[Variable]) -> Vec<u8> {
        variables.iter().flat_map(|variable| self.bytes(variable)).copied().collect()
    }

    fn bytes(&self, variable: &Variable) -> &[u8] {
        // SAFETY: the place is a variable of this size, and no callback writes to it now.
        unsafe { std::slice::from_raw_parts(self.loaded.at(variable.place), variable.ty.size) }
    }
}

/// What a map holds. The error says why that is not told.
fn map_at_end(
    core: &Core,
    map: &mut Map,
    kind: u32,
    types: Option<&[ValueType; 2]>,
) -> Result<MapAtEnd, String> {
    let name = map_kind(kind).ok_or(NOT_READ)?;
    let [key, value] = types.ok_or(NO_TYPES)?;
    let size = value.size;
    // SAFETY: values have the size of their type.
    let bytes = |at: *mut u8| unsafe { std::slice::from_raw_parts(at, size) }.to_vec();
    let owned = map.owned().into_iter().map(|(owner, at)| (owner, vec![bytes(at)]));
    let mut entries: Vec<(String, Vec<Vec<u8>>)> = match kind {
        TASK_STORAGE => owned.map(|(of, own)| (core.pid(TaskId(of)).to_string(), own)).collect(),
        GROUP_STORAGE => owned.map(|(of, own)| (format!("group {of}"), own)).collect(),
        _ => {
            let first = map.entries(0).into_iter().take(ENTRIES_MOST + 1);
            first.map(|(own, at)| (key.whole(&own), vec![bytes(at)])).collect()
        }
    };
    if entries.len() > ENTRIES_MOST {
        return Err(TOO_MANY.into());
    }
    for cpu in 1..map.cpus() {
        let values = map.entries(cpu).into_iter().map(|(_, at)| bytes(at));
        entries.iter_mut().zip(values).for_each(|((_, of_cpus), value)| of_cpus.push(value));
    }
    let max_entries = map.max_entries().into();
    Ok(MapReading { name: map.name.clone(), kind: name, max_entries, value, entries }.at_end())
}
