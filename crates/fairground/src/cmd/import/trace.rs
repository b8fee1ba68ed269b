// SPDX-License-Identifier: GPL-2.0-only
//! A trace of a scheduler → a workload file that plays it again, or what happened, for `explain`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;
use model::{ReadFault, tape_text};
use recording::collect::Seen;
use recording::event::{Event, Leaves, Recording, What};
use recording::perfetto::Index;
use recording::tapes::{self, Writer, Written};
use recording::text::Reader;
use recording::workload::{self, Choice};
use recording::{perfetto, text};
use spec::files::{Fault, Lines, Pieces};
use store::exchange::imports;

use super::{Args, refuse_options};
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
/// The most events that are explained at once, and of more what is around a moment, ns.
const EXPLAINED_MOST: u64 = 8_000_000;
const EXPLAINED_NS: u64 = 5_000_000_000;
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
    refuse_options(&args.labels(), "a trace becomes a workload and no results")?;
    let target = target(args, file)?;
    grow_in_place();
    let choice = Choice {
        only: args.only.clone(),
        kernel_threads: args.kernel_threads,
        for_a_time: args.for_a_time,
        ..Choice::default()
    };
    let (recording, events, written) =
        with_passes(file, |pass| in_passes(file, &choice, pass, tape_text::BYTES_MAX))?;
    let files = workload::files_of(&recording, &choice, written, &recordings::tapes_name(&target));
    let files = files.map_err(|why| bad_input(format!("{}: {why}", file.display())))?;
    if files.tapes.len() > tape_text::BYTES_MAX {
        return Err(too_much(file, &recording, recording.length_ns));
    }
    recordings::write(&files, &target)?;
    tell(file, &recording, events);
    recordings::tell_next_steps(&target, recording.cpus);
    Ok(ExitCode::SUCCESS)
}

/// From now on long lists get more room without a copy of them: tapes are lists that grow, and what
/// the C library keeps of the shorter ones would take a third more memory.
fn grow_in_place() {
    const LONG: libc::c_int = 1 << 20;
    // SAFETY: it changes how memory is got, and no memory.
    unsafe { libc::mallopt(libc::M_MMAP_THRESHOLD, LONG) };
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

/// Who takes the events of a pass; `None`: the recording keeps them.
type To<'a> = Option<&'a mut dyn FnMut(Event)>;
/// Reads the file once.
type Pass<'a> = dyn FnMut(To<'_>) -> Result<(Recording, Seen)> + 'a;

/// Opens a trace of any format; `then` gets a function that reads it once per call.
fn with_passes<T>(file: &Path, then: impl FnOnce(&mut Pass<'_>) -> Result<T>) -> Result<T> {
    if !is_perfettos(file) {
        let has_waking = tells_waking(file)?;
        return then(&mut |to| {
            let mut reader = Reader::new(has_waking, to);
            each_line(file, |line| reader.line(line))?;
            reader.finish().map_err(|fault| understood(file, fault))
        });
    }
    let pieces =
        Pieces::open(file, spec::files::TRACE).map_err(|fault| unreadable(file, &fault))?;
    let bytes = |from, length| {
        let message = |fault: Fault| ReadFault { position: None, message: fault.to_string() };
        pieces.read(from, length).map_err(message)
    };
    let in_file = |fault: ReadFault| bad_input(fault.in_file(file.display()));
    let index = Index::new(pieces.length, &mut &bytes).map_err(in_file)?;
    then(&mut |to| index.recording(&mut &bytes, to).map_err(in_file))
}

/// A trace with its events; of a very long one those around a moment.
pub fn read(file: &Path, at_ns: Option<u64>) -> Result<Recording> {
    with_passes(file, |pass| whole(file, at_ns, pass))
}

fn whole(file: &Path, at_ns: Option<u64>, pass: &mut Pass<'_>) -> Result<Recording> {
    let (mut recording, seen) = pass(Some(&mut |_| {}))?;
    let at_ns = at_ns.filter(|_| seen.events > EXPLAINED_MOST);
    if seen.events > EXPLAINED_MOST && at_ns.is_none() {
        return Err(bad_input(format!(
            "{}: its {} events are too many to explain at once; name a moment with --at, for \
             example --at {:.1}s",
            file.display(),
            seen.events,
            recording.length_ns as f64 / 2e9
        )));
    }
    if seen.unordered {
        refuse_unordered(file, &seen)?;
        return Ok(pass(None)?.0);
    }
    let from_ns = at_ns.map_or(0, |at_ns| at_ns.saturating_sub(EXPLAINED_NS));
    let to_ns = at_ns.map_or(u64::MAX, |at_ns| at_ns.saturating_add(EXPLAINED_NS));
    let (mut events, mut running) = (Vec::new(), BTreeMap::new());
    pass(Some(&mut |mut event| {
        event.at_ns -= seen.first_ns;
        match (event.at_ns, &event.what) {
            (0.., What::Switch { next, .. }) if event.at_ns < from_ns => {
                running.insert(event.cpu, *next);
            }
            (at_ns, _) if at_ns >= from_ns && at_ns <= to_ns => {
                // The tasks that run at the beginning of the window.
                events.extend(std::mem::take(&mut running).into_iter().map(|(cpu, next)| {
                    let what = What::Switch { out: None, leaves: Leaves::Runnable, next };
                    Event { at_ns: from_ns, cpu, what }
                }));
                events.push(event);
            }
            _ => {}
        }
    }))?;
    recording.events = events;
    Ok(recording)
}

fn refuse_unordered(file: &Path, seen: &Seen) -> Result<()> {
    if seen.events <= SORTED_MOST {
        return Ok(());
    }
    Err(bad_input(format!(
        "{}: its events are not in order of time, and {} are too many to sort here; sort them by \
         time, or cut out a part",
        file.display(),
        seen.events
    )))
}

fn too_much(file: &Path, recording: &Recording, at_ns: u64) -> anyhow::Error {
    let seconds = |ns: u64| ns as f64 / 1e9;
    bad_input(format!(
        "{}: the first {:.1} s of its {:.1} s make tapes of more than {} MiB, and no longer ones \
         are played; record for a shorter time, or import some of its threads with --only",
        file.display(),
        seconds(at_ns),
        seconds(recording.length_ns),
        tape_text::BYTES_MAX >> 20
    ))
}

/// Reads a trace, and writes its tapes up to a limit of bytes: longer ones are not played, and
/// those of gigabytes would take as much memory. A trace of gigabytes has too many events for a
/// list: the first pass finds its tasks, the second one what they did. The recording comes without
/// its events; the number beside it counts them.
fn in_passes(
    file: &Path,
    choice: &Choice,
    pass: &mut Pass<'_>,
    bytes_most: usize,
) -> Result<(Recording, u64, Written)> {
    let (mut recording, seen) = pass(Some(&mut |_| {}))?;
    if seen.unordered {
        refuse_unordered(file, &seen)?;
        recording = pass(None)?.0;
        let written = tapes::write(&recording, |task| choice.keeps(&recording, task));
        return Ok((recording, seen.events, written));
    }
    let mut writer = Writer::new(recording.tasks.len(), |task| choice.keeps(&recording, task));
    let mut until_ns = 0;
    pass(Some(&mut |mut event| {
        event.at_ns -= seen.first_ns;
        if writer.bytes() <= bytes_most {
            writer.event(&event);
            until_ns = event.at_ns;
        }
    }))?;
    if writer.bytes() > bytes_most {
        return Err(too_much(file, &recording, until_ns));
    }
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
    let name = file.display().to_string();
    let foreign = (!text::is(&text)).then(|| imports::refused_text(&name, &text)).flatten();
    bad_input(foreign.unwrap_or_else(|| fault.in_file(name)))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tapes_that_are_too_long_are_not_written_to_their_end() {
        let switch =
            "sched_switch: prev_comm=a prev_pid=1 prev_prio=120 prev_state=S ==> next_comm=b";
        let trace = format!(
            "a-1 [000] 1.0: sched_waking: comm=b pid=2 prio=120 target_cpu=000\n\
             a-1 [000] 1.5: {switch} next_pid=2 next_prio=120\n"
        );
        let taped = |bytes_most| {
            let mut pass = |to: To<'_>| -> Result<(Recording, Seen)> {
                let mut reader = Reader::new(true, to);
                trace.lines().try_for_each(|line| reader.line(line))?;
                Ok(reader.finish()?)
            };
            in_passes(Path::new("a.txt"), &Choice::default(), &mut pass, bytes_most)
        };
        let (recording, events, written) = taped(40).expect("they are short");
        assert_eq!((recording.length_ns, events), (500_000_000, 2));
        assert_eq!(written.tapes.iter().map(Vec::len).collect::<Vec<_>>(), [2, 1]);
        let said = taped(4).expect_err("they are long").to_string();
        assert!(said.starts_with("a.txt: the first 0.0 s of its 0.5 s make tapes"), "{said}");
    }
}
