// SPDX-License-Identifier: GPL-2.0-only
//! Several CPUs in virtual time: the same bytes each time, and each CPU as fast as one alone. The
//! emulator is the one of the user's data folder; without it a test says that it is skipped.

use std::path::Path;

use crate::common::{Bench, emulator, guest, stderr, stdout};
use testing::need;

/// `count` tasks with a fixed number of instructions, which take 20 ms on a CPU of their own. Each
/// may use one CPU only, because the kernel and not the emulator decides where tasks run.
fn hogs(count: u32) -> String {
    let hog = |cpu| {
        format!(
            "\n[[task]]\nname = \"hog_{cpu}\"\naffinity = [{cpu}]\nrepeat = 20\n\
             steps = [{{ run_us = 1000 }}]\n"
        )
    };
    let about = format!("about = \"work for {count} CPUs\"\n");
    (0..count).map(hog).fold(about, |text, hog| text + &hog)
}

/// An experiment on a machine; the number of blocks follows.
fn race(machine: &str) -> Vec<&str> {
    vec!["run", "--on", "vm", "--machine", machine, "--offline", "--exploratory", "--blocks"]
}

#[test]
fn without_the_emulator_nothing_runs_and_its_command_is_named() {
    testing::beyond_cargo_test!("takes minutes");
    let bench = Bench::new();
    let rest = ["1", "--scheduler", "kernel:7", "--workload", "tiny.toml"];
    let race = [race("counted_4"), rest.to_vec()].concat();
    let mut command = bench.fairground(&race);
    let refused = command.env("FAIRGROUND_HOME", bench.path("home")).assert().code(2);
    let said = "counted_4 needs the emulator for several CPUs in virtual time: fairground \
                kernel emulator build";
    assert!(stderr(&refused).contains(said), "{}", stderr(&refused));
    assert!(!Path::new(&bench.path("fairground.db")).exists(), "nothing ran");
    let mut command = bench.fairground(&["kernel", "emulator", "show"]);
    let shown = command.env("FAIRGROUND_HOME", bench.path("home")).assert().success();
    assert_eq!(stdout(&shown), "no emulator yet; `fairground kernel emulator build` makes it\n");
}

#[test]
fn several_cpus_give_the_same_bytes_twice_and_say_what_emulated_them() {
    testing::beyond_cargo_test!("takes minutes");
    need!(guest(&[]));
    need!(emulator());
    for machine in ["counted_2", "counted_4"] {
        gives_the_same_bytes_twice(machine);
    }
}

/// With the kernel's own scheduler, and with one of sched_ext.
fn gives_the_same_bytes_twice(machine: &str) {
    let bench = Bench::new();
    let contestants = ["1", "--scheduler", "kernel:7", "--scheduler", "vtime"];
    let loads = ["--workload", "messaging groups=1 loops=5", "--workload", "tiny.toml"];
    for store in ["a.db", "b.db"] {
        let rest = ["--store", store];
        bench.run(&[&race(machine)[..], &contestants, &loads, &rest].concat()).success();
    }
    let same = bench.run(&["compare", "--identical", "a.db", "b.db"]).success();
    assert_eq!(stdout(&same), "identical: 4 trials, byte for byte\n", "{machine}");
    for record in bench.records("a.db") {
        let facts = &record.provenance.kernel_facts;
        assert!(facts["emulator"].starts_with("qemu_10."), "{facts:?}");
        assert_eq!(facts["icount"], "shift=0,sleep=off,quantum=1000,pause=40");
    }
}

#[test]
fn work_takes_as_long_on_each_of_four_cpus_as_alone() {
    testing::beyond_cargo_test!("takes minutes");
    need!(guest(&[]));
    need!(emulator());
    let bench = Bench::new();
    let mut race = [race("counted_4"), vec!["1", "--scheduler", "kernel:7"]].concat();
    for (file, count) in [("one.toml", 1), ("two.toml", 2), ("four.toml", 4)] {
        bench.write(file, &hogs(count));
        race.extend(["--workload", file]);
    }
    bench.run(&race).success();
    for record in bench.records("fairground.db") {
        let longest = record.measured.value("completion_ns", "all").unwrap_or_default();
        // Less than a tenth is the guest's own: ticks, and the main thread.
        assert!(
            (20.0e6..22.0e6).contains(&longest),
            "{}: {longest} ns",
            record.trial.workload.name
        );
    }
}
