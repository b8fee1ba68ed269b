// SPDX-License-Identifier: GPL-2.0-only
//! `cargo test` alone runs what needs no machine: everything below a module `full` is ignored there,
//! and each test that is ignored says what it needs.

use crate::{expect_none, files};

#[test]
fn what_is_ignored_has_a_reason_and_what_is_full_is_ignored() {
    let mut complaints = Vec::new();
    for file in files().iter().filter(|file| file.is(&[".rs"]) && file.path != OWN) {
        let is_full = file.path.contains("/full/") || file.path.ends_with("/full.rs");
        let lines: Vec<(usize, &str)> = file.lines().collect();
        for pair in lines.windows(2) {
            let [(number, line), (_, next)] = [pair[0], pair[1]];
            if line.trim() == "#[ignore]" {
                complaints.push(format!("{}:{number}: say what the test needs", file.path));
            }
            if is_full && line.trim() == "#[test]" && !next.trim().starts_with("#[ignore") {
                complaints.push(format!("{}:{number}: ignore it, with a reason", file.path));
            }
        }
    }
    expect_none(complaints);
}

const OWN: &str = "tests/tidy/tiers.rs";
