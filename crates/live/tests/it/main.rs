// SPDX-License-Identifier: GPL-2.0-only
//! Whole trials of real programs on the kernel that runs the tests, and what the probes count.

use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, MutexGuard};

use live::facts::Context;
use live::probes::Probes;
use live::trial::supervise;
use model::{Backend, Outcome, Record, Trial};
use process::installed::find;
use serde_json::{Value, json};
use testing::need;

/// A trial forks this process. In the child, a lock that another test's thread holds at that moment
/// stays held for ever, and libbpf has such locks. So one test runs at a time.
fn alone() -> MutexGuard<'static, ()> {
    static TEST: Mutex<()> = Mutex::new(());
    TEST.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

fn answer(workload: Value) -> Record {
    let workload = serde_json::from_value(workload).expect("a workload");
    let trial = Trial { backend: Backend::Live, workload, ..Trial::default() };
    supervise(&trial, &Context::default(), &AtomicBool::new(false))
}

#[test]
fn real_programs_are_measured_or_their_package_is_named() {
    let _alone = alone();
    let cyclictest =
        "cyclictest --policy=other -q -t 1 -i 1000 -l 100 -h 200000 --json=/dev/stdout";
    for (parser, command, package) in [
        ("hackbench", "hackbench -p -T -g 1 -l 20", "rt-tests"),
        ("cyclictest", cyclictest, "rt-tests"),
        ("stress-ng", "stress-ng --cpu 1 -t 1 --metrics --yaml /dev/stdout", "stress-ng"),
        ("perf-bench-sched", "perf bench sched pipe -l 500", "linux-perf"),
    ] {
        let command: Vec<&str> = command.split(' ').collect();
        let installed = find(command[0]).is_some();
        let record = answer(json!({"name": parser, "program": {
            "command": command, "parser": parser, "package": package}}));
        if !installed {
            assert!(record.outcome.reason().contains(package), "{:?}", record.outcome);
            continue;
        }
        assert_eq!(record.outcome, Outcome::Ok);
        let measured = &record.measured;
        let reported = measured.value("completion_ns", "program").is_some()
            || measured.value("iterations_per_second", "program").is_some()
            || measured.histogram("timer_lateness_ns", "program").is_some_and(|h| h.count == 100);
        assert!(reported, "{parser}: {measured:?}");
    }
}

/// What is counted ends with the window: see [`Probes::stop`].
#[test]
fn nothing_is_counted_after_the_stop() {
    testing::beyond_cargo_test!("needs a right to use BPF");
    let _alone = alone();
    let probes = need!(Probes::attach(&["own".into()], false));
    // SAFETY: no arguments.
    let own = unsafe { libc::gettid() as u32 };
    probes.track(own, 0).expect("a slot");
    probes.start();
    // A task that runs already counts from its next switch on, which may come after the stop.
    std::thread::sleep(std::time::Duration::from_millis(1));
    let busy: u64 = std::hint::black_box((0..1_000_000_u64).map(std::hint::black_box).sum());
    let window = probes.stop();
    assert!(busy > 0);
    let first = probes.readings(window);
    std::thread::sleep(std::time::Duration::from_millis(1));
    let second = probes.readings(window);
    assert!(first.groups[0].cpu_time_ns > 0, "{:?}", first.groups[0]);
    assert_eq!(first.groups[0].cpu_times_ns, second.groups[0].cpu_times_ns);
    assert_eq!(first.groups[0].voluntary_switches, second.groups[0].voluntary_switches);
}
