// SPDX-License-Identifier: GPL-2.0-only
//! The programs that a build starts, and the Debian packages that have them.

use std::env;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail};

/// Programs and their packages.
const PROGRAMS: [(&str, &str); 11] = [
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
];

/// A header that the kernel's own tools include.
const HEADER: (&str, &str) = ("gelf.h", "libelf-dev");

/// Fails with one message that names everything that is missing.
pub fn check() -> Result<()> {
    let mut missing: Vec<(&str, &str)> =
        PROGRAMS.into_iter().filter(|(name, _)| find(name).is_none()).collect();
    let no_compiler = missing.iter().any(|(name, _)| *name == "gcc");
    if !no_compiler && !has_header() {
        missing.push(HEADER);
    }
    match missing.as_slice() {
        [] => Ok(()),
        missing => bail!("{}", words(missing)),
    }
}

fn words(missing: &[(&str, &str)]) -> String {
    let names: Vec<&str> = missing.iter().map(|(name, _)| *name).collect();
    let packages: Vec<&str> = missing.iter().map(|(_, package)| *package).collect();
    let (names, packages) = (names.join(", "), packages.join(" "));
    format!("building a kernel needs {names}: install the packages `{packages}`")
}

/// The path of a program.
pub fn find(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file())
}

fn has_header() -> bool {
    let mut gcc = Command::new("gcc");
    gcc.args(["-include", HEADER.0, "-fsyntax-only", "-x", "c", "/dev/null"]);
    gcc.output().is_ok_and(|output| output.status.success())
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
        let text = words(&[("flex", "flex"), ("pahole", "dwarves")]);
        let expected = "building a kernel needs flex, pahole: install the packages `flex dwarves`";
        assert_eq!(text, expected);
        assert!(find("sh").is_some() && find("no-such-program").is_none());
    }
}
