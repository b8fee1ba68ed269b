// SPDX-License-Identifier: GPL-2.0-only
//! Other programs' results, as their users have them: whole, cut off, and with what these programs
//! are known to get wrong; and files that are not read. `tests/imports/cases.toml` lists them.

use std::collections::BTreeSet;

use expect_test::expect;
use model::{Backend, Histogram, Record, SchedulerChoice};
use serde::Deserialize;

use crate::common::{Bench, project, stderr, stdout};

const IMPORTS: &str = "crates/fairground/tests/imports";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Cases {
    read: Vec<Case>,
    refused: Vec<Case>,
}

#[derive(Deserialize)]
#[serde(default, deny_unknown_fields)]
#[derive(Default)]
struct Case {
    file: Option<String>,
    text: String,
    is_bytes: bool,
    replace: Vec<(String, String)>,
    before: String,
    repeat: Option<usize>,
    keep_bytes: Option<usize>,
    after: String,
    options: Vec<String>,
    records: String,
    says: String,
}

impl Case {
    /// A bench with the case's file, called `result`.
    fn bench(&self) -> Bench {
        let mut text = self.file.as_deref().map_or_else(|| self.text.clone(), sample);
        for (old, new) in &self.replace {
            assert!(text.contains(old), "{old}");
            text = text.replace(old, new);
        }
        text = format!("{}{}", self.before, text.repeat(self.repeat.unwrap_or(1)));
        text.truncate(self.keep_bytes.unwrap_or(text.len()));
        text += &self.after;
        let byte = |character| u8::try_from(u32::from(character)).expect("a byte");
        let bytes =
            if self.is_bytes { text.chars().map(byte).collect() } else { text.into_bytes() };
        let bench = Bench::new();
        std::fs::write(bench.path("result"), bytes).expect("written");
        bench
    }
}

fn cases() -> Cases {
    toml::from_str(&sample("cases.toml")).unwrap_or_else(|error| panic!("{error}"))
}

/// Results that a real program has written are kept beside the parsers; the others were written
/// after the programs' sources.
fn sample(name: &str) -> String {
    let folders = [IMPORTS, "crates/model/src/parsers/recorded"];
    let mut texts =
        folders.iter().map(|folder| std::fs::read_to_string(project(folder).join(name)));
    texts.find_map(Result::ok).unwrap_or_else(|| panic!("{name} is missing"))
}

/// What is said of an import, and a line for each of its records: contestant, cell, what was measured,
/// or why nothing was.
fn told(bench: &Bench) -> String {
    let mut told = stderr(&bench.run(&["import", "result"]).success());
    told.truncate(told.find("to see them").expect("what to do next"));
    for record in bench.records("fairground.db") {
        let Record { trial, outcome, measured, provenance, .. } = &record;
        assert_eq!((trial.backend, trial.probes), (Backend::Imported, false));
        assert!(matches!(trial.contestant.scheduler, SchedulerChoice::Claimed { .. }));
        assert!(provenance.notes[0].contains("was not verified"), "{:?}", provenance.notes);
        assert_eq!(provenance.scheduler_before, Default::default());
        told += &format!("  {}, {}:", trial.contestant.name, trial.workload.cell());
        let mut missing = BTreeSet::new();
        for metric in &measured.metrics {
            match metric.value {
                Some(value) => told += &format!(" {}={value}", metric.name),
                None => {
                    told += &format!(" no {}", metric.name);
                    missing.extend(metric.missing.as_deref());
                }
            }
        }
        for why in missing {
            told += &format!(" ({why})");
        }
        for Histogram { name, count, min, max, .. } in &measured.histograms {
            told += &format!(" {name}={count}x{min}..{max}");
        }
        if !outcome.is_ok() {
            told += &format!(" {}", outcome.reason());
        }
        told.push('\n');
    }
    told
}

#[test]
fn every_format_is_known_by_its_content_and_read() {
    for case in cases().read {
        assert_eq!(told(&case.bench()), case.records, "{:?}", case.file);
    }
}

#[test]
fn what_is_cut_off_wrong_or_foreign_is_refused_with_what_helps() {
    for case in cases().refused {
        let bench = case.bench();
        let options = case.options.iter().map(String::as_str);
        let words: Vec<&str> = ["import", "result"].into_iter().chain(options).collect();
        let said = stderr(&bench.run(&words).code(2));
        assert_eq!(said, format!("fairground: {}\n", case.says));
        assert!(!bench.path("fairground.db").exists());
    }
}

#[test]
fn what_a_file_says_of_its_systems_is_kept() {
    let bench = Bench::new();
    bench.write("result", &sample("composite.xml"));
    bench.run(&["import", "result"]).success();
    let records = bench.records("fairground.db");
    let [.., mean, hole] = records.as_slice() else { panic!("{records:?}") };
    assert!(mean.provenance.notes.iter().any(|note| note.contains("only the mean")));
    assert_eq!(hole.provenance.kernel_release, "6.8.2-2-echo (x86_64)");
    assert!(hole.provenance.cpu_model.starts_with("Intel Core i7-4700HQ"));
}

#[test]
fn imported_results_are_compared_and_reported() {
    let bench = Bench::new();
    for (scheduler, factor) in [("default", 100), ("bore", 120)] {
        for run in 0..6 {
            let total = f64::from(factor * 10 + run) / 1e4;
            let text = sample("perf_messaging.txt").replace("0.042", &format!("{total:.4}"));
            bench.write(&format!("{scheduler}-{run}.txt"), &text);
        }
    }
    for scheduler in ["default", "bore"] {
        let files: Vec<String> = (0..6).map(|run| format!("{scheduler}-{run}.txt")).collect();
        let files: Vec<&str> = files.iter().map(String::as_str).collect();
        let labels = ["--scheduler", scheduler, "--machine", "i7-4700HQ"];
        let said = bench.run(&[&["import"], &files[..], &labels].concat()).success();
        assert!(stderr(&said).contains("fairground compare imported --session all"), "{said}");
    }
    let table = stdout(&bench.run(&["compare", "imported", "--session", "all"]).success());
    expect![[r#"
        perf_messaging groups=1 on i7-4700HQ (imported), real clock
          completion_ns program, lower is better; noise floor ±0.2 % (baseline, 6 trials)
            contestant           n/boots     median 95 % interval    against default
            default                  6/6     100 ms [100, 100]                                    baseline
            bore                     6/6     120 ms [120, 120]       ↑ +20.0 % [+19.6, +20.3]     worse

        default is among the best in the only headline measure.
        All 12 trials ended well.
        - perf_messaging on i7-4700HQ, completion · program: default; last bore, +20.0 %.
    "#]].assert_eq(&table);
    bench.run(&["report", "imported", "--session", "all", "-o", "page.html"]).success();
    let page = std::fs::read_to_string(bench.path("page.html")).expect("the page");
    assert!(page.contains("imported, not verified"));
}

#[test]
fn imported_results_stand_beside_ours() {
    let bench = Bench::new();
    let ours =
        ["run", "--on", "live", "--scheduler", "policy:other", "--scheduler", "policy:batch"];
    let ours = [&ours[..], &["--workload", "tiny.toml", "--blocks", "1", "--exploratory"]].concat();
    bench.run(&ours).success();
    bench.write("result", &sample("schbench.json"));
    bench.run(&["import", "result", "--scheduler", "bore", "--experiment", "adhoc"]).success();
    let table = stdout(&bench.run(&["compare", "adhoc", "--session", "all"]).success());
    for words in ["(live)", "(imported)", "bore", "other", "wakeup_latency_ns.p99 program"] {
        assert!(table.contains(words), "{words}: {table}");
    }
}

#[test]
fn one_bad_file_imports_nothing() {
    let bench = Bench::new();
    bench.write("result", &sample("perf_messaging.txt"));
    bench.write("broken", "{");
    bench.run(&["import", "result", "broken"]).code(2);
    bench.run(&["import", "result", "nowhere"]).code(2);
    assert!(!bench.path("fairground.db").exists());
}
