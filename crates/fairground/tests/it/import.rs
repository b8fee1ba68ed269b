// SPDX-License-Identifier: GPL-2.0-only
//! Other programs' results, as their users have them: whole, cut off, and with what these programs are
//! known to get wrong.

use expect_test::expect;
use model::{Backend, Outcome, Record, SchedulerChoice};

use crate::common::{Bench, project, stderr, stdout};

/// Results that a real program has written are kept beside the parsers; the others were written after
/// the programs' sources.
fn sample(name: &str) -> String {
    let folder = match name {
        "schbench.json" | "composite.xml" | "mangohud.csv" | "hyperfine.json" => {
            "crates/fairground/tests/imports"
        }
        _ => "crates/model/src/parsers/recorded",
    };
    std::fs::read_to_string(project(folder).join(name)).expect("a sample")
}

fn stress_ng_yaml() -> String {
    sample("stress_ng_yaml.txt").split_once("\n---\n").expect("YAML").1.into()
}

/// A bench with the text in the file `result`.
fn bench(text: &str) -> Bench {
    let bench = Bench::new();
    bench.write("result", text);
    bench
}

fn import(text: &str, more: &[&str]) -> Vec<Record> {
    let bench = bench(text);
    bench.run(&[&["import", "result"], more].concat()).success();
    bench.records("fairground.db")
}

fn value(record: &Record, name: &str) -> Option<f64> {
    record.measured.value(name, "program")
}

#[test]
fn every_format_is_known_by_its_content() {
    for (name, format, runs) in [
        ("cyclictest_json.txt", "cyclictest", 1),
        ("hyperfine.json", "hyperfine", 6),
        ("jitterdebugger.txt", "jitterdebugger", 1),
        ("mangohud.csv", "mangohud", 1),
        ("perf_messaging.txt", "perf", 1),
        ("composite.xml", "phoronix", 6),
        ("schbench.json", "schbench", 1),
        ("stress_ng_yaml.txt", "stress-ng", 1),
    ] {
        let text = sample(name);
        let text = text.split_once("\n---\n").map_or(text.as_str(), |(_, yaml)| yaml);
        let bench = bench(text);
        let said = stderr(&bench.run(&["import", "result"]).success());
        assert!(said.starts_with(&format!("result: {format}, {runs} trial")), "{name}: {said}");
        let records = bench.records("fairground.db");
        assert_eq!(records.len(), runs, "{name}");
        for record in &records {
            let trial = &record.trial;
            assert_eq!(trial.backend, Backend::Imported);
            assert!(matches!(trial.contestant.scheduler, SchedulerChoice::Claimed { .. }));
            let notes = &record.provenance.notes;
            assert!(notes[0].contains("was not verified"), "{name}: {notes:?}");
            assert_eq!(record.provenance.scheduler_before, Default::default(), "{name}");
            let numbers = record.measured.metrics.len() + record.measured.histograms.len();
            assert!(numbers > 0 || !record.outcome.is_ok(), "{name}");
        }
    }
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

        default is among the best.
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
fn a_lost_tail_leaves_what_is_exact() {
    for name in ["jitterdebugger_lost_tail.txt", "cyclictest_json_overflow.txt"] {
        let record = &import(&sample(name), &[])[0];
        let latest = value(record, "timer_lateness_ns.max");
        assert!(latest.is_some(), "{name}: {:?}", record.measured);
        assert_eq!(value(record, "timer_lateness_ns.p999"), None, "{name}");
        let missing = record.measured.metrics.iter().find_map(|metric| metric.missing.as_ref());
        assert!(missing.is_some_and(|why| why.contains("not in the histogram")), "{name}");
        assert!(record.measured.histograms.is_empty(), "{name}");
    }
}

#[test]
fn a_decimal_comma_and_no_user_time_are_no_traps() {
    let yaml = stress_ng_yaml();
    let plain = value(&import(&yaml, &[])[0], "iterations_per_second").expect("a rate");
    let idle = yaml
        .replace("user-time: 0.994090", "user-time: 0.000000")
        .replace("usr-sys-time: 6965.164120", "usr-sys-time: 2800000000.000000")
        .replace("wall-clock-time: 1.000078", "wall-clock-time: 1,000078");
    assert_ne!(idle, yaml);
    assert_eq!(value(&import(&idle, &[])[0], "iterations_per_second"), Some(plain));
    let perf = sample("perf_messaging.txt").replace("0.042", "0,042");
    assert_eq!(value(&import(&perf, &[])[0], "completion_ns"), Some(42e6));
}

#[test]
fn several_stressors_are_several_loads() {
    let yaml = stress_ng_yaml();
    let first = yaml.split_once("metrics:\n").expect("metrics").1;
    let first = first.split_once("\n\n").expect("an end").0;
    let second = first.replace("stressor: cpu", "stressor: sem");
    let both = yaml.replace(first, &format!("{first}\n{second}"));
    let records = import(&both, &[]);
    let loads: Vec<&str> = records.iter().map(|r| r.trial.workload.name.as_str()).collect();
    assert_eq!(loads, ["stress_ng cpu", "stress_ng sem"]);
}

#[test]
fn a_log_of_several_runs_is_several_runs() {
    let perf = sample("perf_messaging.txt");
    assert_eq!(import(&perf.repeat(3), &[]).len(), 3);
}

#[test]
fn a_command_that_failed_is_a_failure() {
    let text = sample("hyperfine.json");
    let document: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(document["results"].as_array().map(Vec::len), Some(2), "{text}");
    let records = import(&text, &[]);
    let failed = records.iter().filter(|record| !record.outcome.is_ok());
    assert!(failed.clone().count() == 3, "one of the two commands always fails");
    for record in failed {
        let Outcome::Failed { reason } = &record.outcome else { panic!("{:?}", record.outcome) };
        assert!(reason.contains("exit code 3"), "{reason}");
        assert!(record.measured.metrics.is_empty());
    }
    let codes = text.rfind("\"exit_codes\"").expect("codes");
    let killed = format!("{}{}", &text[..codes], text[codes..].replacen('3', "null", 1));
    let reasons = import(&killed, &[]);
    assert!(reasons.iter().any(|record| record.outcome.reason().contains("a signal")));
}

#[test]
fn phoronix_results_keep_their_single_values_and_their_holes() {
    let records = import(&sample("composite.xml"), &[]);
    let of = |contestant: &str, cell: &str| -> Vec<&Record> {
        let ours = |record: &&Record| {
            record.trial.contestant.name == contestant && record.trial.workload.name.contains(cell)
        };
        records.iter().filter(ours).collect()
    };
    let hackbench: Vec<_> =
        of("default", "Hackbench").iter().map(|r| value(r, "completion_ns")).collect();
    assert_eq!(hackbench, [Some(17.20e9), Some(17.31e9), Some(17.30e9)]);
    let mean = of("default", "Stress-NG")[0];
    assert_eq!(value(mean, "iterations_per_second"), Some(6_150_000.5));
    assert!(mean.provenance.notes.iter().any(|note| note.contains("only the mean")));
    let hole = of("echo", "Stress-NG")[0];
    assert!(hole.outcome.reason().contains("no value"), "{:?}", hole.outcome);
    assert_eq!(hole.provenance.kernel_release, "6.8.2-2-echo (x86_64)");
    assert!(hole.provenance.cpu_model.starts_with("Intel Core i7-4700HQ"));
    let named = import(&sample("composite.xml"), &["--scheduler", "x"]);
    assert!(named.iter().all(|record| record.trial.contestant.name == "x"));
}

#[test]
fn frame_times_have_a_unit_and_no_locale() {
    let csv = sample("mangohud.csv");
    let run = &import(&csv, &[])[0];
    let times = run.measured.histogram("frame_time_ns", "program").expect("frame times");
    assert!(times.count == 60 && (16_000_000..17_500_000).contains(&times.quantile(0.5).unwrap()));
    assert!((50.0..60.0).contains(&value(run, "iterations_per_second").expect("a rate")));
    assert_eq!(run.provenance.kernel_release, "6.8.1-arch1-1");
    // Older versions wrote microseconds.
    let older = scaled(&csv, 1e3);
    let older = import(&older, &[]);
    let same = older[0].measured.histogram("frame_time_ns", "program").expect("frame times");
    assert!(same.max.abs_diff(times.max) < 1_000, "{} {}", same.max, times.max);
    // Every third frame only: log_interval.
    let (head, frames) = csv.split_at(csv.find("\n60.957").expect("the first frame") + 1);
    let sampled: Vec<&str> = frames.lines().step_by(3).collect();
    let sampled = import(&format!("{head}{}\n", sampled.join("\n")), &[]);
    let missing: Vec<_> =
        sampled[0].measured.metrics.iter().filter_map(|m| m.missing.as_ref()).collect();
    assert!(missing.len() == 2 && missing[0].contains("a sample of the frames"), "{missing:?}");
}

/// The log with its frame times in another unit.
fn scaled(csv: &str, factor: f64) -> String {
    let line = |line: &str| {
        let mut cells: Vec<String> = line.split(',').map(str::to_owned).collect();
        if let Some(time) = cells[0].parse::<f64>().ok().and(cells[1].parse::<f64>().ok()) {
            cells[1] = (time * factor).to_string();
        }
        cells.join(",") + "\n"
    };
    csv.lines().map(line).collect()
}

#[test]
fn quantiles_without_a_histogram_stand_alone() {
    let record = &import(&sample("schbench.json"), &[])[0];
    assert_eq!(value(record, "wakeup_latency_ns.p99"), Some(1_290_000.0));
    assert_eq!(value(record, "response_time_ns.p50"), Some(6_104_000.0));
    assert_eq!(value(record, "iterations_per_second"), Some(2_532.0));
    assert_eq!(record.trial.contestant.name, "unnamed", "`none` is no scheduler");
    let loaded = sample("schbench.json").replace("\"none\"", "\"bpfland_1.0.11\"");
    assert_eq!(import(&loaded, &[])[0].trial.contestant.name, "bpfland_1.0.11");
}

/// What the refused imports say, one after another; nothing of them is kept.
fn refusals(imports: &[(&str, &[&str])]) -> String {
    let said = |(text, more): &(&str, &[&str])| {
        let bench = bench(text);
        let said = stderr(&bench.run(&[&["import", "result"], *more].concat()).code(2));
        assert!(!bench.path("fairground.db").exists());
        said
    };
    imports.iter().map(said).collect()
}

#[test]
fn what_is_cut_off_or_wrong_is_refused_with_its_line() {
    let half = |name: &str| {
        let text = sample(name);
        text[..text.len() * 2 / 3].to_owned()
    };
    let (yaml, xml, csv) = (stress_ng_yaml(), sample("composite.xml"), sample("mangohud.csv"));
    let perf = sample("perf_messaging.txt");
    expect![[r#"
        fairground: result:93: EOF while parsing an object; the file is cut off
        fairground: result:19: EOF while parsing a value; the file is cut off
        fairground: result:28: EOF while parsing a string; the file is cut off
        fairground: result:33: the file is cut off
        fairground: result:34: the file is cut off: it does not end with `...`
        fairground: result:63: the file is cut off in its last line
        fairground: result:6: `perf-bench-sched` output was not understood: there is no line `Total time:`; last: # Running 'sched/messaging' benchmark: ⏎ # 20 sender and
        fairground: result:28: cpu: `bogo-ops`: `[` is not a number
        fairground: result:28: cpu: `bogo-ops`: 0 cannot be right
        fairground: result:27: cpu: `wall-clock-time` is missing
        fairground: result: `sleep 0.01` has no `times`, and a mean alone proves nothing
        fairground: result:19: `Proportion` is `up`, neither LIB nor HIB
        fairground: result:26: `fast` is not a number
        fairground: result: `fps` × `frametime` is 999999857: neither ms nor µs
        fairground: result:4: 14 columns instead of 12: the file is cut off, or its numbers have commas (log with LC_ALL=C)
        fairground: result: in none of the known formats: cyclictest, hyperfine, jitterdebugger, mangohud, perf, phoronix, schbench, stress-ng
        fairground: result: --as hyperfin: unknown format; did you mean 'hyperfine' or 'perf'?
        fairground: result: there is no result in it
        fairground: result: could be mangohud or perf; say which with --as
    "#]].assert_eq(&refusals(&[
        (&half("jitterdebugger.txt"), &["--as", "jitterdebugger"]),
        (&half("schbench.json"), &[]),
        (&half("hyperfine.json"), &[]),
        (&half("composite.xml"), &[]),
        (&yaml[..yaml.len() - 40], &[]),
        (&csv[..csv.len() - 30], &[]),
        (&format!("{perf}# Running 'sched/messaging' benchmark:\n# 20 sender and"), &[]),
        (&yaml.replace("bogo-ops: 6924", "bogo-ops: ["), &[]),
        (&yaml.replace("bogo-ops: 6924", "bogo-ops: 0"), &[]),
        (&yaml.replace("wall-clock-time", "wall-clock"), &[]),
        (&sample("hyperfine.json").replace("\"times\"", "\"user_times\""), &["--as", "hyperfine"]),
        (&xml.replace("LIB", "up"), &[]),
        (&xml.replace("17.31", "fast"), &[]),
        (&scaled(&csv, 1e6), &[]),
        (&csv.replacen("60.957,16.4050", "60,957,16,4050", 1), &[]),
        ("hello\n", &[]),
        ("hello\n", &["--as", "hyperfin"]),
        ("hello\n", &["--as", "perf"]),
        (&format!("{perf}{csv}"), &[]),
    ]));
}

#[test]
fn one_bad_file_imports_nothing() {
    let bench = bench(&sample("perf_messaging.txt"));
    bench.write("broken", "{");
    bench.run(&["import", "result", "broken"]).code(2);
    bench.run(&["import", "result", "nowhere"]).code(2);
    assert!(!bench.path("fairground.db").exists());
}
