// SPDX-License-Identifier: GPL-2.0-only
//! `fairground record`: what the tasks of this machine do, as a file.

mod command;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use command::Command;
use live::recorder::{Cost, Progress, Recorder, Settings, TaskFilter, obstacles};
use recording::as_trace::as_trace;
use recording::control_groups;
use recording::event::{Recording, What};
use recording::workload::Choice;
use signal_hook::consts::SIGUSR1;
use store::exchange::formats;

use crate::execution::interrupt;
use crate::exit::{self, bad_input};
use crate::ui::StatusLine;
use crate::{command_line, output, recordings, size, times};

const SOURCE: &str = concat!("fairground record ", env!("CARGO_PKG_VERSION"));
/// How often the events are read.
const LOOK: Duration = Duration::from_millis(50);
/// A recording that lacks more than this part of its events is refused.
const LOST_MAX: f64 = 0.001;
/// More than this part of the machine's CPU time disturbs what is recorded.
const COST_GOAL_PERCENT: f64 = 3.0;
/// What the kernel takes as a buffer's size.
const BUFFER_BYTES: std::ops::RangeInclusive<u64> = 1 << 16..=1 << 30;

#[derive(clap::Args)]
pub struct Args {
    /// How long; otherwise until the command ends, or until Ctrl-C
    #[arg(long = "for", value_name = "TIME", value_parser = times::parse)]
    length: Option<Duration>,
    /// Keep only what was last, however long it goes on. SIGUSR1, after a stutter, writes that into
    /// the file and goes on; the next one goes into FILE-2
    #[arg(long, value_name = "TIME", value_parser = times::parse, conflicts_with = "length")]
    last: Option<Duration>,
    /// Where the recording goes: a workload, with its tapes in FILE.tapes
    #[arg(short = 'o', long = "output", value_name = "FILE.toml", default_value = "load.toml")]
    output: PathBuf,
    /// Also write when everything happened, as text of ftrace: `fairground explain` says why tasks
    /// waited, and Perfetto and others read it. It has all tasks, because any of them may have the
    /// CPU while another waits
    #[arg(long, value_name = "FILE.txt", conflicts_with = "only")]
    trace: Option<PathBuf>,
    /// The workload plays kernel threads too, instead of sleeping while they ran
    #[arg(long)]
    kernel_threads: bool,
    /// The load runs for a time, not for an amount: in the workload, tasks that were there to its
    /// end begin again until that time is over, and what they achieve is measured
    #[arg(long)]
    for_a_time: bool,
    /// Only the tasks of this name, process or control group, and what they fork [default: the
    /// command and what it starts, if there is one]
    #[arg(long, value_name = "NAME|PID|CGROUP", value_parser = TaskFilter::parse)]
    only: Option<TaskFilter>,
    /// All tasks of the machine, although there is a command
    #[arg(long, conflicts_with = "only")]
    all: bool,
    /// Call the tasks t1, t2, …, and their control groups c1, c2, …
    #[arg(long)]
    anonymous: bool,
    /// The recording ends when its events take this much memory
    #[arg(long, value_name = "SIZE", default_value = "200MB", value_parser = size::parse)]
    limit: u64,
    /// Room for events that were not read yet, for all CPUs together
    #[arg(long, value_name = "SIZE", default_value = "16MB", value_parser = buffer)]
    buffer: u32,
    /// A command to run; both end together
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// The kernel's next size above the one that is asked for.
fn buffer(text: &str) -> Result<u32, String> {
    let bytes = size::parse(text)?.next_power_of_two();
    let fits = BUFFER_BYTES.contains(&bytes);
    fits.then_some(bytes as u32).ok_or_else(|| "write a size from 60kB to 1GB".into())
}

/// Records, and writes the recording. Exit code 1 if the command failed, 130 after a Ctrl-C that
/// cut short what was asked for; the recording is written all the same.
pub fn run(mut args: Args) -> Result<ExitCode> {
    refuse(&args)?;
    if !args.all && args.trace.is_none() && !args.command.is_empty() {
        args.only.get_or_insert(TaskFilter::Command);
    }
    let stop = interrupt::flag()?;
    let settings = Settings { buffer_bytes: args.buffer, only: args.only.clone(), last: args.last };
    let save = Arc::new(AtomicBool::new(false));
    if args.last.is_some() {
        signal_hook::flag::register(SIGUSR1, save.clone()).context("cannot handle SIGUSR1")?;
    }
    let mut recorder = Recorder::attach(&settings).map_err(anyhow::Error::msg)?;
    recorder.start().map_err(anyhow::Error::msg)?;
    let mut command = Command::start(&args.command)?;
    let mut files = Files { args: &args, written: 0 };
    let ended = watch(&mut files, &mut recorder, command.as_mut(), [&stop, &save])?;
    let (recording, cost) = recorder.finish(SOURCE).map_err(anyhow::Error::msg)?;
    let failure = command.as_mut().and_then(|command| command.end());
    if ended == RecordingEnd::Limit {
        let limit = size::words(args.limit);
        output::tell(format_args!("the limit of {limit} was reached; --limit sets another one"));
    }
    let slower = slower_percent(&cost, &recording);
    let said = cost_line(&cost, slower, COST_GOAL_PERCENT);
    files.write(recording, Some(&said))?;
    if let Some(failure) = &failure {
        output::tell(format_args!("{failure}; the recording is written all the same"));
    }
    Ok(match ended {
        RecordingEnd::Interrupted if !is_open(&args) => exit::interrupted(),
        _ if failure.is_some() => ExitCode::from(exit::MISBEHAVED),
        _ => ExitCode::SUCCESS,
    })
}

/// Everything that can be refused before anything runs.
fn refuse(args: &Args) -> Result<()> {
    let obstacles = obstacles();
    if !obstacles.is_empty() {
        return Err(bad_input(obstacles.join("\n")));
    }
    if let Some(file) = &args.trace {
        output::writer(Some(file)).map(drop)?;
    }
    recordings::refuse(&args.output)
}

/// Whether only Ctrl-C can end it.
fn is_open(args: &Args) -> bool {
    args.length.is_none() && args.command.is_empty()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RecordingEnd {
    Time,
    Command,
    Limit,
    Interrupted,
}

fn watch(
    files: &mut Files,
    recorder: &mut Recorder,
    mut command: Option<&mut Command>,
    [stop, save]: [&AtomicBool; 2],
) -> Result<RecordingEnd> {
    let args = files.args;
    let (begin, status) = (Instant::now(), StatusLine::new("{spinner} {wide_msg}"));
    if args.last.is_some() {
        let process = std::process::id();
        output::tell(format_args!(
            "recording; to write what was last, and go on: kill -USR1 {process}"
        ));
    } else if !status.is_seen() {
        output::tell(if is_open(args) { "recording until Ctrl-C" } else { "recording" });
    }
    loop {
        let left = args.length.map(|length| length.saturating_sub(begin.elapsed()));
        sleep(left.map_or(LOOK, |left| left.min(LOOK)));
        let seen = recorder.look().map_err(anyhow::Error::msg)?;
        if save.swap(false, Ordering::SeqCst) {
            let recording = recorder.recording(SOURCE).map_err(anyhow::Error::msg)?;
            if let Err(error) = files.write(recording, None) {
                output::tell(format_args!("{error:#}; the recording goes on"));
            }
        }
        status.show(&progress(begin.elapsed(), &seen, args.limit));
        if let Some(ended) = over(args, begin, &seen, command.as_deref_mut(), stop)? {
            return Ok(ended);
        }
    }
}

fn over(
    args: &Args,
    begin: Instant,
    seen: &Progress,
    command: Option<&mut Command>,
    stop: &AtomicBool,
) -> Result<Option<RecordingEnd>> {
    let has_ended = command.map(Command::has_ended).transpose()?.unwrap_or(false);
    let is_time = args.length.is_some_and(|length| begin.elapsed() >= length);
    let reasons = [
        (stop.load(Ordering::SeqCst), RecordingEnd::Interrupted),
        (has_ended, RecordingEnd::Command),
        (is_time, RecordingEnd::Time),
        (seen.bytes >= args.limit, RecordingEnd::Limit),
    ];
    Ok(reasons.into_iter().find_map(|(is_so, ended)| is_so.then_some(ended)))
}

/// Refuses what would mislead.
fn check(recording: &Recording, args: &Args) -> Result<()> {
    let (kept, lost) = (recording.events.len() as u64, recording.lost_events);
    let all = (kept + lost).max(1);
    if lost as f64 > LOST_MAX * all as f64 {
        let larger = size::words(u64::from(args.buffer) * 4).replace(' ', "");
        bail!(
            "{lost} of {all} events were lost ({:.1} %), so nothing is written: give them more \
             room with --buffer {larger}, or record less with --only",
            100.0 * lost as f64 / all as f64
        );
    }
    let has_switch = recording.events.iter().any(|event| matches!(event.what, What::Switch { .. }));
    match (&args.only, has_switch) {
        (_, true) => Ok(()),
        (Some(only), false) => Err(bad_input(format!("--only: no task of {only} ran"))),
        (None, false) => bail!("nothing ran while it was recorded; record longer"),
    }
}

fn make_anonymous(recording: &mut Recording) {
    for (index, task) in recording.tasks.iter_mut().enumerate() {
        task.name = format!("t{}", index + 1);
    }
    control_groups::make_anonymous(recording);
}

/// The files of one run: those of `--last` are several.
struct Files<'a> {
    args: &'a Args,
    written: u32,
}

impl Files<'_> {
    /// Writes the next recording, and says what was recorded.
    fn write(&mut self, mut recording: Recording, cost: Option<&str>) -> Result<()> {
        check(&recording, self.args)?;
        if self.args.anonymous {
            make_anonymous(&mut recording);
        }
        self.written += 1;
        let file = numbered(&self.args.output, self.written);
        let Args { kernel_threads, for_a_time, .. } = *self.args;
        let choice = Choice { kernel_threads, for_a_time, ..Choice::default() };
        recordings::write(&recordings::files(&recording, &choice, &file)?, &file)?;
        let trace = self.args.trace.as_ref().map(|trace| numbered(trace, self.written));
        if let Some(trace) = &trace {
            let mut out = output::writer(Some(trace))?;
            formats::ftrace::write(&as_trace(&recording).trace, &mut out)?;
            out.flush()?;
        }
        tell(&file, &recording);
        if let Some(cost) = cost {
            output::tell(cost);
        }
        recordings::tell_next_steps(&file, recording.cpus);
        if let Some(trace) = &trace {
            let trace = command_line::quoted(&trace.display().to_string());
            output::tell(format_args!("to see why tasks waited: fairground explain {trace}"));
        }
        Ok(())
    }
}

/// The name of a run's n-th file: `load.toml`, `load-2.toml`, `load-3.toml`, …
fn numbered(file: &Path, number: u32) -> PathBuf {
    if number == 1 {
        return file.to_owned();
    }
    let mut name = file.file_stem().unwrap_or_default().to_owned();
    name.push(format!("-{number}"));
    if let Some(ending) = file.extension() {
        name.push(".");
        name.push(ending);
    }
    file.with_file_name(name)
}

/// Says what was recorded.
fn tell(file: &Path, recording: &Recording) {
    let file = file.display();
    let count = |is: &dyn Fn(&What) -> bool| {
        recording.events.iter().filter(|event| is(&event.what)).count()
    };
    output::tell(format_args!(
        "{file}: {} on {} CPUs: {} tasks, {} switches, {} wake-ups, {} events lost",
        times::words(Duration::from_nanos(recording.length_ns)),
        recording.cpus,
        recording.tasks.len(),
        count(&|what| matches!(what, What::Switch { .. })),
        count(&|what| matches!(what, What::Wake { .. })),
        recording.lost_events,
    ));
}

#[cfg(test)]
mod tests;

fn progress(elapsed: Duration, seen: &Progress, limit: u64) -> String {
    let (bytes, limit) = (size::words(seen.bytes), size::words(limit));
    let lost = match seen.lost_events {
        0 => String::new(),
        lost => format!(", {lost} lost"),
    };
    let time = times::words(elapsed);
    format!("recording for {time}: {} events, {bytes} of {limit}{lost}", seen.events)
}

/// How much more CPU time the recorded tasks used, percent, because the programs work where the
/// tasks do.
fn slower_percent(cost: &Cost, recording: &Recording) -> f64 {
    let own = cost.event_ns().unwrap_or(0) * recording.events.len() as u64;
    100.0 * own as f64 / tasks_ns(recording).saturating_sub(own).max(1) as f64
}

/// The CPU time of the tasks that were recorded.
fn tasks_ns(recording: &Recording) -> u64 {
    let mut since: BTreeMap<u32, u64> = BTreeMap::new();
    let mut sum_ns = 0;
    for event in &recording.events {
        let What::Switch { out, next, .. } = event.what else { continue };
        let before = since.remove(&event.cpu).filter(|_| out.is_some());
        sum_ns += before.map_or(0, |since_ns| event.at_ns.saturating_sub(since_ns));
        since.extend(next.map(|_| (event.cpu, event.at_ns)));
    }
    sum_ns
}

/// What the recording took from the machine and from its tasks, and what helps if that is too much.
fn cost_line(cost: &Cost, slower: f64, goal_percent: f64) -> String {
    let machine_ns = cost.length_ns as f64 * f64::from(cost.cpus);
    let share = |ns: u64| 100.0 * ns as f64 / machine_ns.max(1.0);
    let own = share(cost.own_ns);
    let Some((all, programs_ns)) = cost.percent().zip(cost.programs_ns) else {
        return format!(
            "cost: {own:.2} % of the machine's CPU time in fairground; what its programs in the \
             kernel took is only counted for CAP_SYS_ADMIN"
        );
    };
    let advice = if all.max(slower) > goal_percent {
        "; tasks may behave otherwise than without it: record less with --only"
    } else {
        ""
    };
    let programs = share(programs_ns);
    format!(
        "cost: {all:.2} % of the machine's CPU time ({programs:.2} in the kernel, {own:.2} in \
         fairground); the recorded tasks used {slower:.1} % more of it{advice}"
    )
}
