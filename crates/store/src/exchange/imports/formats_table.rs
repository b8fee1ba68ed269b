// SPDX-License-Identifier: GPL-2.0-only
//! The formats of other programs' results, a row for each.

use model::parsers::positive;

use super::{Format, mangohud, phoronix, programs, schbench};

pub const FORMATS: [Format; 12] = [
    Format {
        name: "cyclictest",
        is: |text| {
            let is_json = has_all(text, &["\"num_threads\"", "\"thread\"", "cyclictest"]);
            is_json
                || has_all(text, &["# Histogram", "# Total:"])
                || has_line(text, |line| {
                    line.contains("T:") && has_all(line, &[" I:", " C:", "Max:"])
                })
        },
        wanted: "`cyclictest -q -h 1000 --json=FILE`, or what cyclictest prints",
        about: "how late does a timer wake a task?",
        headlines: &["timer_lateness_ns.p99"],
        read: programs::cyclictest,
    },
    Format {
        name: "hackbench",
        is: |text| {
            has_line(text, |line| {
                line.strip_prefix("Time:").is_some_and(|time| positive(time).is_ok())
            })
        },
        wanted: "what hackbench prints",
        about: "hackbench: groups that chat",
        headlines: &["completion_ns"],
        read: |format, text| {
            let begin = ["Running in ", "Running with ", "Time:"];
            programs::printed(format, text, "hackbench", &begin)
        },
    },
    Format {
        name: "hyperfine",
        is: |text| has_all(text, &["\"results\"", "\"command\"", "\"mean\""]),
        wanted: "`hyperfine --export-json FILE`",
        about: "the run time of a command, measured by hyperfine",
        headlines: &["completion_ns"],
        read: programs::hyperfine,
    },
    Format {
        name: "jitterdebugger",
        is: |text| {
            has_all(text, &["\"histogram\"", "\"cpu\""]) && !text.contains("\"num_threads\"")
        },
        wanted: "jitterdebugger's results.json",
        about: "how late does a timer of SCHED_FIFO wake a task?",
        headlines: &["timer_lateness_ns.p99"],
        read: programs::jitterdebugger,
    },
    Format {
        name: "mangohud",
        is: |text| has_line(text, |line| line.starts_with("fps,frametime,")),
        wanted: "MangoHud's log with a line for each frame",
        about: "frame times of a program, logged by MangoHud",
        headlines: &[
            "one_percent_low_fps",
            "frame_time_ns.p99",
            "stutter_ratio",
            "iterations_per_second",
        ],
        read: mangohud::read,
    },
    Format {
        name: "perf",
        is: |text| text.contains(programs::PERF_BEGIN),
        wanted: "what `perf bench sched messaging` or `pipe` prints",
        about: "perf bench sched: groups that chat, or two tasks with pipes",
        headlines: &["completion_ns"],
        read: |format, text| {
            programs::printed(format, text, "perf-bench-sched", &[programs::PERF_BEGIN])
        },
    },
    Format {
        name: "pgbench",
        is: |text| has_line(text, |line| line.starts_with("tps = ")),
        wanted: "what pgbench prints",
        about: "pgbench: transactions of PostgreSQL",
        headlines: &["iterations_per_second"],
        read: |format, text| programs::printed(format, text, "pgbench", &["transaction type: "]),
    },
    Format {
        name: "phoronix",
        is: |text| text.contains("<PhoronixTestSuite"),
        wanted: "composite.xml of the Phoronix Test Suite",
        about: "a test of the Phoronix Test Suite",
        headlines: &[],
        read: phoronix::read,
    },
    Format {
        name: "schbench",
        is: |text| text.contains("\"wakeup_latency_pct") || text.contains(schbench::TEXT_BEGIN),
        wanted: "`schbench -j FILE`, or what schbench prints",
        about: "schbench: messages wake workers, workers serve requests",
        headlines: &["wakeup_latency_ns.p99"],
        read: schbench::read,
    },
    Format {
        name: "stress-ng",
        is: |text| has_all(text, &["\nmetrics:", "bogo-ops:"]) || text.contains("stress-ng: "),
        wanted: "`stress-ng --metrics --yaml FILE`, or what `stress-ng --metrics` prints",
        about: "stress-ng: bogus operations per second",
        headlines: &["iterations_per_second"],
        read: programs::stress_ng,
    },
    Format {
        name: "sysbench",
        is: |text| has_all(text, &["sysbench ", "General statistics:"]),
        wanted: "what sysbench prints",
        about: "sysbench: events per second",
        headlines: &["iterations_per_second"],
        read: |format, text| programs::printed(format, text, "sysbench", &["sysbench "]),
    },
    Format {
        name: "tbench",
        is: |text| {
            has_line(text, |line| line.starts_with("Throughput ") && line.contains(" MB/sec"))
        },
        wanted: "what tbench or dbench prints",
        about: "tbench: megabytes to and from a server per second",
        headlines: &["iterations_per_second"],
        read: |format, text| programs::printed(format, text, "tbench", &["dbench version "]),
    },
];

fn has_all(text: &str, parts: &[&str]) -> bool {
    parts.iter().all(|part| text.contains(part))
}

fn has_line(text: &str, is: impl Fn(&str) -> bool) -> bool {
    text.split(['\r', '\n']).any(is)
}
