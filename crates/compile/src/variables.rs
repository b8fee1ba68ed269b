// SPDX-License-Identifier: GPL-2.0-only
//! The global variables of a BPF object, members of its ops table and arguments of its programs,
//! with their types, as its BTF describes them.

use std::ffi::OsStr;

use libbpf_rs::btf::types::{
    Array, Composite, CompositeMember, DataSec, Enum, Enum64, Func, FuncProto, Int, IntEncoding,
    MemberAttr, Struct, Var,
};
use libbpf_rs::btf::{Btf, BtfKind, BtfType, HasSize, TypeId};
use libbpf_rs::{AsRawLibbpf, MapType, OpenMap, libbpf_sys};
use model::{Member, ValueKind, ValueType};

use crate::native::interface::OPS_FLAGS;

/// Structures in structures; deeper ones are opaque.
const DEEPEST: u32 = 8;

/// A global variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Global {
    /// The section, which is also the end of its map's name: `.rodata`.
    pub section: String,
    pub name: String,
    /// Its offset in the section, bytes.
    pub offset: usize,
    pub ty: ValueType,
    /// The compiler may have put the values of others into the code.
    pub is_volatile: bool,
}

impl Global {
    /// Whether a file can set it: the variables of the ecosystem's headers are the loader's.
    pub fn is_knob(&self) -> bool {
        let is_headers =
            ["__SCX_", "__scx_", "___", "bpf_"].iter().any(|of| self.name.starts_with(of))
                || self.name.starts_with("scx_lib_")
                || self.name.starts_with("bpf_arena_")
                || self.name.ends_with("_dump_len")
                || self.ty.name == "struct user_exit_info"
                || self.section.ends_with("_dump");
        let of = |kind: &&str| {
            let rest = self.section.strip_prefix(*kind);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        let is_data = [".rodata", ".data", ".bss"].iter().any(of);
        let is_settable = self.is_volatile || !self.section.starts_with(".rodata");
        is_data && is_settable && !is_headers && self.ty.kind != ValueKind::Opaque
    }

    /// Whether user space gives it an element for each CPU: `RESIZABLE_ARRAY` of the headers, an
    /// array of one element in a section of its own.
    pub fn is_resizable(&self) -> bool {
        let kind = self.section.strip_suffix(&self.name);
        kind.is_some_and(|kind| [".rodata.", ".data.", ".bss."].contains(&kind))
            && matches!(self.ty.kind, ValueKind::List { length: 1, .. })
    }

    /// Gives an array another number of elements.
    pub fn resize(&mut self, elements: usize) {
        if let ValueKind::List { of, length } = &mut self.ty.kind {
            *length = elements;
            self.ty.size = of.size * elements;
            self.ty.name = format!("{}[{elements}]", of.name);
        }
    }
}

/// All global variables.
pub fn globals(btf: &Btf) -> Vec<Global> {
    let mut found = Vec::new();
    for section in btf.type_by_kind::<DataSec>() {
        let name = text(section.name());
        for place in section.iter() {
            let Some(variable) = btf.type_by_id::<Var>(place.ty) else { continue };
            let Some(ty) = variable.next_type() else { continue };
            found.push(Global {
                section: name.clone(),
                name: text(variable.name()),
                offset: place.offset as usize,
                ty: ValueType { size: place.size, ..value_type(btf, &ty, DEEPEST) },
                is_volatile: is_volatile(ty),
            });
        }
    }
    found
}

/// In an array, each element has the qualifiers.
fn is_volatile(ty: BtfType) -> bool {
    let next = match ty.kind() {
        BtfKind::Volatile => return true,
        BtfKind::Array => Array::try_from(ty).ok().map(|array| array.contained_type()),
        _ if ty.is_mod() || ty.kind() == BtfKind::Typedef => ty.next_type(),
        _ => None,
    };
    next.is_some_and(is_volatile)
}

/// The members of `struct sched_ext_ops`; that of the flags knows their names.
pub fn ops_members(btf: &Btf) -> Vec<Member> {
    let found = btf.type_by_name::<Composite>("sched_ext_ops");
    let mut members = found.map(|found| members(btf, &found, DEEPEST)).unwrap_or_default();
    let flags = members.iter_mut().find(|member| member.name == "flags");
    if let Some(flags) = flags {
        let names = OPS_FLAGS.iter().map(|flag| (flag.0.to_owned(), flag.1 as i64)).collect();
        flags.ty.kind = ValueKind::Named { is_signed: false, names };
    }
    members
}

/// The value of an array (`BPF_MAP_TYPE_ARRAY`, `BPF_MAP_TYPE_PERCPU_ARRAY`) that the file defines;
/// `None` for other maps.
pub fn array_value(btf: &Btf, map: &OpenMap) -> Option<ValueType> {
    let is_array = matches!(map.map_type(), MapType::Array | MapType::PercpuArray);
    map_types(btf, map).filter(|_| is_array).map(|[_, value]| value)
}

/// The types of a map's keys and values, if the file defines it and names them.
pub fn map_types(btf: &Btf, map: &OpenMap) -> Option<[ValueType; 2]> {
    let is_own = !map.name().to_string_lossy().contains('.');
    let map = map.as_libbpf_object().as_ptr();
    // SAFETY: the map's object is open.
    let ids = unsafe {
        [libbpf_sys::bpf_map__btf_key_type_id(map), libbpf_sys::bpf_map__btf_value_type_id(map)]
    };
    let described = |id: u32| {
        let ty = btf.type_by_id::<BtfType>(TypeId::from(id)).filter(|_| is_own && id != 0)?;
        Some(value_type(btf, &ty, DEEPEST))
    };
    Some([described(ids[0])?, described(ids[1])?])
}

/// How the file describes the maps that a map of maps holds; `None` for other maps, and once the
/// object is loaded.
pub fn inner<'map>(map: &'map OpenMap) -> Option<OpenMap<'map>> {
    // SAFETY: the map's object is open, and the inner map lives as long as the outer one.
    unsafe { libbpf_sys::bpf_map__inner_map(map.as_libbpf_object().as_ptr()).as_ref() }
        .map(OpenMap::new)
}

/// What a program of the type `syscall` takes: a structure, or nothing.
pub fn argument(btf: &Btf, program: &str) -> ValueType {
    let nothing = ValueType { name: "nothing".into(), size: 0, kind: ValueKind::Members(vec![]) };
    let taken = || {
        let function = btf.type_by_name::<Func>(program)?;
        let prototype = FuncProto::try_from(function.next_type()?).ok()?;
        let first = btf.type_by_id::<BtfType>(prototype.iter().next()?.ty)?;
        let pointer = first.skip_mods_and_typedefs();
        let taken = value_type(btf, &pointer.next_type()?, DEEPEST);
        (pointer.kind() == BtfKind::Ptr && matches!(taken.kind, ValueKind::Members(_)))
            .then_some(taken)
    };
    taken().unwrap_or(nothing)
}

fn value_type(btf: &Btf, ty: &BtfType, depth: u32) -> ValueType {
    let bare = ty.skip_mods_and_typedefs();
    let name = type_name(ty);
    let simple = |size: usize, kind| ValueType { name: name.clone(), size, kind };
    match bare.kind() {
        BtfKind::Int => Int::try_from(bare).map_or(simple(0, ValueKind::Opaque), |int| {
            let kind = match int.encoding {
                IntEncoding::Bool => ValueKind::Bool,
                IntEncoding::Signed => ValueKind::Signed,
                _ => ValueKind::Unsigned,
            };
            simple(int.size(), kind)
        }),
        BtfKind::Enum => Enum::try_from(bare).map_or(simple(0, ValueKind::Opaque), |found| {
            let names = found.iter().map(|one| (text(one.name), one.value));
            let kind = ValueKind::Named { is_signed: found.is_signed(), names: names.collect() };
            simple(found.size(), kind)
        }),
        BtfKind::Enum64 => Enum64::try_from(bare).map_or(simple(0, ValueKind::Opaque), |found| {
            let names = found.iter().map(|one| (text(one.name), one.value as i64));
            let kind = ValueKind::Named { is_signed: found.is_signed(), names: names.collect() };
            simple(found.size(), kind)
        }),
        BtfKind::Ptr => simple(8, ValueKind::Opaque),
        BtfKind::Array => array(btf, bare, depth).unwrap_or(simple(0, ValueKind::Opaque)),
        BtfKind::Struct | BtfKind::Union if depth > 0 => Composite::try_from(bare)
            .map_or(simple(0, ValueKind::Opaque), |found| {
                simple(found.size(), ValueKind::Members(members(btf, &found, depth - 1)))
            }),
        _ => simple(0, ValueKind::Opaque),
    }
}

fn array(btf: &Btf, ty: BtfType, depth: u32) -> Option<ValueType> {
    let array = Array::try_from(ty).ok()?;
    let of = value_type(btf, &array.contained_type(), depth);
    let length = array.capacity();
    let size = of.size * length;
    let is_text = of.size == 1 && of.name == "char";
    let name = format!("{}[{length}]", of.name);
    let kind = if is_text { ValueKind::Text } else { ValueKind::List { of: Box::new(of), length } };
    Some(ValueType { name, size, kind })
}

fn members(btf: &Btf, found: &Composite, depth: u32) -> Vec<Member> {
    found.iter().filter_map(|one| member(btf, &one, depth)).collect()
}

/// `None` for a bit field: it has no bytes of its own.
fn member(btf: &Btf, one: &CompositeMember, depth: u32) -> Option<Member> {
    let MemberAttr::Normal { offset } = one.attr else { return None };
    let ty = value_type(btf, &btf.type_by_id(one.ty)?, depth);
    Some(Member { name: text(one.name), offset: offset as usize / 8, ty })
}

/// The name as the source has it: the first named type below `const` and `volatile`.
fn type_name(ty: &BtfType) -> String {
    let mut ty = *ty;
    while ty.is_mod() {
        match ty.next_type() {
            Some(next) => ty = next,
            None => break,
        }
    }
    let name = text(ty.name());
    match ty.kind() {
        BtfKind::Struct => format!("struct {name}"),
        BtfKind::Union => format!("union {name}"),
        BtfKind::Enum | BtfKind::Enum64 => format!("enum {name}"),
        _ => name,
    }
}

fn text(name: Option<&OsStr>) -> String {
    name.map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}
/// Whether the code reads a member of `struct autogroup`, or of a form of it: types that are only
/// pointed to have no members in a BPF object.
pub fn sees_sessions(btf: &Btf) -> bool {
    let structures = (1..btf.len()).filter_map(|id| btf.type_by_id::<Struct>((id as u32).into()));
    let mut names = structures.filter_map(|structure| structure.name());
    names
        .any(|name| name.to_str().is_some_and(|name| name.split("___").next() == Some("autogroup")))
}
