// SPDX-License-Identifier: GPL-2.0-only
//! Charts are drawn when a reader comes near them; who prints, follows a link or saves one misses
//! nothing, and nothing on the screen moves.

use crate::html::{page_of, usual_page};
use serde_json::{Value, json};
use testing::chromium::driver::{Reader, is_quiet, opened};
use testing::{need, synthetic};

/// Charts that have something to show, and those of them that are drawn.
const SHOWN: &str = "[...document.querySelectorAll('.chart')].filter((it) =>
    !it.closest('[hidden]')).length";
const DRAWN: &str = "document.querySelectorAll('.chart .main-svg:first-child').length";

/// The largest sum of moves in a window of five seconds that people take for still (web.dev, CLS).
const STILL: f64 = 0.1;

/// Opens what a phone folds; that moves everything, because the reader wants it.
pub const OPEN_ALL: &str = "(async () => {
    document.querySelectorAll('.part').forEach((part) => { part.open = true; });
    await new Promise((done) => setTimeout(done, 400));
    window.moved = 0;
})()";

/// Adds up what moves without the reader's doing, from the first byte on.
const WATCH_MOVES: &str = "window.moved = 0; new PerformanceObserver((list) => {
    for (const { value } of list.getEntries()) window.moved += value;
}).observe({ type: 'layout-shift', buffered: true });";

fn watch_moves(reader: &mut Reader) {
    let source = json!({ "source": WATCH_MOVES });
    reader.call("Page.addScriptToEvaluateOnNewDocument", source);
}

fn moved(reader: &mut Reader) -> f64 {
    reader.evaluate("window.moved").as_f64().expect("a number")
}

#[test]
fn charts_wait_for_the_reader_and_then_nothing_moves() {
    testing::beyond_cargo_test!("opens a browser");
    let (mut reader, path, _folder) = need!(opened(usual_page()));
    watch_moves(&mut reader);
    for (width, height, phone) in [(1280, 900, false), (390, 844, true)] {
        reader.screen(width, height, phone);
        reader.open(&path, "");
        if phone {
            let screens = reader.evaluate("document.documentElement.scrollHeight / innerHeight");
            assert!(screens.as_f64().is_some_and(|screens| screens < 6.0), "{screens} screens");
            let lead = "document.querySelector('#answer .lead').getBoundingClientRect().bottom";
            assert!(reader.evaluate(lead).as_f64() < Some(f64::from(height)), "the answer is seen");
            reader.evaluate(OPEN_ALL);
        }
        let shown = reader.evaluate(SHOWN).as_u64().expect("a number");
        assert_eq!((shown, reader.evaluate(DRAWN)), (7, json!(0)), "only their places");
        let heights = "[...document.querySelectorAll('.chart')].map((it) => it.clientHeight)";
        let before = reader.evaluate(heights);
        reader.see_all();
        assert_eq!(reader.evaluate(DRAWN), json!(shown), "all at {width}");
        assert_eq!(reader.evaluate(heights), before, "no chart is higher than its place");
        let moved = moved(&mut reader);
        println!("{width}: moved by {moved}");
        assert!(moved < STILL, "{moved} at {width}");
    }
    is_quiet(&reader);
}

#[test]
fn a_link_leads_to_what_was_not_there_yet_and_stays_on_it() {
    testing::beyond_cargo_test!("opens a browser");
    let (mut reader, path, _folder) = need!(opened(usual_page()));
    watch_moves(&mut reader);
    reader.screen(1280, 900, false);
    reader.open(&path, "");
    let trial = reader.evaluate("data.trials[300].id");
    let trial = format!("trial-{}", trial.as_str().expect("an identity"));
    for id in ["pictures", "figure-share", "timeline", "provenance", trial.as_str()] {
        reader.open(&path, &format!("#{id}"));
        let seen = format!(
            "(() => {{ const {{ top, bottom }} = document.getElementById('{id}')
            .getBoundingClientRect(); return top >= -1 && top < innerHeight && bottom > 0; }})()"
        );
        reader.until(&seen);
        let waiting = "[...waiting.keys()].filter((it) => {
            const { top, bottom } = it.getBoundingClientRect();
            return it.clientHeight > 0 && top < innerHeight && bottom > 0; }).length";
        assert_eq!(reader.evaluate(waiting), json!(0), "ready at {id}: its charts are drawn");
        reader.evaluate("new Promise((done) => setTimeout(done, 400))");
        assert_eq!(reader.evaluate(&seen), json!(true), "still at {id}");
        let moved = moved(&mut reader);
        assert!(moved < STILL, "{moved} at {id}");
    }
    let rows = reader.evaluate("document.querySelectorAll('#trial-table tbody tr').length");
    assert!(rows.as_u64().is_some_and(|rows| rows <= 30), "{rows} rows around one trial");
    let ids = "[...document.querySelectorAll('#trial-table tbody .link')].length";
    let before = reader.evaluate(ids).as_u64();
    for button in ["trial-before", "trial-more"] {
        reader.evaluate(&format!("document.getElementById('{button}').click()"));
    }
    assert!(reader.evaluate(ids).as_u64() > before.map(|rows| rows + 200), "all can be reached");
    is_quiet(&reader);
}

/// Noted while the page is on paper.
const ON_PAPER: &str = "addEventListener('beforeprint', () => {
    const own = (it) => getComputedStyle(it);
    window.paper = {
        ink: own(document.body).color,
        chart: document.getElementById('chart-trials').layout?.font.color,
        widest: Math.max(...[...document.querySelectorAll('.chart .main-svg')].map((it) =>
            it.clientWidth || it.getBoundingClientRect().width)),
        drawn: document.querySelectorAll('.chart .main-svg:first-child').length,
        waiting: waiting.size,
    };
});";

#[test]
fn paper_has_every_chart_in_the_colours_of_paper() {
    testing::beyond_cargo_test!("opens a browser");
    let (mut reader, path, _folder) = need!(opened(usual_page()));
    reader.screen(1280, 900, false);
    let dark = json!({ "features": [{ "name": "prefers-color-scheme", "value": "dark" }] });
    reader.call("Emulation.setEmulatedMedia", dark);
    reader.open(&path, "");
    reader.until("'Plotly' in window");
    let shown = reader.evaluate(SHOWN);
    assert_eq!(reader.evaluate(DRAWN), json!(0));
    let dark = reader.evaluate("colour('soft')");
    reader.evaluate(ON_PAPER);
    reader.call("Page.printToPDF", json!({ "preferCSSPageSize": true }));
    let paper = reader.evaluate("window.paper");
    assert_eq!((&paper["drawn"], &paper["waiting"]), (&shown, &json!(0)), "{paper}");
    assert!(paper["widest"].as_f64().is_some_and(|width| width <= 640.0), "{paper}");
    assert_ne!(paper["chart"], dark, "ink on paper is not pale");
    assert_eq!(reader.evaluate("colour('soft')"), dark, "the screen has its colours again");
    is_quiet(&reader);
}

/// What sticks out of this paper; the scrolling boxes of a screen do not scroll there.
fn sticking_out(reader: &mut Reader, within: &str, width: u32) -> Value {
    reader.screen(width, 900, false);
    reader.evaluate(&format!(
        "[...document.querySelectorAll('{within}')].filter((it) => it.checkVisibility() &&
        it.getBoundingClientRect().right > innerWidth + 1).slice(0, 5).map((it) =>
        `${{it.tagName}} ${{it.textContent.slice(0, 50)}}`)"
    ))
}

#[test]
fn no_table_is_wider_than_its_paper() {
    testing::beyond_cargo_test!("opens a browser");
    let (mut reader, path, _folder) = need!(opened(&page_of(&synthetic::on_both_backends())));
    reader.open(&path, "");
    reader.evaluate("document.querySelectorAll('details').forEach((it) => { it.open = true; })");
    reader.call("Emulation.setEmulatedMedia", json!({ "media": "print" }));
    // A4 upright less its margins, and Letter across, in CSS pixels: the narrower of each.
    let upright = "section:not(.wide) > :not(.wide) table";
    assert_eq!(sticking_out(&mut reader, upright, 687), json!([]));
    assert_eq!(sticking_out(&mut reader, ".wide table", 965), json!([]));
    let wide = reader.evaluate("document.querySelectorAll('.wide table').length");
    assert!(wide.as_u64() > Some(10), "eight contestants need wide paper: {wide}");
    is_quiet(&reader);
}

#[test]
fn a_saved_chart_says_its_title_and_whose_lines_they_are() {
    testing::beyond_cargo_test!("opens a browser");
    let (mut reader, path, _folder) = need!(opened(usual_page()));
    reader.open(&path, "");
    // Numbers need no chart; a picture is drawn when a reader saves it.
    let csv =
        reader.evaluate("chartCsv(document.getElementById('chart-histogram')).split('\\n').length");
    assert_eq!(csv, json!(214));
    assert_eq!(reader.evaluate(DRAWN), json!(0));
    let picture = |id: &str| {
        format!(
            "(async () => {{
            const figure = document.getElementById('figure-{id}');
            const chart = figure.querySelector('.chart');
            await drawnChart(chart);
            const address = await Plotly.toImage(standalone(figure, chart), {{ format: 'svg' }});
            const svg = new DOMParser().parseFromString(
                decodeURIComponent(address.split(',').slice(1).join(',')), 'image/svg+xml');
            return [...svg.querySelectorAll('text')].map((it) => it.textContent);
            }})()"
        )
    };
    for (id, title) in [("histogram", "Distribution"), ("shift", "Shift by quantile")] {
        let words = reader.evaluate(&picture(id)).to_string();
        assert!(words.contains(title), "{words}");
        for name in ["scx_bpfland", "vtime", "fifo"] {
            assert!(words.contains(name), "{name} in {words}");
        }
    }
    is_quiet(&reader);
}
