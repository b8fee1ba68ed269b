// SPDX-License-Identifier: GPL-2.0-only
//! Facts that the simulator needs about a native object: addresses (from its symbols) and types
//! (from the BTF of the BPF object of the same source).

use std::collections::BTreeMap;

use libbpf_rs::btf::Btf;
use libbpf_rs::btf::types::{MemberAttr, Struct, Var};
use libbpf_rs::{AsRawLibbpf, ObjectBuilder, OpenMap, OpenObject};
use model::knob::PROGRAMS;
use model::{KnobValue, Knobs, Member, ValueType};
use object::{Object, ObjectSection, ObjectSymbol};
use serde::{Deserialize, Serialize};

use super::interface::{KFUNCS, Support};
use super::null_reads;
use super::programs::{self, Tracer};
use super::special;
use crate::clang;
use crate::variables::{self, Global};

/// An address in the object, and a size, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SymbolRange {
    /// Relative to where the object is loaded.
    pub address: u64,
    /// 0 where it is unknown.
    pub size: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Map {
    pub name: String,
    /// Where the variable is.
    pub place: SymbolRange,
    /// `BPF_MAP_TYPE_*`.
    pub kind: u32,
    pub key_size: u32,
    pub value_size: u32,
    /// Entries; for ring buffers bytes.
    pub max_entries: u32,
    /// `BPF_F_*`.
    pub flags: u32,
    /// `map_extra`: of a bloom filter, the number of hash functions.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub extra: u64,
    /// A map of maps: where its variable has the addresses of the inner maps' variables, bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inner_at: Option<u32>,
    /// What it holds, as the file describes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inner: Option<Box<Map>>,
    /// Offsets and sizes of what an update of a value never copies: pointers to objects, timers,
    /// locks, lists and trees. Bytes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub special: Vec<(u32, u32)>,
    /// The type of an array's values, which user space can write.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<ValueType>,
    /// The types of keys and values of any map, for those who look into it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub types: Option<[ValueType; 2]>,
}

/// A global variable that user space can set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Variable {
    pub name: String,
    pub place: SymbolRange,
    pub ty: ValueType,
    /// The scheduler itself cannot change it (`.rodata`).
    #[serde(default)]
    pub is_constant: bool,
}

/// A program of the type `syscall`: user space calls it, with one structure or without any.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Callable {
    pub name: String,
    /// Where its code is.
    pub place: SymbolRange,
    pub argument: ValueType,
}

/// What the loader needs to know about a native object.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Facts {
    /// The `struct sched_ext_ops` variables, by name.
    pub ops: BTreeMap<String, SymbolRange>,
    pub maps: Vec<Map>,
    /// The globals that user space can set.
    pub variables: Vec<Variable>,
    /// The programs that events call, with their places.
    #[serde(default)]
    pub tracers: Vec<(SymbolRange, Tracer)>,
    /// The programs that the simulator leaves out, as `name (section)`.
    #[serde(default)]
    pub left_out: Vec<String>,
    /// The members of `struct sched_ext_ops` that user space can set.
    pub ops_members: Vec<Member>,
    pub callables: Vec<Callable>,
    /// The kfuncs without effect that it calls, and those of older kernels.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<String>,
    /// Whether it looks at the sessions of tasks, which no callback tells.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sees_sessions: bool,
    /// The lines that may read through a null pointer, see [`null_reads`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub null_reads: Vec<null_reads::Line>,
    /// An instruction whose result depends on the host, see [`host_instruction`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_instruction: Option<HostInstruction>,
}

impl Facts {
    /// The map through which a scheduler's user space, which the simulator lacks, decides.
    pub fn decided_elsewhere(&self) -> Option<&str> {
        const USER_RINGBUF: u32 = 31;
        let map = self.maps.iter().find(|map| map.kind == USER_RINGBUF)?;
        Some(&map.name)
    }

    /// What to say of the programs that are left out, and of kfuncs that the newest kernel lacks.
    pub fn note(&self, knobs: &Knobs) -> Option<String> {
        let switch = |name: &str| knobs.get(&format!("{PROGRAMS}{name}"));
        let is_off = |one: &&String| {
            let name = one.split(' ').next().unwrap_or_default();
            switch(name) == Some(&KnobValue::Bool(false))
        };
        let mut left_out: Vec<&str> =
            self.left_out.iter().filter(|one| !is_off(one)).map(String::as_str).collect();
        let runs = |name: &str| self.tracers.iter().any(|(_, tracer)| tracer.name == name);
        left_out.extend(knobs.iter().filter_map(|(knob, value)| {
            let name = knob.strip_prefix(PROGRAMS)?;
            (*value == KnobValue::Bool(true) && !runs(name)).then_some(name)
        }));
        let left_out = (!left_out.is_empty()).then(|| {
            format!(
                "the simulator has no events for {}, and leaves them out; on a kernel they run",
                left_out.join(", ")
            )
        });
        let gone = KFUNCS.iter().filter(|(name, _)| self.calls.iter().any(|call| call == name));
        let gone = gone.filter_map(|(name, support)| match support {
            Support::Gone(instead) => Some(format!(
                "it calls {name}(), which Linux 7.3 has no more: that kernel refuses it (kfunc \
                 '{name}' is referenced but wasn't resolved); use {instead}, or ask with \
                 bpf_ksym_exists() first"
            )),
            _ => None,
        });
        let all: Vec<String> = left_out.into_iter().chain(gone).collect();
        (!all.is_empty()).then(|| all.join("; "))
    }
}

/// An instruction that makes a scheduler depend on the host, and that nothing can make a fault.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostInstruction {
    /// `rdrand`, `rdseed` or `rdpid`.
    pub name: String,
    /// Where it is, relative to where the object is loaded.
    pub address: u64,
}

/// The sections of tables of callbacks: attached by a link, and without one.
const TABLES: [&str; 2] = [".struct_ops.link", ".struct_ops"];

/// Reads the facts of a native object and its BPF twin.
pub fn facts(twin: &[u8], native: &[u8]) -> Result<Facts, String> {
    let symbols = symbols(native)?;
    let wrong = |error: libbpf_rs::Error| format!("libbpf cannot read the BPF object: {error}");
    let mut builder = ObjectBuilder::default();
    let (open, _) = clang::listening(|| builder.open_memory(twin));
    let open = open.map_err(wrong)?;
    // SAFETY: the object is open and outlives its BTF.
    let btf = Btf::from_bpf_object(unsafe { open.as_libbpf_object().as_ref() }).map_err(wrong)?;
    let btf = btf.ok_or("the BPF object has no BTF")?;
    let globals = variables::globals(&btf);
    let knobs = globals.iter().filter(|global| global.is_knob());
    let variable = |global: &Global| {
        let place: SymbolRange = *symbols.get(&global.name)?;
        let mut global = global.clone();
        if global.is_resizable() {
            // The native form of the headers has made room for all CPUs already.
            global.resize(place.size as usize / global.ty.size.max(1));
        }
        let is_constant = global.section.starts_with(".rodata");
        Some(Variable { place, name: global.name, ty: global.ty, is_constant })
    };
    let is_ops = |name: &&str| is_of_sched_ext(&btf, name);
    let tables = TABLES.iter().flat_map(|section| of_section(&globals, section)).filter(is_ops);
    let (tracers, left_out) = programs::besides_callbacks(&open, &btf);
    let found = Facts {
        ops: tables.filter_map(|name| Some((name.to_owned(), *symbols.get(name)?))).collect(),
        maps: maps(&open, &symbols, &btf),
        ops_members: variables::ops_members(&btf),
        callables: callables(&open, &btf, &symbols),
        variables: knobs.filter_map(variable).collect(),
        tracers: tracers
            .into_iter()
            .filter_map(|tracer| Some((*symbols.get(&tracer.name)?, tracer)))
            .collect(),
        left_out,
        calls: Vec::new(),
        sees_sessions: variables::sees_sessions(&btf),
        null_reads: null_reads::null_reads(twin),
        host_instruction: None,
    };
    if found.ops.is_empty() {
        return Err(no_table(&btf, &globals));
    }
    Ok(found)
}

/// Why an object has no table of callbacks.
fn no_table(btf: &Btf, globals: &[Global]) -> String {
    match globals.iter().find(|global| is_of_sched_ext(btf, &global.name)) {
        Some(Global { name, section, .. }) => format!(
            "{name} is in the section {section}, where libbpf looks for no table: write \
             SEC(\".struct_ops.link\"), as SCX_OPS_DEFINE does"
        ),
        None => "no struct sched_ext_ops: define one with SCX_OPS_DEFINE".into(),
    }
}

/// A variable in a section of code, which [`host_instruction`] would not be asked about.
pub fn data_in_code(native: &[u8]) -> Option<String> {
    let file = object::File::parse(native).ok()?;
    let is_code =
        |index| file.section_by_index(index).is_ok_and(|of| of.kind() == object::SectionKind::Text);
    let mut data = file.symbols().filter(|symbol| symbol.kind() == object::SymbolKind::Data);
    data.find(|symbol| symbol.section_index().is_some_and(is_code))?.name().ok().map(str::to_owned)
}

/// Looks for the processor's random numbers and its own number in an object's code: `0f c7` and a
/// register. The bytes may also be part of another instruction, so only an object is asked whose
/// listing makes it possible (`listing::may_ask_host`).
pub fn host_instruction(native: &[u8]) -> Option<HostInstruction> {
    let file = object::File::parse(native).ok()?;
    let code = file.sections().filter(|section| section.kind() == object::SectionKind::Text);
    code.filter_map(|section| Some((section.address(), section.data().ok()?))).find_map(
        |(address, bytes)| {
            let at = bytes.windows(3).position(|b| b[..2] == [0x0f, 0xc7] && b[2] >= 0xf0)?;
            let name = match (bytes[at + 2], at.checked_sub(1).map(|before| bytes[before])) {
                (0xf0..=0xf7, _) => "rdrand",
                (_, Some(0xf3)) => "rdpid",
                _ => "rdseed",
            };
            Some(HostInstruction { name: name.into(), address: address + at as u64 })
        },
    )
}

fn symbols(native: &[u8]) -> Result<BTreeMap<String, SymbolRange>, String> {
    let file = object::File::parse(native).map_err(|error| format!("no ELF object: {error}"))?;
    let described = |symbol: object::Symbol| {
        let place = SymbolRange { address: symbol.address(), size: symbol.size() };
        Some((symbol.name().ok()?.to_owned(), place))
    };
    let kinds = [object::SymbolKind::Data, object::SymbolKind::Text];
    let known = file.symbols().filter(|symbol| kinds.contains(&symbol.kind()));
    Ok(known.filter_map(described).collect())
}

fn maps(open: &OpenObject, symbols: &BTreeMap<String, SymbolRange>, btf: &Btf) -> Vec<Map> {
    let place = |map: &OpenMap| symbols.get(&*map.name().to_string_lossy()).copied();
    let all = open.maps().filter_map(|map| Some(described(&map, place(&map)?, btf)));
    all.filter(|map| map.kind != STRUCT_OPS).collect()
}

fn described(map: &OpenMap, place: SymbolRange, btf: &Btf) -> Map {
    let name = map.name().to_string_lossy().into_owned();
    let inner = variables::inner(map);
    Map {
        place,
        kind: kind_of(map),
        key_size: map.key_size(),
        value_size: map.value_size(),
        max_entries: map.max_entries(),
        flags: map.map_flags(),
        extra: extra(map),
        inner_at: inner_at(btf, &name),
        inner: inner.map(|inner| Box::new(described(&inner, SymbolRange::default(), btf))),
        special: special::of_map(btf, map),
        value: variables::array_value(btf, map),
        types: variables::map_types(btf, map),
        name,
    }
}

/// The map's kind; libbpf-rs does not know all.
fn kind_of(map: &OpenMap) -> u32 {
    // SAFETY: the object is open.
    unsafe { libbpf_rs::libbpf_sys::bpf_map__type(map.as_libbpf_object().as_ptr()) }
}

fn extra(map: &OpenMap) -> u64 {
    // SAFETY: the object is open.
    unsafe { libbpf_rs::libbpf_sys::bpf_map__map_extra(map.as_libbpf_object().as_ptr()) }
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// The place of the member `values` of a map's variable, bytes.
fn inner_at(btf: &Btf, map: &str) -> Option<u32> {
    let variable = btf.type_by_name::<Var>(map)?;
    let definition = Struct::try_from(variable.next_type()?.skip_mods_and_typedefs()).ok()?;
    let values = definition.iter().find(|m| m.name.is_some_and(|name| name == "values"))?;
    match values.attr {
        MemberAttr::Normal { offset } => Some(offset / 8),
        MemberAttr::BitField { .. } => None,
    }
}

/// `BPF_MAP_TYPE_STRUCT_OPS`: how libbpf sees the table of callbacks.
const STRUCT_OPS: u32 = 26;

/// The names of the variables of a data section.
fn of_section<'a>(globals: &'a [Global], section: &str) -> impl Iterator<Item = &'a str> {
    globals.iter().filter(move |global| global.section == section).map(|found| found.name.as_str())
}

/// The programs that user space calls.
fn callables(
    open: &OpenObject,
    btf: &Btf,
    symbols: &BTreeMap<String, SymbolRange>,
) -> Vec<Callable> {
    let programs = open.progs().filter(|program| program.section() == "syscall");
    let callable = |program: libbpf_rs::OpenProgram| {
        let name = program.name().to_string_lossy().into_owned();
        let argument = variables::argument(btf, &name);
        Some(Callable { place: *symbols.get(&name)?, name, argument })
    };
    programs.filter_map(callable).collect()
}

/// Whether this variable is a `struct sched_ext_ops`: other subsystems have tables of their own.
fn is_of_sched_ext(btf: &Btf, variable: &str) -> bool {
    let variable = btf.type_by_name::<Var>(variable);
    let ty = variable.and_then(|variable| variable.next_type());
    let name = ty.and_then(|ty| ty.skip_mods_and_typedefs().name());
    name.is_some_and(|name| name == "sched_ext_ops" || name == "sched_ext_ops_cid")
}
