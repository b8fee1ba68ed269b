// SPDX-License-Identifier: GPL-2.0-only
//! Other programs' results, as their users have them: whole, cut off, and with what these programs are
//! known to get wrong.

use std::collections::BTreeSet;

use expect_test::expect;
use model::{Backend, Histogram, Record, SchedulerChoice};

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

/// Two reports of schbench, as it prints them; the second one is of the whole run.
const SCHBENCH_TEXT: &str = "\
Wakeup Latencies percentiles (usec) runtime 10 (s) (1215 total samples)
\t  50.0th: 99         (299 samples)
\t* 99.0th: 999        (103 samples)
\t  min=1, max=9999
Wakeup Latencies percentiles (usec) runtime 30 (s) (38450 total samples)
\t  50.0th: 9          (11232 samples)
\t  90.0th: 15         (9020 samples)
\t* 99.0th: 1290       (3413 samples)
\t  99.9th: 4020       (346 samples)
\t  min=1, max=9071
Request Latencies percentiles (usec) runtime 30 (s) (38480 total samples)
\t  50.0th: 6104       (11525 samples)
\t* 99.0th: 10416      (3200 samples)
\t  min=5990, max=20001
RPS percentiles (requests) runtime 30 (s) (31 total samples)
\t  20.0th: 1270       (9 samples)
\t* 50.0th: 1278       (8 samples)
\t  min=1199, max=1300
average rps: 1281.67
";

/// A bench with the text in the file `result`.
fn bench(text: &str) -> Bench {
    let bench = Bench::new();
    bench.write("result", text);
    bench
}

/// What is said of an import, and a line for each of its records: contestant, cell, what was measured,
/// or why nothing was.
fn told(text: &str) -> String {
    let bench = bench(text);
    let mut told = stderr(&bench.run(&["import", "result"]).success());
    told.truncate(told.find("to see them").expect("what to do next"));
    for record in bench.records("fairground.db") {
        let Record { trial, outcome, measured, provenance, .. } = &record;
        assert_eq!(trial.backend, Backend::Imported);
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

/// Samples of every format, and what its programs are known to write besides.
fn samples() -> [String; 15] {
    let (yaml, csv, perf) =
        (stress_ng_yaml(), sample("mangohud.csv"), sample("perf_messaging.txt"));
    let hyperfine = sample("hyperfine.json");
    let codes = hyperfine.rfind("\"exit_codes\"").expect("codes");
    let first = yaml.split_once("metrics:\n").expect("metrics").1;
    let first = first.split_once("\n\n").expect("an end").0;
    let second = first.replace("stressor: cpu", "stressor: sem");
    let (head, frames) = csv.split_at(csv.find("\n60.957").expect("the first frame") + 1);
    let every_third: Vec<&str> = frames.lines().step_by(3).collect();
    [
        sample("cyclictest_json.txt"),
        // A lost tail leaves what is exact.
        sample("cyclictest_json_overflow.txt"),
        sample("jitterdebugger.txt"),
        sample("jitterdebugger_lost_tail.txt"),
        hyperfine.clone(),
        // A command that was killed by a signal.
        hyperfine[..codes].to_owned() + &hyperfine[codes..].replacen('3', "null", 1),
        // A log of several trials, with a decimal comma.
        perf.replace("0.042", "0,042").repeat(2),
        sample("composite.xml"),
        sample("schbench.json"),
        sample("schbench.json").replace("\"none\"", "\"bpfland_1.0.11\""),
        yaml.replace(first, &format!("{first}\n{second}")),
        // A decimal comma, and no user time.
        yaml.replace("user-time: 0.994090", "user-time: 0.000000")
            .replace("usr-sys-time: 6965.164120", "usr-sys-time: 2800000000.000000")
            .replace("wall-clock-time: 1.000078", "wall-clock-time: 1,000078"),
        csv.clone(),
        // Older versions wrote microseconds.
        scaled(&csv, 1e3),
        // Every third frame only: log_interval.
        format!("{head}{}\n", every_third.join("\n")),
    ]
}

#[test]
fn every_format_is_known_by_its_content_and_read() {
    expect![[r#"
        result: cyclictest, 1 trial
          unnamed, cyclictest: timer_lateness_ns=200x41000..176000
        result: cyclictest, 1 trial
          unnamed, cyclictest: timer_lateness_ns.max=232000 no timer_lateness_ns.p50 no timer_lateness_ns.p90 no timer_lateness_ns.p99 no timer_lateness_ns.p999 (397 of 400 samples are not in the histogram)
        result: jitterdebugger, 1 trial
          unnamed, jitterdebugger: timer_lateness_ns=1200x11000..358000
        result: jitterdebugger, 1 trial
          unnamed, jitterdebugger: timer_lateness_ns.max=18827000 timer_lateness_ns.p50=30000 timer_lateness_ns.p90=48000 timer_lateness_ns.p99=391936 no timer_lateness_ns.p999 (31 of 3961 samples are not in the histogram)
        result: hyperfine, 6 trials
          unnamed, sleep 0.01: completion_ns=32052063
          unnamed, sleep 0.01: completion_ns=16253039
          unnamed, sleep 0.01: completion_ns=26313089
          unnamed, sh -c "sleep 0.01; exit 3": the command ended with exit code 3
          unnamed, sh -c "sleep 0.01; exit 3": the command ended with exit code 3
          unnamed, sh -c "sleep 0.01; exit 3": the command ended with exit code 3
        result: hyperfine, 6 trials
          unnamed, sleep 0.01: completion_ns=32052063
          unnamed, sleep 0.01: completion_ns=16253039
          unnamed, sleep 0.01: completion_ns=26313089
          unnamed, sh -c "sleep 0.01; exit 3": the command ended with a signal
          unnamed, sh -c "sleep 0.01; exit 3": the command ended with exit code 3
          unnamed, sh -c "sleep 0.01; exit 3": the command ended with exit code 3
        result: perf, 2 trials
          unnamed, perf_messaging groups=1: completion_ns=42000000
          unnamed, perf_messaging groups=1: completion_ns=42000000
        result: phoronix, 6 trials
          default, Hackbench - Count: 8 - Type: Process: completion_ns=17200000000
          default, Hackbench - Count: 8 - Type: Process: completion_ns=17310000000
          default, Hackbench - Count: 8 - Type: Process: completion_ns=17300000000
          echo, Hackbench - Count: 8 - Type: Process: completion_ns=69004000000
          default, Stress-NG - Test: Semaphores: iterations_per_second=6150000.5
          echo, Stress-NG - Test: Semaphores: the file has no value for it: it did not run, or failed
        result: schbench, 1 trial
          unnamed, schbench: iterations_per_second=2532 response_time_ns.max=20001000 response_time_ns.p50=6104000 response_time_ns.p90=6200000 response_time_ns.p99=10416000 response_time_ns.p999=14000000 wakeup_latency_ns.max=9071000 wakeup_latency_ns.p50=7000 wakeup_latency_ns.p90=21000 wakeup_latency_ns.p99=1290000 wakeup_latency_ns.p999=4020000
        result: schbench, 1 trial
          bpfland_1.0.11, schbench: iterations_per_second=2532 response_time_ns.max=20001000 response_time_ns.p50=6104000 response_time_ns.p90=6200000 response_time_ns.p99=10416000 response_time_ns.p999=14000000 wakeup_latency_ns.max=9071000 wakeup_latency_ns.p50=7000 wakeup_latency_ns.p90=21000 wakeup_latency_ns.p99=1290000 wakeup_latency_ns.p999=4020000
        result: stress-ng, 2 trials
          unnamed, stress_ng cpu: iterations_per_second=6923.459970122331
          unnamed, stress_ng sem: iterations_per_second=6923.459970122331
        result: stress-ng, 1 trial
          unnamed, stress_ng cpu: iterations_per_second=6923.459970122331
        result: mangohud, 1 trial
          unnamed, frames: iterations_per_second=57.624238590913514 one_percent_low_fps=34.60042871315193 stutter_ratio=0 stutters=0 tenth_percent_low_fps=34.60042871315193 frame_time_ns=60x16180200..28908300
        result: mangohud, 1 trial
          unnamed, frames: iterations_per_second=57.624238590913514 one_percent_low_fps=34.60042871315193 stutter_ratio=0 stutters=0 tenth_percent_low_fps=34.60042871315193 frame_time_ns=60x16180200..28908300
        result: mangohud, 1 trial
          unnamed, frames: no frame_time_ns no iterations_per_second no one_percent_low_fps no stutter_ratio no stutters no tenth_percent_low_fps (the log is a sample of the frames (log_interval), not all of them)
    "#]].assert_eq(&samples().map(|text| told(&text)).concat());
}

#[test]
fn what_programs_print_is_read() {
    let texts: [String; 9] = [
        // A log of two runs, and a prompt before them.
        format!("$ hackbench -g 1 -T\n{}", sample("hackbench.txt").repeat(2)),
        "Time: 0.51\nTime: 0.49\n".into(),
        sample("perf_pipe.txt"),
        sample("sysbench.txt"),
        sample("stress_ng_two_stressors.txt"),
        sample("pgbench.txt"),
        sample("tbench.txt"),
        SCHBENCH_TEXT.into(),
        "T: 0 ( 5) P:80 I:1000 C:    100 Min:     62 Act:   70 Avg:   70 Max:     150\n".into(),
    ];
    expect![[r#"
        result: hackbench, 2 trials
          unnamed, hackbench groups=1: completion_ns=20000000
          unnamed, hackbench groups=1: completion_ns=20000000
        result: hackbench, 2 trials
          unnamed, hackbench: completion_ns=510000000
          unnamed, hackbench: completion_ns=490000000
        result: perf, 1 trial
          unnamed, perf_pipe: completion_ns=76000000 iterations_per_second=26198
        result: sysbench, 1 trial
          unnamed, sysbench: iterations_per_second=1629.5
        result: stress-ng, 2 trials
          unnamed, stress_ng cpu: iterations_per_second=16.504854368932037
          unnamed, stress_ng sleep: iterations_per_second=141844458.3333333
        result: pgbench, 1 trial
          unnamed, pgbench: iterations_per_second=999.882132
        result: tbench, 1 trial
          unnamed, tbench: iterations_per_second=424.137
        result: schbench, 1 trial
          unnamed, schbench: iterations_per_second=1278 response_time_ns.max=20001000 response_time_ns.p50=6104000 response_time_ns.p99=10416000 wakeup_latency_ns.max=9071000 wakeup_latency_ns.p50=9000 wakeup_latency_ns.p90=15000 wakeup_latency_ns.p99=1290000 wakeup_latency_ns.p999=4020000
        result: cyclictest, 1 trial
          unnamed, cyclictest: timer_lateness_ns.max=150000 no timer_lateness_ns.p50 no timer_lateness_ns.p90 no timer_lateness_ns.p99 no timer_lateness_ns.p999 (100 of 100 samples are not in the histogram)
    "#]].assert_eq(&texts.map(|text| told(&text)).concat());
}

#[test]
fn what_a_file_says_of_its_systems_is_kept() {
    let bench = bench(&sample("composite.xml"));
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
        fairground: result: in none of the known formats: cyclictest, hackbench, hyperfine, jitterdebugger, mangohud, perf, pgbench, phoronix, schbench, stress-ng, sysbench, tbench
        fairground: --as hyperfin: unknown format; did you mean 'hyperfine' or 'perf'?
        fairground: result:1: `perf-bench-sched` output was not understood: `hello` is not a number; last: hello; what is read is what `perf bench sched messaging` or `pipe` prints
        fairground: result: there is no heading `Latencies percentiles (usec)`; what is read is `schbench -j FILE`, or what schbench prints
        fairground: result:1: expected value; what is read is `hyperfine --export-json FILE`
        fairground: result: it is of `oslat --policy=other -t 2 -i 1000 -l 100 -q -h 200 --json=/dev/stdout`, and not of cyclictest
        fairground: result:15: the file is cut off: this block has no `max=`
        fairground: result: there is no table; add --metrics
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
        ("hello\n", &["--as", "schbench"]),
        ("hello\n", &["--as", "hyperfine"]),
        (&sample("cyclictest_json.txt").replace("\"cyclictest ", "\"oslat "), &["--as", "cyclictest"]),
        (&SCHBENCH_TEXT[..SCHBENCH_TEXT.len() - 50], &[]),
        ("stress-ng: info:  [9] successful run completed in 1.00s\n", &[]),
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
