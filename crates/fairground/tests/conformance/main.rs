// SPDX-License-Identifier: GPL-2.0-only
//! The order of callbacks: one body, two arms. For every scenario the simulator and the real kernel
//! must call the tracing scheduler in the same order, with the same CPUs, tasks and flags.
//!
//! Read in this order: `conformance/scenarios.toml` is what is compared, `trace.bpf.c` the
//! scheduler that tells, `scenario.rs` the trials, `arm.rs` the arms, `sequence.rs` what of their
//! words counts; `measures.rs` and `group_shares.rs` compare numbers instead.
//! `CONFORMANCE_ONLY=fork` compares only scenarios with this word in their name.

mod arm;
mod group_shares;
mod measures;
mod scenario;
mod sequence;

use arm::{Answer, Files};
use scenario::{Scenario, View};
use testing::need;
use testing::project::{expect_generated, is_blessing, root};
use vm::Kernel;
use vm::emulator::Emulator;

/// A scenario that differs is tried again, in a boot with fewer before it: a thread of the kernel
/// that wakes in the wrong moment does not do so twice; a wrong order is wrong each time.
const ATTEMPTS: usize = 3;

/// The newest kernel with sched_ext, and QEMU.
fn kernel() -> Result<Kernel, String> {
    testing::program("qemu-system-x86_64")?;
    let home = fairground::execution::locations::data_folder().expect("a home");
    let found = vm::kernels::find(&home, "7");
    found.map_err(|error| format!("there is no kernel with sched_ext ({error})"))
}

fn emulator() -> Result<Emulator, String> {
    arm::emulator().ok_or_else(|| format!("no emulator: `{}`", vm::emulator::COMMAND))
}

#[test]
fn the_simulator_calls_back_in_the_kernels_order() {
    testing::beyond_cargo_test!("boots a kernel");
    let kernel = need!(kernel());
    let only = std::env::var("CONFORMANCE_ONLY").unwrap_or_default();
    let mut scenarios = scenario::all();
    need!(emulator());
    scenarios.retain(|scenario| scenario.name.contains(&only));
    let files = Files::write(&scenarios);
    println!("kernel {}", kernel.release);
    let mut wrong = scenarios.clone();
    for _ in 0..ATTEMPTS {
        let real = arm::boot(&files, &wrong, &kernel);
        wrong.retain(|scenario| {
            let simulated = arm::simulate(&files, scenario);
            let verdict = verdict(scenario, &simulated, &real[&scenario.name]);
            println!("{:56} {}", scenario.name, verdict.as_ref().unwrap_or_else(|why| why));
            verdict.is_err()
        });
    }
    let names: Vec<&str> = wrong.iter().map(|scenario| scenario.name.as_str()).collect();
    assert_eq!(names, Vec::<&str>::new(), "differ each time");
    if only.is_empty() {
        publish("order", &kernel, &published(&scenarios));
    }
}

#[test]
fn both_arms_measure_the_same() {
    testing::beyond_cargo_test!("boots a kernel");
    let kernel = need!(kernel());
    let found = measures::both_arms(&kernel);
    measures::time_outs_are_equal(&found["spans"]);
    measures::frames_are_equal(&found["frames"]);
    measures::series_are_alike(&found["duty_cycle"]);
    measures::forks_are_equal(&found["forks"]);
    measures::the_ended_count(&found["ended"]);
    measures::interrupts_take_the_same_time(&found["interrupted"]);
    for arms in found.values() {
        arms.iter().for_each(measures::sums_agree);
    }
}

#[test]
fn groups_get_the_shares_that_the_kernels_own_scheduler_gives() {
    testing::beyond_cargo_test!("boots a kernel");
    let kernel = need!(kernel());
    need!(emulator());
    let home = fairground::execution::locations::data_folder().expect("a home");
    let examples = vm::kernels::pull_examples(&home, &mut |note| println!("{note}"));
    let examples = need!(examples.map_err(|error| format!("no examples of the kernel: {error}")));
    let files = group_shares::files(&examples);
    let found = group_shares::compare(&files, &kernel, is_blessing());
    // The last digits depend on when the guest's timers fire, and so on how it was built.
    if is_blessing() {
        publish("group shares", &kernel, &found);
    }
}

#[test]
fn a_trace_ends_although_others_starve() {
    testing::beyond_cargo_test!("boots a kernel");
    measures::a_trace_ends_although_others_starve(&need!(kernel()));
}

/// The book says what was compared with which kernel, and what was found.
fn publish(what: &str, kernel: &Kernel, found: &str) {
    const CHAPTER: &str = "docs/src/method/simulator.md";
    let title = format!("Linux {}: ", kernel.release);
    let text = std::fs::read_to_string(root().join(CHAPTER)).expect("the chapter");
    let part = text.split(&format!("<!-- generated: {what}; ")).nth(1).expect("its mark");
    if is_blessing() || part.split("<!-- end -->").next().is_some_and(|part| part.contains(&title))
    {
        let tests = "-p fairground --test conformance";
        expect_generated(CHAPTER, what, tests, &format!("{title}{found}"));
    } else {
        println!("the book is about another kernel; its list was not compared");
    }
}

fn published(scenarios: &[Scenario]) -> String {
    let (differ, equal): (Vec<_>, Vec<_>) = scenarios.iter().partition(|s| s.diverges.is_some());
    let mut text = format!("{} scenarios, {} equal.\n\n", scenarios.len(), equal.len());
    for scenario in equal {
        text += &format!("- {}\n", scenario.name);
    }
    for scenario in differ {
        let why = scenario.diverges.as_deref().unwrap_or_default();
        text += &format!("- {}: DIVERGES: {why}\n", scenario.name);
    }
    text
}

/// `equal`, or the known reason; the error shows the first difference.
fn verdict(scenario: &Scenario, simulated: &Answer, real: &Answer) -> Result<String, String> {
    for (arm, answer) in [("simulator", simulated), ("kernel", real)] {
        if let Some(trouble) = &answer.trouble {
            return Err(format!("{arm}: {trouble}\n{}", side_by_side(simulated, real)));
        }
    }
    let count = real.sequence.len();
    match (&scenario.diverges, simulated.is_that_of(real)) {
        (_, true) if count < 3 && scenario.view != View::Refused => {
            Err(format!("only {count} callbacks"))
        }
        (None, true) => Ok(format!("equal ({count} callbacks)")),
        (Some(why), false) => Ok(format!("DIVERGES: {why}")),
        (Some(_), true) => Err("is equal now; remove `diverges`".into()),
        (None, false) => Err(format!("differs\n{}", side_by_side(simulated, real))),
    }
}

/// Both sequences up to a little after the first difference.
fn side_by_side(simulated: &Answer, real: &Answer) -> String {
    const AFTER: usize = 12;
    let (left, right) = (&simulated.sequence, &real.sequence);
    let first = (0..left.len().max(right.len())).find(|&at| left.get(at) != right.get(at));
    let mut text = format!("  {:52}| {}\n", simulated.outcome, real.outcome);
    text += &format!("  {:52}| {}\n", "simulator", "kernel");
    for at in 0..first.unwrap_or(left.len()) + AFTER {
        let [left, right] = [left, right].map(|side| side.get(at).map_or("", String::as_str));
        let sign = if left == right { ' ' } else { '>' };
        if !(left.is_empty() && right.is_empty()) {
            text += &format!("{sign} {left:52}| {right}\n");
        }
    }
    text
}
