// SPDX-License-Identifier: GPL-2.0-only
//! `make bench`: how long a page of 5,000 trials takes, from records to the last chart. The browser
//! is a real one with its own clock; without Chromium only the first half is measured.

#[path = "../tests/chromium/mod.rs"]
mod chromium;
#[path = "../tests/synthetic/mod.rs"]
mod synthetic;

use std::time::Instant;

use chromium::driver::Reader;
use report::html::{About, page};
use stats::{Options, compare};

/// How often the page is opened.
const LOADS: usize = 7;

fn main() {
    let records = synthetic::five_thousand();
    let options = Options::against("eevdf-7");
    let (comparing_ms, comparison) = timed(|| compare(&records, &options));
    let (writing_ms, html) = timed(|| page(&comparison, &records, &About::default()));
    println!("{} trials, {} cells", records.len(), comparison.cells.len());
    println!("compared in {comparing_ms:.0} ms, page written in {writing_ms:.0} ms");
    println!("{:.2} MiB", html.len() as f64 / f64::from(1 << 20));
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("report.html");
    std::fs::write(&path, html).expect("written");
    let Some(mut reader) = Reader::new() else { return };
    let mut times = Vec::new();
    for _ in 0..LOADS {
        reader.open(&path, "");
        times.push(["first-contentful-paint", "drawn"].map(|name| mark_ms(&mut reader, name)));
    }
    let elements = reader.evaluate("document.querySelectorAll('*').length");
    for (at, what) in ["the first text is there", "all charts are drawn"].iter().enumerate() {
        let mut of: Vec<f64> = times.iter().map(|one| one[at]).collect();
        of.sort_by(f64::total_cmp);
        let (least, median, most) = (of[0], of[LOADS / 2], of[LOADS - 1]);
        println!("{what} after {median:.0} ms ({least:.0} to {most:.0} in {LOADS} loads)");
    }
    println!("{elements} elements");
}

fn timed<T>(work: impl FnOnce() -> T) -> (f64, T) {
    let start = Instant::now();
    let done = work();
    (start.elapsed().as_secs_f64() * 1e3, done)
}

/// When the page reached a mark, in milliseconds since it was asked for.
fn mark_ms(reader: &mut Reader, name: &str) -> f64 {
    let found = format!("performance.getEntriesByName('{name}')[0]?.startTime ?? NaN");
    reader.evaluate(&found).as_f64().unwrap_or(f64::NAN)
}
