// SPDX-License-Identifier: GPL-2.0-only
//! The book as HTML, in a browser: pages open from a file, and the search finds.

use std::path::Path;
use std::process::Command;

use testing::chromium::driver::{Reader, is_quiet};
use testing::need;

use crate::root;

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
