// SPDX-License-Identifier: GPL-2.0-only
//! Oracles: what is known of a scheduler from its source and its literature, asserted of our file.
//! One body, two arms: the simulator, and the real kernel under the virtual clock.
//!
//! `oracle.rs` reads `tables/`, and `measure.rs` has the words of the tables; `orders.rs`,
//! `turns.rs` and `echo.rs` have what a table cannot say. `ORACLES_ONLY=o1` takes only those whose
//! names begin so.

mod arms;
mod echo;
mod eevdf;
mod measure;
mod observations;
mod oracle;
mod orders;
mod task_sets;
mod turns;

use oracle::{Oracle, Where};
use testing::need;
use vm::Kernel;

/// All of them that are asked for.
fn all() -> Vec<Oracle> {
    let only = std::env::var("ORACLES_ONLY").unwrap_or_default();
    let all = [oracle::tables(), orders::oracles(), turns::oracles(), echo::oracles()];
    all.concat().into_iter().filter(|oracle| oracle.name.starts_with(&only)).collect()
}

/// A kernel to boot, and QEMU.
fn kernel(version: &str) -> Result<Kernel, String> {
    testing::program("qemu-system-x86_64")?;
    let home = fairground::execution::locations::data_folder().expect("a home");
    vm::kernels::find(&home, version).map_err(|error| format!("no kernel {version}: {error}"))
}

/// The emulator that several virtual CPUs need.
fn emulator() -> Result<(), String> {
    let home = fairground::execution::locations::data_folder().expect("a home");
    let found = vm::emulator::find(&home).expect("an emulator that is as it was");
    found.map(drop).ok_or_else(|| format!("there is no emulator (`{}`)", vm::emulator::COMMAND))
}

/// Fails with every oracle that does not hold, not only the first.
fn expect_all(answers: Vec<(Oracle, Result<(), String>)>) {
    let mut failures = String::new();
    for (oracle, result) in answers {
        match result {
            Ok(()) => println!("holds: {}", oracle.name),
            Err(why) => failures += &format!("\n{}: {}\n  but {why}", oracle.name, oracle.claim),
        }
    }
    assert!(failures.is_empty(), "{failures}");
}

#[test]
fn every_oracle_holds_in_the_simulator() {
    let oracles: Vec<Oracle> =
        all().into_iter().filter(|oracle| oracle.place != Where::OldKernel).collect();
    let answers = arms::simulate(&oracles);
    expect_all(oracles.into_iter().zip(answers).collect());
}

/// An oracle that does not hold is asked again, in a boot with fewer before it: a thread of the
/// kernel that wakes in the wrong moment does not do so twice; a wrong policy is wrong each time.
const ATTEMPTS: usize = 3;

/// Asks a real kernel, those again that do not hold.
fn expect_on_a_kernel(mut asked: Vec<Oracle>) {
    for attempt in 1..=ATTEMPTS {
        let answers = arms::boot(&asked);
        let answers: Vec<_> = asked.into_iter().zip(answers).collect();
        let (hold, fail): (Vec<_>, Vec<_>) =
            answers.into_iter().partition(|(_, answer)| answer.is_ok());
        expect_all(hold);
        if fail.is_empty() {
            return;
        }
        if attempt == ATTEMPTS {
            expect_all(fail);
            return;
        }
        fail.iter().for_each(|(oracle, why)| println!("again: {}: {why:?}", oracle.name));
        asked = fail.into_iter().map(|(oracle, _)| oracle).collect();
    }
}

#[test]
fn every_oracle_of_one_cpu_holds_on_the_real_kernel() {
    testing::beyond_cargo_test!("boots a kernel");
    need!(kernel("7"));
    let is_asked =
        |oracle: &Oracle| oracle.place == Where::Everywhere && !oracle.has_several_cpus();
    expect_on_a_kernel(all().into_iter().filter(is_asked).collect());
}

#[test]
fn every_oracle_of_several_cpus_holds_on_the_real_kernel() {
    testing::beyond_cargo_test!("boots a kernel");
    need!(kernel("7"));
    need!(emulator());
    let is_asked = |oracle: &Oracle| oracle.place == Where::Everywhere && oracle.has_several_cpus();
    expect_on_a_kernel(all().into_iter().filter(is_asked).collect());
}

#[test]
fn every_oracle_of_older_kernels_holds_on_one() {
    testing::beyond_cargo_test!("boots a kernel");
    need!(kernel("6.1"));
    let old: Vec<Oracle> =
        all().into_iter().filter(|oracle| oracle.place == Where::OldKernel).collect();
    let answers = arms::boot(&old);
    expect_all(old.into_iter().zip(answers).collect());
}

#[test]
fn names_are_unique() {
    let mut names: Vec<&str> = all().iter().map(|oracle| oracle.name).collect();
    names.sort_unstable();
    assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{names:?}");
}
