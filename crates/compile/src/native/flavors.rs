// SPDX-License-Identifier: GPL-2.0-only
//! A scheduler's own forms of the kernel's structures, as `struct task_struct___old`: libbpf takes
//! what stands before `___` for the structure's name, finds each member in the kernel's structure
//! by its name, and lets `bpf_core_field_exists()` say whether it is there. In the simulator's text
//! of a scheduler, such a definition has its members at their places in the model.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;

use crate::{own_files, scan};

/// Alignments that nothing else has, see `bpf_core_read.h`: a member, and a structure, that the
/// kernel has not.
const NO_MEMBER: u32 = 2048;
const NO_STRUCTURE: u32 = 4096;

/// The most bytes of a `vmlinux.h`.
const LONGEST: u64 = 16 << 20;

/// What the compiler says where a definition is not understood.
const REFUSED: &str = "_Static_assert(0, \"the members of a kernel's structure are placed one by \
                       one: declare them without conditions and inner structures\");";

/// Exchanges the definitions in a text; `headers` has the types of the kernel and of the model.
pub fn placed(text: &str, headers: &Path) -> String {
    let text = scan::uncommented(text);
    let read = |name| own_files::read_text(&headers.join(name), LONGEST).unwrap_or_default();
    let mut types: Option<[String; 2]> = None;
    let (mut done, mut rest) = (String::new(), text.as_str());
    while let Some((before, name, body, after)) = next_definition(rest) {
        let [kernel, model] =
            types.get_or_insert_with(|| [read("vmlinux.h"), read("native/vmlinux.h")]);
        let lines = body.matches('\n').count();
        let body = match (of_structure(kernel, name), of_structure(model, name)) {
            // The model has structures that the kernel of some headers lacks.
            (kernel, Some(model)) => with_places(name, body, &kernel.unwrap_or_default(), &model),
            (_, None) => nowhere(body),
        };
        let _ = write!(done, "{before}{body}{}", "\n".repeat(lines));
        rest = after;
    }
    done + rest
}

/// The next definition of a flavor: what stands before its members, the kernel's name, the members,
/// and what follows them.
fn next_definition(text: &str) -> Option<(&str, &str, &str, &str)> {
    text.match_indices("struct ").find_map(|(at, word)| {
        let rest = &text[at + word.len()..];
        let name = rest.split(|c| !scan::is_of_word(c)).next()?;
        let base = base(name)?;
        let members = rest[name.len()..].trim_start().strip_prefix('{')?;
        let end = end_of(members)?;
        let begin = text.len() - members.len();
        Some((&text[..begin], base, &members[..end], &members[end..]))
    })
}

/// What the name of a flavor is without its last `___` and the rest, as libbpf sees it.
fn base(name: &str) -> Option<&str> {
    let is_flavor = |&(at, _): &(usize, &str)| {
        let is_end = |c: Option<&u8>| c.is_none_or(|c| *c == b'_');
        let bytes = name.as_bytes();
        at > 0 && !is_end(bytes.get(at - 1)) && !is_end(bytes.get(at + 3))
    };
    name.match_indices("___").filter(is_flavor).last().map(|(at, _)| &name[..at])
}

/// Where the brace is that closes what is open.
fn end_of(text: &str) -> Option<usize> {
    let mut depth = 0_u32;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'{' => depth += 1,
            b'}' if depth == 0 => return Some(at),
            b'}' => depth -= 1,
            _ => {}
        }
    }
    None
}

/// The names of a structure's members in a `vmlinux.h`.
fn of_structure(types: &str, name: &str) -> Option<BTreeSet<String>> {
    let begin = format!("\nstruct {name} {{\n");
    let rest = &types[types.find(&begin)? + begin.len()..];
    let mut names = BTreeSet::new();
    add_names(&rest[..rest.find("\n}")?], &mut names);
    Some(names)
}

fn add_names(body: &str, names: &mut BTreeSet<String>) {
    for declaration in declarations(body) {
        match (declaration.find('{'), declaration.rfind('}')) {
            (Some(open), Some(close)) if open < close => match name_of(&declaration[close + 1..]) {
                Some(name) => drop(names.insert(name.to_owned())),
                None => add_names(&declaration[open + 1..close], names),
            },
            _ => names.extend(declarators(declaration).filter_map(name_of).map(str::to_owned)),
        }
    }
}

/// What stands before each semicolon that is in no inner structure.
fn declarations(body: &str) -> Vec<&str> {
    let (mut found, mut depth, mut begin) = (Vec::new(), 0_u32, 0);
    for (at, byte) in body.bytes().enumerate() {
        match byte {
            b'{' => depth += 1,
            b'}' => depth = depth.saturating_sub(1),
            b';' if depth == 0 => {
                found.push(body[begin..at].trim());
                begin = at + 1;
            }
            _ => {}
        }
    }
    found
}

/// The parts of a declaration between its commas; those of a function's parameters are none.
fn declarators(declaration: &str) -> impl Iterator<Item = &str> {
    let is_function = declaration.contains('(');
    declaration.split(move |c| c == ',' && !is_function)
}

/// The name in a declarator: before its dimensions, its bits and its attributes.
fn name_of(declarator: &str) -> Option<&str> {
    let plain = declarator.split("__attribute__").next()?;
    let plain = match plain.split_once("(*") {
        Some((_, function)) => function.split(')').next()?,
        None => plain.split(['[', ':']).next()?,
    };
    plain.rsplit(|c| !scan::is_of_word(c)).find(|word| !word.is_empty())
}

/// The members of a structure that the kernel has not.
fn nowhere(body: &str) -> String {
    format!("char fairground_nowhere __attribute__((aligned({NO_STRUCTURE}))); {}", body.trim())
        .replace('\n', " ")
}

/// The members of a flavor, each at its place in the model. One that the model lacks is left out,
/// so that the compiler names it where it is used.
fn with_places(
    structure: &str,
    body: &str,
    kernel: &BTreeSet<String>,
    model: &BTreeSet<String>,
) -> String {
    if body.contains(['{', '#']) {
        return REFUSED.into();
    }
    let mut text = String::from("union {");
    for declaration in declarations(body) {
        let declaration = declaration.replace('\n', " ");
        let mut ty = None;
        for declarator in declarators(&declaration) {
            let Some(name) = name_of(declarator) else { continue };
            // The type stands before the first name.
            let before = declarator.find(name).unwrap_or(0);
            let before = declarator[..before].trim_end_matches(['*', ' ', '(']);
            let ty = *ty.get_or_insert(before);
            let rest = declarator.strip_prefix(ty).unwrap_or(declarator);
            let is_number = !declaration.contains(['*', '[', '(']) && !ty.contains("struct ");
            if model.contains(name) {
                let member = if is_number {
                    // A load has the size of the kernel's member, as libbpf makes it.
                    format!("typeof(((struct {structure} *)0)->{name}) {name}")
                } else {
                    format!("{ty} {rest}")
                };
                let _ = write!(
                    text,
                    " struct {{ char fairground_{name}[__builtin_offsetof(struct {structure}, \
                     {name})]; {member}; }} __attribute__((packed));"
                );
            } else if !kernel.contains(name) {
                let whole = rest.split(':').next().unwrap_or(rest);
                let _ = write!(text, " {ty} {whole} __attribute__((aligned({NO_MEMBER})));");
            }
        }
    }
    text + " };"
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

    #[test]
    fn names_of_members_are_those_of_anonymous_parts_too() {
        let types = "\nstruct a {\n\tint b;\n\tunion {\n\t\tlong c;\n\t\tstruct {\n\t\t\tu8 d: 1;\n\
                     \t\t};\n\t};\n\tstruct {\n\t\tint not;\n\t} e;\n\tvoid (*f)(int, int);\n\
                     \tchar g[4], *h;\n\tlong: 64;\n};\n";
        let names = of_structure(types, "a").expect("it is there");
        for name in ["b", "c", "d", "e", "f", "g", "h"] {
            assert!(names.contains(name), "{name}");
        }
        assert!(!names.contains("not") && of_structure(types, "b").is_none());
    }

    #[test]
    fn each_member_has_its_place_and_the_lines_stay() {
        let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        let body = "\n\tlong state;\n\tu64 pid : 4, *comm;\n\tint rare;\n";
        let text =
            with_places("t", body, &names(&["pid", "comm", "rare"]), &names(&["pid", "comm"]));
        assert!(text.contains("long  state __attribute__((aligned(2048)));"), "{text}");
        assert!(text.contains("offsetof(struct t, comm)]; u64  *comm; }"), "{text}");
        assert!(!text.contains("rare"), "{text}");
        let lines = placed("struct a___b {\n\tint x; /* { */\n};\nint y;\n", Path::new(""));
        assert!(lines.contains("aligned(4096)") && lines.matches('\n').count() == 4, "{lines}");
    }
}
