// SPDX-License-Identifier: GPL-2.0-only
//! What a BPF object shares with user space, as Rust: the object's BTF describes its structures and
//! enumerations, so that the two sides cannot differ.

use std::fmt::Write;

use libbpf_rs::btf::types::{Array, Enum, Int, IntEncoding, Struct};
use libbpf_rs::btf::{Btf, BtfKind, BtfType, HasSize};

use crate::Result;

/// The longest array that has a default value in Rust.
const DEFAULT_LENGTH_MAX: usize = 32;

/// The structures and enumerations whose names begin with `prefix`.
pub fn shared_types(object: &[u8], prefix: &str) -> Result<String> {
    let btf = Btf::from_raw("object", object)?.ok_or("the object has no BTF")?;
    let mut items = Vec::new();
    for found in btf.type_by_kind::<Struct>() {
        let name = text(found.name());
        if name.starts_with(prefix) {
            items.push(structure(&btf, &name, &found)?);
        }
    }
    for found in btf.type_by_kind::<Enum>() {
        let name = text(found.name());
        if name.starts_with(prefix) {
            items.push(constants(&name, &found)?);
        }
    }
    // Their order in an object depends on clang's memory.
    items.sort();
    Ok(items.concat())
}

fn structure(btf: &Btf, name: &str, found: &Struct) -> Result<String> {
    let (mut members, mut has_default) = (String::new(), true);
    for member in found.iter() {
        let ty = btf.type_by_id::<BtfType>(member.ty).ok_or("a member without a type")?;
        if let Ok(array) = Array::try_from(ty.skip_mods_and_typedefs()) {
            has_default &= array.capacity() <= DEFAULT_LENGTH_MAX;
        }
        writeln!(members, "    pub {}: {},", text(member.name), rust_type(ty)?)?;
    }
    let default = if has_default { ", Default" } else { "" };
    let (name, size) = (camel_case(name), found.size());
    Ok(format!(
        "#[repr(C)]\n#[derive(Clone, Copy, Debug, PartialEq{default})]\n\
         pub struct {name} {{\n{members}}}\n\
         const _: () = assert!(size_of::<{name}>() == {size});\n"
    ))
}

fn rust_type(ty: BtfType) -> Result<String> {
    let ty = ty.skip_mods_and_typedefs();
    Ok(match ty.kind() {
        BtfKind::Int => {
            let int = Int::try_from(ty).map_err(|_| "a number without a description")?;
            let is_signed =
                matches!(int.encoding, IntEncoding::Signed) && text(ty.name()) != "char";
            format!("{}{}", if is_signed { "i" } else { "u" }, int.bits)
        }
        BtfKind::Enum => "u32".into(),
        BtfKind::Struct => camel_case(&text(ty.name())),
        BtfKind::Array => {
            let array = Array::try_from(ty).map_err(|_| "an array without a description")?;
            format!("[{}; {}]", rust_type(array.contained_type())?, array.capacity())
        }
        other => return Err(format!("user space shares no {other:?}").into()),
    })
}

/// A module named after the enumeration. C's constants share a prefix, because C has no modules.
fn constants(name: &str, found: &Enum) -> Result<String> {
    let members: Vec<(String, i64)> =
        found.iter().map(|member| (text(member.name), member.value)).collect();
    let first = members.first().map_or("", |(name, _)| name);
    let prefix = first.find('_').map_or("", |end| &first[..=end]);
    let is_shared = members.iter().all(|(name, _)| name.starts_with(prefix));
    let mut module = format!("pub mod {name} {{\n");
    for (name, value) in &members {
        let name = if is_shared { &name[prefix.len()..] } else { name };
        writeln!(module, "    pub const {name}: u32 = {value};")?;
    }
    module.push_str("}\n");
    Ok(module)
}

fn camel_case(name: &str) -> String {
    let words = name.split('_').filter_map(|word| word.split_at_checked(1));
    words.map(|(first, rest)| first.to_uppercase() + rest).collect()
}

fn text(name: Option<&std::ffi::OsStr>) -> String {
    name.map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}
