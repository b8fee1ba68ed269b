// SPDX-License-Identifier: GPL-2.0-only
//! Recorded outputs of real programs, and what is none.

use super::super::parse;
use super::*;

const FFMPEG: &str = include_str!("../recorded/ffmpeg.txt");
const PGBENCH: &str = include_str!("../recorded/pgbench.txt");
/// Of two tests, SET and GET.
const REDIS: &str = include_str!("../recorded/redis_benchmark.csv");
const SEVENZIP: &str = include_str!("../recorded/sevenzip.txt");
const STRESS_NG: &str = include_str!("../recorded/stress_ng_text.txt");
const SYSBENCH: &str = include_str!("../recorded/sysbench.txt");
const SYSBENCH_THREADS: &str = include_str!("../recorded/sysbench_threads.txt");
const TBENCH: &str = include_str!("../recorded/tbench.txt");
const MPLAYER: &str = "BENCHMARKn: disp: 234 (23.56 fps)  drop: 3 (1%)  total: 237 (23.86 fps)";

fn understood(parser: &str, output: &str) -> Reported {
    parse(parser, output, "").unwrap_or_else(|why| panic!("{why}"))
}

fn rate_of(parser: &str, output: &str) -> f64 {
    understood(parser, output).operations_per_second.expect("a rate")
}

fn redis_of_one() -> String {
    REDIS.lines().take(2).map(|line| format!("{line}\n")).collect()
}

#[test]
fn recorded_outputs_have_their_numbers_and_versions() {
    assert_eq!(understood("hackbench", include_str!("../recorded/hackbench.txt")), took(0.02));
    assert_eq!(understood("pgbench", PGBENCH), rate(999.882132, Some("15.18".into())));
    assert_eq!(understood("redis-benchmark", &redis_of_one()), rate(60422.96, None));
    let zipped = understood("7z", SEVENZIP);
    assert!(zipped.operations_per_second.is_some_and(|rate| (1e8..1e11).contains(&rate)));
    assert!(zipped.version.is_some());
    let sent = understood("tbench", TBENCH);
    assert!(sent.operations_per_second.is_some_and(|rate| (1.0..100_000.0).contains(&rate)));
    assert!(sent.version.is_some_and(|version| version.starts_with("4.")));
    // The first semaphore is no failure.
    let semaphore = format!("failed to create barrier semaphore \n{TBENCH}");
    assert_eq!(understood("tbench", &semaphore), understood("tbench", TBENCH));
}

#[test]
fn perf_has_a_time_and_perhaps_a_rate() {
    let messaging = understood("perf-bench-sched", include_str!("../recorded/perf_messaging.txt"));
    assert!(messaging.completion_ns.is_some_and(|ns| (1e6..1e9).contains(&ns)));
    assert_eq!(messaging.operations_per_second, None);
    let pipe = understood("perf-bench-sched", include_str!("../recorded/perf_pipe.txt"));
    let (seconds, rate) = (pipe.completion_ns.unwrap() / 1e9, pipe.operations_per_second.unwrap());
    // 2000 operations were requested; the total has three digits.
    assert!((rate * seconds / 2_000.0 - 1.0).abs() < 0.05, "{rate} {seconds}");
    let simple = understood("perf-bench-sched", include_str!("../recorded/perf_simple.txt"));
    assert_eq!(simple.completion_ns, Some(10_000_000.0));
}

#[test]
fn sysbench_has_a_rate_or_events_and_a_time() {
    let number = |name: &str| {
        let line = SYSBENCH.lines().find_map(|line| line.trim().strip_prefix(name)).unwrap();
        positive(line.trim().trim_end_matches('s')).unwrap()
    };
    let expected = number("total number of events:") / number("total time:");
    let rate = rate_of("sysbench", SYSBENCH);
    assert!((rate / expected - 1.0).abs() < 0.05, "{rate} {expected}");
    let version = understood("sysbench", SYSBENCH).version;
    assert!(version.is_some_and(|version| version.starts_with("1.")));
    let rate = rate_of("sysbench", SYSBENCH_THREADS);
    assert!((rate - 1280.0 / 1.0044).abs() < 1e-6, "{rate}");
}

#[test]
fn stress_ng_writes_text_with_a_decimal_point_or_comma_and_yaml() {
    let rate_of_text = |text: &str| parse("stress-ng", "", text).unwrap().operations_per_second;
    assert_eq!(rate_of_text(STRESS_NG), Some(7009.0));
    // A user time of zero does not matter.
    let comma = rate_of_text(&STRESS_NG.replace("1.00      1.00", "10,01      0,00")).unwrap();
    assert!((comma - 7009.0 / 10.01).abs() < 1e-9, "{comma}");
    let yaml = understood("stress-ng", include_str!("../recorded/stress_ng_yaml.txt"));
    assert!((yaml.operations_per_second.unwrap() - 6923.458577).abs() < 0.01);
    assert_eq!(yaml.version.as_deref(), Some("0.15.06"));
}

#[test]
fn processes_have_turnarounds() {
    let turnaround =
        understood("turnaround", include_str!("../recorded/ps_probe.txt")).turnaround.unwrap();
    assert!(turnaround.is_complete() && turnaround.count == 10, "{turnaround:?}");
    assert!((500_000..5_000_000_000).contains(&turnaround.min), "{turnaround:?}");
    let all = understood("turnaround", "turnaround_us 10\ncompletion_us 20\n");
    assert_eq!(all.completion_ns, Some(20_000.0));
}

#[test]
fn films_have_frames() {
    let encoded = parse("ffmpeg", "", FFMPEG).unwrap();
    let seconds = encoded.completion_ns.unwrap() / 1e9;
    let frames = encoded.operations_per_second.unwrap() * seconds;
    assert!((frames - 50.0).abs() < 1e-6, "{frames} frames in {seconds} s");
    assert!(encoded.version.is_some());
    let idle = understood("mplayer", include_str!("../recorded/mplayer.txt"));
    assert!(idle.deadlines.is_some_and(|(all, dropped)| all > 40 && dropped <= 2), "{idle:?}");
    assert!(idle.version.is_some());
    let busy = understood("mplayer", include_str!("../recorded/mplayer_busy.txt"));
    assert!(busy.deadlines.is_some_and(|(all, dropped)| (1..all).contains(&dropped)), "{busy:?}");
    assert_eq!(understood("mplayer", MPLAYER).deadlines, Some((237, 3)));
}

#[test]
fn anything_else_is_refused() {
    let before = |text: &str, word: &str| text.split(word).next().unwrap().to_owned();
    let redis_head = REDIS.lines().next().unwrap();
    for (parser, output, words) in [
        ("hackbench", "Running in threaded mode\n", "no line `Time:`"),
        ("hackbench", "Time: 0.1\nTime: 0.2\n", "not one"),
        // The clock stood still, or the time was too short to be measured.
        ("hackbench", "Time: 0.000\n", "cannot be right"),
        ("perf-bench-sched", "# Running 'sched/pipe' benchmark:\n", "no line `Total time:`"),
        ("perf-bench-sched", "     Total time: 3 [min]\n", "not in `[sec]`"),
        ("perf-bench-sched", "0.1\n0.2\n", "not one"),
        ("7z", "Tot: 100 3000\n", "2 numbers, not three"),
        ("7z", "Tot: 100 3000 0\n", "cannot be right"),
        ("7z", &before(SEVENZIP, "Tot:"), "no line `Tot:`"),
        ("pgbench", "tps = 0.0 (without initial connection time)\n", "cannot be right"),
        ("pgbench", &PGBENCH.repeat(2), "not one"),
        (
            "pgbench",
            &PGBENCH.replace("transactions: 0 (0.000%)", "transactions: 7 (0.699%)"),
            "transactions failed: 7",
        ),
        ("redis-benchmark", REDIS, "not one"),
        ("redis-benchmark", redis_head, "no test"),
        ("redis-benchmark", &redis_of_one().replace("60422.96", "0.00"), "cannot be right"),
        ("redis-benchmark", "Could not connect to Redis at 127.0.0.1:44379\n", "no line"),
        (
            "stress-ng",
            include_str!("../recorded/stress_ng_two_stressors.txt"),
            "one kind of stressor",
        ),
        ("stress-ng", "stress-ng: info:  [1] dispatching hogs: 1 cpu", "add --metrics"),
        ("stress-ng", &STRESS_NG.replace(" 7009 ", " 0 "), "cannot be right"),
        ("sysbench", "events per second: 0.00\n", "cannot be right"),
        ("sysbench", &SYSBENCH.repeat(2), "not one"),
        ("sysbench", &before(SYSBENCH, "events per second"), "total number of events:"),
        ("sysbench", &SYSBENCH_THREADS.repeat(2), "not one"),
        ("sysbench", &SYSBENCH_THREADS.replace("1280", "0"), "cannot be right"),
        ("tbench", &before(TBENCH, "Throughput"), "no line `Throughput`"),
        ("tbench", "Throughput 0 MB/sec  4 clients\n", "cannot be right"),
        ("tbench", &format!("[12] write failed on handle 3\n{TBENCH}"), "could not go on"),
        ("turnaround", "turnaround_us 0\n", "no time in microseconds"),
        ("turnaround", "turnaround_us 12,5\n", "no time in microseconds"),
        ("turnaround", "completion_us 20\n", "no line `turnaround_us`"),
        ("ffmpeg", "bench: utime=1.0s stime=0.1s rtime=0.000s\nframe= 5 fps=1", "cannot be right"),
        ("ffmpeg", &before(FFMPEG, "bench:"), "add -benchmark"),
        ("ffmpeg", &FFMPEG.replace("frame=", "packet="), "no line `frame=`"),
        ("mplayer", &MPLAYER.replace("237", "240"), "not 240 frames"),
        ("mplayer", &MPLAYER.replace("drop:", "lost:"), "`drop:` is missing"),
    ] {
        let why = parse(parser, output, "").expect_err(parser);
        assert!(why.contains(words), "{parser}: {why}");
    }
}
