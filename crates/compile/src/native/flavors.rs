// SPDX-License-Identifier: GPL-2.0-only
//! A scheduler's own forms of the kernel's types, as `struct task_struct___old`: libbpf takes what
//! stands before `___` for the type's name, finds each member in the kernel's structure by its
//! name, and lets `bpf_core_field_exists()` say whether it is there. For the simulator, members get
//! their places in the model.
//!
//! The preprocessor's output says where such a type is defined, and BTF what it has: that of the
//! scheduler's BPF object, and of two that have the kernel's types and the model's.

use std::ffi::OsStr;
use std::fmt::Write;
use std::ops::Range;
use std::path::{Path, PathBuf};

use libbpf_rs::btf::types::{Composite, Enum, Enum64, MemberAttr};
use libbpf_rs::btf::{Btf, BtfKind, BtfType, TypeId};

use super::make;
use crate::clang::{self, Call, Text, absolute};
use crate::complaint::Complaint;
use crate::scan::is_of_word;
use crate::texts;

/// What nothing else has, see `bpf_core_read.h`: the alignment of a member, and the value of an
/// enumerator, that the kernel has not.
const NO_MEMBER: u32 = 2048;
const NO_VALUE: i128 = 0xfa_1200_0000_000a;

/// Gives the types of these sources their places. Says which files were read for that.
pub fn place(
    clang: &Path,
    headers: &Path,
    units: &mut [Text],
    twin: &[u8],
) -> Result<Vec<PathBuf>, Complaint> {
    let scratch = clang::scratch()?;
    let (mut read, to) = (Vec::new(), scratch.path().join("object"));
    let gone = |error| Complaint::about_nothing(format!("the BPF object is gone: {error}"));
    std::fs::write(&to, twin).map_err(gone)?;
    let own = types(&to)?;
    let name = |ty: BtfType| ty.name().map(|name| name.to_string_lossy().into_owned());
    if !own.type_by_kind::<BtfType>().filter_map(name).any(|name| base(&name).is_some()) {
        return Ok(read);
    }
    for unit in units {
        let flags = [make::NATIVE_FLAGS, &["-Ufairground_type_size"]].concat();
        let call = Call { clang, headers, source: unit, flags: &flags, folders: make::FOLDERS };
        read.extend(call.output(&["-E"], &to)?.read);
        let text = std::fs::read_to_string(&to).unwrap_or_default();
        let found = definitions(&text, &absolute(headers));
        if !found.is_empty() {
            let known = |folder| types_of(clang, headers, folder, &found);
            unit.text = placed(&text, &found, [&own, &known(".")?, &known("native")?]);
        }
    }
    Ok(read)
}

fn types(object: &Path) -> Result<Btf<'static>, Complaint> {
    let wrong = |error| Complaint::about_nothing(format!("the types cannot be read: {error}"));
    Btf::from_path(object).map_err(wrong)
}

/// What a folder's `vmlinux.h` knows of these types.
fn types_of(
    clang: &Path,
    headers: &Path,
    folder: &str,
    found: &[Definition],
) -> Result<Btf<'static>, Complaint> {
    let mut text = "#include <vmlinux.h>\n".to_owned();
    for (number, one) in found.iter().enumerate() {
        let _ = writeln!(text, "int type{number}({} *x) {{ return 0; }}", one.of_kernel());
    }
    let scratch = clang::scratch()?;
    let source = Text::alone("types.c", Path::new("types.c"), scratch.path(), &text);
    let object = scratch.path().join("types.o");
    let flags = [clang::FLAGS, &["-Wno-everything"]].concat();
    Call { clang, headers, source: &source, flags: &flags, folders: &[folder] }.object(&object)?;
    types(&object)
}

/// What a flavor's name is without its last `___` and the rest, as libbpf sees it.
fn base(name: &str) -> Option<&str> {
    let is_flavor = |&(at, _): &(usize, &str)| {
        let is_end = |c: Option<&u8>| c.is_none_or(|c| *c == b'_');
        let bytes = name.as_bytes();
        at > 0 && !is_end(bytes.get(at - 1)) && !is_end(bytes.get(at + 3))
    };
    name.match_indices("___").filter(is_flavor).last().map(|(at, _)| &name[..at])
}

/// The definition of a flavor in a preprocessed text.
struct Definition<'a> {
    keyword: &'static str,
    name: &'a str,
    /// What the kernel calls it.
    base: &'a str,
    /// Where its body is, without the braces.
    body: Range<usize>,
}

impl Definition<'_> {
    fn of_kernel(&self) -> String {
        format!("{} {}", self.keyword, self.base)
    }
}

/// The flavors that a preprocessed text defines, besides those of the ecosystem's headers, which
/// the model does not need.
fn definitions<'a>(text: &'a str, headers: &Path) -> Vec<Definition<'a>> {
    let (mut found, mut at, mut is_own) = (Vec::new(), 0, true);
    for line in text.split_inclusive('\n') {
        if let Some(file) = line.strip_prefix("# ").and_then(|rest| rest.split('"').nth(1)) {
            is_own = !Path::new(file).starts_with(headers) && !texts::is_named_as_ecosystem(file);
        } else if is_own {
            let braces = line.match_indices('{').map(|(place, _)| at + place);
            found.extend(braces.filter_map(|brace| definition(text, brace)));
        }
        at += line.len();
    }
    found
}

/// The definition whose body begins with this brace.
fn definition(text: &str, brace: usize) -> Option<Definition<'_>> {
    let before = text[..brace].trim_end();
    let name = &before[before.rfind(|c| !is_of_word(c))? + 1..];
    let base = base(name)?;
    let mut words = before.rsplit([';', '{', '}']).next()?.rsplit(|c| !is_of_word(c));
    let is_keyword = |word| ["struct", "union", "enum"].into_iter().find(|one| *one == word);
    let keyword = words.find_map(is_keyword)?;
    let mut depth = 0_u32;
    let length = text[brace..].bytes().position(|byte| {
        depth = depth + u32::from(byte == b'{') - u32::from(byte == b'}');
        depth == 0
    })?;
    Some(Definition { keyword, name, base, body: brace + 1..brace + length })
}

/// The text with the places of the flavors, and with their sizes: each body is that of an inner
/// type, whose members then are placed. Each line stays where it is.
fn placed(text: &str, found: &[Definition], [own, kernel, model]: [&Btf; 3]) -> String {
    let (mut tags, mut sizes, mut edits) = (String::new(), String::new(), Vec::new());
    for one in found {
        let Definition { keyword, name, base, body } = one;
        let of = one.of_kernel();
        if *keyword == "enum" {
            let values = enumerators(own, model, name, base);
            let lines =
                text[body.clone()].split_inclusive('\n').filter(|line| line.ends_with('\n'));
            let lines = lines.map(|line| if line.starts_with('#') { line } else { "\n" });
            if !values.is_empty() {
                edits.push((body.clone(), values + &lines.collect::<String>()));
            }
            continue;
        }
        let Some(mine) = own.type_by_name::<Composite>(name) else { continue };
        let theirs = [kernel, model].map(|types| types.type_by_name::<Composite>(base));
        let size = theirs[1].as_ref().map_or("0".to_owned(), |_| format!("sizeof({of})"));
        tags += &format!("{keyword} {name};");
        sizes += &format!("{keyword} {name} *: {size}, ");
        let local = format!("{keyword} fairground_{name}");
        edits.push((body.start..body.start, format!(" {local} {{")));
        let form = Form { of, local, types: [own, kernel, model] };
        let [kernels, models] = theirs;
        let members = form.members("", [Some(mine), kernels, models]);
        edits.push((body.end..body.end, format!("}}; union {{{members} }}; ")));
    }
    edits.sort_by_key(|(place, _)| (place.start, place.end));
    let mut done = format!(
        "#undef fairground_type_size\n{tags}\n#define fairground_type_size(type) \
         _Generic((type *)0, {sizes}default: sizeof(type))\n"
    );
    let mut at = 0;
    for (place, edit) in edits {
        done = done + &text[at..place.start] + &edit;
        at = place.end;
    }
    done + &text[at..]
}

/// The enumerators of a flavor with their values in the model.
fn enumerators(own: &Btf, model: &Btf, name: &str, of_kernel: &str) -> String {
    let known = values(model, of_kernel);
    let of = |name: &str| known.iter().find(|(known, _)| known == base(name).unwrap_or(name));
    let mine = values(own, name).into_iter();
    let value = |name: &str| of(name).map_or(NO_VALUE, |(_, value)| *value);
    mine.map(|(name, _)| format!(" {name} = {},", value(&name))).collect()
}

fn values(types: &Btf, name: &str) -> Vec<(String, i128)> {
    let text = |name: Option<&OsStr>| name.unwrap_or_default().to_string_lossy().into_owned();
    if let Some(found) = types.type_by_name::<Enum64>(name) {
        return found.iter().map(|one| (text(one.name), one.value)).collect();
    }
    let found = types.type_by_name::<Enum>(name);
    let pairs = |found: Enum| found.iter().map(|one| (text(one.name), one.value.into())).collect();
    found.map_or(Vec::new(), pairs)
}

/// A member of a structure, those of its parts without a name among them.
struct Member<'a> {
    name: String,
    /// Without qualifiers.
    ty: BtfType<'a>,
    is_bit_field: bool,
}

impl<'a> Member<'a> {
    fn is_number(&self) -> bool {
        matches!(self.ty.kind(), BtfKind::Int | BtfKind::Enum | BtfKind::Enum64)
    }

    fn composite(&self) -> Option<Composite<'a>> {
        Composite::try_from(self.ty).ok()
    }
}

fn members<'a>(types: &'a Btf, of: &Composite) -> Vec<Member<'a>> {
    let mut found = Vec::new();
    for member in of.iter() {
        let ty = |id: TypeId| Some(types.type_by_id::<BtfType>(id)?.skip_mods_and_typedefs());
        let Some(ty) = ty(member.ty) else { continue };
        let name = member.name.unwrap_or_default().to_string_lossy().into_owned();
        let is_bit_field = matches!(member.attr, MemberAttr::BitField { .. });
        let member = Member { name, ty, is_bit_field };
        match member.composite().filter(|_| member.name.is_empty()) {
            Some(inner) => found.extend(members(types, &inner)),
            None => found.push(member),
        }
    }
    found.retain(|member| !member.name.is_empty());
    found
}

/// How the members of one flavor are declared: the kernel's structure, the scheduler's own, and
/// the types of the scheduler, the kernel and the model.
struct Form<'a> {
    of: String,
    local: String,
    types: [&'a Btf<'a>; 3],
}

impl Form<'_> {
    /// Declares members at their places. One that the kernel has and the model lacks is left out,
    /// so that the compiler names it where it is used. `path` leads to a structure in the
    /// structure.
    fn members(&self, path: &str, forms: [Option<Composite>; 3]) -> String {
        let Form { of, local, types } = self;
        let of_form =
            |at: usize| forms[at].as_ref().map_or(Vec::new(), |form| members(types[at], form));
        let [mine, kernel, model] = [0, 1, 2].map(of_form);
        let mut text = String::new();
        for one in mine {
            let name = &one.name;
            let like = |of: &str| format!("typeof((({of} *)0)->{path}{name}) {name}");
            let named = |all: &'_ [Member<'_>]| all.iter().position(|other| other.name == *name);
            let kernels = named(&kernel).map(|at| &kernel[at]);
            let models = named(&model).map(|at| &model[at]);
            let Some(theirs) = models else {
                let bits = one.is_bit_field.then(|| format!("unsigned long long {name}"));
                let member = bits.unwrap_or_else(|| like(local));
                let missing = format!(" {member} __attribute__((aligned({NO_MEMBER})));");
                text += kernels.map_or(missing.as_str(), |_| "");
                continue;
            };
            let inner = one.composite().filter(|inner| inner.name().is_none());
            let member = match inner {
                Some(inner) => {
                    let kernels = kernels.and_then(|kernels| kernels.composite());
                    let forms = [Some(inner), kernels, theirs.composite()];
                    format!("union {{{} }} {name}", self.members(&format!("{path}{name}."), forms))
                }
                // A load has the size of the kernel's member, as libbpf makes it.
                None if one.is_number() && theirs.is_number() => like(of),
                None => like(local),
            };
            let at = |path: &str| format!("__builtin_offsetof({of}, {path})");
            let outer = path.strip_suffix('.').map_or("0".to_owned(), at);
            if !theirs.is_bit_field {
                let place = format!("{} - {outer}", at(&format!("{path}{name}")));
                text += &format!(" struct {{ char fairground_{name}[{place}]; {member}; }} ");
                text += "__attribute__((packed));";
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flavor_is_what_libbpf_takes_for_one() {
        assert_eq!(base("task_struct___old"), Some("task_struct"));
        assert_eq!(base("a___b___c"), Some("a___b"));
        for name in ["task_struct", "___x", "a___", "a____b"] {
            assert_eq!(base(name), None, "{name}");
        }
    }
}
