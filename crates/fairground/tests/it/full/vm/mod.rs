// SPDX-License-Identifier: GPL-2.0-only
//! The whole pipeline on real kernels in virtual machines.

use std::fs;
use std::path::Path;

use model::{Outcome, Record};

mod interrupted;
mod saved_boots;
mod switch_cost;
use crate::common::folder::Folder;
use crate::common::{Bench, emulator, guest, scheduler, stderr, stdout};
use testing::need;

/// No network, and no claims.
const OFFLINE: [&str; 2] = ["--offline", "--exploratory"];

/// Runs offline on the instruction-counting machine and expects an exit code.
fn run(bench: &Bench, arguments: &[&str], code: i32) -> String {
    let arguments = [&["run", "--on", "vm"], arguments, &OFFLINE].concat();
    stderr(&bench.run(&arguments).code(code))
}

fn of<'a>(records: &'a [Record], contestant: &str) -> Vec<&'a Record> {
    records.iter().filter(|record| record.trial.contestant.name == contestant).collect()
}

/// Wakes up 1,000 times a second for three seconds, and needs little time for it.
const DOZE: &str = r#"# SPDX-License-Identifier: GPL-2.0-only
about = "a task that mostly sleeps, for longer than sched_ext's watchdog waits"
duration_us = 3000000

[[task]]
name = "sleeper"
steps = [{ run_us = 10 }, { sleep_us = 1000 }]
"#;

#[test]
fn a_guest_has_the_shape_of_its_machine_and_what_it_cannot_have_is_told() {
    testing::beyond_cargo_test!("boots a kernel");
    need!(guest(&[]));
    let bench = Bench::new();
    // Counted instructions are emulated by one thread, whatever the CPUs.
    let clock = if emulator().is_ok() { "virtual" } else { "real" };
    let shape = "cpus = 8\nsmt = 2\nllcs = 2\nnodes = 2\nhz = 1000\n";
    bench.write("shaped.toml", &format!("about = \"s\"\nclock = \"{clock}\"\n{shape}"));
    let arguments = ["--machine", "shaped.toml", "--scheduler", "fifo", "--workload", "tiny.toml"];
    let said = run(&bench, &[&arguments[..], &["--blocks", "1"]].concat(), 0);
    assert!(said.contains("hz of shaped is ignored by vm"), "{said}");
    let facts = &bench.records("fairground.db")[0].provenance.kernel_facts;
    let fact = |name: &str| facts.get(name).map_or("", String::as_str);
    assert_eq!([fact("core_of_cpu0"), fact("cache_of_cpu0"), fact("nodes")], ["0-1", "0-3", "0-1"]);
    let large = "about = \"l\"\ncpus = 256\n";
    bench.write("large.toml", large);
    let arguments = ["--machine", "large.toml", "--scheduler", "fifo", "--workload", "tiny.toml"];
    run(&bench, &arguments, 2);
}

#[test]
fn the_same_virtual_experiment_twice_is_byte_identical() {
    testing::beyond_cargo_test!("boots a kernel");
    need!(guest(&["hackbench"]));
    let bench = Bench::new();
    let schedulers = ["--scheduler", "kernel:7", "--scheduler", "vtime", "--blocks", "1"];
    let messages = ["messaging groups=1 loops=5", "hackbench groups=1 loops=5", "tiny.toml"];
    let loads = messages.iter().flat_map(|load| ["--workload", load]);
    let race: Vec<&str> = schedulers.into_iter().chain(loads).collect();
    for store in ["a.db", "b.db"] {
        run(&bench, &[&race[..], &["--store", store]].concat(), 0);
    }
    run(&bench, &[&race[..], &["--store", "c.db", "--seed", "2"]].concat(), 0);
    let same = bench.run(&["compare", "--identical", "a.db", "b.db"]).success();
    assert_eq!(stdout(&same), "identical: 6 trials, byte for byte\n");
    let differ = bench.run(&["compare", "--identical", "a.db", "c.db"]).code(1);
    assert!(stdout(&differ).starts_with("not identical"), "{}", stdout(&differ));
    for record in bench.records("a.db") {
        assert_eq!(record.provenance.accelerator, "tcg");
        let mut delays = record.measured.histograms.iter().filter(|h| h.name == "run_delay_ns");
        assert!(delays.any(|h| h.count > 0), "no delays in {}", record.trial.workload.cell());
    }
}

#[test]
fn whoever_misbehaves_is_named_and_the_others_are_unharmed() {
    testing::beyond_cargo_test!("boots a kernel");
    need!(guest(&["sh"]));
    let bench = Bench::new();
    bench.write("doze.toml", DOZE);
    let (never, spins) = (scheduler("never"), scheduler("spins"));
    bench.write(
        "broken.toml",
        &format!(
            r#"
question = "Who notices what?"
blocks = 1
trials_per_boot = 1
timeout_s = 5

[[scheduler]]
name = "eevdf"
kernel = "7"

[[scheduler]]
file = "vtime"

[[scheduler]]
file = "{never}"

[[scheduler]]
file = "{spins}"

[[scheduler]]
name = "panics"
program = ["sh", "-c", "echo c > /proc/sysrq-trigger"]

[[workload]]
name = "doze.toml"
"#
        ),
    );
    let said = run(&bench, &["broken.toml"], 1);
    let records = bench.records("fairground.db");
    assert_eq!(records.len(), 5);
    for name in ["eevdf", "vtime"] {
        for record in of(&records, name) {
            assert!(record.outcome.is_ok(), "{name}: {:?}", record.outcome);
        }
    }
    for record in of(&records, "never") {
        let Outcome::Ejected { reason, .. } = &record.outcome else {
            panic!("never: {:?}", record.outcome)
        };
        assert!(reason.contains("runnable task stall"), "{reason}");
    }
    for record in of(&records, "panics") {
        let Outcome::Crashed { text } = &record.outcome else {
            panic!("panics: {:?}", record.outcome)
        };
        assert!(text.contains("sysrq"), "{text}");
    }
    for record in of(&records, "spins") {
        assert!(matches!(record.outcome, Outcome::Hung { .. }), "{:?}", record.outcome);
    }
    assert!(said.contains("not ok: 3 of 5 (1 crashed, 1 ejected, 1 hung)"), "{said}");
}

#[test]
fn a_strangers_file_runs_with_its_knobs() {
    testing::beyond_cargo_test!("boots a kernel");
    need!(guest(&[]));
    let bench = Bench::new();
    fs::copy(scheduler("stranger"), bench.path("somebody.bpf.c")).expect("a copy");
    let arguments = ["--scheduler", "./somebody.bpf.c slice_us=1000", "--workload", "tiny.toml"];
    run(&bench, &[&arguments[..], &["--blocks", "1"]].concat(), 0);
    let record = &bench.records("fairground.db")[0];
    assert!(record.provenance.scheduler_after.sched_ext_ops.starts_with("stranger"), "{record:?}");
    let files = fs::read_dir(bench.path("")).expect("the folder");
    let mut files: Vec<_> = files.map(|file| file.expect("a file").file_name()).collect();
    files.sort();
    assert_eq!(files, ["fairground.db", "somebody.bpf.c", "tiny.toml"], "nothing else was written");
    // A knob that the file does not have is named before anything runs.
    let wrong = ["--scheduler", "./somebody.bpf.c slize_us=1", "--workload", "tiny.toml"];
    let said = run(&bench, &[&wrong[..], &["--blocks", "1"]].concat(), 2);
    assert!(said.contains("slize_us"), "{said}");
}

#[test]
fn a_refusal_of_the_verifier_shows_line_and_last_words() {
    testing::beyond_cargo_test!("boots a kernel");
    need!(guest(&[]));
    let bench = Bench::new();
    let file = scheduler("no_verify");
    let arguments = ["--scheduler", &file, "--workload", "tiny.toml", "--blocks", "1"];
    let said = run(&bench, &arguments, 1);
    assert!(said.contains("no_verify.bpf.c:29"), "{said}");
    let words = ["invalid mem access 'map_value_or_null'", "nullable map value pointer"];
    assert!(words.iter().any(|words| said.contains(words)), "{said}");
}

#[test]
fn a_function_that_the_kernel_lacks_is_named_with_what_to_write() {
    testing::beyond_cargo_test!("boots a kernel");
    need!(guest(&[]));
    let bench = Bench::new();
    let file = scheduler("lacking");
    run(&bench, &["--scheduler", &file, "--workload", "tiny.toml", "--blocks", "1"], 4);
    let outcome = &bench.records("fairground.db")[0].outcome;
    assert_eq!(outcome.word(), "unsupported", "{outcome:?}");
    for words in ["has no scx_bpf_moonlight()", "bpf_ksym_exists(scx_bpf_moonlight)"] {
        assert!(outcome.reason().contains(words), "{outcome:?}");
    }
    let said = stdout(&bench.run(&["check", &file]).code(1));
    let [simulator, verifier] = ["ok     simulator", "WRONG  verifier"];
    assert!(said.contains(simulator) && said.contains(verifier), "{said}");
    assert!(said.contains("unsupported: kernel 7."), "{said}");
}

#[test]
fn a_kernel_without_sched_ext_is_not_booted_for_it() {
    testing::beyond_cargo_test!("boots a kernel");
    need!(guest(&[]));
    let bench = Bench::new();
    let arguments = ["--scheduler", "vtime@6.12", "--workload", "tiny.toml", "--blocks", "1"];
    let said = run(&bench, &arguments, 4);
    assert!(!said.contains("is up after"), "{said}");
    let record = &bench.records("fairground.db")[0];
    assert!(record.outcome.reason().contains("has no sched_ext"), "{:?}", record.outcome);
}

/// Runs workloads with real programs under `fifo`, each once, all in one boot.
fn run_programs(bench: &Bench, home: Option<&Path>, workloads: &[&str], code: i32) -> Vec<Record> {
    let named = workloads.iter().flat_map(|workload| ["--workload", *workload]);
    let fixed = ["run", "--on", "vm", "--machine", "uniprocessor", "--scheduler", "fifo"];
    let rest = ["--blocks", "1", "--timeout", "300", "--offline", "--exploratory"];
    let arguments: Vec<&str> = fixed.into_iter().chain(named).chain(rest).collect();
    let mut command = bench.fairground(&arguments);
    if let Some(home) = home {
        command.env("FAIRGROUND_HOME", home);
    }
    command.assert().code(code);
    bench.records("fairground.db")
}

/// Whether the sources of bzip2 are here. Not even CI must have them: a mirror need not have sources.
fn has_sources() -> bool {
    let sources =
        fairground::execution::locations::source_trees().map(|sources| sources.join("bzip2"));
    sources.is_some_and(|tree| tree.join(".fairground-files").is_file())
}

#[test]
fn a_guest_builds_a_package_and_serves_files() {
    testing::beyond_cargo_test!("boots a kernel");
    need!(guest(&["make", "gcc", "tbench"]));
    if !has_sources() {
        return testing::skip("bzip2's sources are not here (`scripts/sources.sh bzip2`)");
    }
    let bench = Bench::new();
    let workloads = ["make_bzip2 jobs=2 optimise=0", "tbench clients=1 seconds=2"];
    let records = run_programs(&bench, None, &workloads, 0);
    let of = |name: &str| {
        let record = records.iter().find(|record| record.trial.workload.name == name);
        record.expect("a record of each workload")
    };
    let (build, tbench) = (of("make_bzip2"), of("tbench"));
    assert!(build.provenance.programs["bzip2"].starts_with("bzip2 1."), "{build:?}");
    let value = |name| build.measured.value(name, "program").expect("a number");
    // For each of nine files gcc, cc1 and as; make, its shells, the archive and the linking besides.
    assert!(value("tasks") > 30.0 && value("completion_ns") > 1e8, "{:?}", build.measured);
    let served = tbench.measured.value("iterations_per_second", "program");
    assert!(served.is_some_and(|rate| rate > 0.0), "{:?}", tbench.measured);
}

#[test]
fn sources_that_are_not_here_or_not_for_a_guest_are_not_booted_for() {
    testing::beyond_cargo_test!("boots a kernel");
    need!(guest(&["make", "gcc"]));
    let bench = Bench::new();
    let home = bench.path("home");
    let trees = fairground::execution::locations::source_trees_in(&home);
    fs::create_dir_all(trees.join("postgresql")).expect("folders");
    fs::write(trees.join("postgresql/.fairground-version"), "postgresql 1\n").expect("a file");
    let kernels = fairground::execution::locations::data_folder().expect("a home").join("kernels");
    std::os::unix::fs::symlink(kernels, home.join("kernels")).expect("a link");
    let workloads = ["make_bzip2", "make_postgresql"];
    let records = run_programs(&bench, Some(&home), &workloads, 4);
    assert_eq!(records.len(), 2);
    for record in &records {
        let words = match record.trial.workload.name.as_str() {
            "make_bzip2" => "`scripts/sources.sh bzip2` gets",
            _ => "`postgresql` is not listed for the VM; use --on live",
        };
        assert!(record.outcome.reason().contains(words), "{:?}", record.outcome);
        assert_eq!((record.outcome.word(), record.provenance.wall_ms), ("unsupported", 0));
    }
}

#[test]
fn a_trace_is_exported_for_other_tools() {
    testing::beyond_cargo_test!("boots a kernel");
    need!(guest(&[]));
    let bench = Bench::new();
    let arguments = ["--scheduler", "rr", "--workload", "tiny.toml", "--blocks", "1", "--trace"];
    run(&bench, &arguments, 0);
    let id = bench.records("fairground.db")[0].trial.id();
    let text = stdout(&bench.run(&["export", "trace", &id[..6]]).success());
    assert!(text.contains("sched_switch: prev_comm="), "{text}");
    assert!(text.lines().any(|line| line.contains("next_comm=hog")), "{text}");
}

#[test]
fn a_scheduler_that_load_holds_schedules_until_it_is_stopped() {
    testing::beyond_cargo_test!("boots a kernel");
    need!(guest(&[]));
    let bench = Bench::new();
    let folder = Folder::new();
    let held = folder.path("held").display().to_string();
    let program = |scheduler: &str| format!("program:{held} load {scheduler}");
    let (one, other) = (program("vtime"), program("rr slice_us=3000"));
    let arguments = ["--scheduler", &one, "--scheduler", &other, "--scheduler", "policy:other"];
    let more = ["--machine", "uniprocessor", "--workload", "tiny.toml", "--blocks", "1"];
    run(&bench, &[&arguments[..], &more].concat(), 0);
    let records = bench.records("fairground.db");
    let mut active: Vec<&str> = records
        .iter()
        .map(|record| record.provenance.scheduler_before.sched_ext_ops.as_str())
        .collect();
    active.sort_unstable();
    assert_eq!(active, ["", "rr", "vtime"], "each was gone before the next");
}
