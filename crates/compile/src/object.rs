// SPDX-License-Identifier: GPL-2.0-only
//! Compiled schedulers, and the folders that hold them.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

use crate::{clang, embedded, toolkit};

/// The environment variable that names a folder of objects. A guest finds schedulers that are not
/// built in there.
pub const OBJECTS_VARIABLE: &str = "FAIRGROUND_OBJECTS";

/// A compiled scheduler. In a folder it is two files: `<sha256>.bpf.o`, and `<sha256>.json` for the
/// rest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Compiled {
    pub name: String,
    /// The identity of its source.
    pub sha256: String,
    /// The compiler's warnings.
    #[serde(default)]
    pub warnings: Vec<String>,
    /// The BPF object with BTF.
    #[serde(skip)]
    pub object: Vec<u8>,
}

/// Finds an object by its source's identity: built in, in the folder that [`OBJECTS_VARIABLE`]
/// names, or compiled before.
pub fn find_object(sha256: &str) -> Option<Compiled> {
    built_in(sha256)
        .or_else(|| read_object(Path::new(&std::env::var_os(OBJECTS_VARIABLE)?), sha256))
        .or_else(|| read_object(&cache(), sha256))
}

fn built_in(sha256: &str) -> Option<Compiled> {
    let entry = embedded::BUILTINS.iter().find(|entry| entry.sha256 == sha256)?;
    Some(Compiled {
        name: entry.name.into(),
        sha256: sha256.into(),
        warnings: Vec::new(),
        object: entry.object.into(),
    })
}

/// Where objects are kept: below the folder of the headers and flags, one folder for each state of
/// the compiler. Where it was removed, what it made last still serves.
pub(crate) fn cache() -> PathBuf {
    static STAMP: OnceLock<Option<String>> = OnceLock::new();
    let all = toolkit::folder().join("objects");
    let last = || {
        let folders = std::fs::read_dir(&all).ok()?.flatten().map(|entry| entry.path());
        folders.max_by_key(|path| path.metadata().and_then(|data| data.modified()).ok())
    };
    match STAMP.get_or_init(clang::stamp) {
        Some(stamp) => all.join(stamp),
        None => last().unwrap_or(all),
    }
}

fn read_object(folder: &Path, sha256: &str) -> Option<Compiled> {
    let facts = std::fs::read(folder.join(format!("{sha256}.json"))).ok()?;
    let compiled: Compiled = serde_json::from_slice(&facts).ok()?;
    let object = std::fs::read(folder.join(format!("{sha256}.bpf.o"))).ok()?;
    Some(Compiled { object, ..compiled })
}

/// Puts an object into a folder, which is made if needed. The facts come last, so that a reader
/// that finds them finds a complete object.
///
/// # Errors
/// When the folder cannot be written.
pub fn write_object(folder: &Path, compiled: &Compiled) -> io::Result<()> {
    std::fs::create_dir_all(folder)?;
    let write = |ending: &str, bytes: &[u8]| {
        let fresh = tempfile::NamedTempFile::new_in(folder)?;
        std::fs::write(fresh.path(), bytes)?;
        fresh.persist(folder.join(format!("{}.{ending}", compiled.sha256)))?;
        io::Result::Ok(())
    };
    write("bpf.o", &compiled.object)?;
    write("json", &serde_json::to_vec(compiled)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_survives_its_folder() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let compiled = Compiled {
            name: "mine".into(),
            sha256: "00ff".into(),
            warnings: vec!["mine.bpf.c:3:1: warning: unused".into()],
            object: vec![1, 2, 3],
        };
        let inside = folder.path().join("new");
        write_object(&inside, &compiled).expect("the folder can be written");
        assert_eq!(read_object(&inside, "00ff"), Some(compiled));
        assert_eq!(read_object(&inside, "0000"), None);
    }
}
