// SPDX-License-Identifier: GPL-2.0-only
//! The page in a real browser: charts are drawn, every control works at any time, nothing complains.

use crate::html::usual_page;
use report::html::{About, page};
use serde_json::json;
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

/// What plotly says when the size of a chart changes often in a short time; it draws the chart.
const OF_PLOTLY: &str = "Too many auto-margin redraws.";

/// Uses all controls once, and answers with their number.
const USE_ALL: &str = "(async () => {
    const controls = [...document.querySelectorAll('button, summary, select, input, a[href^=\"#\"]')];
    for (const control of controls) {
        if (control instanceof HTMLSelectElement) {
            for (const { value } of control.options) {
                control.value = value;
                control.dispatchEvent(new Event('change', { bubbles: true }));
            }
        } else if (control instanceof HTMLInputElement) {
            control.value = 'fifo';
            control.dispatchEvent(new Event('input', { bubbles: true }));
        } else {
            control.click();
        }
        await new Promise((done) => setTimeout(done));
    }
    await new Promise((done) => setTimeout(done, 500));
    return controls.length;
})()";

/// Clicks what is there before the numbers are.
const CLICK_EARLY: &str = "addEventListener('DOMContentLoaded', () =>
    document.querySelectorAll('button').forEach((button) => button.click()));";

#[test]
fn every_control_can_be_used_at_any_time() {
    testing::beyond_cargo_test!("opens a browser");
    let (mut reader, path, _folder) = need!(opened(usual_page()));
    let source = json!({ "source": CLICK_EARLY });
    reader.call("Page.addScriptToEvaluateOnNewDocument", source);
    reader.open(&path, "");
    let controls = reader.evaluate(USE_ALL).as_u64().expect("a number");
    println!("{controls} controls");
    assert!(controls > 50, "{controls}");
    reader.complaints.retain(|said| !said.contains(OF_PLOTLY));
    is_quiet(&reader);
}
