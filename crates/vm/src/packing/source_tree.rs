// SPDX-License-Identifier: GPL-2.0-only
//! Source trees that programs build in a guest: what `scripts/sources.sh` has listed for it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use model::workload::{VERSION_FILE, tree_is_absent};

/// Where a guest has them, whatever the host's user calls his home: the length of a path costs
/// instructions.
pub const GUEST_FOLDER: &str = "/sources";

/// In a tree, the list of what its build reads: its own files as `./FILE`, others with their whole
/// path.
const LIST: &str = ".fairground-files";

/// What a guest needs to build a tree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tree {
    /// Programs that the compiler starts by itself.
    pub parts: Vec<String>,
    /// Places in the guest, and the files here.
    pub files: Vec<(String, PathBuf)>,
}

impl Tree {
    /// The tree of this name among `sources`.
    ///
    /// # Errors
    /// Why a guest cannot build it, with what would help.
    pub fn read(name: &str, sources: &Path) -> Result<Tree, String> {
        let folder = sources.join(name);
        if !folder.join(VERSION_FILE).is_file() {
            return Err(tree_is_absent(name));
        }
        let list = fs::read_to_string(folder.join(LIST)).map_err(|_| {
            format!("the source tree `{name}` is not listed for the VM; use --on live")
        })?;
        let mut tree = Tree::default();
        for line in list.lines() {
            tree.add(line, name, &folder).map_err(|gone| {
                format!(
                    "building the source tree `{name}` reads {gone}, which is not here any more; \
                     `scripts/sources.sh {name}` lists anew what it reads"
                )
            })?;
        }
        Ok(tree)
    }

    fn add(&mut self, line: &str, name: &str, folder: &Path) -> Result<(), String> {
        let inside = line.strip_prefix("./");
        let file = inside.map_or_else(|| PathBuf::from(line), |file| folder.join(file));
        let gone = |_| file.display().to_string();
        let mode = fs::metadata(&file).map_err(gone)?.permissions().mode();
        match inside {
            Some(inside) => self.files.push((format!("{GUEST_FOLDER}/{name}/{inside}"), file)),
            None if mode & 0o111 != 0 => self.parts.push(line.to_owned()),
            None => self.files.push((line.to_owned(), file)),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sources(list: Option<&str>) -> tempfile::TempDir {
        let sources = tempfile::tempdir().unwrap();
        let tree = sources.path().join("hello");
        fs::create_dir(&tree).unwrap();
        for file in [".fairground-version", "hello.c", "configure"] {
            fs::write(tree.join(file), "x").unwrap();
        }
        fs::set_permissions(tree.join("configure"), fs::Permissions::from_mode(0o755)).unwrap();
        if let Some(list) = list {
            fs::write(tree.join(LIST), list).unwrap();
        }
        sources
    }

    #[test]
    fn a_tree_keeps_its_files_and_the_compiler_its_places() {
        let sources = sources(Some("./configure\n./hello.c\n/bin/sh\n/etc/passwd\n"));
        let tree = Tree::read("hello", sources.path()).unwrap();
        assert_eq!(tree.parts, ["/bin/sh"]);
        let here = sources.path().join("hello");
        let expected = [
            ("/sources/hello/configure".to_owned(), here.join("configure")),
            ("/sources/hello/hello.c".to_owned(), here.join("hello.c")),
            ("/etc/passwd".to_owned(), "/etc/passwd".into()),
        ];
        assert_eq!(tree.files, expected);
    }

    #[test]
    fn what_is_not_here_says_what_brings_it() {
        let why = |name: &str, list| Tree::read(name, sources(list).path()).unwrap_err();
        let unknown = why("bzip3", None);
        assert!(unknown.contains("`scripts/sources.sh bzip3` gets"), "{unknown}");
        let live_only = why("hello", None);
        assert!(live_only.contains("--on live"), "{live_only}");
        let stale = why("hello", Some("./hello.c\n/usr/lib/gcc/of-the-past/cc1\n"));
        assert!(stale.contains("reads /usr/lib/gcc/of-the-past/cc1, which is not here"), "{stale}");
        assert!(stale.contains("`scripts/sources.sh hello` lists anew"), "{stale}");
    }
}
