// SPDX-License-Identifier: GPL-2.0-only
//! The gallery in a real browser: nothing sticks out and nothing complains.

use model::Record;
use report::html::gallery::{Gallery, SharedFile, page};
use stats::view::consensus::{Contribution, definitions, questions};
use stats::{Options, compare};
use testing::chromium::{chromium, complaints};
use testing::need;
use testing::synthetic;

const NASTY: &str = "</title><script>document.body.dataset.seen='run'</script>";

/// Says whether the page is wider than the window.
const READER: &str = "<script>const e = document.documentElement;
    document.body.dataset.seen = `overflow=${e.scrollWidth > window.innerWidth}`;</script>";

/// Three contributors of whom one finds the opposite.
fn gallery() -> String {
    let options = Options { resamples: 200, ..Options::against("eevdf-7") };
    let records = synthetic::experiment();
    let mut other = records.clone();
    for record in &mut other {
        let name = &mut record.trial.contestant.name;
        *name = match name.as_str() {
            "fifo" => "vtime".into(),
            "vtime" => "fifo".into(),
            same => same.to_owned(),
        };
    }
    let all = [("Ada", &records), ("Grace", &records), (NASTY, &other)];
    let contributions = all.map(|(name, records)| Contribution {
        name: name.into(),
        comparison: compare(records, &options),
        definitions: definitions(records),
    });
    let file = |(name, records): (&str, &Vec<Record>)| SharedFile {
        file: format!("{name}.fairground"),
        by: name.to_owned(),
        trials: records.len(),
        facts: vec![("Note", "a note whose words take no end ".repeat(9))],
        ..SharedFile::default()
    };
    page(&Gallery {
        files: all.map(file).into(),
        refused: vec![(NASTY.into(), "the seal is broken: ".repeat(9))],
        questions: questions(&contributions),
        generated: "2026-01-31".into(),
    })
}

#[test]
fn it_fits_a_desktop_and_a_phone() {
    testing::beyond_cargo_test!("opens a browser");
    let page = gallery();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("index.html");
    std::fs::write(&path, page.replace("</body>", &format!("{READER}</body>"))).expect("written");
    for size in ["--window-size=1280,900", "--window-size=500,900"] {
        let (dom, stderr) = need!(chromium(&path, &[size, "--dump-dom"]));
        assert_eq!(complaints(&stderr), Vec::<&str>::new());
        assert!(dom.contains("data-seen=\"overflow=false\""), "it sticks out at {size}");
    }
}
