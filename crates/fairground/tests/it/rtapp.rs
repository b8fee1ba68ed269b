// SPDX-License-Identifier: GPL-2.0-only
//! rt-app's files, from the file to a record: rt-app's own examples as Debian installs them, and
//! what those have that came later.

use std::path::PathBuf;

use model::{Measured, Record};

use crate::common::{Bench, guest, stdout};

use testing::need;
use testing::rtapp_examples::{self, FOLDER};

/// The use cases. The long ones differ from the short ones in their duration only.
fn examples() -> Result<Vec<PathBuf>, String> {
    let mut files = rtapp_examples::files()?;
    files.retain(|path| {
        let is_part = path.starts_with(format!("{FOLDER}/merge"));
        !is_part && !path.to_string_lossy().ends_with("-long.json")
    });
    Ok(files)
}

/// The record of one trial on four CPUs.
fn play(bench: &Bench, backend: &str, file: &str) -> Record {
    let machine = if backend == "sim" { "four_cpus" } else { "uniprocessor" };
    let plan = ["plan", "--on", backend, "--scheduler", "eevdf", "--machine", machine];
    let rest = ["--blocks", "1", "--workload", file];
    let trial = stdout(&bench.run(&[&plan[..], &rest].concat()).success());
    let answer = bench.fairground(&["trial"]).write_stdin(trial).assert().success();
    serde_json::from_str(&stdout(&answer)).expect("a record")
}

fn value(measured: &Measured, name: &str, group: &str) -> f64 {
    measured.value(name, group).unwrap_or_else(|| panic!("{name} {group}"))
}

#[test]
fn rtapps_own_examples_run_in_the_simulator() {
    let files = need!(examples());
    assert_eq!(files.len(), 15, "{files:?}");
    let bench = Bench::new();
    for file in files {
        let record = play(&bench, "sim", &file.to_string_lossy());
        assert!(record.outcome.is_ok(), "{file:?}: {:?}", record.outcome);
        for group in &record.trial.workload.tasks {
            // The last task of a chain of wake-ups runs, too.
            let cpu_ns = value(&record.measured, "cpu_time_ns", &group.name);
            assert!(cpu_ns > 0.0, "{file:?}: {} never ran", group.name);
        }
    }
}

/// A task that is forked and starts by itself, one that only starts when it is forked, memory and
/// `/dev/null`, timers that are shared, a slice of the task's own.
const LATER: &str = r#"{
    "global": { "duration": 1, "mem_buffer_size": 65536 },
    "tasks": {
        "worker": { "loop": 5, "run": 1000, "mem": 100000, "sleep": 1000, "iorun": 200000 },
        "only": { "instance": 0, "loop": 2, "run": 3000 },
        "parent": { "loop": 3, "fork": "worker", "run": 500, "fork": "only", "sleep": 50000 },
        "ticks": { "instance": 2, "loop": 4, "run": 100, "timer": { "ref": "tick", "period": 20000 } },
        "patient": { "dl-runtime": 20000, "run": 5000, "sleep": 20000, "loop": 10 }
    }
}"#;

fn holds(record: &Record) {
    assert!(record.outcome.is_ok(), "{:?}", record.outcome);
    let measured = &record.measured;
    let tasks = |group| value(measured, "tasks", group);
    assert_eq!((tasks("worker"), tasks("worker-fork"), tasks("only")), (1.0, 3.0, 3.0));
    // Five rounds of each, three of which are the forked tasks' only one.
    let turnarounds = |group| measured.histogram("turnaround_ns", group).expect("ended").count;
    assert_eq!((turnarounds("worker-fork"), turnarounds("only")), (3, 3));
    // Eight releases of one timer, which two tasks share.
    let releases = measured.histogram("timer_lateness_ns", "ticks").expect("releases").count;
    assert_eq!(releases, 8);
    let last_ns = measured.histogram("turnaround_ns", "ticks").expect("ended").max;
    assert!((160_000_000..200_000_000).contains(&last_ns), "{last_ns}");
}

#[test]
fn what_came_later_runs_in_the_simulator() {
    what_came_later_runs_on("sim");
}

#[test]
fn what_came_later_runs_on_a_kernel() {
    testing::beyond_cargo_test!("boots a kernel");
    need!(guest(&[]));
    what_came_later_runs_on("vm");
}

fn what_came_later_runs_on(backend: &str) {
    let bench = Bench::new();
    bench.write("later.json", LATER);
    holds(&play(&bench, backend, "later.json"));
}

#[test]
fn a_task_group_is_a_control_group_and_who_disregards_it_is_named() {
    let bench = Bench::new();
    let text = "{\"tasks\": {\"t\": {\"loop\": 9, \"run\": 100,\n  \"taskgroup\": \"/tg1\"}}}";
    bench.write("grouped.json", text);
    let run = ["run", "--on", "sim", "--scheduler", "fifo", "--workload", "grouped.json"];
    let more = ["--scheduler", "vtime", "--blocks", "6"];
    let said = crate::common::stderr(&bench.run(&[&run[..], &more].concat()).success());
    let wanted = "control groups have no effect under: fifo, vtime, which have no callbacks";
    assert!(said.contains(wanted), "{said}");
    bench.write("grouped.json", &text.replace("/tg1", "/tg1/.."));
    let refusal = crate::common::stderr(&bench.run(&run).code(2));
    assert!(refusal.contains("grouped.json:2:16: 'tg1/..' cannot be a group's name"), "{refusal}");
}

#[test]
fn who_clamps_utilisation_is_told_that_nothing_heeds_it() {
    let bench = Bench::new();
    let text = r#"{"tasks": {"t": {"loop": 9, "run": 100, "util_max": 512}}}"#;
    bench.write("clamped.json", text);
    let run = ["run", "--on", "sim", "--scheduler", "fifo", "--workload", "clamped.json"];
    let more = ["--scheduler", "vtime", "--blocks", "6"];
    let told = || {
        let said = crate::common::stderr(&bench.run(&[&run[..], &more].concat()).success());
        said.matches("'uclamp' has no effect: simulated CPUs have one speed").count()
    };
    assert_eq!(told(), 1);
    bench.write("clamped.json", &text.replace("512", "-1"));
    assert_eq!(told(), 0);
}

/// rt-app's files name no headlines: a few measures of all tasks are shown, and where the rest is.
#[test]
fn a_file_without_headlines_has_a_short_answer() {
    let bench = Bench::new();
    let task = |name: &str| {
        format!(r#""{name}": {{"timer": {{"ref": "unique", "period": 9000}}, "run": 900}}"#)
    };
    let tasks: Vec<String> = (0..12).map(|number| task(&format!("t{number}"))).collect();
    bench.write("many.json", &format!(r#"{{"tasks": {{{}}}}}"#, tasks.join(", ")));
    let run = ["run", "--on", "sim", "--workload", "./many.json", "--scheduler", "fifo"];
    let more = ["--scheduler", "vtime", "--blocks", "6"];
    let said = stdout(&bench.run(&[&run[..], &more].concat()).success());
    assert!(said.lines().count() < 60, "{said}");
    assert!(said.contains("longest_wait_ns all"), "{said}");
    assert!(said.contains("more measures are in `fairground report`"), "{said}");
}
