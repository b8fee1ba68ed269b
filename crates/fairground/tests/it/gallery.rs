// SPDX-License-Identifier: GPL-2.0-only
//! Many people's results as a site: agreement, disagreement, refusals, and nothing that runs.

use model::{Backend, Record};
use store::Store;

use crate::common::hogs::raced;
use crate::common::{Bench, stderr};

/// A name that would run if anybody let it.
const NASTY: &str = "<img src=x onerror=alert(1)>";

/// Shares the records of `a.db` as somebody's who found `rr` so many times as slow.
fn contribute(bench: &Bench, by: &str, file: &str, slower: f64) {
    let from = Store::open_readonly(&bench.path("a.db")).expect("a store");
    let session = from.sessions().expect("sessions").remove(0);
    let name = format!("{file}.db");
    let to = Store::open(&bench.path(&name)).expect("a store");
    let id = to.begin(&session).expect("a session");
    for mut record in bench.records("a.db") {
        live(&mut record, by, slower);
        to.append(id, &record).expect("appended");
    }
    let output = bench.path("shared").join(format!("{file}.fairground"));
    let output = output.display().to_string();
    bench.run(&["share", "--store", &name, "--by", by, "-o", &output]).success();
}

fn live(record: &mut Record, by: &str, slower: f64) {
    record.trial.backend = Backend::Live;
    record.provenance.boot_id = format!("{by} {}", record.trial.block);
    record.provenance.cpu_model = format!("processor of {by}");
    if record.trial.contestant.name == "rr" {
        for metric in record.measured.metrics.iter_mut().filter(|it| it.name == "completion_ns") {
            metric.value = metric.value.map(|value| value * slower);
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

fn pages(bench: &Bench) -> Vec<(String, String)> {
    let entries = std::fs::read_dir(bench.path("gallery")).expect("a site");
    let page = |entry: std::fs::DirEntry| {
        let text = std::fs::read_to_string(entry.path()).expect("a page");
        (entry.file_name().to_string_lossy().into_owned(), text)
    };
    entries.flatten().map(page).collect()
}

#[test]
fn who_agrees_and_who_does_not() {
    let bench = bench();
    let assert = bench.run(&["report", "shared", "-o", "gallery"]).success();
    let said = stderr(&assert);
    assert!(said.contains("3 shared files, 2 refused; wrote gallery/index.html"), "{said}");
    let pages = pages(&bench);
    let index = &pages.iter().find(|(name, _)| name == "index.html").expect("an index").1;
    assert!(index.contains("<strong>0 agreed on</strong>, 0 partly, 1 disputed"), "{index}");
    assert!(index.contains("id=\"disputed\""));
    // The one against two is marked.
    assert_eq!(index.matches("class=\"verdict dissent\"").count(), 1);
    assert!(index.contains("broken.fairground") && index.contains("not a shared file"), "{index}");
    assert!(index.contains("the same as ada.fairground"), "{index}");
    for start in ["scheduler-rr-", "workload-hogs-", "machine-"] {
        assert!(pages.iter().any(|(name, _)| name.starts_with(start)), "{start}");
    }
    let machines = pages.iter().filter(|(name, _)| name.starts_with("machine-")).count();
    assert_eq!(machines, 3, "one for each processor");
}

#[test]
fn strangers_words_stay_words_and_nothing_leaves_the_page() {
    let bench = bench();
    bench.run(&["report", "shared", "-o", "gallery"]).success();
    for (name, page) in pages(&bench) {
        assert!(!page.contains("<img") && !page.contains("<script"), "{name}");
        assert!(!page.contains("http://") && !page.contains("https://"), "{name}");
        assert!(page.contains("default-src 'none'"), "{name}");
        assert!(page.contains("&lt;img src=x") || !page.contains("onerror"), "{name}");
        // Every link leads to a page of the site.
        for link in page.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next()) {
            let file = link.split('#').next().unwrap_or_default();
            let there = file.is_empty() || bench.path("gallery").join(file).exists();
            assert!(there || link == "data:,", "{name}: {link}");
        }
    }
}

#[test]
fn a_folder_without_shared_files_is_bad_input() {
    let bench = Bench::new();
    bench.run(&["report", "none/"]).code(2);
    std::fs::create_dir(bench.path("empty")).expect("a folder");
    let said = stderr(&bench.run(&["report", "empty/"]).code(2));
    assert!(said.contains("no file in it ends in .fairground"), "{said}");
}
