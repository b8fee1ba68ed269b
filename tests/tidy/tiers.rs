// SPDX-License-Identifier: GPL-2.0-only
//! `cargo test` alone runs what needs no machine: what is below a module `full`, which
//! `make test-all` runs, begins by asking whether it was called for.

use crate::{expect_none, files};

#[test]
fn what_is_full_asks_whether_it_was_called_for() {
    let mut complaints = Vec::new();
    for file in files().iter().filter(|file| file.is(&[".rs"]) && file.path != OWN) {
        let is_full = file.path.contains("/full/") || file.path.ends_with("/full.rs");
        let lines: Vec<(usize, &str)> = file.lines().collect();
        for (place, (number, line)) in lines.iter().enumerate() {
            if is_full && line.trim() == "#[test]" {
                let body =
                    lines[place..].iter().skip_while(|(_, line)| !line.ends_with('{')).nth(1);
                if !body.is_some_and(|(_, first)| first.contains("beyond_cargo_test!")) {
                    complaints.push(format!("{}:{number}: ask by `beyond_cargo_test!`", file.path));
                }
            }
        }
    }
    expect_none(complaints);
}

const OWN: &str = "tests/tidy/tiers.rs";
