// SPDX-License-Identifier: GPL-2.0-only
//! The `/init` of this crate's tests: what a trial does is said by its workload's name.

use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use model::{Metric, Outcome, Provenance, Record, Trial};
use vm::guest::{self, GuestFacts};

fn main() {
    if !guest::is_init() {
        eprintln!("this is the /init of virtual machines that tests boot");
        std::process::exit(2);
    }
    guest::run(&mut |trial, facts| handle(trial, &facts))
}

fn handle(trial: &Trial, facts: &GuestFacts) -> Record {
    let mut provenance = Provenance {
        boot_id: facts.boot_id.clone(),
        boot_position: facts.boot_position,
        accelerator: facts.accelerator.clone(),
        ..Provenance::default()
    };
    let mut metrics = Vec::new();
    match trial.workload.name.as_str() {
        "panic" => fs::write("/proc/sysrq-trigger", "c").unwrap_or_default(),
        "rust_panic" => panic!("as asked"),
        "exit" => std::process::exit(3),
        "spin" => spin_forever(),
        "large" => provenance.notes.push("x".repeat(500_000)),
        "busy" => provenance.notes = busy(&mut metrics),
        "programs" => provenance.notes = programs(&mut metrics),
        "environment" => provenance.notes = environment(),
        _ => {}
    }
    let mut record = Record::without_measurement(trial.clone(), Outcome::Ok, provenance);
    record.measured.metrics = metrics;
    record
}

/// Real-time spinners on every CPU, without the kernel's throttling: nothing else runs any more.
fn spin_forever() {
    fs::write("/proc/sys/kernel/sched_rt_runtime_us", "-1").unwrap_or_default();
    for _ in 1..std::thread::available_parallelism().map_or(1, |count| count.get()) {
        std::thread::spawn(become_real_time_and_spin);
    }
    become_real_time_and_spin();
}

fn become_real_time_and_spin() {
    let parameters = libc::sched_param { sched_priority: 99 };
    // SAFETY: the parameters outlive the call.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &parameters) };
    loop {
        std::hint::spin_loop();
    }
}

/// Threads that compute, sleep and meet; then everything that the kernel counted.
fn busy(metrics: &mut Vec<Metric>) -> Vec<String> {
    let start = Instant::now();
    std::thread::scope(|scope| {
        for number in 0..8u64 {
            scope.spawn(move || {
                for round in 0..50 {
                    compute(number + round);
                    std::thread::sleep(Duration::from_micros(300 + 10 * number));
                }
            });
        }
    });
    readings(metrics, start)
}

fn compute(seed: u64) {
    let mut state = seed;
    for _ in 0..10_000 {
        state = std::hint::black_box(state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
    }
}

/// Processes that were packed by name, joined by pipes.
fn programs(metrics: &mut Vec<Metric>) -> Vec<String> {
    let start = Instant::now();
    let run = || -> std::io::Result<String> {
        let mut seq = Command::new("seq").arg("20000").stdout(Stdio::piped()).spawn()?;
        let numbers = seq.stdout.take().map_or(Stdio::null(), Stdio::from);
        let mut sort = Command::new("sort").stdin(numbers).stdout(Stdio::piped()).spawn()?;
        let sorted = sort.stdout.take().map_or(Stdio::null(), Stdio::from);
        let sum = Command::new("sha256sum").stdin(sorted).output()?;
        seq.wait()?;
        sort.wait()?;
        Ok(String::from_utf8_lossy(&sum.stdout).into_owned())
    };
    let sum = run().unwrap_or_else(|error| error.to_string());
    let mut notes = readings(metrics, start);
    notes.push(sum);
    notes
}

fn readings(metrics: &mut Vec<Metric>, start: Instant) -> Vec<String> {
    let elapsed_ns = start.elapsed().as_nanos() as f64;
    metrics.push(Metric::number("completion_ns", "all", elapsed_ns));
    let files = ["/proc/stat", "/proc/schedstat", "/proc/interrupts", "/proc/uptime"];
    files.iter().map(|path| fs::read_to_string(path).unwrap_or_default()).collect()
}

const CLOCK_FILE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";

fn environment() -> Vec<String> {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default().trim().to_owned();
    let is_there = |path: &str| std::path::Path::new(path).exists().to_string();
    vec![
        format!("objects={}", fs::read_to_string("/objects/test").unwrap_or_default()),
        format!("tracing={}", is_there("/sys/kernel/tracing/events/sched")),
        format!(
            "config={}",
            is_there(&format!("/boot/config-{}", read("/proc/sys/kernel/osrelease")))
        ),
        format!("bpf={}", read("/proc/mounts").contains("/sys/fs/bpf bpf")),
        format!(
            "shape={} {} {}",
            read("/sys/devices/system/cpu/online"),
            read("/sys/devices/system/cpu/cpu0/topology/thread_siblings_list"),
            read("/sys/devices/system/node/online")
        ),
        format!("loopback={}", std::net::UdpSocket::bind("127.0.0.1:0").is_ok()),
        format!("path={}", std::env::var("PATH").unwrap_or_default()),
        format!("clock_is_final={}", read(CLOCK_FILE) != "tsc-early"),
    ]
}
