// SPDX-License-Identifier: GPL-2.0-only
//! The identity of a scheduler's exact bytes, and of what it includes.

use crate::scan::{self, Include};

/// The identity of a scheduler: of its text under this name, and of what [`included`] finds, so
/// that a changed header is noticed.
pub fn identity(name: &str, text: &str, included: &[(String, String)]) -> String {
    let included = included.iter().map(|(name, text)| (name.as_str(), text.as_str()));
    model::trial::identity(std::iter::once((name, text)).chain(included))
}

/// What a source text includes with quotation marks and `read` finds: names and texts, in the order
/// of inclusion. Names are relative to the scheduler's folder: what `include/a.h` includes as `b.h`
/// is `include/b.h`, or else `b.h`.
pub fn included(text: &str, read: &dyn Fn(&str) -> Option<String>) -> Vec<(String, String)> {
    let find = |folder: &str, include: &Include| {
        let mut places = places(folder, &include.name).into_iter().filter(|_| include.quoted);
        places.find_map(|name| Some((name.clone(), read(&name)?)))
    };
    let mut found = Vec::new();
    follow(text, "", &find, &mut found);
    found
}

/// Finds what a text in this folder includes: its name and its text.
pub type Find<'a> = dyn Fn(&str, &Include) -> Option<(String, String)> + 'a;

/// Adds what a text in a folder includes, and what that includes, in the order of inclusion.
pub fn follow(text: &str, folder: &str, find: &Find, all: &mut Vec<(String, String)>) {
    // No recursion: strangers' files can include each other to any depth.
    let mut open = vec![(scan::includes(text).into_iter(), folder.to_owned())];
    while let Some((includes, folder)) = open.last_mut() {
        let Some(include) = includes.next() else {
            open.pop();
            continue;
        };
        let Some((name, included)) = find(folder, &include) else { continue };
        if all.iter().all(|(seen, _)| *seen != name) {
            open.push((scan::includes(&included).into_iter(), folder_of(&name).to_owned()));
            all.push((name, included));
        }
    }
}

/// Where a quoted name is looked for first: beside the text that includes it, and in the
/// scheduler's folder.
pub fn places(folder: &str, name: &str) -> [String; 2] {
    [plain(&format!("{folder}{name}")), plain(name)]
}

/// The folder of a name, with its `/`; empty for the scheduler's own.
pub fn folder_of(name: &str) -> &str {
    name.rfind('/').map_or("", |at| &name[..=at])
}

/// The one spelling of a path: without `.`, and with `..` at its beginning only. A file that
/// includes itself in another spelling would else be another file for ever.
pub fn plain(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/').filter(|part| !matches!(*part, "" | ".")) {
        match parts.last() {
            Some(last) if part == ".." && *last != ".." => drop(parts.pop()),
            _ => parts.push(part),
        }
    }
    let root = if path.starts_with('/') { "/" } else { "" };
    format!("{root}{}", parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity_of(text: &str, read: &dyn Fn(&str) -> Option<String>) -> String {
        identity("mine.bpf.c", text, &included(text, read))
    }

    /// Headers of headers, and those of a scheduler that another one is made of.
    #[test]
    fn a_file_s_own_headers_count_from_where_it_stands() {
        for (file, include, header) in [
            ("include/a.h", "b.h", "include/b.h"),
            ("../tree/base.bpf.c", "include/a.h", "../tree/include/a.h"),
        ] {
            let with = |inner: &str| {
                identity_of(&format!("#include \"{file}\"\n"), &|name| match name {
                    name if name == file => Some(format!("#include \"{include}\"\n")),
                    name if name == header => Some(inner.to_owned()),
                    _ => None,
                })
            };
            assert_ne!(with("1"), with("2"), "{file}");
        }
    }

    #[test]
    fn headers_that_include_each_other_end() {
        let both =
            |name: &str| Some(format!("#include \"{}\"\n", if name == "a" { "b" } else { "a" }));
        assert_eq!(included("#include \"a\"\n", &both).len(), 2);
    }

    #[test]
    fn a_file_that_includes_itself_in_other_spellings_ends() {
        let text = "#include \"./a\"\n#include \"x/../a\"\n";
        let found = included(text, &|name| (name == "a").then(|| text.to_owned()));
        assert_eq!(found.len(), 1);
    }

    #[test]
    fn what_is_off_is_not_read() {
        let text = "#if 0\n#include \"a\"\n#endif\n/*\n#include \"b\"\n*/\n";
        assert_eq!(included(text, &|name| panic!("{name} was read")), []);
    }
}
