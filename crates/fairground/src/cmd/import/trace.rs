// SPDX-License-Identifier: GPL-2.0-only
//! A trace of a scheduler → a workload file that plays it again.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;
use model::{ReadFault, tape_text};
use recording::event::{Event, Recording};
use recording::perfetto::Index;
use recording::tapes::{self, Writer, Written};
use recording::text::Reader;
use recording::workload::{self, Choice};
use recording::{perfetto, text};
use spec::files::{Fault, Lines, Pieces};

use super::{Args, foreign};
use crate::exit::bad_input;
use crate::{command_line, output, recordings};

/// The name of the format for `--as`.
pub const FORMAT: &str = "trace";
/// What is looked at to tell a trace from results.
const BEGINNING_BYTES: u64 = 1 << 16;
/// What is looked at to tell whose text it is, if it is no trace.
const FOREIGN_BYTES: u64 = 4 << 20;
/// The longest line of a trace.
const LINE_MOST: usize = 1 << 20;
/// The most events that are put into order here.
const SORTED_MOST: u64 = 4_000_000;
/// What Perfetto's files are called.
const PERFETTO: [&str; 2] = ["pftrace", "perfetto-trace"];

/// Whether a file looks like a trace. One that cannot be read is told later.
pub fn is_trace(file: &Path) -> bool {
    is_perfettos(file) || text::is(&String::from_utf8_lossy(&beginning(file)))
}

/// Whether it is one of Perfetto's, by its name or its content.
fn is_perfettos(file: &Path) -> bool {
    let ending = file.extension();
    ending.is_some_and(|ending| PERFETTO.iter().any(|known| ending == *known))
        || perfetto::is(&beginning(file))
}

fn beginning(file: &Path) -> Vec<u8> {
    spec::files::beginning(file, BEGINNING_BYTES).unwrap_or_default()
}

pub fn run(args: &Args) -> Result<ExitCode> {
    let [file] = args.files.as_slice() else {
        return Err(bad_input("several traces: import one at a time, each into a file of its own"));
    };
    refuse_options(args)?;
    let target = target(args, file)?;
    let choice = Choice {
        only: args.only.clone(),
        kernel_threads: args.kernel_threads,
        ..Choice::default()
    };
    let (recording, events, written) =
        if is_perfettos(file) { read_perfetto(file, &choice)? } else { read_text(file, &choice)? };
    let files = workload::files_of(&recording, &choice, written, &recordings::tapes_name(&target));
    let files = files.map_err(|why| bad_input(format!("{}: {why}", file.display())))?;
    recordings::write(&files, &target)?;
    tell(file, &recording, events);
    if files.tapes.len() > tape_text::BYTES_MAX {
        output::tell(format_args!(
            "its tapes have {} MiB, and at most {} MiB are played: import a part of the trace, or \
             some of its threads with --only",
            files.tapes.len() >> 20,
            tape_text::BYTES_MAX >> 20
        ));
    }
    recordings::tell_next_steps(&target, recording.cpus);
    Ok(ExitCode::SUCCESS)
}

/// Options of results, which go into a store.
fn refuse_options(args: &Args) -> Result<()> {
    let options = [
        (args.scheduler.is_some(), "--scheduler"),
        (args.machine.is_some(), "--machine"),
        (args.experiment != super::EXPERIMENT, "--experiment"),
    ];
    match options.iter().find(|(given, _)| *given) {
        None => Ok(()),
        Some((_, option)) => Err(bad_input(format!(
            "{option}: a trace becomes a workload and no results; leave the option out"
        ))),
    }
}

/// The file to write, which the user names.
fn target(args: &Args, file: &Path) -> Result<PathBuf> {
    let Some(target) = &args.output else {
        let stem = file.file_stem().unwrap_or_default().to_string_lossy();
        let example = command_line::quoted(&format!("{stem}.toml"));
        return Err(bad_input(format!(
            "{}: a trace becomes a workload file; name it with -o, for example -o {example}",
            file.display()
        )));
    };
    recordings::refuse(target)?;
    Ok(target.clone())
}

/// Reads a trace of Perfetto in the same way as [`read_text`].
fn read_perfetto(file: &Path, choice: &Choice) -> Result<(Recording, u64, Written)> {
    let pieces =
        Pieces::open(file, spec::files::TRACE).map_err(|fault| unreadable(file, &fault))?;
    let mut bytes = |from, length| {
        let message = |fault: Fault| ReadFault { position: None, message: fault.to_string() };
        pieces.read(from, length).map_err(message)
    };
    let in_file = |fault: ReadFault| bad_input(fault.in_file(file.display()));
    let index = Index::new(pieces.length, &mut bytes).map_err(in_file)?;
    let mut nobody = |_: Event| {};
    let (recording, seen) = index.recording(&mut bytes, Some(&mut nobody)).map_err(in_file)?;
    let mut writer = Writer::new(recording.tasks.len(), |task| choice.keeps(&recording, task));
    let mut write = |mut event: Event| {
        event.at_ns -= seen.first_ns;
        writer.event(&event);
    };
    index.recording(&mut bytes, Some(&mut write)).map_err(in_file)?;
    let written = writer.finish(recording.length_ns);
    Ok((recording, seen.events, written))
}

/// Reads a trace as text, and writes its tapes. A trace of gigabytes has too many events for a
/// list: the first pass finds its tasks, the second one what they did. The recording comes without
/// its events; the number beside it counts them.
fn read_text(file: &Path, choice: &Choice) -> Result<(Recording, u64, Written)> {
    let has_waking = tells_waking(file)?;
    let mut nobody = |_: Event| {};
    let mut reader = Reader::new(has_waking).handing_on(&mut nobody);
    each_line(file, |line| reader.line(line))?;
    let in_file = |fault| understood(file, fault);
    let (mut recording, seen) = reader.finish().map_err(in_file)?;
    if seen.unordered {
        if seen.events > SORTED_MOST {
            return Err(bad_input(format!(
                "{}: its events are not in order of time, and {} are too many to sort here; sort \
                 them by time, or cut out a part",
                file.display(),
                seen.events
            )));
        }
        let mut reader = Reader::new(has_waking);
        each_line(file, |line| reader.line(line))?;
        recording = reader.finish().map_err(in_file)?.0;
        let written = tapes::write(&recording, |task| choice.keeps(&recording, task));
        return Ok((recording, seen.events, written));
    }
    let mut writer = Writer::new(recording.tasks.len(), |task| choice.keeps(&recording, task));
    let mut write = |mut event: Event| {
        event.at_ns -= seen.first_ns;
        writer.event(&event);
    };
    let mut reader = Reader::new(has_waking).handing_on(&mut write);
    each_line(file, |line| reader.line(line))?;
    reader.finish().map_err(in_file)?;
    let written = writer.finish(recording.length_ns);
    Ok((recording, seen.events, written))
}

/// Whether a line tells of `sched_waking`; most are found at once.
fn tells_waking(file: &Path) -> Result<bool> {
    let mut lines = lines(file)?;
    while let Some(line) = lines.next_line().map_err(|fault| unreadable(file, &fault))? {
        if text::tells_waking(&String::from_utf8_lossy(line)) {
            return Ok(true);
        }
    }
    Ok(false)
}

fn lines(file: &Path) -> Result<Lines> {
    Lines::open(file, spec::files::TRACE, 0, LINE_MOST).map_err(|fault| unreadable(file, &fault))
}

fn unreadable(file: &Path, fault: &Fault) -> anyhow::Error {
    bad_input(format!("{}: {fault}", file.display()))
}

fn each_line(file: &Path, mut take: impl FnMut(&str) -> Result<(), ReadFault>) -> Result<()> {
    let mut lines = lines(file)?;
    let mut before = 0;
    while let Some(line) = lines.next_line().map_err(|fault| unreadable(file, &fault))? {
        let text = std::str::from_utf8(line)
            .map_err(|error| unreadable(file, &Fault::NotText(before + error.valid_up_to())))?;
        take(text.strip_suffix('\n').unwrap_or(text)).map_err(|fault| understood(file, fault))?;
        before += line.len();
    }
    Ok(())
}

/// What is wrong with a text, in words for the program that wrote it if that is known.
fn understood(file: &Path, fault: ReadFault) -> anyhow::Error {
    let beginning = spec::files::beginning(file, FOREIGN_BYTES).unwrap_or_default();
    let text = String::from_utf8_lossy(&beginning);
    let foreign = (!text::is(&text)).then(|| foreign::refusal_of_text(file, &text)).flatten();
    foreign.unwrap_or_else(|| bad_input(fault.in_file(file.display())))
}

fn tell(file: &Path, recording: &Recording, events: u64) {
    let seconds = recording.length_ns as f64 / 1e9;
    output::tell(format_args!(
        "{}: a trace of {seconds:.3} s with {events} events, {} of them lost",
        file.display(),
        recording.lost_events
    ));
    for sentence in &recording.untold {
        output::tell(format_args!("it does not tell: {sentence}"));
    }
}
