// SPDX-License-Identifier: GPL-2.0-only
//! A trace of a scheduler → a workload file that plays it again.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;
use recording::event::Recording;
use recording::workload::Choice;
use recording::{perfetto, text};

use super::{Args, foreign};
use crate::exit::bad_input;
use crate::{command_line, output, recordings};

/// The name of the format for `--as`.
pub const FORMAT: &str = "trace";
/// What is looked at to tell a trace from results.
const BEGINNING_BYTES: u64 = 1 << 16;
/// A workload is found by its file's name.
const ENDING: &str = "toml";

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
    let recording = read(file)?;
    let choice = Choice {
        only: args.only.clone(),
        kernel_threads: args.kernel_threads,
        ..Choice::default()
    };
    let files = recordings::files(&recording, &choice, &target)
        .map_err(|why| bad_input(format!("{}: {why}", file.display())))?;
    recordings::write(&files, &target)?;
    tell(file, &recording);
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

/// The file to write: named by the user, with the ending that workloads have.
fn target(args: &Args, file: &Path) -> Result<PathBuf> {
    let Some(target) = &args.output else {
        let stem = file.file_stem().unwrap_or_default().to_string_lossy();
        let example = command_line::quoted(&format!("{stem}.{ENDING}"));
        return Err(bad_input(format!(
            "{}: a trace becomes a workload file; name it with -o, for example -o {example}",
            file.display()
        )));
    };
    if target.extension().is_none_or(|ending| ending != ENDING) {
        return Err(bad_input(format!(
            "-o {}: the name of a workload's file ends in .{ENDING}",
            target.display()
        )));
    }
    for file in [target.clone(), recordings::tapes_file(target)] {
        if file.exists() {
            return Err(bad_input(format!(
                "-o {}: is there already; delete it, or name another file",
                file.display()
            )));
        }
    }
    Ok(target.clone())
}

fn read(file: &Path) -> Result<Recording> {
    let name = file.display();
    let unreadable = |fault| bad_input(format!("{name}: {fault}"));
    if is_perfettos(file) {
        let bytes = spec::files::read(file, spec::files::TRACE).map_err(unreadable)?;
        return perfetto::read(&bytes).map_err(|fault| bad_input(fault.in_file(name)));
    }
    let text = spec::files::text(file, spec::files::TRACE).map_err(unreadable)?;
    text::read(&text).map_err(|fault| {
        let foreign = (!text::is(&text)).then(|| foreign::refusal_of_text(file, &text)).flatten();
        foreign.unwrap_or_else(|| bad_input(fault.in_file(&name)))
    })
}

fn tell(file: &Path, recording: &Recording) {
    let (seconds, events) = (recording.length_ns as f64 / 1e9, recording.events.len());
    output::tell(format_args!(
        "{}: a trace of {seconds:.3} s with {events} events, {} of them lost",
        file.display(),
        recording.lost_events
    ));
    for sentence in &recording.untold {
        output::tell(format_args!("it does not tell: {sentence}"));
    }
}
