// SPDX-License-Identifier: GPL-2.0-only
//! Compiles every scheduler of the project, the probes and the recorder, and packs the headers for
//! use at run time.

use std::error::Error;
use std::fmt::Write;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

mod build_native;
mod build_types;
#[allow(dead_code)]
mod clang;
#[allow(dead_code)]
mod complaint;
#[allow(dead_code)]
mod guarded;
#[allow(dead_code)]
mod identity;
#[allow(dead_code)]
mod listing;
#[allow(dead_code)]
mod scan;
#[allow(dead_code)]
mod variables;

/// Of the library's module, what is needed here.
mod native {
    #[allow(dead_code)]
    pub mod facts;
    #[allow(dead_code)]
    pub mod interface;
    pub mod make;
    pub mod null_reads;
    #[allow(dead_code)]
    pub mod part;
    #[allow(dead_code)]
    pub mod programs;
    pub mod special;
}

use native::make;

type Result<T = ()> = std::result::Result<T, Box<dyn Error>>;

/// Kept objects with facts of another form are made anew.
const FACTS: &[u8] = b"with the types and extras of all maps";

const SCHEDULERS: &str = "../../schedulers";
/// What runs instead of rustc, if anything.
const WRAPPER: &str = "RUSTC_WORKSPACE_WRAPPER";
const OLDER_NAMES: &str = "native/older/older_names.h";
/// The headers of C that schedulers find; those of the host are out of their reach.
const OF_C: &str = "native/libc";
const PROBES: &str = "../live/src/probes.bpf.c";
const INTERRUPTS: &str = "../live/src/interrupts.bpf.c";
const RECORDER: &str = "../live/src/recorder.bpf.c";
const HEADERS: [&str; 8] = [
    "../live/src/probes.h",
    "../live/src/probes_older.h",
    "../live/src/probes_series.h",
    "../live/src/probes_trace.h",
    "../live/src/recorder.h",
    "../live/src/recorder_kernel.h",
    "../live/src/messages.h",
    "../live/src/wakers.h",
];

fn main() {
    if let Err(error) = build() {
        eprintln!("{error}");
        println!("cargo::error={}", error.to_string().lines().next().unwrap_or_default());
        std::process::exit(1);
    }
}

fn build() -> Result {
    let own = [
        "build.rs",
        "build_types.rs",
        "clang.rs",
        "complaint.rs",
        "guarded.rs",
        "identity.rs",
        "listing.rs",
        "scan.rs",
    ];
    let own = own.map(|name| format!("src/{name}"));
    for watched in own
        .iter()
        .map(String::as_str)
        .chain([SCHEDULERS, PROBES, RECORDER, INTERRUPTS, OLDER_NAMES, OF_C])
        .chain(HEADERS)
    {
        println!("cargo::rerun-if-changed={watched}");
    }
    println!("cargo::rerun-if-env-changed=BPF_CLANG");
    println!("cargo::rerun-if-env-changed={WRAPPER}");
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    let clang = clang::find()?;
    let _place = place()?;
    let headers = gather_headers(&clang, &out)?;
    build_native::add_headers(&clang, &headers)?;
    let packed = pack(&headers)?;
    fs::write(out.join("headers.tar.gz"), &packed)?;

    let mut code = String::new();
    let flags = [clang::FLAGS, make::NATIVE_FLAGS, make::SCHEDULER_FLAGS, make::LINK_FLAGS]
        .concat()
        .join(" ");
    let toolkit = [&packed[..], flags.as_bytes(), FACTS].concat();
    writeln!(code, "pub const TOOLKIT: &str = {:?};", &model::trial::sha256_hex(&toolkit)[..16])?;
    writeln!(code, "pub const HEADERS: &[u8] = include_bytes!(\"headers.tar.gz\");")?;
    write_includes(&mut code)?;
    writeln!(code, "pub const BUILTINS: &[Builtin] = &[")?;
    let schedulers = embedded()?;
    for file in &schedulers {
        write_builtin(&mut code, &clang, &headers, file, &out)?;
    }
    writeln!(code, "];")?;
    for (name, file, prefix) in [
        ("PROBES", PROBES, "probe_"),
        ("RECORDER", RECORDER, "record_"),
        ("INTERRUPTS", INTERRUPTS, "interrupt_"),
    ] {
        let object = compile(&clang, &headers, Path::new(file))?;
        writeln!(code, "pub const {name}: &[u8] = include_bytes!(\"{name}.bpf.o\");")?;
        fs::write(out.join(format!("{name}.rs")), build_types::shared_types(&object, prefix)?)?;
        fs::write(out.join(format!("{name}.bpf.o")), object)?;
    }
    fs::write(out.join("embedded.rs"), code)?;
    build_native::write_natives(&clang, &headers, &schedulers, &out)
}

/// The identity of a scheduler of the project.
fn identity_of(file: &Path, text: &str) -> String {
    let read = |name: &str| fs::read_to_string(Path::new(SCHEDULERS).join(name)).ok();
    identity::identity(&file_name(file), text, &identity::included(text, &read))
}

/// The folder of this crate as the compiler sees it.
const HERE: &str = "crates/compile";

/// Makes a copy of what is compiled, with a path that is equally long on every host, and goes
/// there. The order of types in a BPF object depends on addresses in clang's memory, and thereby on
/// how long the real paths are of all that clang reads.
fn place() -> Result<tempfile::TempDir> {
    let crates = std::env::current_dir()?.join("..").canonicalize()?;
    let place = tempfile::tempdir()?;
    let here = place.path().join(HERE);
    fs::create_dir_all(&here)?;
    copy_tree(&crates.join("../schedulers"), &place.path().join("schedulers"))?;
    copy_tree(&crates.join("live/src"), &place.path().join("crates/live/src"))?;
    symlink(crates.join("compile/native"), here.join("native"))?;
    std::env::set_current_dir(&here)?;
    Ok(place)
}

/// The file that rustc is to embed: that of the project, not its copy.
fn original(file: &Path) -> Result<PathBuf> {
    Ok(Path::new(&std::env::var("CARGO_MANIFEST_DIR")?).join(file))
}

/// The schedulers to embed: none for clippy, which does not look into objects.
fn embedded() -> Result<Vec<PathBuf>> {
    let wrapper = std::env::var_os(WRAPPER).map(PathBuf::from);
    let is_linted = wrapper
        .is_some_and(|program| program.file_stem().is_some_and(|stem| stem == "clippy-driver"));
    if is_linted { Ok(Vec::new()) } else { files(Path::new(SCHEDULERS), ".bpf.c") }
}

/// One tree with everything that a scheduler includes: what `scx_cargo` brings, libbpf's, and our
/// own, schedulers among them.
fn gather_headers(clang: &Path, out: &Path) -> Result<PathBuf> {
    // SAFETY: a build script has one thread. `scx_cargo` takes its compiler from BPF_CLANG alone.
    unsafe { std::env::set_var("BPF_CLANG", clang) };
    scx_cargo::BpfBuilder::new().map_err(|error| format!("scx_cargo: {error:#}"))?;
    let brought = out.join("scx_utils-bpf_h");
    let tree = std::env::current_dir()?.join("headers");
    for folder in ["scx", "lib", "bpf-compat"] {
        copy_tree(&brought.join(folder), &tree.join(folder))?;
    }
    for file in files(&brought, ".h")? {
        fs::copy(&file, tree.join(file_name(&file)))?;
    }
    let types = fs::read_to_string(brought.join("arch").join(clang::arch()).join("vmlinux.h"))?;
    fs::write(tree.join("vmlinux.h"), with_guards(&types))?;
    add_older_names(&tree.join("scx"))?;
    copy_tree(Path::new(OF_C), &tree.join("libc"))?;
    copy_tree(&Path::new(SCHEDULERS).join("include"), &tree.join("include"))?;
    // A scheduler outside the tree may include one of the tree.
    for file in files(Path::new(SCHEDULERS), ".bpf.c")? {
        fs::copy(&file, tree.join(file_name(&file)))?;
    }
    fs::create_dir_all(tree.join("bpf"))?;
    for (name, text) in libbpf_rs::libbpf_sys::API_HEADERS {
        fs::write(tree.join("bpf").join(name), text)?;
    }
    Ok(tree)
}

/// Lets a scheduler declare the kernel's functions itself: `FAIRGROUND_OWN_name` leaves ours out.
fn with_guards(types: &str) -> String {
    let mut text = String::with_capacity(types.len());
    for line in types.lines() {
        let name = line.strip_prefix("extern ").filter(|rest| rest.ends_with("__ksym;"));
        match name.and_then(declared) {
            Some(name) => {
                text.push_str(&format!("#ifndef FAIRGROUND_OWN_{name}\n{line}\n#endif\n"));
            }
            None => {
                text.push_str(line);
                text.push('\n');
            }
        }
    }
    text + GONE
}

/// Constants of older kernels that the newest has not. The first flag never had an effect but a
/// warning; the second one had none once the first had its name.
const GONE: &str = "#ifndef SCX_OPS_HAS_CGROUP_WEIGHT\n\
                    #define SCX_OPS_HAS_CGROUP_WEIGHT 0\n#endif\n\
                    #ifndef SCX_OPS_CGROUP_KNOB_WEIGHT\n\
                    #define SCX_OPS_CGROUP_KNOB_WEIGHT 0\n#endif\n";

/// The function's name in a declaration, which may have attributes.
fn declared(line: &str) -> Option<&str> {
    let before = line.match_indices('(').map(|(at, _)| &line[..at]);
    let name = |text: &'_ str| text.rfind([' ', '*', '(']).map_or(0, |at| at + 1);
    let names = before.map(|text| &text[name(text)..]);
    names.into_iter().find(|name| !matches!(*name, "" | "__attribute__" | "address_space"))
}

/// Lets the ecosystem's last header end with the names of older ones.
fn add_older_names(scx: &Path) -> Result {
    fs::copy(OLDER_NAMES, scx.join("older_names.h"))?;
    let compat = scx.join("compat.bpf.h");
    let text = fs::read_to_string(&compat)?;
    Ok(fs::write(compat, text + "#include <scx/older_names.h>\n")?)
}

fn copy_tree(from: &Path, to: &Path) -> Result {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let path = entry?.path();
        let copy = to.join(file_name(&path));
        if path.is_dir() {
            copy_tree(&path, &copy)?;
        } else {
            fs::copy(&path, copy)?;
        }
    }
    Ok(())
}

/// A compressed archive with the same bytes for the same tree: sorted, without times and owners.
fn pack(tree: &Path) -> Result<Vec<u8>> {
    let mut archive =
        tar::Builder::new(flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best()));
    let mut paths = Vec::new();
    list(tree, &mut paths)?;
    paths.sort();
    for path in paths {
        let text = fs::read(&path)?;
        let mut entry = tar::Header::new_gnu();
        entry.set_size(text.len() as u64);
        entry.set_mode(0o644);
        archive.append_data(&mut entry, path.strip_prefix(tree)?, &text[..])?;
    }
    Ok(archive.into_inner()?.finish()?)
}

fn list(folder: &Path, found: &mut Vec<PathBuf>) -> Result {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            list(&path, found)?;
        } else {
            found.push(path);
        }
    }
    Ok(())
}

/// The headers of `schedulers/include`, by the name that schedulers include them with.
fn write_includes(code: &mut String) -> Result {
    writeln!(code, "pub const INCLUDES: &[(&str, &str)] = &[")?;
    for file in files(&Path::new(SCHEDULERS).join("include"), ".h")? {
        let name = format!("include/{}", file_name(&file));
        writeln!(code, "    ({name:?}, include_str!({:?})),", original(&file)?)?;
    }
    writeln!(code, "];")?;
    Ok(())
}

fn write_builtin(
    code: &mut String,
    clang: &Path,
    headers: &Path,
    file: &Path,
    out: &Path,
) -> Result {
    let name = file_name(file).trim_end_matches(".bpf.c").to_owned();
    fs::write(out.join(format!("{name}.bpf.o")), compile(clang, headers, file)?)?;
    let text = fs::read_to_string(file)?;
    writeln!(code, "    Builtin {{ name: {name:?}, path: \"schedulers/{name}.bpf.c\",")?;
    writeln!(code, "        text: include_str!({:?}),", original(file)?)?;
    writeln!(code, "        sha256: {:?},", identity_of(file, &text))?;
    writeln!(code, "        object: include_bytes!(\"{name}.bpf.o\") }},")?;
    Ok(())
}

fn compile(clang: &Path, headers: &Path, file: &Path) -> Result<Vec<u8>> {
    let text = fs::read_to_string(file)?;
    let label = file_name(file);
    let source = text_of(file, &label, &text);
    let compiled = clang::compile(clang, headers, &[source]).map(|(object, _)| object);
    compiled.map_err(|complaint| {
        let file = if complaint.file.is_empty() { &label } else { &complaint.file };
        format!("{file}:{}: {}", complaint.line.unwrap_or(0), complaint.message).into()
    })
}

fn text_of<'a>(file: &'a Path, label: &str, text: &str) -> clang::Text<'a> {
    clang::Text::alone(label, file, file.parent().unwrap_or(Path::new(".")), text)
}

fn files(folder: &Path, ending: &str) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_file() && file_name(&path).ends_with(ending) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
