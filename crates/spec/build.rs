// SPDX-License-Identifier: GPL-2.0-only
//! Embeds the project's TOML files, so that `fairground run quick` needs nothing but the binary.
//!
//! Cargo watches the folders: a new file is embedded without an edit anywhere else.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// The folders whose files are embedded.
const FOLDERS: [&str; 7] =
    ["workloads", "machines", "experiments", "claims", "cares", "kernels", "schedulers/today"];

fn main() -> io::Result<()> {
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR").unwrap_or_default()).join("../..");
    let mut table = String::from("&[\n");
    // A folder that is not there holds nothing.
    for folder in FOLDERS.into_iter().filter(|folder| root.join(folder).is_dir()) {
        let path = root.join(folder).canonicalize()?;
        println!("cargo:rerun-if-changed={}", path.display());
        for file in toml_files(&path)? {
            let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
            writeln!(table, "    ({:?}, include_str!({file:?})),", format!("{folder}/{name}"))
                .map_err(io::Error::other)?;
        }
    }
    table.push_str("]\n");
    fs::write(Path::new(&env::var("OUT_DIR").unwrap_or_default()).join("assets.rs"), table)
}

/// The `.toml` and `.json` files of a folder, sorted.
fn toml_files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files: Vec<PathBuf> =
        fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?;
    files.retain(|file| file.extension().is_some_and(|end| end == "toml" || end == "json"));
    files.sort();
    Ok(files)
}
