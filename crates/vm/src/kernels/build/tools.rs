// SPDX-License-Identifier: GPL-2.0-only
//! The programs that a build starts, and the Debian packages that have them.

use std::env;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail};

/// What a build needs, each with the package that has it.
pub struct Needs {
    /// What is built: `a kernel`.
    pub what: &'static str,
    pub programs: &'static [(&'static str, &'static str)],
    /// Headers that the compiler finds.
    pub headers: &'static [(&'static str, &'static str)],
    /// Libraries that `pkg-config` knows.
    pub libraries: &'static [(&'static str, &'static str)],
}

/// What building a kernel needs.
pub const KERNEL: Needs = Needs {
    what: "a kernel",
    programs: &[
        ("make", "make"),
        ("gcc", "gcc"),
        ("ld", "binutils"),
        ("flex", "flex"),
        ("bison", "bison"),
        ("bc", "bc"),
        ("perl", "perl"),
        ("pahole", "dwarves"),
        ("patch", "patch"),
        ("tar", "tar"),
        ("xz", "xz-utils"),
    ],
    headers: &[("gelf.h", "libelf-dev")],
    libraries: &[],
};

/// Fails with one message that names everything that is missing.
pub fn check(needs: &Needs) -> Result<()> {
    match missing(needs).as_slice() {
        [] => Ok(()),
        missing => bail!("{}", words(needs.what, missing)),
    }
}

/// What is missing, each with its package.
pub fn missing(needs: &Needs) -> Vec<(&'static str, &'static str)> {
    let is_missing = |list: &'static [(&str, &str)], is_here: fn(&str) -> bool| {
        list.iter().copied().filter(move |(name, _)| !is_here(name))
    };
    let mut missing: Vec<(&str, &str)> =
        is_missing(needs.programs, |name| find(name).is_some()).collect();
    let has = |name: &str| !missing.iter().any(|(it, _)| *it == name);
    let (has_compiler, has_libraries) = (has("gcc"), has("pkg-config"));
    if has_compiler {
        missing.extend(is_missing(needs.headers, has_header));
    }
    if has_libraries {
        missing.extend(is_missing(needs.libraries, has_library));
    }
    missing
}

fn words(what: &str, missing: &[(&str, &str)]) -> String {
    let names: Vec<&str> = missing.iter().map(|(name, _)| *name).collect();
    let packages: Vec<&str> = missing.iter().map(|(_, package)| *package).collect();
    let (names, packages) = (names.join(", "), packages.join(" "));
    format!("building {what} needs {names}: install the packages `{packages}`")
}

/// The path of a program.
pub fn find(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file())
}

fn has_header(name: &str) -> bool {
    let mut gcc = Command::new("gcc");
    gcc.args(["-include", name, "-fsyntax-only", "-x", "c", "/dev/null"]);
    gcc.output().is_ok_and(|output| output.status.success())
}

fn has_library(name: &str) -> bool {
    let mut known = Command::new("pkg-config");
    known.args(["--exists", name]);
    known.status().is_ok_and(|status| status.success())
}

/// The compiler as records name it: the first line of `gcc --version`.
pub fn compiler() -> Result<String> {
    let output = Command::new("gcc").arg("--version").output().context("gcc cannot be run")?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    Ok(text.lines().next().unwrap_or_default().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_message_names_all_packages() {
        let text = words("a kernel", &[("flex", "flex"), ("pahole", "dwarves")]);
        let expected = "building a kernel needs flex, pahole: install the packages `flex dwarves`";
        assert_eq!(text, expected);
        assert!(find("sh").is_some() && find("no-such-program").is_none());
    }
}
