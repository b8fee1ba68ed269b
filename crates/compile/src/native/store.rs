// SPDX-License-Identifier: GPL-2.0-only
//! Native objects in the binary and in folders: `<sha256>.so`, and `<sha256>.native.json` for the
//! facts.

use std::io;
use std::path::Path;

use super::Facts;
use crate::object::OBJECTS_VARIABLE;

/// What the build script made.
mod embedded {
    /// A scheduler of the project.
    pub struct Builtin {
        pub sha256: &'static str,
        pub object: &'static [u8],
        pub facts: &'static str,
    }

    include!(concat!(env!("OUT_DIR"), "/embedded_native.rs"));
}

/// Finds an object by its source's identity.
pub fn find(sha256: &str) -> Option<(Vec<u8>, Facts)> {
    built_in(sha256)
        .or_else(|| read(Path::new(&std::env::var_os(OBJECTS_VARIABLE)?), sha256))
        .or_else(|| read(&crate::object::cache(), sha256))
}

fn built_in(sha256: &str) -> Option<(Vec<u8>, Facts)> {
    let entry = embedded::NATIVES.iter().find(|entry| entry.sha256 == sha256)?;
    Some((entry.object.into(), serde_json::from_str(entry.facts).ok()?))
}

fn read(folder: &Path, sha256: &str) -> Option<(Vec<u8>, Facts)> {
    let facts = std::fs::read(folder.join(format!("{sha256}.native.json"))).ok()?;
    let facts = serde_json::from_slice(&facts).ok()?;
    Some((std::fs::read(folder.join(format!("{sha256}.so"))).ok()?, facts))
}

/// Puts an object into a folder, which is made if needed. The facts come last, so that a reader who
/// finds them finds a whole object.
///
/// # Errors
/// When the folder cannot be written.
pub fn write(folder: &Path, sha256: &str, object: &[u8], facts: &Facts) -> io::Result<()> {
    std::fs::create_dir_all(folder)?;
    let write = |ending: &str, bytes: &[u8]| {
        let fresh = tempfile::NamedTempFile::new_in(folder)?;
        std::fs::write(fresh.path(), bytes)?;
        fresh.persist(folder.join(format!("{sha256}.{ending}")))?;
        io::Result::Ok(())
    };
    write("so", object)?;
    write("native.json", &serde_json::to_vec(facts)?)
}
