// SPDX-License-Identifier: GPL-2.0-only
//! How fast the simulator is, and how that grows with the machine.
//!
//! `cargo bench -p fairground-sim`. Every measurement has a process of its own; times are CPU time
//! of one thread, with tracing off and the default costs. Every task runs 200 µs and sleeps 1 ms.

use std::process::{Command, Stdio};

mod one;

use one::{Answer, Load};

const SCHEDULERS: [&str; 3] = ["fifo", "vtime", "rr"];

/// The two sizes between which the cost of an event is to grow little.
const SMALL: Load = Load { cpus: 4, tasks: 16, duration_us: 20_000_000 };
const LARGE: Load = Load { cpus: 1_024, tasks: 4_096, duration_us: 400_000 };
/// What is to fit into memory.
const CROWD: Load = Load { cpus: 1_024, tasks: 100_000, duration_us: 20_000 };

/// On the command line: a fork server makes the processes.
const SERVED: &str = "served";

/// The best of these is kept: whatever else the host does only adds.
const REPEATS: usize = 3;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["one", scheduler, cpus, tasks, duration_us] => {
            one::print(scheduler, &Load::parse(cpus, tasks, duration_us));
        }
        ["switches", scheduler, cpus, tasks, duration_us] => {
            one::print_switches(scheduler, &Load::parse(cpus, tasks, duration_us));
        }
        ["start", mebibytes, way] => one::print_start(mebibytes, way == SERVED),
        _ => all(),
    }
}

fn all() {
    println!("context switches, tasks that run 200 µs and sleep 1 ms; CPU time of one thread");
    println!(
        "{:<6} {:>13} {:>7}   {:>17} {:>7}   {:>6}",
        "", "4 CPUs, 16", "each", "1,024 CPUs, 4,096", "each", "growth"
    );
    SCHEDULERS.iter().for_each(|scheduler| speed(scheduler));
    println!();
    start_and_memory();
    start_in_a_large_process();
}

fn speed(scheduler: &str) {
    // Turn and turn about, so that a change of the host meets both sizes.
    let answers: Vec<[Answer; 2]> =
        (0..REPEATS).map(|_| [SMALL, LARGE].map(|load| measured(scheduler, &load))).collect();
    let best = |size: usize| {
        let each = answers.iter().map(|pair| pair[size].ns_per_switch());
        each.fold(f64::INFINITY, f64::min)
    };
    let (small, large) = (best(0), best(1));
    println!(
        "{scheduler:<6} {:>9.2} M/s {small:>4.0} ns   {:>13.2} M/s {large:>4.0} ns   {:>5.2}×",
        1e3 / small,
        1e3 / large,
        large / small,
    );
}

fn start_and_memory() {
    for load in [SMALL, LARGE, CROWD] {
        let answer = measured("vtime", &Load { duration_us: load.duration_us.min(20_000), ..load });
        println!(
            "{:>5} CPUs {:>6} tasks: a trial of no length takes {:>6.2} ms, {:>6.2} ms if waking \
             the tasks takes time; {:>4} MiB at most",
            load.cpus,
            load.tasks,
            answer.start_ms,
            answer.costly_start_ms,
            answer.peak_kib / 1024
        );
    }
}

/// How a process that holds a large plan starts trials.
fn start_in_a_large_process() {
    for mebibytes in ["1", "256"] {
        let [forked, served] = ["forked", SERVED].map(|way| {
            let line = itself(&["start", mebibytes, way]);
            line.trim().parse::<f64>().expect("a number")
        });
        println!(
            "{mebibytes:>5} MiB held: a trial of no length takes {forked:>6.2} ms, with a fork \
             server {served:>6.2} ms"
        );
    }
}

fn measured(scheduler: &str, load: &Load) -> Answer {
    let arguments = one::arguments(scheduler, load);
    Answer::parse(&itself(&arguments.each_ref().map(String::as_str)))
}

/// What this program writes with these arguments.
fn itself(arguments: &[&str]) -> String {
    let this = std::env::current_exe().expect("a program knows its own path");
    let output = Command::new(this).args(arguments).stderr(Stdio::inherit()).output();
    let output = output.expect("this program starts again");
    assert!(output.status.success(), "{arguments:?}: {}", output.status);
    String::from_utf8_lossy(&output.stdout).into_owned()
}
