// SPDX-License-Identifier: GPL-2.0-only
//! Every control of a page is used by a script, also those that are hidden and those that come
//! before the numbers do: nothing complains.

use crate::page::usual_page;
use serde_json::json;
use testing::chromium::driver::{is_quiet, opened};
use testing::need;

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
