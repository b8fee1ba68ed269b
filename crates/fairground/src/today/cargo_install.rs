// SPDX-License-Identifier: GPL-2.0-only
//! From a crate to a kept program: cargo builds it with the user's own configuration, as
//! `cargo install` does.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;

use anyhow::{Context, Result, anyhow};
use model::trial::sha256_hex;
use spec::files;
use vm::installed;
use vm::kernels::build::tools::{self, Job, Needs};
use vm::kernels::build::{BuildEvent, OnBuildEvent, Refused};

use super::{Facts, all, folder};
use crate::exit::bad_input;

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
const ESTIMATE: u64 = 260;

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
    fn program(&self) -> String {
        format!("{}@{}", self.name, self.version)
    }

    fn needs(&self) -> &'static Needs {
        if self.name == "scx_rustland" { &NEEDS_OF_RUSTLAND } else { &NEEDS }
    }
}

/// Builds a program and keeps it with its sources, unless it is kept already. A build that was
/// interrupted continues.
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
    let needs = order.needs();
    let mut packages = vec!["clang", "libclang-dev"];
    packages.extend(needs.programs.iter().chain(needs.headers).map(|(_, package)| *package));
    on_event(BuildEvent::Note(&format!(
        "building {} with cargo, for some minutes; it needs {}",
        order.program(),
        packages.join(", ")
    )));
    tools::check(needs)?;
    compile::compiler().map_err(|why| anyhow!("the schedulers' BPF programs need clang: {why}"))?;
    let (root, target) = (folder(home).join("new"), folder(home).join("target"));
    fs::create_dir_all(&root).with_context(|| format!("creating {}", root.display()))?;
    let crates = install(order, &root, &target, about(&kept), on_event)?;
    let facts = keep(order, home, &root, crates, on_event)?;
    let _ = fs::remove_dir_all(&root);
    let _ = fs::remove_dir_all(&target);
    Ok(facts)
}

/// How many crates will be compiled: as many as last time.
fn about(kept: &[Facts]) -> u64 {
    kept.iter().map(|facts| facts.crates).max().unwrap_or(ESTIMATE)
}

/// Runs `cargo install`; the number of crates that it compiled.
fn install(
    order: &Order<'_>,
    root: &Path,
    target: &Path,
    about: u64,
    on_event: &mut OnBuildEvent<'_>,
) -> Result<u64> {
    let log = folder_of(root).join("build.log");
    let mut command = Command::new("sh");
    // cargo says what it does where errors go.
    command.args(["-c", "exec \"$@\" 2>&1", "sh", "cargo", "install", "--locked", "--force"]);
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
    let (mut done, mut said) = (0, String::new());
    let job = Job { what: order.name, log: &log, stop: order.stop };
    let run = job.run(command, &mut |line| {
        said += &format!("{line}\n");
        if line.trim_start().starts_with("Compiling ") {
            done += 1;
            on_event(BuildEvent::Compiled { done, about: about.max(done) });
        }
    });
    run.map(|()| done).map_err(|error| explained(order, &said, error))
}

fn folder_of(root: &Path) -> PathBuf {
    root.parent().unwrap_or(root).to_owned()
}

/// Tells a version that there is not, and a network that there is not, from a text that does not
/// compile.
fn explained(order: &Order<'_>, said: &str, error: anyhow::Error) -> anyhow::Error {
    if !error.is::<Refused>() {
        return error;
    }
    let has = |words: &[&str]| words.iter().any(|word| said.contains(word));
    let last = said.lines().rev().find(|line| line.contains("error")).unwrap_or_default().trim();
    let program = order.program();
    let is_unreached = has(&[
        "Could not resolve host",
        "download of config.json failed",
        "failed to download",
        "network failure",
        "Could not connect",
        "Connection refused",
        "Timeout was reached",
    ]);
    if order.offline && has(&["--offline", "offline mode", "without the offline flag"]) {
        return anyhow!(
            "{program} is not among what cargo has downloaded; run it without --offline"
        );
    }
    if is_unreached {
        return anyhow!("{program} cannot be downloaded, cargo reaches no registry: {last}");
    }
    if has(&["could not find", "no matching package"]) && has(&["in registry", "with version"]) {
        let known = super::known_version(order.name).unwrap_or_default();
        return bad_input(format!(
            "there is no version {} of {}; write {}@{known}, which Fairground knows",
            order.version, order.name, order.name
        ));
    }
    error
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
        fs::create_dir_all(folder_of(&place))?;
        let bytes = files::read(&path, files::PACKED)
            .with_context(|| format!("copying {}", path.display()))?;
        fs::write(&place, bytes)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exit::BadInput;

    #[test]
    fn what_cargo_says_is_a_sentence() {
        let stop = AtomicBool::new(false);
        let order = |offline| Order {
            name: "scx_bpfland",
            version: "9.9.9",
            offline,
            jobs: 1,
            stop: &stop,
        };
        let explained = |offline, said: &str| {
            explained(&order(offline), said, Refused("it does not compile".into()).into())
        };
        let none = "error: could not find `scx_bpfland` in registry `crates` with version `=9.9.9`";
        let none = explained(false, none);
        assert!(none.is::<BadInput>() && none.to_string().starts_with("there is no version 9.9.9"));
        let offline = explained(true, "error: could not find it; try without the offline flag");
        assert!(offline.to_string().ends_with("run it without --offline"), "{offline}");
        let network = "error: download of config.json failed\nCould not resolve host: x";
        assert!(explained(false, network).to_string().contains("cargo reaches no registry"));
        assert!(explained(false, "error: expected `;`").is::<Refused>());
    }
}
