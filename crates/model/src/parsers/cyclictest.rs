// SPDX-License-Identifier: GPL-2.0-only
//! `cyclictest -q -h LIMIT` (rt-tests): its histogram, as text or with `--json=/dev/stdout`.
//!
//! All threads become one distribution. Samples at the limit and above are only counted by
//! cyclictest, and without `-h` all are. Such output is refused, because the tail is truncated.

use std::collections::BTreeMap;

use crate::Histogram;
use crate::histogram::lowest_equivalent;
use serde_json::{Map, Value};

use super::{Reported, plausible};

pub fn parse(stdout: &str, _stderr: &str) -> Result<Reported, String> {
    let (threads, version) = threads(stdout)?;
    for (number, thread) in threads.iter().enumerate() {
        thread.complete().map_err(|why| format!("thread {number}: {why}"))?;
    }
    reported(threads.iter().map(Thread::histogram), version)
}

/// As [`parse`], for an imported result, which cannot be measured again: a truncated tail is kept.
pub fn parse_cut(text: &str) -> Result<Reported, String> {
    let (threads, version) = threads(text)?;
    reported(threads.iter().map(Thread::histogram), version)
}

fn threads(text: &str) -> Result<(Vec<Thread>, Option<String>), String> {
    match text.find('{') {
        Some(start) => of_json(&text[start..]),
        None => Ok((of_text(text)?, None)),
    }
}

/// All threads' latencies, or those of all CPUs, as one distribution.
pub fn reported(
    each: impl IntoIterator<Item = Histogram>,
    version: Option<String>,
) -> Result<Reported, String> {
    let mut all = Histogram::default();
    each.into_iter().for_each(|one| all.merge(&one));
    if all.count == 0 {
        return Err("there is no sample".into());
    }
    Ok(Reported { timer_lateness: Some(all), version, ..Reported::default() })
}

/// One thread's results, in nanoseconds.
#[derive(Default)]
struct Thread {
    buckets: BTreeMap<u64, u64>,
    count: u64,
    min: u64,
    max: u64,
}

impl Thread {
    fn complete(&self) -> Result<(), String> {
        let kept: u64 = self.buckets.values().sum();
        if kept != self.count {
            return Err(format!(
                "{kept} of {} samples are in the histogram; give -h a limit above the largest \
                 latency ({} us)",
                self.count,
                self.max / 1_000
            ));
        }
        Ok(())
    }

    fn histogram(&self) -> Histogram {
        let mut merged = BTreeMap::new();
        for (&value, &samples) in &self.buckets {
            *merged.entry(lowest_equivalent(value)).or_insert(0) += samples;
        }
        let buckets = merged.into_iter().collect();
        let (count, min, max) = (self.count, self.min, self.max);
        Histogram { count, min, max, buckets, ..Histogram::default() }
    }
}

/// The value of a key that cyclictest sometimes writes with a colon inside the quotes.
fn get<'a>(object: &'a Value, key: &str) -> Result<&'a Value, String> {
    let found = object.get(key).or_else(|| object.get(format!("{key}:")));
    found.ok_or_else(|| format!("`{key}` is missing"))
}

pub fn object<'a>(value: &'a Value, key: &str) -> Result<&'a Map<String, Value>, String> {
    get(value, key)?.as_object().ok_or_else(|| format!("`{key}` is not an object"))
}

pub fn number(object: &Value, key: &str) -> Result<u64, String> {
    let number = get(object, key)?.as_u64();
    plausible(number.ok_or_else(|| format!("`{key}` is not a whole number"))?)
}

fn of_json(text: &str) -> Result<(Vec<Thread>, Option<String>), String> {
    // The same result as text follows the document.
    let mut documents = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    let document = documents.next().ok_or("there is no document")?.map_err(|e| e.to_string())?;
    if number(&document, "return_code")? != 0 {
        return Err("`return_code` is not 0".into());
    }
    let unit = if number(&document, "resolution_in_ns")? == 0 { 1_000 } else { 1 };
    let threads = object(&document, "thread")?;
    if threads.len() as u64 != number(&document, "num_threads")? {
        return Err(format!("`num_threads` is not {}", threads.len()));
    }
    let threads =
        threads.values().map(|thread| json_thread(thread, unit)).collect::<Result<_, _>>()?;
    let version = get(&document, "rt_test_version").ok().and_then(Value::as_str);
    Ok((threads, version.map(str::to_owned)))
}

fn json_thread(thread: &Value, unit: u64) -> Result<Thread, String> {
    let mut buckets = BTreeMap::new();
    for (value, samples) in object(thread, "histogram")? {
        let value =
            value.trim_end_matches(':').parse::<u64>().map_err(|_| "a bucket has no number")?;
        let samples = samples.as_u64().ok_or("a bucket's count is not a whole number")?;
        buckets.insert(plausible(value)? * unit, plausible(samples)?);
    }
    let (min, max) = (number(thread, "min")? * unit, number(thread, "max")? * unit);
    Ok(Thread { buckets, count: number(thread, "cycles")?, min, max })
}

fn of_text(text: &str) -> Result<Vec<Thread>, String> {
    let threads = of_lines(text);
    if !threads.is_empty() {
        return Ok(threads);
    }
    let totals = summary(text, "# Total:")?;
    let overflows = summary(text, "# Histogram Overflows:")?;
    let (lowest, highest) =
        (summary(text, "# Min Latencies:")?, summary(text, "# Max Latencies:")?);
    let lengths = [overflows.len(), lowest.len(), highest.len()];
    if totals.is_empty() || lengths.iter().any(|&length| length != totals.len()) {
        return Err("its summaries have different numbers of threads".into());
    }
    let mut threads: Vec<Thread> = Vec::new();
    for thread in 0..totals.len() {
        let count = totals[thread] + overflows[thread];
        let (min, max) = (lowest[thread] * 1_000, highest[thread] * 1_000);
        threads.push(Thread { count, min, max, ..Thread::default() });
    }
    for line in text.lines().filter(|line| line.starts_with(|c: char| c.is_ascii_digit())) {
        add_row(&mut threads, line)?;
    }
    Ok(threads)
}

/// The threads of a run without `-h`: `T: 0 (28174) P:80 I:1000 C:    200 Min:     62 Act:  100
/// Avg:  100 Max:     300`, in microseconds. Without `-q` each line comes again and again; the last
/// one of a thread counts.
fn of_lines(text: &str) -> Vec<Thread> {
    let mut threads = BTreeMap::new();
    for line in text.split(['\r', '\n']) {
        let number = |name: &str| {
            let rest = line.rsplit_once(name)?.1.trim_start();
            rest.split(|letter: char| !letter.is_ascii_digit())
                .next()?
                .parse::<u64>()
                .ok()
                .filter(|number| plausible(*number).is_ok())
        };
        let fields = ["T:", " C:", "Min:", "Max:"].map(number);
        if let [Some(thread), Some(count), Some(min), Some(max)] = fields
            && line.contains(" I:")
        {
            let (min, max) = (min * 1_000, max * 1_000);
            threads.insert(thread, Thread { count, min, max, ..Thread::default() });
        }
    }
    threads.into_values().collect()
}

fn summary(text: &str, name: &str) -> Result<Vec<u64>, String> {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix(name));
    numbers(lines.next().ok_or_else(|| format!("`{name}` is missing; run it with -q -h LIMIT"))?)
}

fn numbers(text: &str) -> Result<Vec<u64>, String> {
    let number =
        |word: &str| plausible(word.parse().map_err(|_| format!("`{word}` is not a number"))?);
    text.split_whitespace().map(number).collect()
}

/// A row of the histogram: the latency in microseconds, then the samples of each thread.
fn add_row(threads: &mut [Thread], line: &str) -> Result<(), String> {
    let row = numbers(line)?;
    if row.len() != threads.len() + 1 {
        return Err(format!("the row `{line}` has not {} columns", threads.len() + 1));
    }
    for (thread, &samples) in threads.iter_mut().zip(&row[1..]).filter(|&(_, &samples)| samples > 0)
    {
        *thread.buckets.entry(row[0] * 1_000).or_default() += samples;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lateness(output: &str) -> Result<Histogram, String> {
        parse(output, "").map(|reported| reported.timer_lateness.unwrap())
    }

    const JSON: &str = include_str!("recorded/cyclictest_json.txt");
    const TEXT: &str = include_str!("recorded/cyclictest_histogram.txt");

    #[test]
    fn the_recorded_outputs_are_understood() {
        for output in [JSON, TEXT] {
            let all = lateness(output).unwrap();
            assert_eq!(all.count, 200);
            assert!(all.is_complete() && all.min < all.max && all.max < 200_000);
            assert!((40_000..80_000).contains(&all.quantile(0.5).unwrap()));
        }
        assert_eq!(parse(JSON, "").unwrap().version.as_deref(), Some("2.40"));
    }

    #[test]
    fn keys_may_have_stray_colons_and_nanoseconds_are_possible() {
        assert_eq!(lateness(&JSON.replace("\"cycles\":", "\"cycles:\":")), lateness(JSON));
        let fine = JSON.replace("\"resolution_in_ns\": 0", "\"resolution_in_ns\": 1");
        assert_eq!(lateness(&fine).unwrap().max * 1_000, lateness(JSON).unwrap().max);
    }

    #[test]
    fn a_cut_tail_is_refused() {
        let cut = [
            include_str!("recorded/cyclictest_json_overflow.txt"),
            include_str!("recorded/cyclictest_histogram_overflow.txt"),
            include_str!("recorded/cyclictest_json_without_histogram.txt"),
        ];
        for output in cut {
            let error = lateness(output).unwrap_err();
            assert!(error.contains("-h"), "{error}");
            let cut = parse_cut(output).unwrap().timer_lateness.unwrap();
            assert!(!cut.is_complete() && cut.count > 0, "{cut:?}");
        }
    }

    #[test]
    fn without_a_histogram_the_last_maximum_of_each_thread_is_known() {
        let text = "policy: other: loadavg: 0.1 0.1 0.0 1/99 5\n\n\
            T: 0 (  5) P: 0 I:1000 C:    100 Min:     62 Act:   70 Avg:   70 Max:     150\n\
            T: 1 (  6) P: 0 I:1500 C:     66 Min:     59 Act:   70 Avg:   70 Max:     100\n\
            \u{1b}[2AT: 0 (  5) P: 0 I:1000 C:    200 Min:     62 Act:   70 Avg: 70 Max: 300\n";
        let all = parse_cut(text).unwrap().timer_lateness.unwrap();
        assert_eq!((all.count, all.min, all.max), (266, 59_000, 300_000));
        assert!(lateness(text).unwrap_err().contains("give -h a limit"));
    }

    #[test]
    fn anything_else_is_refused() {
        assert!(lateness("").is_err());
        assert!(lateness("{}").is_err());
        assert!(lateness(&JSON.replace("\"return_code\": 0", "\"return_code\": 1")).is_err());
        assert!(lateness(&TEXT.replace("# Total: 000000100", "# Total: 000000101")).is_err());
        assert!(lateness("T: 0 (28174) P: 0 I:1000 C:    200 Min:     62").is_err());
    }
}
