// SPDX-License-Identifier: GPL-2.0-only
//! The page in a reader's hands: real keys, a phone's screen, the dark, paper, and a link to one
//! trial.

use crate::html::{page_of, usual_page};
use crate::sight::OPEN_ALL;
use serde_json::json;
use testing::chromium::driver::{is_quiet, opened};
use testing::{need, synthetic};

/// What sticks out of the window, as a list.
const STICKING_OUT: &str = "[...document.querySelectorAll('body *')].filter((it) =>
    it.getBoundingClientRect().right > innerWidth + 1 &&
    !it.closest('.scroll, nav, .drawn, .chart'))
    .slice(0, 9).map((it) => `${it.tagName}.${it.className} ${it.textContent.slice(0, 40)}`)";

/// Controls that a finger would miss; links within text are as high as their line.
const SMALL: &str = "[...document.querySelectorAll('button, select, input, summary')]
    .filter((it) => it.checkVisibility())
    .map((it) => [it, it.getBoundingClientRect()])
    .filter(([, size]) => size.height < 24 || size.width < 24)
    .map(([it, size]) => `${it.tagName}.${it.className} ${it.textContent} ${size.height}`)";

/// Visible pictures that a screen reader has no name for.
const NAMELESS: &str = "[...document.querySelectorAll('figure')]
    .filter((it) => it.checkVisibility() && !it.querySelector('table'))
    .filter((it) => ![...it.querySelectorAll('[role=img]')].some((image) =>
        image.getAttribute('aria-label')?.trim()))
    .map((it) => it.id || it.dataset.title || it.className)";

#[test]
fn a_phone_shows_everything_and_fingers_hit_it() {
    testing::beyond_cargo_test!("opens a browser");
    let (mut reader, path, _folder) = need!(opened(usual_page()));
    for (width, height, phone) in [(390, 844, true), (1280, 900, false)] {
        reader.screen(width, height, phone);
        reader.open(&path, "");
        reader.evaluate(OPEN_ALL);
        reader.see_all();
        assert_eq!(reader.evaluate("innerWidth"), json!(width), "the page is not wider");
        let fits = "document.documentElement.scrollWidth <= innerWidth";
        assert_eq!(reader.evaluate(fits), json!(true), "nothing makes it scroll sideways");
        for (what, list) in [("sticks out", STICKING_OUT), ("small", SMALL), ("nameless", NAMELESS)]
        {
            assert_eq!(reader.evaluate(list), json!([]), "{what} at {width}");
        }
    }
    is_quiet(&reader);
}

const OPEN: &str = "document.querySelector('#trial-table tr.open')?.id ?? null";

#[test]
fn keys_open_a_trial_and_its_address_opens_it_again() {
    testing::beyond_cargo_test!("opens a browser");
    let (mut reader, path, _folder) = need!(opened(usual_page()));
    reader.open(&path, "");
    reader.key("Tab");
    assert_eq!(reader.evaluate("document.activeElement.className"), json!("skip"));
    reader.key("Enter");
    reader.until("location.hash === '#answer'");
    reader.key("Tab");
    let inside = "!!document.activeElement.closest('#answer')";
    assert_eq!(reader.evaluate(inside), json!(true), "the contents were skipped");

    reader.evaluate("document.getElementById('trial-filter').focus()");
    let on_link = "document.activeElement.matches('#trial-table .link')";
    for _ in 0..20 {
        reader.key("Tab");
        if reader.evaluate(on_link) == json!(true) {
            break;
        }
    }
    assert_eq!(reader.evaluate(on_link), json!(true), "the trials can be reached");
    reader.key("Enter");
    reader.until("location.hash.startsWith('#trial-')");
    reader.until("document.querySelector('#trial-table tr.details')");
    let address = reader.evaluate("location.hash");
    assert_eq!(reader.evaluate(&format!("'#' + {OPEN}")), address);
    assert_eq!(reader.evaluate(on_link), json!(true), "the reader is still there");
    let expanded = "document.activeElement.getAttribute('aria-expanded')";
    assert_eq!(reader.evaluate(expanded), json!("true"));

    reader.key("Escape");
    reader.until("!document.querySelector('#trial-table tr.details')");
    assert_eq!(reader.evaluate(expanded), json!("false"), "and still there");
    reader.key("Enter");
    reader.until("document.querySelector('#trial-table tr.details')");
    reader.key("Enter");
    reader.until("!document.querySelector('#trial-table tr.details')");
    assert_eq!(reader.evaluate("location.hash"), json!("#trials"));

    let last = "data.trials.at(-1).id";
    let last = format!("#trial-{}", reader.evaluate(last).as_str().expect("an identity"));
    for place in [address.as_str().expect("text"), &last] {
        reader.open(&path, place);
        assert_eq!(reader.evaluate(&format!("'#' + {OPEN}")), json!(place), "a link to a trial");
        let seen = format!(
            "(() => {{ const {{ top, bottom }} = document.querySelector({place:?})
            .getBoundingClientRect(); return top >= 0 && bottom <= innerHeight; }})()"
        );
        reader.until(&seen);
    }
    is_quiet(&reader);
}

#[test]
fn charts_follow_the_dark_and_their_numbers_can_be_saved() {
    testing::beyond_cargo_test!("opens a browser");
    let (mut reader, path, _folder) = need!(opened(usual_page()));
    reader.open(&path, "");
    reader.see_all();
    reader.evaluate("document.getElementById('figure-shift').scrollIntoView()");
    let looks = "[getComputedStyle(document.body).backgroundColor,
        document.getElementById('chart-shift').layout.font.color]";
    let light = reader.evaluate(looks);
    let dark = json!({ "features": [{ "name": "prefers-color-scheme", "value": "dark" }] });
    reader.call("Emulation.setEmulatedMedia", dark);
    reader.until(&format!("{looks}.every((look, at) => look !== {light}[at])"));

    let csv = reader.evaluate("chartCsv(document.getElementById('chart-shift'))");
    let lines: Vec<&str> = csv.as_str().expect("text").lines().collect();
    assert!(lines[0].starts_with("contestant,quantile,shift_percent,low_percent"), "{}", lines[0]);
    // Seven contestants at the twelve quantiles that a thousand samples carry.
    assert_eq!(lines.len(), 1 + 7 * 12);
    assert!(lines.iter().all(|line| line.matches(',').count() == 8), "{lines:?}");

    let png = "pngOf(document.querySelector('figure.drawn svg'))
        .then((it) => `${it.type} ${it.size > 5000}`)";
    assert_eq!(reader.evaluate(png), json!("image/png true"));
    let png = "Plotly.toImage(document.getElementById('chart-shift'), { format: 'png' })
        .then((it) => it.startsWith('data:image/png') && it.length > 9000)";
    assert_eq!(reader.evaluate(png), json!(true));

    let words = "document.querySelector('#figure-shift figcaption').textContent";
    let words = reader.evaluate(words);
    assert!(words.as_str().expect("text").contains("a bootstrap of boots"), "{words}");
    is_quiet(&reader);
}

#[test]
fn paper_has_what_is_folded_and_the_screen_folds_it_again() {
    testing::beyond_cargo_test!("opens a browser");
    let (mut reader, path, _folder) = need!(opened(usual_page()));
    reader.open(&path, "");
    let folded = "document.querySelectorAll('main details:not([open])').length";
    let before = reader.evaluate(folded);
    assert!(before.as_u64() > Some(10), "{before} parts are folded on a screen");
    reader.evaluate(&format!(
        "addEventListener('beforeprint', () => {{
            window.onPaper = {folded};
            window.hidden = [...document.querySelectorAll('main details table')].filter((it) =>
                !it.checkVisibility()).map((it) => it.textContent.slice(0, 60));
        }})"
    ));
    let pdf = reader.call("Page.printToPDF", json!({ "preferCSSPageSize": true }));
    assert!(pdf["data"].as_str().is_some_and(|data| data.len() > 100_000), "a document");
    assert_eq!(reader.evaluate("window.onPaper"), json!(0));
    assert_eq!(reader.evaluate("window.hidden"), json!([]));
    assert_eq!(reader.evaluate(folded), before);
    is_quiet(&reader);
}

#[test]
fn five_thousand_trials_are_a_small_page_for_the_browser() {
    testing::beyond_cargo_test!("opens a browser");
    let (mut reader, path, _folder) = need!(opened(&page_of(&synthetic::five_thousand())));
    // Noted while the page comes in: what could be read when the charts were not yet there.
    let watch = "new MutationObserver(() => {
        const answer = document.querySelector('#answer table');
        if (answer && !window.first) window.first = document.body.dataset.ready ?? 'not yet ready';
    }).observe(document, { childList: true, subtree: true });";
    reader.call("Page.addScriptToEvaluateOnNewDocument", json!({ "source": watch }));
    reader.open(&path, "");
    assert_eq!(reader.evaluate("window.first"), json!("not yet ready"));
    let elements = reader.evaluate("document.querySelectorAll('*').length");
    println!("{elements} elements");
    assert!(elements.as_u64().is_some_and(|count| count < 40_000), "{elements}");
    let mut count = |what: &str| reader.evaluate(what).as_u64().expect("a number");
    assert!(count("data.trials.length") > 5_000);
    let rows = count("document.querySelectorAll('#trial-table tr').length");
    assert!(rows < 60, "{rows} rows of trials are made at once");
    is_quiet(&reader);
}
