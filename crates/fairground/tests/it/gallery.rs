// SPDX-License-Identifier: GPL-2.0-only
//! Many people's results as a site: agreement, disagreement, refusals, and nothing that runs.

use model::{Backend, Record};

use crate::common::hogs::raced;
use crate::common::{Bench, stderr};

/// A name that would run if anybody let it.
const NASTY: &str = "<img src=x onerror=alert(1)>";

/// Shares the records of `a.db` as somebody's who found `rr` so many times as slow.
fn contribute(bench: &Bench, by: &str, file: &str, slower: f64) {
    let name = format!("{file}.db");
    bench.copied("a.db", &name, |record| live(record, by, slower));
    let output = bench.path("shared").join(format!("{file}.fairground"));
    let output = output.display().to_string();
    bench.run(&["share", "--store", &name, "--by", by, "-o", &output]).success();
}

fn live(record: &mut Record, by: &str, slower: f64) {
    record.trial.backend = Backend::Live;
    record.provenance.boot_id = format!("{by} {}", record.trial.block);
    record.provenance.cpu_model = format!("processor of {by}");
    if record.trial.contestant.name == "rr" {
        for metric in &mut record.measured.metrics {
            if metric.name == "completion_ns" {
                metric.value = metric.value.map(|value| value * slower);
            }
        }
    }
}

/// A folder with a gallery of three who disagree.
fn bench() -> Bench {
    let bench = raced(8);
    std::fs::create_dir(bench.path("shared")).expect("a folder");
    contribute(&bench, "Ada", "ada", 1.3);
    contribute(&bench, "Grace", "grace", 1.2);
    contribute(&bench, NASTY, "nasty", 0.7);
    bench.write("shared/broken.fairground", "no gzip");
    let twin = bench.path("shared/twin.fairground");
    std::fs::copy(bench.path("shared/ada.fairground"), twin).expect("copied");
    bench
}

#[test]
fn who_agrees_is_shown_and_strangers_words_stay_words() {
    let bench = bench();
    let said = stderr(&bench.run(&["report", "shared", "-o", "gallery"]).success());
    let page = std::fs::read_to_string(bench.path("gallery/index.html")).expect("a page");
    assert!(said.contains("3 shared files, 2 refused; wrote gallery/index.html"), "{said}");
    let counts = "<strong>1 question in common, 0 agree, 0 partly, 1 disagree, 0 open.</strong>";
    assert!(page.contains(counts), "{page}");
    // The one against two is marked.
    assert_eq!(page.matches("<td>≠ better</td>").count(), 1);
    assert!(page.contains("broken.fairground") && page.contains("not a shared file"), "{page}");
    assert!(page.contains("the same as ada.fairground"), "{page}");
    for words in ["rr against fifo, hogs", "processor of Ada", "processor of Grace"] {
        assert!(page.contains(words), "{words}");
    }
    assert!(!page.contains("<img") && !page.contains("<script"));
    assert!(!page.contains("http://") && !page.contains("https://"));
    assert!(page.contains("default-src 'none'") && page.contains("&lt;img src=x"));
    // Every link leads to a place in the page.
    for link in page.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next()) {
        let id = link.strip_prefix('#');
        let is_there = id.is_some_and(|id| page.contains(&format!("id=\"{id}\"")));
        assert!(is_there || link == "data:,", "{link}");
    }
}
