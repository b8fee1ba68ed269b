// SPDX-License-Identifier: GPL-2.0-only
//! What user space sets in an object that is not loaded yet, and the calls that it makes before the
//! scheduler is enabled.
//!
//! The global variables of an object, before and after it is loaded.

use std::ffi::OsStr;

use compile::variables::{self, Global};
use libbpf_rs::btf::Btf;
use libbpf_rs::{
    MapCore, MapFlags, MapType, Object, OpenMap, OpenObject, ProgramInput, ProgramType,
};
use model::knob::{INNER_MAPS, MAPS, OPS, PROGRAMS, START, VALUE, is_knob};
use model::{Call, Knob, Knobs, Member, Start, ValueKind, ValueType, When, Words, refusal};
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;

use super::inner_maps::Filling;
use super::{LoadError, Open, Ops};
use crate::facts;

/// All knobs: constants in the order of the source, other variables, members of the ops table,
/// maps, maps of maps, values of arrays, programs that events call, and those that user space
/// calls.
pub fn knobs(object: &OpenObject, btf: &Btf, globals: &[Global], members: &[Member]) -> Vec<Knob> {
    let mut settable: Vec<&Global> = globals.iter().filter(|global| global.is_knob()).collect();
    settable.sort_by_key(|global| (global.section != ".rodata", &global.section, global.offset));
    let mut found: Vec<Knob> =
        settable.into_iter().filter_map(|global| of_global(object, global)).collect();
    let ops = object.maps().find(|map| map.map_type() == MapType::StructOps);
    let ops = ops.as_ref().and_then(OpenMap::initial_value).unwrap_or_default();
    found.extend(members.iter().filter_map(|member| of_member(member, ops)));
    found.extend(object.maps().filter_map(|map| of_map(&map)));
    let outer = object.maps().filter(|map| variables::inner(map).is_some());
    found.extend(outer.map(|map| of_choice(INNER_MAPS, map.name(), false)));
    found.extend(object.maps().filter_map(|map| of_value(btf, &map)));
    let called = [ProgramType::StructOps, ProgramType::Syscall];
    let traced = object.progs().filter(|program| !called.contains(&program.prog_type()));
    found.extend(traced.map(|program| of_choice(PROGRAMS, program.name(), program.autoload())));
    let callable = object.progs().filter(|program| program.section() == "syscall");
    found.extend(callable.map(|program| of_program(btf, &program.name().to_string_lossy())));
    found
}

fn of_global(object: &OpenObject, global: &Global) -> Option<Knob> {
    let map =
        object.maps().find(|map| is_section(&map.name().to_string_lossy(), &global.section))?;
    let bytes = map.initial_value()?.get(global.offset..global.offset + global.ty.size)?;
    Some(Knob {
        name: global.name.clone(),
        ty: global.ty.clone(),
        default: bytes.to_vec(),
        is_constant: global.section.starts_with(".rodata"),
    })
}

fn of_member(member: &Member, ops: &[u8]) -> Option<Knob> {
    let bytes = ops.get(member.offset..member.offset + member.ty.size)?;
    (member.ty.kind != ValueKind::Opaque).then(|| Knob {
        name: format!("{OPS}{}", member.name),
        ty: member.ty.clone(),
        default: bytes.to_vec(),
        is_constant: false,
    })
}

/// The number of entries of a map that the file defines.
fn of_map(map: &OpenMap) -> Option<Knob> {
    let name = map.name().to_string_lossy().into_owned();
    let is_own = map.map_type() != MapType::StructOps && !name.contains('.');
    is_own.then(|| Knob {
        name: format!("{MAPS}{name}"),
        ty: ValueType { name: "u32".into(), size: 4, kind: ValueKind::Unsigned },
        default: map.max_entries().to_le_bytes().to_vec(),
        is_constant: false,
    })
}

fn of_value(btf: &Btf, map: &OpenMap) -> Option<Knob> {
    let ty = variables::array_value(btf, map)?;
    let (name, default) = (format!("{VALUE}{}", map.name().to_string_lossy()), vec![0; ty.size]);
    Some(Knob { name, ty, default, is_constant: false })
}

/// Whether a map of maps is filled, or a program is loaded.
fn of_choice(kind: &str, name: &OsStr, default: bool) -> Knob {
    Knob {
        name: format!("{kind}{}", name.to_string_lossy()),
        ty: ValueType { name: "bool".into(), size: 1, kind: ValueKind::Bool },
        default: vec![u8::from(default)],
        is_constant: false,
    }
}

fn of_program(btf: &Btf, name: &str) -> Knob {
    let ty = variables::argument(btf, name);
    let default = vec![0; ty.size];
    Knob { name: format!("{START}{name}"), ty, default, is_constant: false }
}

impl Open {
    /// Sets knobs, and notes the calls at the start.
    pub(super) fn set_knobs(&mut self, values: &Knobs) -> Result<(), LoadError> {
        let words = Words { cpus: facts::cpu_facts(), ..Words::default() };
        refusal::check(values, &words).map_err(super::unsupported)?;
        self.resize_arrays(words.cpus.cpus() as usize)?;
        for (name, value) in values.iter().filter(|(name, _)| is_knob(name)) {
            let bytes = self.knob(name)?.encode(value, &words)?;
            self.set(name, &bytes)?;
        }
        for start in Start::of(values)? {
            let knob = self.knob(&start.knob())?;
            let calls = start.calls(knob, &words)?;
            self.calls.extend(calls);
        }
        Ok(())
    }

    /// Gives the arrays that user space resizes this number of elements; new ones are 0.
    pub(super) fn resize_arrays(&mut self, elements: usize) -> Result<(), String> {
        for global in self.variables.iter_mut().filter(|global| global.is_resizable()) {
            global.resize(elements);
            let mut maps = self.object.maps_mut();
            if let Some(mut map) = maps.find(|map| map.name() == global.section.as_str()) {
                map.set_value_size(global.ty.size as u32)
                    .map_err(|error| format!("{}: {error}", global.name))?;
            }
            if let Some(knob) = self.knobs.iter_mut().find(|knob| knob.name == global.name) {
                knob.ty = global.ty.clone();
                knob.default.resize(knob.ty.size, 0);
            }
        }
        Ok(())
    }

    fn set(&mut self, name: &str, bytes: &[u8]) -> Result<(), LoadError> {
        if let Some(map) = name.strip_prefix(MAPS) {
            let entries = bytes.try_into().map_or(0, u32::from_le_bytes);
            let mut maps = self.object.maps_mut();
            let found = maps.find(|found| found.name() == map);
            let set = found.map(|mut map| map.set_max_entries(entries));
            return Ok(set
                .transpose()
                .map(drop)
                .map_err(|e| format!("{name} = {entries}: {e}"))?);
        }
        if let Some(name) = name.strip_prefix(INNER_MAPS) {
            let maps = self.object.maps().filter(|map| bytes == [1] && map.name() == name);
            self.fillings.extend(maps.filter_map(|map| Filling::of(&map)));
            return Ok(());
        }
        if let Some(name) = name.strip_prefix(PROGRAMS) {
            let mut programs = self.object.progs_mut();
            if let Some(mut program) = programs.find(|program| program.name() == name) {
                program.set_autoload(bytes == [1]);
            }
            return Ok(());
        }
        if let Some(member) = name.strip_prefix(OPS) {
            let maps = self.object.maps_mut();
            for map in maps.filter(|map| map.map_type() == MapType::StructOps) {
                let mut ops = Ops { map, members: &self.ops_members };
                ops.member(member).into_iter().for_each(|place| place.copy_from_slice(bytes));
            }
            return Ok(());
        }
        let is_it = |variable: &&Global| variable.name == name && variable.is_knob();
        if let Some(variable) = self.variables.iter().find(is_it).cloned() {
            write(&mut self.object, &variable, bytes);
        }
        Ok(())
    }

    fn knob(&self, name: &str) -> Result<&Knob, String> {
        let known = || {
            let known: Vec<String> = self.knobs.iter().map(Knob::to_string).collect();
            let known = if known.is_empty() { "none".into() } else { known.join(", ") };
            format!("there is no knob {name}; the knobs and their defaults: {known}")
        };
        self.knobs.iter().find(|knob| knob.name == name).ok_or_else(known)
    }
}

/// Makes user space's calls of programs that are due.
pub(super) fn make(calls: &[Call], when: When, object: &Object) -> Result<(), String> {
    calls.iter().filter(|call| call.when == when).try_for_each(|call| make_one(call, object))
}

fn make_one(call: &Call, object: &Object) -> Result<(), String> {
    let name = &call.program;
    if let Some(key) = call.key {
        return write_value(call, key, object).map_err(|why| format!("the map {name}: {why}"));
    }
    let found = object.progs_mut().find(|program| program.name() == name.as_str());
    let program = found.ok_or_else(|| format!("there is no program {name}"))?;
    let mut argument = call.argument.clone();
    let context_in = (!argument.is_empty()).then_some(argument.as_mut_slice());
    let input = ProgramInput { context_in, ..ProgramInput::default() };
    let output = match call.on {
        Some(cpu) => {
            on_cpu(cpu, || program.test_run(input)).map_err(|why| format!("{name}: {why}"))?
        }
        None => program.test_run(input),
    };
    let output = output.map_err(|error| format!("{name}() cannot be called: {error}"))?;
    match output.return_value as i32 {
        0 => Ok(()),
        _ if call.may_fail => Ok(()),
        result => Err(format!("{name}() returns {result}")),
    }
}

/// Writes a value of an array, for one CPU or for all.
fn write_value(call: &Call, key: u32, object: &Object) -> Result<(), String> {
    let map = object.maps().find(|map| map.name() == call.program.as_str());
    let map = map.ok_or("there is none")?;
    let (key, fault) = (key.to_ne_bytes(), |error: libbpf_rs::Error| error.to_string());
    if map.map_type() != MapType::PercpuArray {
        return map.update(&key, &call.argument, MapFlags::ANY).map_err(fault);
    }
    let values = map.lookup_percpu(&key, MapFlags::ANY).map_err(fault)?;
    let mut values = values.ok_or("it has no such key")?;
    let place = |cpu: u32| values.len().min(cpu as usize);
    let of = call.on.map_or(0..values.len(), |cpu| place(cpu)..place(cpu + 1));
    values[of].fill(call.argument.clone());
    map.update_percpu(&key, &values, MapFlags::ANY).map_err(fault)
}

fn on_cpu<Done>(cpu: u32, work: impl FnOnce() -> Done) -> Result<Done, String> {
    let this = Pid::from_raw(0);
    let fault = |error| format!("CPU {cpu} cannot be had: {error}");
    let before = sched_getaffinity(this).map_err(fault)?;
    let mut only = CpuSet::new();
    only.set(cpu as usize).map_err(fault)?;
    sched_setaffinity(this, &only).map_err(fault)?;
    let done = work();
    sched_setaffinity(this, &before).map_err(fault)?;
    Ok(done)
}

/// libbpf puts the object's name before the common sections' names.
pub fn is_section(map: &str, section: &str) -> bool {
    map == section || (map.ends_with(section) && section.matches('.').count() == 1)
}

/// The bytes of a section's map, once the object is loaded.
pub fn section(object: &Object, name: &str) -> Option<Vec<u8>> {
    let map = object.maps().find(|map| is_section(&map.name().to_string_lossy(), name))?;
    map.lookup(&0_u32.to_ne_bytes(), MapFlags::ANY).ok()?
}

/// Overwrites a variable's initial value in an object that is not loaded yet.
pub fn write(object: &mut OpenObject, variable: &Global, bytes: &[u8]) {
    let place = variable.offset..variable.offset + bytes.len();
    let mut maps = object.maps_mut();
    let map = maps.find(|map| is_section(&map.name().to_string_lossy(), &variable.section));
    if let Some(mut map) = map
        && let Some(place) = map.initial_value_mut().and_then(|value| value.get_mut(place))
    {
        place.copy_from_slice(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_are_told_apart() {
        assert!(is_section("fifo.data", ".data"));
        assert!(is_section(".data.uei_dump", ".data.uei_dump"));
        assert!(!is_section(".data.uei_dump", ".data"));
        assert!(!is_section("fifo.bss", ".data"));
    }
}
