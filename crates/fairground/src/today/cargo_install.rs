// SPDX-License-Identifier: GPL-2.0-only
//! From a crate to a kept program: cargo builds it with the user's own configuration, as
//! `cargo install` does.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;

use anyhow::{Context, Result, bail};
use model::trial::sha256_hex;
use serde::Deserialize;
use spec::files;
use vm::installed;
use vm::kernels::build::tools::{self, Job, Needs};
use vm::kernels::build::{BuildEvent, OnBuildEvent, Refused};

use super::cargo_failure::failure;
use super::{Facts, all, folder};

/// What the crates need to be compiled.
pub const NEEDS: Needs = Needs {
    what: "a scheduler's program",
    programs: &[("cargo", "cargo"), ("gcc", "gcc"), ("make", "make"), ("pkg-config", "pkg-config")],
    headers: &[("gelf.h", "libelf-dev"), ("zlib.h", "zlib1g-dev")],
    libraries: &[],
};

/// What scx_rustland needs besides.
const NEEDS_OF_RUSTLAND: Needs = Needs {
    what: "scx_rustland",
    programs: NEEDS.programs,
    headers: &[("gelf.h", "libelf-dev"), ("zlib.h", "zlib1g-dev"), ("seccomp.h", "libseccomp-dev")],
    libraries: &[],
};

/// Crates of a usual scheduler, as long as none was compiled here.
const ESTIMATE: u64 = 280;

/// A scheduler to build.
pub struct Order<'a> {
    pub name: &'a str,
    pub version: &'a str,
    /// Whether cargo may use the network.
    pub offline: bool,
    pub jobs: usize,
    pub stop: &'a AtomicBool,
}

impl Order<'_> {
    pub fn program(&self) -> String {
        format!("{}@{}", self.name, self.version)
    }

    pub fn needs(&self) -> &'static Needs {
        if self.name == "scx_rustland" { &NEEDS_OF_RUSTLAND } else { &NEEDS }
    }
}

/// Builds a program and keeps it with its sources, unless it is kept already. A build that was
/// interrupted continues; the next one finds what the first has compiled.
///
/// # Errors
/// There is no such version (bad input); it does not compile (`Refused`); Ctrl-C; a program or a
/// library is missing, or the network is (the lab's fault).
pub fn build(order: &Order<'_>, home: &Path, on_event: &mut OnBuildEvent<'_>) -> Result<Facts> {
    let kept = all(home);
    let is_it = |facts: &&Facts| facts.name == order.name && facts.version == order.version;
    if let Some(facts) = kept.iter().find(is_it) {
        on_event(BuildEvent::Note(&format!("{} is built already", order.program())));
        return Ok(facts.clone());
    }
    check(order.needs())?;
    on_event(BuildEvent::Note(&format!(
        "building {} with cargo, for some minutes",
        order.program()
    )));
    // A root of its own: two builds at a time share nothing but cargo's target folder.
    let root = folder(home).join("new").join(order.program());
    let target = folder(home).join("target");
    fs::create_dir_all(&root).with_context(|| format!("creating {}", root.display()))?;
    let crates = install(order, &root, &target, about(&kept), on_event)?;
    let facts = keep(order, home, &root, crates, on_event)?;
    let _ = fs::remove_dir_all(&root);
    let (program, target) = (order.program(), target.display());
    on_event(BuildEvent::Note(&format!(
        "{program} is built; what the next one shares with it stays in {target}, which may be \
         removed"
    )));
    Ok(facts)
}

/// Fails with one message that names every package that is missing.
fn check(needs: &Needs) -> Result<()> {
    let mut missing = tools::missing(needs);
    if compile::compiler().is_err() {
        missing.push(("clang", "clang"));
    }
    if !has_libclang() {
        missing.push(("libclang.so", "libclang-dev"));
    }
    if missing.is_empty() { Ok(()) } else { bail!("{}", tools::words(needs.what, &missing)) }
}

/// Whether bindgen, which the crates use, finds its library.
fn has_libclang() -> bool {
    let folders = ["/usr/lib/llvm-*/lib", "/usr/lib/*-linux-gnu", "/usr/lib*", "/usr/local/lib*"];
    let is_in = |folder: &str| !installed::matches(&format!("{folder}/libclang*.so*")).is_empty();
    std::env::var_os("LIBCLANG_PATH").is_some() || folders.into_iter().any(is_in)
}

/// How many crates will be compiled: as many as last time.
fn about(kept: &[Facts]) -> u64 {
    kept.iter().map(|facts| facts.crates).max().unwrap_or(ESTIMATE)
}

/// What `cargo --message-format json` says of its progress.
#[derive(Deserialize)]
#[serde(tag = "reason", rename_all = "kebab-case")]
enum Message {
    CompilerArtifact {
        target: Target,
        /// Whether it was compiled before.
        fresh: bool,
    },
    BuildFinished {},
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct Target {
    kind: Vec<String>,
}

/// How far cargo is.
#[derive(Default)]
struct Counted {
    compiled: u64,
    /// Crates that an earlier build has compiled.
    fresh: u64,
    /// Whether all texts were here, so that a failure is one of compiling.
    has_compiled: bool,
}

impl Counted {
    /// Whether the message is a crate that was compiled just now.
    fn hear(&mut self, line: &str) -> bool {
        match serde_json::from_str(line) {
            Ok(Message::CompilerArtifact { target, fresh })
                if !target.kind.iter().any(|kind| kind == "custom-build") =>
            {
                *if fresh { &mut self.fresh } else { &mut self.compiled } += 1;
                !fresh
            }
            Ok(Message::BuildFinished {}) => {
                self.has_compiled = true;
                false
            }
            _ => false,
        }
    }
}

/// Runs `cargo install`; the number of crates that the program is made of.
fn install(
    order: &Order<'_>,
    root: &Path,
    target: &Path,
    about: u64,
    on_event: &mut OnBuildEvent<'_>,
) -> Result<u64> {
    let log = root.join("build.log");
    let mut command = Command::new("cargo");
    command.args(["install", "--locked", "--force", "--message-format", "json-render-diagnostics"]);
    command.arg("--root").arg(root).arg("--target-dir").arg(target);
    command.args(["--jobs", &order.jobs.to_string(), "--color", "never", "--version"]);
    command.args([order.version, order.name]);
    if order.offline {
        command.arg("--offline");
    }
    // Debian's clang may only have a name with its version.
    if let (None, Some(clang)) = (std::env::var_os("BPF_CLANG"), compile::clang()) {
        command.env("BPF_CLANG", clang);
    }
    let mut counted = Counted::default();
    let job = Job { what: order.name, log: &log, stop: order.stop };
    let run = job.run(command, &mut |line| {
        if counted.hear(line) {
            let (done, about) = (counted.compiled, about.saturating_sub(counted.fresh));
            on_event(BuildEvent::Compiled { done, about: about.max(done) });
        }
    });
    match run {
        Ok(()) => Ok(counted.compiled + counted.fresh),
        Err(error) if error.is::<Refused>() => Err(failure(order, &log, counted.has_compiled)),
        Err(error) => Err(error),
    }
}

/// Puts the program and the crate's sources where they are found, the facts last.
fn keep(
    order: &Order<'_>,
    home: &Path,
    root: &Path,
    crates: u64,
    on_event: &mut OnBuildEvent<'_>,
) -> Result<Facts> {
    let (programs, program) = (folder(home), order.program());
    let built = root.join("bin").join(order.name);
    let bytes = files::read(&built, files::PACKED)
        .with_context(|| format!("cargo has built no {}", built.display()))?;
    let (bin, own) = (programs.join("bin"), programs.join(&program));
    fs::create_dir_all(&bin).and_then(|()| fs::create_dir_all(&own))?;
    match sources_of(order) {
        Some(sources) => copy(&sources, &own)?,
        None => on_event(BuildEvent::Note(&format!(
            "cargo has not kept the sources of {program}: in the simulator it has no file"
        ))),
    }
    fs::rename(&built, bin.join(&program)).with_context(|| format!("keeping {program}"))?;
    let facts = Facts {
        name: order.name.into(),
        version: order.version.into(),
        sha256: sha256_hex(&bytes),
        compiler: installed::version("rustc").unwrap_or_default(),
        crates,
    };
    fs::write(own.join("facts.json"), serde_json::to_vec(&facts)?)?;
    Ok(facts)
}

/// Where cargo has unpacked the crate.
fn sources_of(order: &Order<'_>) -> Option<PathBuf> {
    let cargo = std::env::var_os("CARGO_HOME")
        .map(PathBuf::from)
        .or_else(|| std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cargo")))?;
    let name = format!("{}-{}", order.name, order.version);
    installed::matches(&format!("{}/registry/src/*/{name}", cargo.display())).pop()
}

/// Copies the text files of a folder, and of those in it.
fn copy(from: &Path, to: &Path) -> Result<()> {
    for path in installed::matches(&format!("{}/**/*", from.display())) {
        let is_source = path.extension().is_some_and(|end| end == "c" || end == "h" || end == "rs");
        let Some(place) = path.strip_prefix(from).ok().filter(|_| is_source && path.is_file())
        else {
            continue;
        };
        let place = to.join(place);
        place.parent().map_or(Ok(()), fs::create_dir_all)?;
        let bytes = files::read(&path, files::PACKED)
            .with_context(|| format!("copying {}", path.display()))?;
        fs::write(&place, bytes)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crates_that_were_compiled_before_are_not_counted_as_progress() {
        let mut counted = Counted::default();
        let artifact = |kind: &str, fresh: bool| {
            format!(
                r#"{{"reason":"compiler-artifact","target":{{"kind":["{kind}"]}},"fresh":{fresh}}}"#
            )
        };
        assert!(counted.hear(&artifact("lib", false)));
        assert!(!counted.hear(&artifact("lib", true)));
        assert!(!counted.hear(&artifact("custom-build", false)));
        assert!(!counted.hear(r#"{"reason":"build-script-executed","package_id":"x"}"#));
        assert_eq!((counted.compiled, counted.fresh, counted.has_compiled), (1, 1, false));
        counted.hear(r#"{"reason":"build-finished","success":false}"#);
        assert!(counted.has_compiled);
    }
}
