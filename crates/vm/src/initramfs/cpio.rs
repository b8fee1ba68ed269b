// SPDX-License-Identifier: GPL-2.0-only
//! The archive that a kernel unpacks into its first file system: cpio's "newc" form
//! (Documentation/driver-api/early-userspace/buffer-format.rst).

use std::collections::BTreeSet;

use model::trial::sha256_hex;

const DIRECTORY: u32 = 0o040_000;
const REGULAR: u32 = 0o100_000;
const CHARACTER: u32 = 0o020_000;
const LINK: u32 = 0o120_000;

/// An archive under construction. Equal calls give equal bytes: no times, no owners, numbers in
/// order.
#[derive(Default)]
pub struct Archive {
    bytes: Vec<u8>,
    entries: u32,
    paths: BTreeSet<String>,
}

impl Archive {
    /// A folder, and those above it. An existing one is unchanged.
    pub fn folder(&mut self, path: &str) {
        let path = path.trim_matches('/');
        let ends = path.match_indices('/').map(|(end, _)| end).chain([path.len()]);
        for end in ends.filter(|end| *end > 0) {
            if !self.has(&path[..end]) {
                self.entry(&path[..end], DIRECTORY | 0o755, (0, 0), b"");
            }
        }
    }

    /// A file. The first of two with the same path wins; `false` says that there was one.
    pub fn file(&mut self, path: &str, permissions: u32, content: &[u8]) -> bool {
        if self.has(path) {
            return false;
        }
        self.folder(parent(path));
        self.entry(path, REGULAR | permissions, (0, 0), content);
        true
    }

    /// A symbolic link, unless something has its path.
    pub fn link(&mut self, path: &str, target: &str) {
        if !self.has(path) {
            self.folder(parent(path));
            self.entry(path, LINK | 0o777, (0, 0), target.as_bytes());
        }
    }

    pub fn device(&mut self, path: &str, major: u32, minor: u32) {
        self.folder(parent(path));
        self.entry(path, CHARACTER | 0o600, (major, minor), b"");
    }

    pub fn has(&self, path: &str) -> bool {
        self.paths.contains(path.trim_matches('/'))
    }

    /// SHA-256 of all entries so far.
    pub fn sha256(&self) -> String {
        sha256_hex(&self.bytes)
    }

    /// The archive with its end mark.
    pub fn finish(mut self) -> Vec<u8> {
        self.entry("TRAILER!!!", 0, (0, 0), b"");
        self.bytes
    }

    fn entry(&mut self, path: &str, mode: u32, device: (u32, u32), content: &[u8]) {
        let path = path.trim_matches('/');
        self.paths.insert(path.to_owned());
        self.entries += 1;
        let links = if mode & DIRECTORY == DIRECTORY { 2 } else { 1 };
        let fields = [
            self.entries,
            mode,
            0, // owner
            0, // group
            links,
            0, // time
            content.len() as u32,
            0, // device that holds the file
            0,
            device.0,
            device.1,
            path.len() as u32 + 1,
            0, // no checksum in this form
        ];
        self.bytes.extend_from_slice(b"070701");
        for field in fields {
            self.bytes.extend_from_slice(format!("{field:08x}").as_bytes());
        }
        self.bytes.extend_from_slice(path.as_bytes());
        self.bytes.push(0);
        self.align();
        self.bytes.extend_from_slice(content);
        self.align();
    }

    fn align(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }
}

fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(parent, _)| parent)
}

/// Reads an archive back: path, mode and content of every entry.
#[cfg(test)]
pub fn read(bytes: &[u8]) -> Vec<(String, u32, Vec<u8>)> {
    let mut entries = Vec::new();
    let mut at = 0;
    loop {
        assert_eq!(&bytes[at..at + 6], b"070701", "at byte {at}");
        let field = |number: usize| {
            let start = at + 6 + 8 * number;
            let digits = std::str::from_utf8(&bytes[start..start + 8]).unwrap();
            usize::from_str_radix(digits, 16).unwrap()
        };
        let (mode, size, name_size) = (field(1), field(6), field(11));
        let name = at + 110;
        let content = (name + name_size).next_multiple_of(4);
        let path = String::from_utf8(bytes[name..name + name_size - 1].to_vec()).unwrap();
        assert_eq!(bytes[name + name_size - 1], 0);
        if path == "TRAILER!!!" {
            return entries;
        }
        entries.push((path, mode as u32, bytes[content..content + size].to_vec()));
        at = (content + size).next_multiple_of(4);
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::process::{Command, Stdio};

    use super::*;

    fn example() -> Vec<u8> {
        let mut archive = Archive::default();
        archive.device("/dev/null", 1, 3);
        assert!(archive.file("/usr/bin/true", 0o755, b"abcde"));
        assert!(!archive.file("/usr/bin/true", 0o755, b"other"));
        archive.folder("/usr/lib/");
        archive.finish()
    }

    #[test]
    fn an_archive_can_be_read_back() {
        let entries = read(&example());
        let modes: Vec<(&str, u32)> = entries.iter().map(|e| (e.0.as_str(), e.1)).collect();
        let folder = DIRECTORY | 0o755;
        let expected = [
            ("dev", folder),
            ("dev/null", CHARACTER | 0o600),
            ("usr", folder),
            ("usr/bin", folder),
            ("usr/bin/true", REGULAR | 0o755),
            ("usr/lib", folder),
        ];
        assert_eq!(modes, expected);
        assert_eq!(entries[4].2, b"abcde");
    }

    #[test]
    fn cpio_agrees() {
        testing::beyond_cargo_test!("needs cpio");
        let spawned = Command::new("cpio")
            .args(["--list", "--quiet"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn();
        let mut child = testing::need!(spawned.map_err(|why| format!("cpio: {why}")));
        child.stdin.take().unwrap().write_all(&example()).unwrap();
        let output = child.wait_with_output().unwrap();
        let listed = String::from_utf8(output.stdout).unwrap();
        let paths: Vec<String> = read(&example()).into_iter().map(|entry| entry.0).collect();
        assert_eq!(listed.lines().collect::<Vec<_>>(), paths);
    }
}
