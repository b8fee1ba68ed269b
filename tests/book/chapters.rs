// SPDX-License-Identifier: GPL-2.0-only
//! Every chapter is listed, links lead to chapters, and a line of a scheduler that the book names
//! has what the book says: `` `file.c:12` (`text`) ``.

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

/// A file's name, a line of it from 1, and what is there.
type Reference<'a> = (&'a str, usize, &'a str);

fn references(page: &str) -> Vec<Reference<'_>> {
    page.split('`').collect::<Vec<_>>().windows(3).filter_map(reference).collect()
}

fn reference<'a>(parts: &[&'a str]) -> Option<Reference<'a>> {
    let (file, line) = parts[0].rsplit_once(':')?;
    let is_one = file.starts_with("schedulers/") && parts[1] == " (";
    Some((file, line.parse().ok()?, parts[2])).filter(|_| is_one)
}

#[test]
fn lines_of_schedulers_have_what_the_book_says() {
    let all = files();
    let is_there = |(name, line, what): Reference<'_>| {
        let source = all.iter().find(|file| file.path == name);
        let found = source.and_then(|file| file.text.lines().nth(line.checked_sub(1)?));
        found.is_some_and(|found| found.contains(what))
    };
    let (mut seen, mut wrong) = (0, Vec::new());
    for page in all.iter().filter(|file| file.path.starts_with("docs/src/")) {
        for reference in references(&page.text) {
            seen += 1;
            let (name, line, what) = reference;
            if !is_there(reference) {
                wrong.push(format!("{}: {name}:{line} has no `{what}`", page.path));
            }
        }
    }
    assert!(seen > 0, "the book names no line");
    expect_none(wrong);
}
