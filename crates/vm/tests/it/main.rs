// SPDX-License-Identifier: GPL-2.0-only
//! Boots real kernels with this crate's test guest. Kernels come from `$FAIRGROUND_HOME`, or are
//! pulled.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::thread;
use std::time::{Duration, Instant};

use model::{Backend, Clock, Machine, Outcome, Record, Seed, Trial, Workload};
use testing::need;
use vm::emulator::{self, Emulator};
use vm::{BootRequest, Event, Kernel, Resume, installed, kernels, qemu, run_trials};

mod full;

/// The outermost limit of a trial here: short, because one test waits for it.
const TIMEOUT_MS: u64 = 200;

static MACHINE: RwLock<()> = RwLock::new(());

/// A boot on the real clock has the machine to itself: the hung one is told by the time that it
/// takes.
fn alone() -> RwLockWriteGuard<'static, ()> {
    MACHINE.write().unwrap_or_else(PoisonError::into_inner)
}

/// Boots on the virtual clock are the same beside others.
fn shared() -> RwLockReadGuard<'static, ()> {
    MACHINE.read().unwrap_or_else(PoisonError::into_inner)
}

fn kernel(name: &str) -> Result<Kernel, String> {
    static HOME: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let home = HOME.get_or_init(|| prepare().map_err(|error| format!("{error:#}")));
    let home = home.as_ref().map_err(|why| format!("no guest can be booted here: {why}"))?;
    Ok(kernels::find(home, name).unwrap())
}

fn prepare() -> anyhow::Result<PathBuf> {
    qemu::version()?;
    let home = std::env::var_os("FAIRGROUND_HOME").map(PathBuf::from);
    let home = home.unwrap_or_else(|| Path::new(env!("CARGO_TARGET_TMPDIR")).join("home"));
    kernels::pull(&home, &["6.1", "6.12", "7"], &mut |note| println!("{note}"))?;
    Ok(home)
}

/// The emulator of the user's data folder, for tests of equal bytes: the installed QEMU gives them
/// nearly always, the emulator always.
fn emulator() -> Result<&'static Emulator, String> {
    static FOUND: OnceLock<Option<Emulator>> = OnceLock::new();
    let find =
        || emulator::find(&installed::data_folder()?).expect("an emulator that is as it was");
    let found = FOUND.get_or_init(find).as_ref();
    found.ok_or_else(|| format!("there is no emulator (`{}`)", emulator::COMMAND))
}

fn machine(clock: Clock, cpus: u32) -> Machine {
    Machine { name: "test".into(), cpus, memory_mib: 512, clock, ..Machine::default() }
}

fn trials(machine: &Machine, names: &[&str]) -> Vec<Trial> {
    let trial = |(position, name): (usize, &&str)| Trial {
        backend: Backend::Vm,
        workload: Workload { name: (*name).to_owned(), ..Workload::default() }.into(),
        machine: machine.clone().into(),
        seed: Seed(position as u64),
        boot: 3,
        position: position as u32,
        timeout_ms: TIMEOUT_MS,
        probes: false,
        ..Trial::default()
    };
    names.iter().enumerate().map(trial).collect()
}

fn request<'a>(kernel: &'a Kernel, machine: &'a Machine, trials: &'a [Trial]) -> BootRequest<'a> {
    let executable = Path::new(env!("CARGO_BIN_EXE_vm-test-guest"));
    BootRequest {
        files: vec![("/objects/test".into(), b"from the host".to_vec())],
        ..BootRequest::new(kernel, machine, trials, executable)
    }
}

/// Runs the request and returns the records in the order of their trials; each trial must have one.
fn records(request: &BootRequest) -> anyhow::Result<Vec<Record>> {
    let mut records: Vec<Option<Record>> = vec![None; request.trials.len()];
    run_trials(request, &AtomicBool::new(false), &mut |event| match event {
        Event::Record(index, record) => {
            assert!(records[index].is_none(), "trial {index} has two records");
            records[index] = Some(*record);
        }
        Event::Booted { boot_ms, .. } => println!("{} booted in {boot_ms} ms", request.kernel.name),
        Event::TrialStarted(_) => {}
        Event::Repeated(index, _) => panic!("trial {index} had no record"),
        Event::Note(note) => println!("{note}"),
    })?;
    Ok(records.into_iter().map(|record| record.expect("every trial has a record")).collect())
}

fn outcomes(records: &[Record]) -> Vec<&'static str> {
    records.iter().map(|record| record.outcome.word()).collect()
}

/// What must be equal between boots: measurement and, from this guest, everything the kernel
/// counted.
fn answers(records: &[Record]) -> Vec<(String, Vec<String>)> {
    let answer = |r: &Record| (format!("{:?}", r.measured), r.provenance.notes.clone());
    records.iter().map(answer).collect()
}

/// Says how two boots differ, if they do.
fn assert_same(one: &[Record], two: &[Record], what: &str) {
    let lines = |records: &[Record]| -> Vec<String> {
        let all = answers(records).into_iter().flat_map(|(measured, mut notes)| {
            notes.insert(0, measured);
            notes
        });
        all.flat_map(|note| note.lines().map(str::to_owned).collect::<Vec<_>>()).collect()
    };
    let (one, two) = (lines(one), lines(two));
    let differ = one.iter().zip(&two).filter(|(one, two)| one != two);
    let differ: Vec<_> = differ.map(|(one, two)| format!("{one}\n{two}")).take(20).collect();
    assert!(one == two, "{what} differ:\n{}", differ.join("\n"));
}

#[test]
fn every_kernel_boots_on_the_real_clock_and_its_guest_is_furnished() {
    testing::beyond_cargo_test!("boots a kernel");
    let _turn = alone();
    for name in kernels::NAMES {
        let kernel = need!(kernel(name));
        let machine = Machine { nodes: 2, ..machine(Clock::Real, 4) };
        let trials = trials(&machine, &["environment", "large", "ok"]);
        let records = records(&request(&kernel, &machine, &trials)).unwrap();
        assert_eq!(outcomes(&records), ["ok"; 3]);
        let notes = records[0].provenance.notes.join("\n");
        for fact in [
            "objects=from the host",
            "tracing=true",
            "config=true",
            "bpf=true",
            "shape=0-3 0 0-1",
            "loopback=true",
            "clock_is_final=true",
        ] {
            assert!(notes.contains(fact), "kernel {name}: {fact} is missing from {notes}");
        }
        assert_eq!(records[1].provenance.notes[0].len(), 500_000);
        let provenance = &records[2].provenance;
        assert_eq!(provenance.kernel_sha256, kernel.sha256);
        assert_eq!(provenance.kernel_facts["HZ"], kernel.facts["HZ"]);
        assert!(provenance.kernel_facts["command_line"].contains("tsc=reliable"));
        assert_eq!(provenance.boot_position, 2);
        assert_eq!(provenance.boot_id.len(), 36, "{}", provenance.boot_id);
    }
}

#[test]
fn a_panic_is_a_record_and_harms_no_other_trial() {
    testing::beyond_cargo_test!("boots a kernel");
    let _turn = alone();
    let kernel = need!(kernel("7"));
    let machine = machine(Clock::Real, 2);
    let trials = trials(&machine, &["ok", "panic", "ok", "rust_panic", "ok"]);
    let records = records(&request(&kernel, &machine, &trials)).unwrap();
    assert_eq!(outcomes(&records), ["ok", "crashed", "ok", "failed", "ok"]);
    assert!(records[1].outcome.reason().starts_with("Kernel panic - not syncing: sysrq"));
    let Outcome::Crashed { text } = &records[1].outcome else { panic!("{:?}", records[1].outcome) };
    assert!(text.contains("Call Trace"), "{text}");
    assert_eq!(records[1].provenance.boot_id, records[0].provenance.boot_id);
    assert_ne!(records[2].provenance.boot_id, records[0].provenance.boot_id);
    assert_eq!(records[2].provenance.boot_position, 0);
    assert!(records[2].provenance.notes[0].contains("in a fresh boot"));
}

#[test]
fn a_guest_that_spins_is_killed_and_harms_no_other_trial() {
    testing::beyond_cargo_test!("boots a kernel");
    let _turn = alone();
    let kernel = need!(kernel("6.1"));
    let machine = machine(Clock::Real, 2);
    let trials = trials(&machine, &["ok", "spin", "ok"]);
    let records = records(&request(&kernel, &machine, &trials)).unwrap();
    assert_eq!(outcomes(&records), ["ok", "hung", "ok"]);
    assert!(records[1].provenance.wall_ms >= 2 * TIMEOUT_MS + 20_000);
    let reason = records[1].outcome.reason();
    assert!(reason.contains("killed from outside") && !reason.contains('\n'), "{reason}");
}

#[test]
fn stop_kills_the_machine_at_once() {
    testing::beyond_cargo_test!("boots a kernel");
    let _turn = alone();
    let kernel = need!(kernel("6.1"));
    let machine = machine(Clock::Real, 1);
    let trials = trials(&machine, &["spin", "ok"]);
    let stop = AtomicBool::new(false);
    let mut stopped_at = None;
    run_trials(&request(&kernel, &machine, &trials), &stop, &mut |event| match event {
        Event::TrialStarted(_) => {
            stop.store(true, Ordering::Relaxed);
            stopped_at = Some(Instant::now());
        }
        Event::Record(index, _) | Event::Repeated(index, _) => panic!("trial {index} got a record"),
        Event::Booted { .. } | Event::Note(_) => {}
    })
    .unwrap();
    assert!(stopped_at.unwrap().elapsed() < Duration::from_secs(2));
}

#[test]
fn failures_of_the_lab_are_errors() {
    testing::beyond_cargo_test!("boots a kernel");
    let _turn = shared();
    let kernel = need!(kernel("6.1"));
    let machine = machine(Clock::Virtual, 1);
    let trials = trials(&machine, &["ok"]);
    let error = |request: &BootRequest| format!("{:#}", records(request).unwrap_err());
    let plain = || request(&kernel, &machine, &trials);

    let program = BootRequest { programs: vec!["no-such-program".into()], ..plain() };
    assert!(error(&program).contains("no-such-program"), "{}", error(&program));

    // An init that ends at once: the kernel panics before any trial, in both boots.
    let fast = self::machine(Clock::Real, 1);
    let no_init = BootRequest { executable: Path::new("/bin/true"), machine: &fast, ..plain() };
    let message = error(&no_init);
    assert!(message.contains("Attempted to kill init"), "{message}");
}
