// SPDX-License-Identifier: GPL-2.0-only
//! The book as HTML, in a browser: pages open from a file, and the search finds.
//!
//! The book as a reader opens it: every chapter is listed, links lead to chapters, and the search
//! works from a file, without a network and without a complaint.
//!
//! A line of a scheduler that the book names has what the book says: `` `file.c:12` (`text`) ``.

use std::path::Path;
use std::process::Command;

use testing::chromium::driver::{Reader, is_quiet};
use testing::need;

use crate::{expect_none, files, root};

#[test]
fn the_book_is_read_and_searched_without_a_network() {
    testing::beyond_cargo_test!("needs mdBook and a browser");
    let mdbook = need!(testing::program("mdbook"));
    let folder = tempfile::tempdir().expect("a temporary folder");
    let built = Command::new(mdbook)
        .arg("build")
        .arg(root().join("docs"))
        .arg("--dest-dir")
        .arg(folder.path())
        .output()
        .expect("mdbook runs");
    let said = String::from_utf8_lossy(&built.stderr);
    assert!(built.status.success() && !said.contains("WARN"), "{said}");
    let mut reader = need!(Reader::new());
    reader.screen(1280, 900, false);
    for page in ["index.html", "tutorial.html", "reference/verbs.html", "glossary.html"] {
        reader.visit(&folder.path().join(page));
        let title = reader.evaluate("document.querySelector('main h1').textContent");
        assert!(title.as_str().is_some_and(|title| !title.is_empty()), "{page} has a title");
    }
    finds(&mut reader, "equivalence margin");
    fits_a_phone(&mut reader, folder.path());
    is_quiet(&reader);
}

/// Types words into the search as a reader would, and waits for a finding.
fn finds(reader: &mut Reader, words: &str) {
    reader.evaluate("document.querySelector('#mdbook-search-toggle').click()");
    reader.until("document.activeElement?.id === 'mdbook-searchbar'");
    reader.evaluate(&format!(
        "(() => {{ const bar = document.activeElement; bar.value = '{words}';
        bar.dispatchEvent(new KeyboardEvent('keyup', {{ key: 'n', bubbles: true }}));
        bar.dispatchEvent(new Event('input', {{ bubbles: true }})); }})()"
    ));
    reader.until("document.querySelectorAll('#mdbook-searchresults li').length > 0");
}

/// On a narrow screen tables scroll inside the page, and the page itself does not.
fn fits_a_phone(reader: &mut Reader, book: &Path) {
    reader.screen(390, 844, true);
    for page in ["tutorial.html", "method/simulator.html", "reference/schedulers.html"] {
        reader.visit(&book.join(page));
        let wide = reader.evaluate("document.documentElement.scrollWidth > innerWidth + 1");
        assert_eq!(wide, serde_json::json!(false), "{page} is wider than a phone");
    }
}

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
