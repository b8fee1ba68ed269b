// SPDX-License-Identifier: GPL-2.0-only
//! What a scheduler's identity does not cover is not compiled, in whatever way its text asks for it.

use std::path::Path;

use compile::native::native;

/// Stands before the name of each file of a set but the first, which is the scheduler.
const NEXT: &str = "//// ";

/// Compiles a set of files twice, with other texts in the place of `OTHER`.
///
/// # Errors
/// Two programs are made of what the identity says is one.
pub fn read(bytes: &[u8]) -> Result<i32, String> {
    let set = String::from_utf8_lossy(bytes);
    let folders = ["1", "2"].map(|other| {
        let folder = tempfile::tempdir().expect("a temporary folder");
        write(folder.path(), &set, other);
        folder
    });
    let found = |at: usize| compile::resolve("./mine.bpf.c", folders[at].path()).ok();
    let (Some(one), Some(other)) = (found(0), found(1)) else { return Ok(2) };
    // Only what has one identity is worth a compiler's time.
    if one.included != other.included {
        return Ok(0);
    }
    match [&one, &other].map(|source| native(source).ok().map(|native| native.object)) {
        [None, None] => Ok(2),
        [first, second] if first == second => Ok(0),
        _ => Err("two programs are made of one scheduler".into()),
    }
}

fn write(folder: &Path, set: &str, other: &str) {
    let mut parts = set.split(NEXT);
    // A line that changes nothing but the identity: else the second object would be the cached one.
    let scheduler = format!("{}\n// {other}\n", parts.next().unwrap_or_default());
    std::fs::write(folder.join("mine.bpf.c"), scheduler).expect("a scheduler");
    for part in parts {
        let (name, text) = part.split_once('\n').unwrap_or((part, ""));
        let name: String = name.chars().filter(char::is_ascii_alphanumeric).take(40).collect();
        let text = text.replace("OTHER", other);
        std::fs::write(folder.join(format!("{name}.h")), text).expect("a header");
    }
}
