// SPDX-License-Identifier: GPL-2.0-only
//! `make bench`: how long a page of 5,000 trials takes, from records to the last chart, and one
//! of a cell with 10,000 and with 100,000. The browser
//! is a real one with its own clock; without Chromium only the first half is measured.
//!
//! A page is *ready* when all of its first view is drawn, every control works, and a key that is
//! pressed then is answered. Charts further down are drawn when a reader comes near: how long all
//! of them take is measured on the way through the page, and by printing it.

use std::path::Path;
use std::time::Instant;

use report::html::{About, page};
use serde_json::json;
use stats::{Options, compare};
use testing::chromium::driver::Reader;
use testing::synthetic;

/// How often the page is opened.
const LOADS: usize = 7;

/// What is measured each time that the page opens, in milliseconds.
const MEASURED: [&str; 5] = [
    "the first text is there",
    "the first view is drawn and the page is ready",
    "a key pressed then is answered",
    "all charts are drawn by scrolling through, from its start",
    "all charts are drawn for paper, from the wish to print",
];

fn main() {
    let records = synthetic::five_thousand();
    let options = Options::against("eevdf-7");
    let (comparing_ms, comparison) = timed(|| compare(&records, &options));
    let (writing_ms, html) = timed(|| page(&comparison, &records, &About::default()));
    println!("{} trials, {} cells", records.len(), comparison.cells.len());
    println!("compared in {comparing_ms:.0} ms, page written in {writing_ms:.0} ms");
    println!("{:.2} MB", html.len() as f64 / 1e6);
    one_cell();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("report.html");
    std::fs::write(&path, html).expect("written");
    let mut reader = Reader::new().expect("a browser");
    reader.screen(1280, 900, false);
    // Noted by the page itself: when a key came through.
    let watch = "addEventListener('focusin', () => performance.mark('key'));";
    reader.call("Page.addScriptToEvaluateOnNewDocument", json!({ "source": watch }));
    let times: Vec<[f64; 5]> = (0..LOADS).map(|_| load(&mut reader, &path)).collect();
    let elements = reader.evaluate("document.querySelectorAll('*').length");
    for (at, what) in MEASURED.iter().enumerate() {
        let mut times_ms: Vec<f64> = times.iter().map(|load| load[at]).collect();
        times_ms.sort_by(f64::total_cmp);
        let (least, median, most) = (times_ms[0], times_ms[LOADS / 2], times_ms[LOADS - 1]);
        println!("{what} after {median:.0} ms ({least:.0} to {most:.0} in {LOADS} loads)");
    }
    println!("{elements} elements");
}

/// Ten times as many records of one cell: how much longer it takes.
fn one_cell() {
    let took_ms = [10_000, 100_000].map(|trials| {
        let records = testing::one_cell::one_cell(trials);
        let options = Options::against("eevdf-7");
        let (comparing_ms, comparison) = timed(|| compare(&records, &options));
        let (writing_ms, html) = timed(|| page(&comparison, &records, &About::default()));
        println!(
            "one cell of {trials} trials: compared in {comparing_ms:.0} ms, page of {:.2} MB \
             written in {writing_ms:.0} ms",
            html.len() as f64 / 1e6
        );
        comparing_ms + writing_ms
    });
    println!("ten times as many trials take {:.1} times as long", took_ms[1] / took_ms[0]);
}

fn timed<T>(work: impl FnOnce() -> T) -> (f64, T) {
    let start = Instant::now();
    let done = work();
    (start.elapsed().as_secs_f64() * 1e3, done)
}

fn load(reader: &mut Reader, path: &Path) -> [f64; 5] {
    reader.open(path, "");
    let pressed_ms = now_ms(reader);
    reader.key("Tab");
    reader.until("performance.getEntriesByName('key').length > 0");
    let answered_ms = mark_ms(reader, "key") - pressed_ms;
    let first = ["first-contentful-paint", "ready"].map(|name| mark_ms(reader, name));
    let start_ms = now_ms(reader);
    reader.see_all();
    let seen_ms = mark_ms(reader, "drawn") - start_ms;
    // A new page, as this one has all its charts.
    reader.open(path, "");
    reader.until("'Plotly' in window");
    let print = "(() => { const start = performance.now();
        dispatchEvent(new Event('beforeprint'));
        return performance.now() - start; })()";
    let printed_ms = reader.evaluate(print).as_f64().unwrap_or(f64::NAN);
    [first[0], first[1], answered_ms, seen_ms, printed_ms]
}

fn now_ms(reader: &mut Reader) -> f64 {
    reader.evaluate("performance.now()").as_f64().unwrap_or(f64::NAN)
}

/// When the page reached a mark, in milliseconds since it was asked for.
fn mark_ms(reader: &mut Reader, name: &str) -> f64 {
    let found = format!("performance.getEntriesByName('{name}')[0]?.startTime ?? NaN");
    reader.evaluate(&found).as_f64().unwrap_or(f64::NAN)
}
