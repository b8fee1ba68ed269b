// SPDX-License-Identifier: GPL-2.0-only
//! Programs that report a few numbers in lines of text: how long they took, how much they did in a
//! second, how many frames were late.

use crate::Histogram;

use super::{Reported, only, positive};

/// The lines of both outputs. Progress overwrites itself: its lines end with a carriage return.
fn lines<'a>(stdout: &'a str, stderr: &'a str) -> impl DoubleEndedIterator<Item = &'a str> {
    stdout.split(['\r', '\n']).chain(stderr.split(['\r', '\n'])).map(str::trim)
}

/// The rest of each line that begins like this.
fn after<'a>(
    prefix: &'static str,
    stdout: &'a str,
    stderr: &'a str,
) -> impl DoubleEndedIterator<Item = &'a str> {
    lines(stdout, stderr).filter_map(move |line| line.strip_prefix(prefix)).map(str::trim)
}

/// The word after this in the first line that begins so: a version.
fn word_after(prefix: &'static str, stdout: &str, stderr: &str) -> Option<String> {
    let rest = after(prefix, stdout, stderr).next()?;
    rest.split([' ', ')']).next().map(str::to_owned)
}

fn took(seconds: f64) -> Reported {
    Reported { completion_ns: Some(seconds * 1e9), ..Reported::default() }
}

fn rate(per_second: f64, version: Option<String>) -> Reported {
    Reported { operations_per_second: Some(per_second), version, ..Reported::default() }
}

/// `hackbench` (rt-tests): the line `Time: 0.123`, in seconds.
pub fn hackbench(stdout: &str, _stderr: &str) -> Result<Reported, String> {
    Ok(took(positive(only(after("Time:", stdout, ""), "line `Time:`")?)?))
}

/// `perf bench sched messaging|pipe`: `Total time: 0.123 [sec]`, or with `-f simple` a bare number.
pub fn perf_bench_sched(stdout: &str, _stderr: &str) -> Result<Reported, String> {
    let full = || lines(stdout, "").filter(|line| !line.is_empty());
    let seconds = if full().any(|line| line.contains(':')) {
        let total = only(after("Total time:", stdout, ""), "line `Total time:`")?;
        positive(total.strip_suffix("[sec]").ok_or("`Total time:` is not in `[sec]`")?)?
    } else {
        positive(only(full(), "line with the bare number of `-f simple`")?)?
    };
    let operations = full().find_map(|line| line.strip_suffix("ops/sec"));
    let operations_per_second = operations.map(positive).transpose()?;
    Ok(Reported { operations_per_second, ..took(seconds) })
}

/// `7zz b`: the last number of the line `Tot:`, its rating in MIPS (millions of nominal
/// instructions per second).
pub fn sevenzip(stdout: &str, _stderr: &str) -> Result<Reported, String> {
    let total = only(after("Tot:", stdout, ""), "line `Tot:` (run `7zz b`)")?;
    let total: Vec<&str> = total.split_whitespace().collect();
    let [_usage, _rating_of_usage, rating] = total.as_slice() else {
        return Err(format!("`Tot:` has {} numbers, not three", total.len()));
    };
    // Its first line is `7-Zip (z) 22.01 (x64) : …`.
    let is_number = |word: &&str| word.parse::<f64>().is_ok();
    let first = after("7-Zip ", stdout, "").next();
    let version = first.and_then(|words| words.split_whitespace().find(is_number));
    Ok(rate(positive(rating)? * 1e6, version.map(str::to_owned)))
}

/// `pgbench`: `tps = `, its transactions per second over all clients.
pub fn pgbench(stdout: &str, _stderr: &str) -> Result<Reported, String> {
    let failed = after("number of failed transactions:", stdout, "").next();
    if let Some(failed) = failed.filter(|failed| !failed.starts_with("0 ")) {
        return Err(format!("transactions failed: {failed}"));
    }
    let rates = after("tps =", stdout, "").filter_map(|rest| rest.split(' ').next());
    let transactions = positive(only(rates, "line `tps =`")?)?;
    Ok(rate(transactions, word_after("pgbench (", stdout, "")))
}

/// `redis-benchmark --csv` with one test: its requests per second. The columns are those of the
/// versions that have latencies in them (since 6.2).
pub fn redis_benchmark(stdout: &str, _stderr: &str) -> Result<Reported, String> {
    let rows = stdout.split_once("\"test\",\"rps\",");
    let (_, rows) = rows.ok_or("there is no line `\"test\",\"rps\",…`")?;
    let rates = rows.lines().skip(1).filter_map(|line| line.split(',').nth(1));
    let requests = only(rates, "test (name one with -t)")?;
    Ok(rate(positive(requests.trim_matches('"'))?, None))
}

/// `stress-ng --metrics`: bogo operations per second of real time, from the YAML (`--yaml
/// /dev/stdout`) or from the text. The rate per second of CPU time is ignored: with a user time of
/// zero it is meaningless. So is the sum of several stressors.
pub fn stress_ng(stdout: &str, stderr: &str) -> Result<Reported, String> {
    if !stdout.lines().any(|line| line == "metrics:") {
        let rates = stress_ng_rates(&[stdout, stderr].join("\n"))?;
        let what = "row with numbers (run one kind of stressor)";
        return Ok(rate(only(rates.into_iter(), what)?.1, None));
    }
    let field = |name| {
        let what = format!("`{name}` (run one kind of stressor)");
        only(after(name, stdout, ""), &what)
    };
    let (operations, seconds) = (positive(field("bogo-ops:")?)?, field("wall-clock-time:")?);
    let version = field("stress-ng-version:").ok().map(str::to_owned);
    Ok(rate(operations / positive(seconds)?, version))
}

/// The stressors in stress-ng's text: their names and operations per second of real time.
fn stress_ng_rates(text: &str) -> Result<Vec<(String, f64)>, String> {
    let cells = |line: &str| -> Option<Vec<String>> {
        let (_, table) = line.split_once("metrc:").or_else(|| line.split_once("info:"))?;
        let (_, table) = table.split_once("] ")?;
        Some(table.split_whitespace().map(str::to_owned).collect())
    };
    let rows = || lines(text, "").filter_map(cells);
    if !rows().any(|row| row.starts_with(&["stressor".into(), "bogo".into()])) {
        return Err("there is no table; add --metrics".into());
    }
    let is_number = |cell: &String| cell.replace(',', ".").parse::<f64>().is_ok();
    let of_numbers = rows().filter(|row| row.len() >= 7 && row[1..7].iter().all(is_number));
    of_numbers.map(|row| Ok((row[0].clone(), positive(&row[1])? / positive(&row[2])?))).collect()
}

/// `sysbench cpu run`: `events per second:`, its rate over all threads. Other tests, such as
/// `threads`, print the number of events and the time instead.
pub fn sysbench(stdout: &str, _stderr: &str) -> Result<Reported, String> {
    const RATE: &str = "events per second:";
    let number = |name| positive(only(after(name, stdout, ""), name)?.trim_end_matches('s'));
    let has_rate = after(RATE, stdout, "").next().is_some();
    let events = if has_rate {
        number(RATE)?
    } else {
        number("total number of events:")? / number("total time:")?
    };
    Ok(rate(events, word_after("sysbench ", stdout, "")))
}

/// `tbench` and `dbench`: `Throughput 683.5 MB/sec  4 clients  4 procs  max_latency=12.3 ms`.
/// An operation is a megabyte to or from the server. The clients replay one recorded mix, so
/// megabytes and requests are proportional.
pub fn tbench(stdout: &str, stderr: &str) -> Result<Reported, String> {
    let total = only(after("Throughput ", stdout, stderr), "line `Throughput`")?;
    let (megabytes, rest) = total.split_once(" MB/sec").ok_or("`Throughput` is not in MB/sec")?;
    if !rest.contains("clients") {
        return Err("`Throughput` does not say how many clients".into());
    }
    // A failed request names its line of the client file: `[1234] write failed …`. `failed to
    // create barrier semaphore` without a line is harmless: dbench mistakes the first semaphore
    // after a boot, whose number is 0, for none.
    let is_failed = |line: &&str| line.starts_with('[') && line.contains("failed");
    if let Some(line) = lines(stdout, stderr).find(is_failed) {
        return Err(format!("a client could not go on: {line}"));
    }
    let mut named = lines(stdout, stderr).filter_map(|line| line.split_once(" version "));
    let version = named.next().and_then(|(_, rest)| rest.split(' ').next());
    Ok(rate(positive(megabytes)?, version.map(str::to_owned)))
}

/// A script of the tree that starts processes and prints how long each took: lines `turnaround_us
/// 1234`, and optionally one line `completion_us 5678` for all of them together.
pub fn turnaround(stdout: &str, _stderr: &str) -> Result<Reported, String> {
    let nanoseconds = |text: &str| match text.parse::<u64>() {
        Ok(us) if us > 0 => Ok(us * 1_000),
        _ => Err(format!("`{text}` is no time in microseconds")),
    };
    let samples = after("turnaround_us ", stdout, "").map(nanoseconds);
    let samples: Vec<u64> = samples.collect::<Result<_, _>>()?;
    if samples.is_empty() {
        return Err("there is no line `turnaround_us`".into());
    }
    let all = || after("completion_us ", stdout, "");
    let completion_ns = match all().next() {
        None => None,
        Some(_) => Some(nanoseconds(only(all(), "line `completion_us`")?)? as f64),
    };
    let turnaround = Some(Histogram::from_samples("", "", &samples));
    Ok(Reported { completion_ns, turnaround, ..Reported::default() })
}

/// `ffmpeg -benchmark`: its real time and the number of frames. The frame rate that it prints
/// itself is rounded, so frames are divided by the real time.
pub fn ffmpeg(stdout: &str, stderr: &str) -> Result<Reported, String> {
    let times = after("bench:", stdout, stderr).filter_map(|rest| rest.split("rtime=").nth(1));
    let real = only(times, "line `bench: … rtime=` (add -benchmark)")?;
    let seconds = positive(real.strip_suffix('s').ok_or("`rtime` is not in seconds")?)?;
    let last = after("frame=", stdout, stderr).next_back().ok_or("there is no line `frame=`")?;
    let frames = positive(last.split_whitespace().next().unwrap_or_default())?;
    let version = word_after("ffmpeg version ", stdout, stderr);
    Ok(Reported { completion_ns: Some(seconds * 1e9), ..rate(frames / seconds, version) })
}

/// `mplayer -benchmark -hardframedrop`: `BENCHMARKn: disp: 237 (23.7 fps)  drop: 3 (1%)  total: 240
/// (24.0 fps)`. A frame that is dropped is a missed deadline. The percentage is not used, because
/// it is rounded down to 0 if few are dropped.
pub fn mplayer(stdout: &str, stderr: &str) -> Result<Reported, String> {
    let counts = after("BENCHMARKn:", stdout, stderr);
    let counts = only(counts, "line `BENCHMARKn:` (add -benchmark -hardframedrop)")?;
    let count = |name: &str| -> Result<u64, String> {
        let after = counts.split(name).nth(1).and_then(|rest| rest.split_whitespace().next());
        let word = after.ok_or_else(|| format!("`{name}` is missing"))?;
        word.parse().map_err(|_| format!("`{name} {word}` is not a count"))
    };
    let (shown, dropped, total) = (count("disp:")?, count("drop:")?, count("total:")?);
    if total == 0 || shown + dropped != total {
        return Err(format!("{shown} shown and {dropped} dropped are not {total} frames"));
    }
    let version = word_after("MPlayer ", stdout, stderr);
    Ok(Reported { deadlines: Some((total, dropped)), version, ..Reported::default() })
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use super::*;

    const FFMPEG: &str = include_str!("recorded/ffmpeg.txt");
    const PGBENCH: &str = include_str!("recorded/pgbench.txt");
    /// Of two tests, SET and GET.
    const REDIS: &str = include_str!("recorded/redis_benchmark.csv");
    const SEVENZIP: &str = include_str!("recorded/sevenzip.txt");
    const STRESS_NG: &str = include_str!("recorded/stress_ng_text.txt");
    const SYSBENCH: &str = include_str!("recorded/sysbench.txt");
    const SYSBENCH_THREADS: &str = include_str!("recorded/sysbench_threads.txt");
    const TBENCH: &str = include_str!("recorded/tbench.txt");
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
        assert_eq!(understood("hackbench", include_str!("recorded/hackbench.txt")), took(0.02));
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
        let messaging = understood("perf-bench-sched", include_str!("recorded/perf_messaging.txt"));
        assert!(messaging.completion_ns.is_some_and(|ns| (1e6..1e9).contains(&ns)));
        assert_eq!(messaging.operations_per_second, None);
        let pipe = understood("perf-bench-sched", include_str!("recorded/perf_pipe.txt"));
        let (seconds, rate) =
            (pipe.completion_ns.unwrap() / 1e9, pipe.operations_per_second.unwrap());
        // 2000 operations were requested; the total has three digits.
        assert!((rate * seconds / 2_000.0 - 1.0).abs() < 0.05, "{rate} {seconds}");
        let simple = understood("perf-bench-sched", include_str!("recorded/perf_simple.txt"));
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
        let yaml = understood("stress-ng", include_str!("recorded/stress_ng_yaml.txt"));
        assert!((yaml.operations_per_second.unwrap() - 6923.458577).abs() < 0.01);
        assert_eq!(yaml.version.as_deref(), Some("0.15.06"));
    }

    #[test]
    fn processes_have_turnarounds() {
        let turnaround =
            understood("turnaround", include_str!("recorded/ps_probe.txt")).turnaround.unwrap();
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
        let idle = understood("mplayer", include_str!("recorded/mplayer.txt"));
        assert!(idle.deadlines.is_some_and(|(all, dropped)| all > 40 && dropped <= 2), "{idle:?}");
        assert!(idle.version.is_some());
        let busy = understood("mplayer", include_str!("recorded/mplayer_busy.txt"));
        assert!(
            busy.deadlines.is_some_and(|(all, dropped)| (1..all).contains(&dropped)),
            "{busy:?}"
        );
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
                include_str!("recorded/stress_ng_two_stressors.txt"),
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
            (
                "ffmpeg",
                "bench: utime=1.0s stime=0.1s rtime=0.000s\nframe= 5 fps=1",
                "cannot be right",
            ),
            ("ffmpeg", &before(FFMPEG, "bench:"), "add -benchmark"),
            ("ffmpeg", &FFMPEG.replace("frame=", "packet="), "no line `frame=`"),
            ("mplayer", &MPLAYER.replace("237", "240"), "not 240 frames"),
            ("mplayer", &MPLAYER.replace("drop:", "lost:"), "`drop:` is missing"),
        ] {
            let why = parse(parser, output, "").expect_err(parser);
            assert!(why.contains(words), "{parser}: {why}");
        }
    }
}
