// SPDX-License-Identifier: GPL-2.0-only
//! The page in a real browser: charts are drawn, controls work, nothing complains.

use report::html::{About, page};
use stats::{Options, compare};
use testing::chromium::driver::{is_quiet, opened};
use testing::{need, synthetic};

/// What a reader would do, as a script that the test adds to the page.
const READER: &str = include_str!("reader.js");

fn sample() -> String {
    let mut records = synthetic::experiment();
    for record in records.iter_mut().filter(|r| r.trial.contestant.name == "fifo") {
        record.trial.contestant.name = "<img src=x onerror=alert(1)>".into();
    }
    let comparison = compare(&records, &Options { resamples: 200, ..Options::against("eevdf-7") });
    let about = About { title: "Browser".into(), ..About::default() };
    page(&comparison, &records, &about)
}

#[test]
fn charts_and_controls_work_without_a_complaint() {
    testing::beyond_cargo_test!("opens a browser");
    let page = sample().replace("</body>", &format!("<script>{READER}</script></body>"));
    let (mut reader, path, _folder) = need!(opened(&page));
    reader.screen(700, 900, false);
    reader.open(&path, "");
    reader.until("document.body.dataset.seen");
    is_quiet(&reader);
    let seen = reader.evaluate("document.body.dataset.seen");
    let seen = seen.as_str().expect("text");
    println!("{seen}");
    for expected in [
        "charts=7",
        "boxes=8",
        "outlines=8",
        "slices=3",
        "savers=true",
        "csv=true",
        "svg=true",
        "chart-csv=true",
        "overflow=false",
        "boxes-after-chip=7",
        "measure=completion_ns all",
        "subject=hackbench",
        "ramp-hidden=true",
        "filtered=1",
        "address=true",
        "opened=1",
        "reason=true",
        "injected=0",
    ] {
        assert!(seen.contains(expected), "{expected} is not in {seen}");
    }
}
