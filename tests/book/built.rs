// SPDX-License-Identifier: GPL-2.0-only
//! The book as a reader opens it: every chapter is listed, links lead to chapters, and the search
//! works from a file, without a network and without a complaint.

use crate::{expect_none, files, root};

#[test]
fn every_chapter_is_listed_and_links_stay_in_the_book() {
    let summary = std::fs::read_to_string(root().join("docs/src/SUMMARY.md")).expect("a summary");
    let mut complaints = Vec::new();
    for file in files() {
        let Some(name) = file.path.strip_prefix("docs/src/") else { continue };
        if name != "SUMMARY.md" && !summary.contains(&format!("]({name})")) {
            complaints.push(format!("{}: name it in docs/src/SUMMARY.md", file.path));
        }
        let depth = name.matches('/').count();
        let outside = format!("]({}", "../".repeat(depth + 1));
        if file.text.contains(&outside) {
            complaints.push(format!("{}: a link leaves the book", file.path));
        }
    }
    expect_none(complaints);
}
