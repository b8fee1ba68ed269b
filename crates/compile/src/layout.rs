// SPDX-License-Identifier: GPL-2.0-only
//! Which files of a folder are one scheduler. A `build.rs` is read and never run.

use std::path::{Component, Path, PathBuf};

use crate::own_files::read_text;

/// How a source's name ends.
const ENDING: &str = ".bpf.c";
/// Where a crate of scx has its sources.
const OF_CRATES: &str = "src/bpf";
/// The most bytes of a `build.rs` or a source that is looked into.
const LONGEST: u64 = 4 << 20;

/// The sources of one scheduler: their paths, and its name.
#[derive(Debug, PartialEq, Eq)]
pub struct Layout {
    pub name: String,
    /// The one with the table of callbacks.
    pub main: PathBuf,
    pub others: Vec<PathBuf>,
}

/// The scheduler in a folder: a crate of scx, its `src/bpf`, or a folder with one table of
/// callbacks.
///
/// # Errors
/// There is none, or there are several, which the message names.
pub fn of_folder(folder: &Path) -> Result<Layout, String> {
    let crate_root = [folder.to_owned(), folder.join("../..")]
        .into_iter()
        .find(|root| root.join(OF_CRATES).is_dir() && root.join("build.rs").is_file());
    let inner = folder.join(OF_CRATES);
    let sources = if inner.is_dir() { inner } else { folder.to_owned() };
    if let Some(root) = crate_root.filter(|root| is_same(&root.join(OF_CRATES), &sources))
        && let Some(layout) = of_build_script(&root, &sources)?
    {
        return Ok(layout);
    }
    of_files(folder, &sources)
}

/// The scheduler whose table of callbacks is in this file of a crate of scx, which links it with
/// others; `None`: it is one by itself.
pub fn of_main(file: &Path) -> Option<Layout> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    let sources = folder.unwrap_or(Path::new("."));
    let root = sources.join("../..");
    let is_crate = is_same(&root.join(OF_CRATES), sources);
    let layout = is_crate.then(|| of_build_script(&root, sources).ok().flatten())??;
    (!layout.others.is_empty() && is_same(&layout.main, file)).then_some(layout)
}

fn is_same(one: &Path, other: &Path) -> bool {
    one.canonicalize().is_ok_and(|one| other.canonicalize().is_ok_and(|other| one == other))
}

/// What a `build.rs` names with `enable_skel` and `add_source`; `None`: nothing.
fn of_build_script(root: &Path, sources: &Path) -> Result<Option<Layout>, String> {
    let text = read_text(&root.join("build.rs"), LONGEST)?;
    let code: String = text.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
    let Some(main) = arguments(&code, "enable_skel(").into_iter().next() else { return Ok(None) };
    let place = |name: String| match name.strip_prefix(OF_CRATES) {
        Some(rest) => sources.join(rest.trim_start_matches('/')),
        None => root.join(name),
    };
    let others: Vec<PathBuf> = arguments(&code, "add_source(").into_iter().map(place).collect();
    let main = place(main);
    if let Some(missing) = std::iter::once(&main).chain(&others).find(|path| !path.is_file()) {
        return Err(format!("build.rs names {}, which is not there", missing.display()));
    }
    Ok(Some(Layout { name: name_of(root), main, others }))
}

/// The first arguments, which are strings, of the calls of a function.
fn arguments(code: &str, call: &str) -> Vec<String> {
    let calls = code.split(call).skip(1);
    calls
        .filter_map(|rest| rest.trim_start().strip_prefix('"')?.split('"').next())
        .map(str::to_owned)
        .collect()
}

/// Without a `build.rs`: one source has a table of callbacks, and the others belong to it.
fn of_files(folder: &Path, sources: &Path) -> Result<Layout, String> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(sources)
        .map_err(|error| error.to_string())?
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.to_string_lossy().ends_with(ENDING) && path.is_file())
        .collect();
    files.sort();
    let mut mains = Vec::new();
    for file in &files {
        let text = read_text(file, LONGEST)?;
        if text.contains("SCX_OPS_DEFINE") || text.contains("struct sched_ext_ops") {
            mains.push(file.clone());
        }
    }
    match mains.as_slice() {
        [main] => Ok(Layout {
            name: name_of(folder),
            main: main.clone(),
            others: files.into_iter().filter(|file| file != main).collect(),
        }),
        [] => Err(format!(
            "none of its files ends in {ENDING} and has a struct sched_ext_ops; name the files: \
             A{ENDING}+B{ENDING}"
        )),
        several => {
            let names: Vec<String> =
                several.iter().map(|path| path.display().to_string()).collect();
            Err(format!("several schedulers are in it; name one: {}", names.join(", ")))
        }
    }
}

/// The name of a folder, or of the crate whose `src/bpf` it is.
fn name_of(folder: &Path) -> String {
    let real = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let real = if real.ends_with(OF_CRATES) { real.join("../..") } else { real };
    let real = real.canonicalize().unwrap_or(real);
    real.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// A path as seen from a folder, without reading links below their common part.
pub fn relative(folder: &Path, path: &Path) -> Option<String> {
    let parts = |path: &Path| -> Option<Vec<String>> {
        let path = std::path::absolute(path).ok()?;
        let mut parts = Vec::new();
        for part in path.components() {
            match part {
                Component::Normal(part) => parts.push(part.to_str()?.to_owned()),
                Component::ParentDir => drop(parts.pop()),
                _ => {}
            }
        }
        Some(parts)
    };
    let (from, to) = (parts(folder)?, parts(path)?);
    let common = from.iter().zip(&to).take_while(|(one, other)| one == other).count();
    let up = std::iter::repeat_n("..".to_owned(), from.len() - common);
    Some(up.chain(to[common..].iter().cloned()).collect::<Vec<_>>().join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAIN: &str = "SCX_OPS_DEFINE(x);\n";

    fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for (name, text) in files {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("it can be made");
            std::fs::write(path, text).expect("it can be written");
        }
        folder
    }

    fn names(layout: &Layout) -> Vec<String> {
        let all = std::iter::once(&layout.main).chain(&layout.others);
        all.map(|path| path.file_name().expect("a name").to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn a_crate_s_build_script_names_the_sources() {
        let build = "fn main() { B::new().enable_skel(\"src/bpf/main.bpf.c\", \"bpf\")\n\
                     // .add_source(\"src/bpf/not.bpf.c\")\n\
                     .add_source(\n\"src/bpf/lib/a.bpf.c\") }";
        let files = [
            ("scx_x/build.rs", build),
            ("scx_x/src/bpf/main.bpf.c", MAIN),
            ("scx_x/src/bpf/lib/a.bpf.c", ""),
            ("scx_x/src/bpf/other.bpf.c", MAIN),
        ];
        let there = folder(&files);
        for place in ["scx_x", "scx_x/src/bpf"] {
            let layout = of_folder(&there.path().join(place)).expect("it is one");
            assert_eq!(
                (layout.name.as_str(), names(&layout)),
                ("scx_x", vec!["main.bpf.c".to_owned(), "a.bpf.c".into()])
            );
        }
        let of_file = |name: &str| of_main(&there.path().join("scx_x/src/bpf").join(name));
        assert!(of_file("main.bpf.c").is_some_and(|layout| names(&layout)[1] == "a.bpf.c"));
        assert_eq!((of_file("other.bpf.c"), of_file("lib/a.bpf.c")), (None, None));
        std::fs::remove_file(there.path().join("scx_x/src/bpf/lib/a.bpf.c")).expect("it is there");
        let error = of_folder(&there.path().join("scx_x")).expect_err("a source is missing");
        assert!(error.contains("a.bpf.c, which is not there"), "{error}");
    }

    #[test]
    fn one_table_of_callbacks_makes_a_scheduler_of_a_folder() {
        let there = folder(&[("x/b.bpf.c", MAIN), ("x/a.bpf.c", ""), ("x/c.c", MAIN)]);
        let layout = of_folder(&there.path().join("x")).expect("it is one");
        assert_eq!(names(&layout), ["b.bpf.c", "a.bpf.c"]);
        let there = folder(&[("x/b.bpf.c", MAIN), ("x/a.bpf.c", MAIN)]);
        let error = of_folder(&there.path().join("x")).expect_err("it is ambiguous");
        assert!(error.contains("x/a.bpf.c, ") && error.ends_with("x/b.bpf.c"), "{error}");
        assert!(of_folder(there.path()).is_err());
    }

    #[test]
    fn a_path_is_seen_from_a_folder() {
        let seen = |folder: &str, path: &str| relative(Path::new(folder), Path::new(path));
        assert_eq!(seen("/a/b", "/a/b/c.h").as_deref(), Some("c.h"));
        assert_eq!(seen("/a/b", "/a/x/../y/c.h").as_deref(), Some("../y/c.h"));
    }
}
