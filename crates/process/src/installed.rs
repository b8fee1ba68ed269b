// SPDX-License-Identifier: GPL-2.0-only
//! Programs that are installed here.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::{env, fs};

/// Finds a program as a shell does, and where `cargo install` puts it. Of several that a pattern
/// stands for, it is the last one.
pub fn find(program: &str) -> Option<PathBuf> {
    if program.contains('*') {
        return matches(program).into_iter().rfind(|path| is_executable(path));
    }
    if program.contains('/') {
        return is_executable(Path::new(program)).then(|| program.into());
    }
    folders().into_iter().map(|folder| folder.join(program)).find(|path| is_executable(path))
}

/// The paths that a pattern stands for, sorted.
pub fn matches(pattern: &str) -> Vec<PathBuf> {
    glob::glob(pattern).map(|paths| paths.flatten().collect()).unwrap_or_default()
}

/// Where programs are searched for, in this order.
pub fn folders() -> Vec<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let cargo = env::var_os("CARGO_HOME")
        .map(PathBuf::from)
        .or_else(|| env::var_os("HOME").map(|home| PathBuf::from(home).join(".cargo")));
    env::split_paths(&path)
        .chain(["/usr/sbin".into(), "/usr/local/bin".into()])
        .chain(cargo.map(|cargo| cargo.join("bin")))
        .chain(kept())
        .collect()
}

/// Where programs are that were built here, each under its name and version: `scx_lavd@1.1.4`.
pub fn kept() -> Option<PathBuf> {
    Some(data_folder()?.join("programs/bin"))
}

/// `$FAIRGROUND_HOME`, else `$XDG_DATA_HOME/fairground`, else `~/.local/share/fairground`; `None`
/// if none of the three variables is set.
pub fn data_folder() -> Option<PathBuf> {
    let folder =
        |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    folder("FAIRGROUND_HOME")
        .or_else(|| folder("XDG_DATA_HOME").map(|data| data.join("fairground")))
        .or_else(|| folder("HOME").map(|home| home.join(".local/share/fairground")))
}

pub fn is_executable(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_stands_for_its_last_program() {
        let folder = tempfile::tempdir().unwrap();
        for (version, mode) in [("14", 0o755), ("15", 0o755), ("16", 0o644)] {
            let path = folder.path().join(version);
            fs::create_dir(&path).unwrap();
            fs::write(path.join("server"), "").unwrap();
            let allowed = fs::Permissions::from_mode(mode);
            fs::set_permissions(path.join("server"), allowed).unwrap();
        }
        let pattern = format!("{}/*/server", folder.path().display());
        assert_eq!(find(&pattern), Some(folder.path().join("15/server")));
        assert_eq!((matches(&pattern).len(), find(&format!("{pattern}x"))), (3, None));
    }
}
