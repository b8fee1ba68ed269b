// SPDX-License-Identifier: GPL-2.0-only
//! The program with one file, under limits.

use std::io::{Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::Stdio;
use std::time::{Duration, Instant};

use super::{FORGED, IDENTITY, Reader, SEALED, forged, identity, marks, seeds};
use crate::common::Bench;

/// The longest that the program may take, with trials, a compiler at its limit, and on a busy host.
const PATIENCE: Duration = Duration::from_secs(120);
const MEMORY: u64 = 1 << 30;
/// The longest text that it may print.
const PRINTED: u64 = 4 << 20;
/// The longest line of output: untrusted text must not fill a screen.
const LINE: usize = 4_000;
/// The promised exit codes; 3 would blame the lab for a bad file.
const CODES: [i32; 3] = [0, 1, 2];

/// What a run can leave behind.
const LEFTOVERS: [&str; 5] =
    ["imported.db", "imported.jsonl", "fairground.db", "traced.toml", "traced.tapes"];

/// Reads the file with the program, and lets what it brought leave again; the first exit code.
///
/// # Errors
/// What the program did that it promises not to do.
pub fn read(bench: &Bench, reader: &Reader, bytes: &[u8]) -> Result<i32, String> {
    if reader.name == IDENTITY {
        return identity::read(bytes);
    }
    let given = format!("./input.{}", reader.extension);
    prepare(bench, reader, &given, bytes);
    let word = |word: &'static str| if word == "FILE" { given.as_str() } else { word };
    let words: Vec<&str> = reader.command.split_whitespace().map(word).collect();
    let code = run(bench, &words, bytes)?;
    if reader.name == FORGED {
        forged::look_beside(bench)?;
    }
    let is_imported = reader.command.ends_with("--store imported.db");
    for (door, file) in marks::DOORS.iter().filter(|_| is_imported && code < 2) {
        let words: Vec<&str> = door.split(' ').collect();
        if run(bench, &words, &[]).map_err(|why| format!("{}, afterwards: {why}", words[0]))? == 0 {
            let file = std::fs::read(bench.path(file)).expect("what leaves");
            marks::look_for(&file).map_err(|why| format!("{}: {why}", words[0]))?;
        }
    }
    Ok(code)
}

/// Puts the file where the command looks for it, and takes away what the last one left.
fn prepare(bench: &Bench, reader: &Reader, given: &str, bytes: &[u8]) {
    let made = match reader.name {
        SEALED => Some(seeds::sealed(bytes)),
        FORGED => {
            bench.write("input.toml", &forged::values(bytes));
            Some(forged::scheduler().into_bytes())
        }
        _ => None,
    };
    std::fs::write(bench.path(given), made.as_deref().unwrap_or(bytes)).expect("the input");
    for leftover in LEFTOVERS.iter().chain(marks::DOORS.iter().map(|(_, file)| file)) {
        for end in ["", "-wal", "-shm", ".lock"] {
            let _ = std::fs::remove_file(bench.path(&format!("{leftover}{end}")));
        }
    }
    if reader.command == super::IMPORT_PARTS {
        std::fs::create_dir_all(bench.path("parts")).expect("a folder");
        for (name, path) in seeds::PARTS {
            let text = if name == reader.name { bytes.to_vec() } else { seeds::part(name) };
            std::fs::write(bench.path(path), text).expect("a part");
        }
    }
    if reader.name == "tapes" {
        bench.write("played.toml", &played(bytes));
    }
}

fn run(bench: &Bench, words: &[&str], bytes: &[u8]) -> Result<i32, String> {
    let mut command = bench.process(words);
    command.env("USER", "planteduser");
    // SAFETY: between fork and exec only a system call runs.
    unsafe { command.pre_exec(limit_memory) };
    let input = if words[0] == "trial" { Stdio::piped() } else { Stdio::null() };
    command.stdin(input).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let mut child = command.spawn().expect("the program");
    if let Some(mut stdin) = child.stdin.take() {
        // A program that has refused the beginning does not read the rest.
        let _ = stdin.write_all(bytes);
    }
    let (stdout, stderr) = (printed(child.stdout.take()), printed(child.stderr.take()));
    let code = wait(&mut child);
    let stdout = stdout.join().expect("a reader");
    let stderr = stderr.join().expect("a reader");
    let code = code?;
    judge(code, &stderr)?;
    // Plans and records are JSON, for programs.
    if !["plan", "trial"].contains(&words[0]) {
        printable(&stdout)?;
    }
    printable(&stderr)?;
    Ok(code)
}

fn played(tapes: &[u8]) -> String {
    let text = String::from_utf8_lossy(tapes);
    let count = text.lines().filter(|line| line.starts_with("task ")).count();
    let sha256 = model::trial::sha256_hex(tapes);
    format!(
        "[[task]]\nname = 'a'\ncount = {count}\nrepeat = 1\nsteps = ['tape']\n[recording]\n\
         source = 'a test'\ncpus = 2\nlength_us = 1\ntapes = 'input.tapes'\nsha256 = '{sha256}'\n"
    )
}

fn limit_memory() -> std::io::Result<()> {
    let limit = libc::rlimit { rlim_cur: MEMORY, rlim_max: MEMORY };
    // SAFETY: the structure is a local variable.
    match unsafe { libc::setrlimit(libc::RLIMIT_DATA, &limit) } {
        0 => Ok(()),
        _ => Err(std::io::Error::last_os_error()),
    }
}

fn printed(from: Option<impl Read + Send + 'static>) -> std::thread::JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(from) = from {
            let _ = from.take(PRINTED).read_to_end(&mut bytes);
        }
        bytes
    })
}

fn wait(child: &mut std::process::Child) -> Result<i32, String> {
    let give_up = Instant::now() + PATIENCE;
    loop {
        if let Some(status) = child.try_wait().expect("a status") {
            let signal = || format!("ended by signal {}", status.signal().unwrap_or(0));
            return status.code().ok_or_else(signal);
        }
        if Instant::now() > give_up {
            let _ = child.kill();
            let _ = child.wait();
            return Err(format!("did not end in {} s", PATIENCE.as_secs()));
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn judge(code: i32, stderr: &[u8]) -> Result<(), String> {
    let said = String::from_utf8_lossy(stderr);
    let first = said.lines().next().unwrap_or_default();
    let first: String = first.chars().take(200).collect();
    if said.contains("internal error") || said.contains("panicked") {
        return Err(format!("panic: {first}"));
    }
    if !CODES.contains(&code) {
        return Err(format!("exit code {code}: {first}"));
    }
    if code == 2 && said.trim().is_empty() {
        return Err("exit code 2 without a reason".into());
    }
    Ok(())
}

/// Nothing of the file controls the terminal or fills it.
fn printable(bytes: &[u8]) -> Result<(), String> {
    let text = String::from_utf8_lossy(bytes);
    let is_control = |c: char| c.is_control() && c != '\n' && c != '\t';
    let is_bidi = |c: char| matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    if let Some(bad) = text.chars().find(|c| is_control(*c) || is_bidi(*c)) {
        return Err(format!("printed the control character {bad:?}"));
    }
    match text.lines().map(|line| line.chars().count()).max() {
        Some(longest) if longest > LINE => Err(format!("printed a line of {longest} characters")),
        _ => Ok(()),
    }
}
