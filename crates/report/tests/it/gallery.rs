// SPDX-License-Identifier: GPL-2.0-only
//! The gallery's pages in a real browser: nothing sticks out, nothing runs, nothing complains.

use crate::synthetic;
use report::html::gallery::{Contribution, Gallery, GalleryPage, Refused, pages};
use stats::view::consensus::{Contribution as Answers, definitions, questions};
use stats::{Options, compare};
use testing::chromium::{chromium, complaints};
use testing::need;

const NASTY: &str = "</title><script>document.body.dataset.seen='run'</script>";

/// Says whether the page is wider than the window, and what sticks out.
const READER: &str = "<script>const e = document.documentElement;
    const out = x => getComputedStyle(x).overflowX === 'visible' &&
        Math.max(x.scrollWidth - x.clientWidth, x.getBoundingClientRect().right - innerWidth) > 0 &&
        !x.parentElement.closest('.scroll, nav');
    const wide = [...document.querySelectorAll('body *')].filter(out);
    document.body.dataset.wide = wide.slice(0, 8).map(x => x.tagName + '.' + x.className).join(' ');
    document.body.dataset.seen = `overflow=${e.scrollWidth > window.innerWidth}`;</script>";

/// Three contributors of whom one finds the opposite.
fn site() -> Vec<GalleryPage> {
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
    let comparisons = [
        ("Ada", compare(&records, &options)),
        ("Grace", compare(&records, &options)),
        (NASTY, compare(&other, &options)),
    ];
    let definitions = definitions(&records);
    let answer = |(name, comparison)| Answers { name, comparison, definitions: &definitions };
    let answers: Vec<Answers> =
        comparisons.iter().map(|(name, comparison)| answer((*name, comparison))).collect();
    let contribution = |(name, _): &(&str, _)| Contribution {
        file: format!("{name}.fairground"),
        by: (*name).to_owned(),
        seal: model::trial::sha256_hex(name.as_bytes()),
        note: NASTY.into(),
        trials: records.len(),
        dates: vec!["2026-01-31".into()],
        processors: vec!["a processor whose name takes no end ".repeat(4)],
        ..Contribution::default()
    };
    let gallery = Gallery {
        contributions: comparisons.iter().map(contribution).collect(),
        refused: vec![Refused { file: NASTY.into(), why: "the seal is broken: ".repeat(9) }],
        questions: questions(&answers),
        generated: "2026-01-31".into(),
    };
    pages(&gallery)
}

#[test]
#[ignore = "opens a browser"]
fn pages_fit_a_desktop_and_a_phone_and_run_nothing() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let site = site();
    assert!(site.len() > 4 && site[0].file == "index.html");
    for page in &site {
        assert!(!page.html.contains("<script"), "{}", page.file);
        let html = page.html.replace("</body>", &format!("{READER}</body>"));
        std::fs::write(folder.path().join(&page.file), html).expect("written");
    }
    // The index, and one page of each kind.
    let kinds = ["index", "scheduler", "machine", "workload"];
    for kind in kinds {
        let page = site.iter().find(|page| page.file.starts_with(kind)).expect("a page");
        for size in ["--window-size=1280,900", "--window-size=500,900"] {
            let path = folder.path().join(&page.file);
            let (dom, stderr) = need!(chromium(&path, &[size, "--dump-dom"]));
            assert_eq!(complaints(&stderr), Vec::<&str>::new(), "{}", page.file);
            let wide = dom.split("data-wide=\"").nth(1).and_then(|rest| rest.split('"').next());
            let fits = dom.contains("data-seen=\"overflow=false\"");
            assert!(fits, "{} at {size}: {}", page.file, wide.unwrap_or_default());
        }
    }
}

#[test]
fn who_is_outnumbered_is_marked() {
    let site = site();
    let index = &site[0].html;
    assert!(index.contains("id=\"disputed\"") && index.contains("class=\"verdict dissent\""));
    assert!(!index.contains(NASTY) && index.contains("&lt;/title&gt;"));
}
