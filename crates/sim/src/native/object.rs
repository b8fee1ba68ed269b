// SPDX-License-Identifier: GPL-2.0-only
//! Loading of native objects: each trial has its own copy of a scheduler's globals.
//!
//! A scheduler's programs on events of the kernel.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::c_void;

use compile::native::{Native, SymbolRange};
use model::knob::{INNER_MAPS, MAPS, OPS, PROGRAMS, START, VALUE, is_knob};
use model::{Call, Knob, KnobValue, Knobs, Start, ValueKind, ValueType, Words, refusal};

use super::abi::Export;
use super::callbacks::number;
use super::cell;
use super::elf::Image;
use super::scheduler::NativeScheduler;
use crate::core::Core;

/// A loaded object. Dropping it unloads the object.
pub struct Loaded {
    // The address below points into it.
    image: Image,
    export: *const Export,
}

impl Loaded {
    pub fn new(object: &[u8]) -> Result<Loaded, String> {
        let refused = |why| format!("the native object cannot be loaded: {why}");
        let image = Image::map(object).map_err(refused)?;
        cell::end_of_code()?;
        let export = image.symbol(object, "fairground_export");
        let export = export.ok_or("the native object has no symbol fairground_export")?;
        Ok(Loaded { image, export: export.cast() })
    }

    /// The object's table of callbacks, maps and imports.
    pub fn export(&self) -> &Export {
        // SAFETY: `new` checked the pointer; the memory lives as long as the object is loaded.
        unsafe { &*self.export }
    }

    pub fn at(&self, place: SymbolRange) -> *mut u8 {
        (self.image.range().0 + place.address) as *mut u8
    }

    /// The address range, which tells a crash of the scheduler from one of the simulator.
    pub fn range(&self) -> (u64, u64) {
        self.image.range()
    }

    /// Sets what user space sets: variables and members of the ops table in the object's memory;
    /// what is to be done later is returned.
    ///
    /// # Errors
    /// There is no such knob, it cannot have the value, or the machine is refused.
    pub fn set_knobs(&self, native: &Native, values: &Knobs, words: &Words) -> Result<Set, String> {
        refusal::check(values, words).map_err(|why| format!("{}: {why}", native.name))?;
        let places = self.places(native);
        let place = |name: &str| {
            let known = || {
                let variables = places.keys().filter(|known| !known.contains('.'));
                let known: Vec<&str> = variables.map(String::as_str).collect();
                let known = if known.is_empty() { "none".into() } else { known.join(", ") };
                format!("{} has no knob {name}; there are {known}", native.name)
            };
            places.get(name).ok_or_else(known)
        };
        let mut set = Set::default();
        // Whether a program runs, is asked elsewhere.
        let is_here = |name: &str| is_knob(name) && !name.starts_with(PROGRAMS);
        for (name, value) in values.iter().filter(|(name, _)| is_here(name)) {
            let (place, ty) = place(name)?;
            if let Some(map) = name.strip_prefix(MAPS) {
                let bytes = knob(name, ty, &[0; 4]).encode(value, words)?;
                let entries = bytes.try_into().map_or(0, u32::from_le_bytes);
                set.entries.insert(map.to_owned(), entries);
                continue;
            }
            if let Some(map) = name.strip_prefix(INNER_MAPS) {
                if knob(name, ty, &[0]).encode(value, words)? == [1] {
                    set.filled.insert(map.to_owned());
                }
                continue;
            }
            // SAFETY: the place is a variable of this size, or a part of one.
            let now = unsafe { std::slice::from_raw_parts(self.at(*place), ty.size) };
            let bytes = knob(name, ty, now).encode(value, words)?;
            self.write(*place, &bytes).map_err(|error| format!("{name} cannot be set: {error}"))?;
        }
        for start in Start::of(values)? {
            let name = start.knob();
            let (place, ty) = place(&name)?;
            let calls = start.calls(&knob(&name, ty, &vec![0; ty.size]), words)?;
            if start.is_value() {
                set.values.extend(calls);
            } else {
                set.calls.extend(calls.into_iter().map(|call| (place.address, call)));
            }
        }
        Ok(set)
    }

    /// Where what user space can set is, with its type. Maps have no place.
    fn places(&self, native: &Native) -> BTreeMap<String, (SymbolRange, ValueType)> {
        let facts = &native.facts;
        let variables = facts.variables.iter().map(|v| (v.name.clone(), (v.place, v.ty.clone())));
        let table = facts.ops.values().next().copied().unwrap_or_default();
        // A scheduler's own types may have the members elsewhere than the object.
        let offsets: BTreeMap<&str, u64> = self.export().ops_fields().collect();
        let members = facts.ops_members.iter().filter_map(|member| {
            let address = table.address + offsets.get(member.name.as_str())?;
            let place = SymbolRange { address, size: member.ty.size as u64 };
            Some((format!("{OPS}{}", member.name), (place, member.ty.clone())))
        });
        let entries = ValueType { name: "u32".into(), size: 4, kind: ValueKind::Unsigned };
        let maps = facts
            .maps
            .iter()
            .map(|map| (format!("{MAPS}{}", map.name), (map.place, entries.clone())));
        let is_filled = ValueType { name: "bool".into(), size: 1, kind: ValueKind::Bool };
        let outer = facts.maps.iter().filter(|map| map.inner.is_some());
        let outer =
            outer.map(|map| (format!("{INNER_MAPS}{}", map.name), (map.place, is_filled.clone())));
        let values = facts.maps.iter().filter_map(|map| {
            Some((format!("{VALUE}{}", map.name), (map.place, map.value.clone()?)))
        });
        let callables = facts.callables.iter();
        let callables = callables
            .map(|one| (format!("{START}{}", one.name), (one.place, one.argument.clone())));
        variables.chain(members).chain(maps).chain(outer).chain(values).chain(callables).collect()
    }

    /// Writes to a variable whose page may be read-only.
    fn write(&self, place: SymbolRange, bytes: &[u8]) -> std::io::Result<()> {
        let page = 4096u64;
        let first = self.at(place) as u64;
        let begin = first & !(page - 1);
        let length = first + place.size - begin;
        let writable = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: the pages are private to this object and contain no code (`-z separate-code`).
        if unsafe { libc::mprotect(begin as *mut c_void, length as usize, writable) } != 0 {
            return Err(std::io::Error::last_os_error());
        }
        // SAFETY: the variable has this size.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.at(place), bytes.len()) };
        Ok(())
    }
}

/// What user space asks for that is not in the object's memory.
#[derive(Default)]
pub struct Set {
    pub entries: BTreeMap<String, u32>,
    /// The maps of maps that user space fills.
    pub filled: BTreeSet<String>,
    /// Calls of programs of the type `syscall`, each with the address of the program's code
    /// relative to where the object is loaded.
    pub calls: Vec<(u64, Call)>,
    pub values: Vec<Call>,
}

/// A knob as messages about its values name it.
fn knob(name: &str, ty: &ValueType, now: &[u8]) -> Knob {
    Knob { name: name.into(), ty: ty.clone(), default: now.to_vec(), is_constant: false }
}

/// As many arguments as an event has at most.
const MOST: usize = 4;

/// A program with the event that calls it.
pub struct Program {
    event: String,
    code: Code,
}

/// It takes the arguments, each in a register.
type Plain = unsafe extern "C" fn(u64, u64, u64, u64) -> i32;
/// It takes a pointer to the arguments.
type OfContext = unsafe extern "C" fn(*mut u64) -> i32;

enum Code {
    Plain(Plain),
    OfContext(OfContext),
}

/// The programs of an object that events call, of those that user space loads.
pub fn programs(native: &Native, loaded: &Loaded, knobs: &Knobs) -> Vec<Program> {
    let program = |(place, tracer): &(_, compile::native::Tracer)| {
        let code: *const u8 = loaded.at(*place);
        // SAFETY: the place is the program's code, with the parameters that its type has.
        let code = unsafe {
            if tracer.plain {
                Code::Plain(std::mem::transmute::<*const u8, Plain>(code))
            } else {
                Code::OfContext(std::mem::transmute::<*const u8, OfContext>(code))
            }
        };
        Program { event: tracer.event.clone(), code }
    };
    let is_loaded = |(_, tracer): &&(_, compile::native::Tracer)| {
        let switch = knobs.get(&format!("{PROGRAMS}{}", tracer.name));
        switch.map_or(!tracer.is_optional, |switch| *switch == KnobValue::Bool(true))
    };
    native.facts.tracers.iter().filter(is_loaded).map(program).collect()
}

impl<const RACES: bool, const INSIDE: bool> NativeScheduler<RACES, INSIDE> {
    /// Calls the programs of an event.
    pub(super) fn event(&self, core: &mut Core, event: &str, mut arguments: [u64; MOST]) {
        for program in self.programs.iter().filter(|program| program.event == event) {
            self.call(core, const { number("an event") }, |_| {
                let [a, b, c, d] = arguments;
                // SAFETY: the program's code; it leaves what it is given alone, or writes to a
                // copy.
                unsafe {
                    match program.code {
                        Code::Plain(code) => code(a, b, c, d),
                        Code::OfContext(code) => code(arguments.as_mut_ptr()),
                    }
                }
            });
        }
    }
}
