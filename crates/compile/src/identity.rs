// SPDX-License-Identifier: GPL-2.0-only
//! The identity of a scheduler's exact bytes, and of what it includes.

use crate::scan;

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
    let mut found = Vec::new();
    include(text, "", read, &mut found);
    found
}

fn include(
    text: &str,
    folder: &str,
    read: &dyn Fn(&str) -> Option<String>,
    all: &mut Vec<(String, String)>,
) {
    let quoted = scan::includes(text).into_iter().filter(|include| include.quoted);
    for name in quoted.map(|include| include.name) {
        let beside = plain(&format!("{folder}{name}"));
        let found = read(&beside).map(|text| (beside, text));
        let elsewhere = || {
            let name = plain(&name);
            Some((name.clone(), read(&name)?))
        };
        let Some((name, included)) = found.or_else(elsewhere) else { continue };
        if all.iter().any(|(seen, _)| *seen == name) {
            continue;
        }
        let folder = name.rfind('/').map_or("", |at| &name[..=at]).to_owned();
        all.push((name, included.clone()));
        include(&included, &folder, read, all);
    }
}

/// The one spelling of a path: without `.`, and with `..` at its beginning only. A file that
/// includes itself in another spelling would else be another file for ever.
fn plain(path: &str) -> String {
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

    #[test]
    fn a_changed_header_is_another_scheduler() {
        let with = |header: Option<&str>| {
            let text = "# include \"a.h\"\n#include \"a.h\"\n";
            identity_of(text, &|name| header.filter(|_| name == "a.h").map(str::to_owned))
        };
        assert_ne!(with(Some("1")), with(Some("2")));
        assert_ne!(with(Some("1")), with(None));
    }

    #[test]
    fn a_line_that_moves_into_a_header_makes_another_scheduler() {
        let with = |end: &str, header: &str| {
            let header = header.to_owned();
            identity_of(&format!("#include \"a.h\"\n{end}"), &move |_| Some(header.clone()))
        };
        assert_ne!(with("#define X 1\n", ""), with("", "#define X 1\n"));
    }

    #[test]
    fn a_header_s_own_headers_count_from_where_it_stands() {
        let with = |inner: &str| {
            let inner = inner.to_owned();
            identity_of("#include \"include/a.h\"\n", &move |name| match name {
                "include/a.h" => Some("#include \"b.h\"\n".into()),
                "include/b.h" => Some(inner.clone()),
                _ => None,
            })
        };
        assert_ne!(with("1"), with("2"));
    }

    #[test]
    fn a_scheduler_made_of_another_has_that_one_s_headers_too() {
        let with = |inner: &str| {
            let inner = inner.to_owned();
            identity_of("#include \"../tree/base.bpf.c\"\n", &move |name| match name {
                "../tree/base.bpf.c" => Some("#include \"include/a.h\"\n".into()),
                "../tree/include/a.h" => Some(inner.clone()),
                _ => None,
            })
        };
        assert_ne!(with("1"), with("2"));
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
