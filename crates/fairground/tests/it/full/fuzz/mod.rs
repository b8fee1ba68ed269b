// SPDX-License-Identifier: GPL-2.0-only
//! Damaged files: whatever a file holds, the program ends in time, within its memory, without a
//! panic, and with one of the exit codes that it promises.
//!
//! Each reader gets mutations of good files ([`fuzz/mutate.rs`](mutate)), and everything that was
//! ever found (`fuzz/corpus/READER/`). A finding is written to `target/fuzz/`; copy it into the
//! corpus, where it stays.
//!
//! `FUZZ_INPUTS=2000` gives each reader that many mutations, `FUZZ_SEED=7` other ones, and
//! `FUZZ_READER=bundle` only one reader. `make fuzz MINUTES=60` goes on until the time is over.
//! `FAIRGROUND_UNDER_TEST=target/release/fairground` reads more of them in that time.

mod forged;
mod identity;
mod marks;
mod mutate;
mod program;
mod seeds;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use model::Seed;

/// Mutations per reader in an ordinary test.
const INPUTS: u64 = 250;

/// A kind of file and the command that reads it.
struct Reader {
    name: &'static str,
    /// By which the program tells the kind.
    extension: &'static str,
    /// The good files, which mutations start from.
    seeds: fn() -> Vec<Vec<u8>>,
    /// The command's words, with FILE for the file; `trial` reads it from standard input.
    command: &'static str,
    /// One of so many inputs is tried, where the verb does more than reading.
    one_of: u64,
}

const fn reader(
    name: &'static str,
    extension: &'static str,
    seeds: fn() -> Vec<Vec<u8>>,
    command: &'static str,
) -> Reader {
    Reader { name, extension, seeds, command, one_of: 1 }
}

const PLAN_WORKLOAD: &str = "plan --scheduler fifo --workload FILE --blocks 1 --on sim";
const PLAN_TAPES: &str = "plan --scheduler fifo --workload ./played.toml --blocks 1 --on sim";
const PLAN_MACHINE: &str =
    "plan --scheduler fifo --workload tiny.toml --machine FILE --blocks 1 --on sim";
const PLAN_SCHEDULER: &str = "plan --scheduler FILE --workload tiny.toml --blocks 1 --on sim";
const RECOMMEND: &str = "recommend --on sim --budget 1s --care FILE";
const REPLICATE: &str = "replicate FILE --quick --blocks 2";
const IMPORT: &str = "import FILE --store imported.db";
const IMPORT_PARTS: &str = "import parts --store imported.db";
const RUN_CHUNK: &str = "trial --chunk FILE --out imported.jsonl";
const REPORT: &str = "report --store FILE -o imported.html";
const SHARE: &str = "share --store FILE -o imported.fairground";
const IMPORT_TRACE: &str = "import FILE -o traced.toml";
const RUN_FORGED: &str = "run --on sim --scheduler fifo --scheduler FILE --workload ./tiny.toml \
                          --blocks 1 --exploratory --timeout 5 --store imported.db";

const READERS: &[Reader] = &[
    reader("experiment", "toml", || seeds::files("experiments", "toml"), "plan FILE"),
    reader("workload", "toml", || seeds::files("workloads", "toml"), PLAN_WORKLOAD),
    reader("rt-app", "json", || vec![seeds::RTAPP.into()], PLAN_WORKLOAD),
    reader("machine", "toml", || seeds::files("machines", "toml"), PLAN_MACHINE),
    Reader { one_of: 5, ..reader("care", "toml", || seeds::files("cares", "toml"), RECOMMEND) },
    Reader { one_of: 5, ..reader("claim", "toml", || seeds::files("claims", "toml"), REPLICATE) },
    Reader { one_of: 5, ..reader("scheduler", "bpf.c", seeds::schedulers, PLAN_SCHEDULER) },
    Reader { one_of: 5, ..reader(IDENTITY, "bpf.c", Vec::new, "") },
    reader(FORGED, "bpf.c", forged::answers, RUN_FORGED),
    Reader { one_of: 2, ..reader("trial", "json", seeds::trials, "trial") },
    Reader { one_of: 2, ..reader("chunk", "jsonl", || vec![seeds::part("trials")], RUN_CHUNK) },
    reader("records", "jsonl", || vec![seeds::part("records")], IMPORT_PARTS),
    reader("campaign", "json", || vec![seeds::part("campaign")], IMPORT_PARTS),
    reader("import", "txt", || seeds::files("crates/fairground/tests/imports", ""), IMPORT),
    reader("output", "txt", || seeds::files("crates/model/src/parsers/recorded", ""), IMPORT),
    reader("trace", "txt", seeds::traces, IMPORT_TRACE),
    reader("perfetto", "pftrace", seeds::perfetto, IMPORT_TRACE),
    reader("tapes", "tapes", seeds::tapes, PLAN_TAPES),
    reader("bundle", "fairground", || vec![seeds::shared()], IMPORT),
    reader(SEALED, "fairground", || vec![seeds::opened(&seeds::shared())], IMPORT),
    Reader { one_of: 2, ..reader("store", "db", || vec![seeds::store()], "compare --store FILE") },
    Reader { one_of: 4, ..reader("reported", "db", || vec![seeds::store()], REPORT) },
    Reader { one_of: 4, ..reader("shared", "db", || vec![seeds::store()], SHARE) },
    Reader { one_of: 4, ..reader("checked", "db", || vec![seeds::store()], "doctor store FILE") },
];

/// The reader of what is under the seal of a shared file.
const SEALED: &str = "sealed";
/// The reader of what a simulated scheduler claims to have measured.
const FORGED: &str = "answer";
/// The reader of sets of files that are one scheduler: the compiler.
const IDENTITY: &str = "identity";

struct Limits {
    inputs: u64,
    until: Option<Instant>,
    seed: Seed,
}

fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok().filter(|text| !text.is_empty())?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name}={text} is not a number")))
}

fn limits() -> Limits {
    let minutes = number("FUZZ_MINUTES");
    let until = minutes.map(|minutes| Instant::now() + Duration::from_secs(60 * minutes));
    let inputs = number("FUZZ_INPUTS").unwrap_or(if until.is_some() { u64::MAX } else { INPUTS });
    Limits { inputs, until, seed: Seed(number("FUZZ_SEED").unwrap_or(1)) }
}

fn is_asked_for(reader: &Reader) -> bool {
    std::env::var("FUZZ_READER").map_or(true, |name| name.is_empty() || name == reader.name)
}

fn corpus(reader: &str) -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz/corpus").join(reader);
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    files.sort();
    let read = |path: PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        (name, std::fs::read(&path).expect("a file of the corpus"))
    };
    files.into_iter().map(read).collect()
}

/// Keeps a finding where the next build does not delete it.
fn keep(reader: &str, name: &str, bytes: &[u8]) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("../fuzz").join(reader);
    std::fs::create_dir_all(&folder).expect("a folder for findings");
    let path = folder.join(name);
    std::fs::write(&path, bytes).expect("a finding");
    path
}

/// Gives a reader its inputs; returns how many, and what was found.
fn attack(reader: &Reader, limits: &Limits) -> (u64, Vec<String>) {
    let bench = crate::common::Bench::new();
    let mut found = Vec::new();
    let mut tried = 0;
    let mut attempt = |name: &str, bytes: &[u8]| {
        tried += 1;
        if let Err(why) = program::read(&bench, reader, bytes) {
            let kept = keep(reader.name, name, bytes);
            found.push(format!("{}: {why}: {}", reader.name, kept.display()));
        }
    };
    let corpus = corpus(reader.name);
    corpus.iter().for_each(|(name, bytes)| attempt(name, bytes));
    let mut good = (reader.seeds)();
    good.extend(corpus.into_iter().map(|(_, bytes)| bytes));
    let mut number = 0;
    while number < limits.inputs / reader.one_of {
        if limits.until.is_some_and(|until| Instant::now() > until) {
            break;
        }
        let mut random = limits.seed.derive(&format!("{} {number}", reader.name));
        let mut bytes = mutate::mutate(&good, &mut random);
        if number % 2 == 1 {
            marks::plant(&mut bytes, &mut random);
        }
        attempt(&format!("{}-{number}", limits.seed.0), &bytes);
        number += 1;
    }
    (tried, found)
}

/// Two readers at a time.
fn attack_all(readers: &[&Reader]) {
    let limits = limits();
    let queue = std::sync::Mutex::new(readers.iter());
    let next = || queue.lock().expect("no thread has panicked").next();
    let found = std::sync::Mutex::new(Vec::new());
    let work = || {
        while let Some(reader) = next() {
            let (tried, bad) = attack(reader, &limits);
            println!("{}: {tried} inputs, {} findings", reader.name, bad.len());
            found.lock().expect("no thread has panicked").extend(bad);
        }
    };
    let threads = if limits.until.is_some() { readers.len() } else { 2 };
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(work);
        }
    });
    let found = found.into_inner().expect("no thread has panicked");
    assert!(found.is_empty(), "{} findings:\n{}", found.len(), found.join("\n"));
}

#[test]
fn no_file_makes_the_program_panic_hang_or_break_its_promise() {
    testing::beyond_cargo_test!("takes minutes");
    let readers: Vec<&Reader> = READERS.iter().filter(|reader| is_asked_for(reader)).collect();
    assert!(!readers.is_empty(), "FUZZ_READER names no reader");
    attack_all(&readers);
}

#[test]
fn good_files_are_read() {
    testing::beyond_cargo_test!("takes minutes");
    let bench = crate::common::Bench::new();
    for reader in READERS.iter().filter(|reader| reader.one_of < 5) {
        let seeds = (reader.seeds)();
        assert!(!seeds.is_empty(), "{} has nothing to start from", reader.name);
        let codes: Vec<Result<i32, String>> =
            seeds.iter().take(6).map(|bytes| program::read(&bench, reader, bytes)).collect();
        assert!(codes.contains(&Ok(0)), "{}: {codes:?}", reader.name);
    }
}
