// SPDX-License-Identifier: GPL-2.0-only
//! Files that `import` does not read: what they are, and the command that makes readable ones.

use std::path::Path;

use anyhow::Result;

use crate::command_line;
use crate::exit::bad_input;

/// Known beginnings of files: bytes, name of the format, and what to do instead. FILE is replaced
/// by the file's name.
const BEGINNINGS: [(&[u8], &str, &str); 15] = [
    (
        b"\x17\x08\x44tracing",
        "trace-cmd's own file",
        "import its text: `trace-cmd report -i FILE > trace.txt`",
    ),
    (b"PERFILE2", "perf's own file", TEXT_OF_PERF),
    (b"2ELIFREP", "perf's own file", TEXT_OF_PERF),
    (b"\x1f\x8b", "packed by gzip", "unpack it: `zcat FILE > unpacked`"),
    (b"\x28\xb5\x2f\xfd", "packed by zstd", "unpack it: `zstd -dc FILE > unpacked`"),
    (b"\xfd7zXZ\0", "packed by xz", "unpack it: `xz -dc FILE > unpacked`"),
    (b"BZh", "packed by bzip2", "unpack it: `bzip2 -dc FILE > unpacked`"),
    (b"\x04\x22\x4d\x18", "packed by lz4", "unpack it: `lz4 -dc FILE > unpacked`"),
    (b"PK\x03\x04", "a ZIP archive", "unpack it: `unzip FILE`"),
    (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive", "unpack it: `7zz x FILE`"),
    (b"\xff\xfe", "text in UTF-16", "convert it: `iconv -f UTF-16 -t UTF-8 FILE > result.txt`"),
    (b"\xfe\xff", "text in UTF-16", "convert it: `iconv -f UTF-16 -t UTF-8 FILE > result.txt`"),
    (b"\x7fELF", "a program, and no result", "run it, and import what it prints"),
    (
        b"SQLite format 3\0",
        "a database",
        "a store needs no import: `fairground compare --store FILE`",
    ),
    (b"\xc1\x1f\xfc\xc1", "LTTng's own file", "record with perf, trace-cmd or Perfetto instead"),
];

const TEXT_OF_PERF: &str = "import its text: `perf script --ns -i FILE > trace.txt`";
const EVENTS_OF_PERF: &str =
    "it has no events; import those of its perf.data: `perf script --ns > trace.txt`";
const CYCLICTEST: &str = "cyclictest measures the like: `cyclictest -q -h 1000 --json=result.json`";
const HYPERFINE: &str = "import its JSON: `hyperfine --export-json result.json COMMAND`";
const NO_MEASURE: &str = "no measure here is about input and output";

/// What texts contain, what such a text is, and what helps. The first row that fits counts.
const CONTENTS: [(&[&str], &str, &str); 24] = [
    (&["wait time  sch delay"], "a table of perf sched timehist", EVENTS_OF_PERF),
    (&["| Avg delay ms"], "a table of perf sched latency", EVENTS_OF_PERF),
    (&["Avg delay", "Switches"], "a table of perf sched latency", EVENTS_OF_PERF),
    (&[" secs ", " => "], "a table of perf sched map", EVENTS_OF_PERF),
    (&["PERF_RECORD_"], "a dump of perf's records", EVENTS_OF_PERF),
    (&["# Overhead "], "a profile of perf report", EVENTS_OF_PERF),
    (&[" ms): "], "a list of system calls by perf trace", EVENTS_OF_PERF),
    (&["\"linux-perf-json-version\""], "JSON of perf data convert", EVENTS_OF_PERF),
    (
        &["Performance counter stats for"],
        "counts of perf stat",
        "no measure here counts them; import what the program itself prints",
    ),
    (
        &["# Running '"],
        "a result of perf bench",
        "of its benchmarks only `perf bench sched messaging` and `pipe` are read",
    ),
    (
        &["\"traceEvents\""],
        "a trace in Chrome's JSON",
        "record it in Perfetto's own form, a .pftrace",
    ),
    (
        &["trace-data"],
        "a page of systrace",
        "import the lines inside its `trace-data` as a text file",
    ),
    (
        &["usecs", ": count"],
        "a histogram of BCC or bpftrace",
        "it has no tasks; `fairground record` sees each of them",
    ),
    (&["RTLA"], "a result of rtla", CYCLICTEST),
    (&["T: 0", "Min:"], "a result of another program of rt-tests", CYCLICTEST),
    (&["\"num_threads\"", "\"thread\""], "a result of another program of rt-tests", CYCLICTEST),
    (&["Time (mean"], "what hyperfine shows", HYPERFINE),
    (&["command,mean,stddev"], "hyperfine's CSV", HYPERFINE),
    (&["Mean [", "Relative |"], "hyperfine's Markdown", HYPERFINE),
    (
        &["Phoronix Test Suite"],
        "a text of the Phoronix Test Suite",
        "import ~/.phoronix-test-suite/test-results/NAME/composite.xml",
    ),
    (
        &["0.1% Min FPS"],
        "MangoHud's summary",
        "import the log beside it, which has a line for each frame",
    ),
    (&["etweenPresents"], "a log of PresentMon or CapFrameX", "MangoHud's logs are read"),
    (&["fio", "IOPS="], "fio's result", NO_MEASURE),
    (&["\"fio version\""], "fio's result", NO_MEASURE),
];

/// Why a text that looks like a trace has no event that is understood.
const WITHOUT_PLACE: &str = "its lines lack the task, the CPU or the time; import the text of \
    `perf script --ns -F comm,tid,cpu,time,event,trace`, or of ftrace with its option \
    context-info, a clock that counts time, and without its options raw, hex, bin and verbose";

const BEGINNING_BYTES: u64 = 16;

/// Refuses a file that is known by its first bytes.
pub fn refuse_by_beginning(file: &Path) -> Result<()> {
    let beginning = spec::files::beginning(file, BEGINNING_BYTES).unwrap_or_default();
    match BEGINNINGS.iter().find(|(begin, ..)| beginning.starts_with(begin)) {
        None => Ok(()),
        Some(row) => Err(refusal(file, row.1, row.2)),
    }
}

/// The refusal of a text that is known by its content.
pub fn refusal_of_text(file: &Path, text: &str) -> Option<anyhow::Error> {
    let has_all = |parts: &[&str]| parts.iter().all(|part| text.contains(part));
    let row = CONTENTS.iter().find(|(parts, ..)| has_all(parts));
    row.map(|(_, what, help)| refusal(file, what, help)).or_else(|| {
        let is_cut = text.contains("sched_switch") && !recording::text::is(text);
        is_cut.then(|| bad_input(format!("{}: {WITHOUT_PLACE}", file.display())))
    })
}

fn refusal(file: &Path, what: &str, help: &str) -> anyhow::Error {
    let name = file.display().to_string();
    bad_input(format!("{name}: {what}; {}", help.replace("FILE", &command_line::quoted(&name))))
}
