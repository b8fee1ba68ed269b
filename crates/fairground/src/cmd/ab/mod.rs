// SPDX-License-Identifier: GPL-2.0-only
//! `fairground ab --scheduler A --scheduler B -- GAME`: schedulers are switched under a program
//! while somebody uses it; its log of frames → records → what `recommend` says of them.

mod frame_logs;
mod game;
mod stretches;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use model::{
    Aim, Backend, Contestant, MeasureKey, PolicyClass, Record, SchedulerChoice, Seed, Watched,
};
use report::terminal::recommendation_text::{self, RecommendationContext};
use spec::Overrides;
use stats::decide::recommend::Advice;

use crate::advice::host::{self, Host, SchedExt};
use crate::advice::race::Race;
use crate::advice::told;
use crate::execution::locations;
use crate::exit::{self, bad_input};
use crate::measure::claimable::blocks_needed;
use crate::measure::prerequisites;
use crate::planned_experiment::PlannedExperiment;
use crate::records::Selection;
use crate::{command_line, comparison, output, times, ui};
use game::{Frames, Game};
use stretches::{End, Stretches};

const NAME: &str = "ab";
const QUESTION: &str = "Which scheduler serves this program best while it is used?";
/// What `--scheduler` calls the scheduler of the kernel that runs.
const KERNEL: &str = "kernel";
/// Blocks, unless a claim needs more.
const BLOCKS: u32 = 10;
/// Complete blocks without which there is no answer.
const BLOCKS_LEAST: usize = 2;
/// The beginning of each stretch: frames of the switch itself.
const LEFT_OUT: Duration = Duration::from_secs(1);
/// What players read, the most important first.
const HEADLINE: [&str; 5] = [
    "one_percent_low_fps program",
    "tenth_percent_low_fps program",
    "frame_time_ns.p99 program",
    "stutter_ratio program",
    "iterations_per_second program",
];

#[derive(clap::Args)]
pub struct Args {
    /// A scheduler to compare; `kernel` is the kernel's own, which a single one is compared with
    #[arg(long = "scheduler", value_name = "SCHEDULER", required = true)]
    schedulers: Vec<String>,
    /// How long a scheduler runs at a time; the first second is left out
    #[arg(long, value_name = "TIME", default_value = "20s", value_parser = stretch)]
    stretch: Duration,
    /// Blocks; in each, every scheduler runs once, in random order [default: 10, or as many as a
    /// claim needs]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    blocks: Option<u32>,
    /// Begin this long after the first frame, when you play: 90s, 5m
    #[arg(long, value_name = "TIME", value_parser = times::parse)]
    after: Option<Duration>,
    /// The log of frames that the program writes in MangoHud's format, or the folder of its logs
    /// [default: MangoHud, which must be installed, is started around it]
    #[arg(long, value_name = "FILE")]
    frames: Option<PathBuf>,
    /// The only source of randomness: the order in the blocks
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Where the records go
    #[arg(long, value_name = "FILE", default_value = locations::STORE)]
    store: PathBuf,
    /// The program and its arguments, after `--`; it is started once and goes on afterwards
    #[arg(last = true, required = true, value_name = "PROGRAM")]
    program: Vec<OsString>,
}

fn stretch(text: &str) -> Result<Duration, String> {
    match times::parse(text)? {
        time if time >= LEFT_OUT * 2 => Ok(time),
        _ => Err("its first second is left out: write 2s or more".into()),
    }
}

/// Starts the program, switches schedulers under it, and says which one to use.
pub fn run(args: Args) -> Result<ExitCode> {
    args.refuse_unloadable(&host::this_machine()?)?;
    let planned = args.planned()?;
    prerequisites::check(&planned)?;
    let frames = Frames::find(args.frames.as_deref())?;
    output::tell(args.announced(&planned));
    let game = Game::start(&args.program, &frames)?;
    let mut stretches = Stretches::new(&args, game, &frames)?;
    stretches.await_frames(&frames)?;
    let ended = ui::watch(|hear| stretches.run(&planned, hear))?;
    drop(stretches);
    let Some(session) = ended.session else {
        ended.why.words().into_iter().for_each(output::tell);
        return Ok(ended.why.without_answer());
    };
    args.answer(planned, session, ended.why)
}

impl Args {
    /// Only the running kernel can run schedulers under a program, so no other place is proposed.
    fn refuse_unloadable(&self, host: &Host) -> Result<()> {
        if let SchedExt::Taken(_) = host.sched_ext {
            return Err(bad_input(format!("{}; stop it first", host.why_not_load())));
        }
        let is_loaded = |name: &&String| *name != KERNEL && !name.contains(':');
        let Some(name) = self.schedulers.iter().find(is_loaded) else { return Ok(()) };
        if host.can_load() {
            return Ok(());
        }
        let why = match host.sched_ext {
            SchedExt::Free => "only root may load schedulers: put sudo -E before it".to_owned(),
            _ => format!(
                "{}, which it needs; what runs here: --scheduler {KERNEL} and policies, such as \
                 policy:batch",
                host.why_not_load()
            ),
        };
        Err(bad_input(format!("--scheduler {name}: {why}")))
    }

    fn planned(&self) -> Result<PlannedExperiment> {
        let own = host::running_kernel().option();
        let alone = (self.schedulers.len() == 1).then(|| own.clone());
        let named = |option: &String| if option == KERNEL { own.clone() } else { option.clone() };
        let words = self.program.iter().map(|word| command_line::quoted(&word.to_string_lossy()));
        let overrides = Overrides {
            on: vec![Backend::Live],
            schedulers: alone.into_iter().chain(self.schedulers.iter().map(named)).collect(),
            commands: vec![words.collect::<Vec<_>>().join(" ")],
            blocks: Some(1),
            no_probes: true,
            ..Overrides::default()
        };
        let mut planned = PlannedExperiment::read(None, &overrides, Seed(self.seed))?;
        let experiment = &mut planned.experiment;
        (experiment.name, experiment.question) = (NAME.into(), QUESTION.into());
        let workload = &mut experiment.workloads[0];
        workload.about = format!("frames of {}, while somebody used it", workload.name);
        workload.headline = HEADLINE.map(str::to_owned).to_vec();
        workload.duration_us = Some(self.stretch.as_micros() as u64);
        let aim = aim(&workload.name);
        let running: Vec<&Contestant> = running(&planned.trials);
        running.iter().try_for_each(|contestant| refuse_real_time(contestant))?;
        if running.len() < 2 {
            return Err(bad_input(format!("nothing to compare: {}", planned.notes.join("; "))));
        }
        let is_own = |it: &&&Contestant| it.scheduler == SchedulerChoice::Kernel;
        let now = running.iter().find(is_own).unwrap_or(&running[0]).name.clone();
        let needed = blocks_needed(running.len() - 1);
        planned.experiment.baseline = now.clone();
        planned.experiment.design.aims = vec![aim];
        planned.experiment.design.in_use = vec![now];
        Ok(planned.with_blocks(self.blocks.unwrap_or(BLOCKS.max(needed))))
    }

    /// What will happen, and how long it takes.
    fn announced(&self, planned: &PlannedExperiment) -> String {
        let (trials, blocks) = (planned.trials.len() as u32, planned.experiment.blocks);
        let time = times::words(self.stretch * trials + self.after.unwrap_or_default());
        format!(
            "seed {}: {blocks} blocks of {} stretches of {}, about {time} from the first frame on; \
             use the program as ever. Ctrl-C ends it with what the complete blocks say",
            self.seed,
            trials / blocks,
            times::words(self.stretch),
        )
    }

    /// Prints the table and the recommendation of the complete blocks.
    fn answer(&self, planned: PlannedExperiment, session: i64, why: End) -> Result<ExitCode> {
        let mut selected = Selection::session(&self.store, session).open()?;
        let contestants = running(&planned.trials).len();
        let blocks = keep_complete_blocks(&mut selected.records, contestants);
        let (wanted, store) = (planned.experiment.blocks, self.store.display());
        if let Some(how) = why.words() {
            output::tell(format_args!("{how} after {blocks} of {wanted} blocks"));
        }
        if blocks < BLOCKS_LEAST {
            output::tell(format_args!(
                "no answer: it needs {BLOCKS_LEAST} complete blocks. records: {store}"
            ));
            return Ok(why.without_answer());
        }
        let compared = selected.compare(None)?;
        output::print(&report::terminal::table(&compared, None, output::colour()))?;
        let advice = selected.advice()?;
        let Some(advised) = advice.first() else { return Ok(why.without_answer()) };
        let host = host::this_machine()?;
        let design = &planned.experiment.design;
        let (aims, in_use) = (design.aims.clone(), design.in_use.clone());
        let race = Race { planned, aims, in_use };
        let quoted = command_line::quoted(&store.to_string());
        let report = format!("fairground report {NAME} --store {quoted} -o {NAME}.html");
        let setting = RecommendationContext {
            measured: self.measured(blocks, &host.release, &advised.advice),
            notes: Vec::new(),
            commands: vec![("The full report".into(), report)],
            switch: told::switches(&race, &advised.advice, &host),
        };
        output::print(&format!("\n{}", recommendation_text::recommendation(advised, &setting)))?;
        comparison::misbehaviours(&selected.records).iter().for_each(output::tell);
        Ok(exit::of_records(&selected.records))
    }

    fn measured(&self, blocks: usize, release: &str, advice: &Advice) -> Vec<String> {
        let first = format!(
            "{blocks} blocks on this kernel, Linux {release}, in the order of seed {}; stretches \
             of {} without their first second.",
            self.seed,
            times::words(self.stretch),
        );
        let scenes = "What a player does differs from stretch to stretch: that widens the \
                      intervals, and favours no scheduler.";
        let more = "More blocks, or the same scene all the time, show smaller differences.";
        let keeps = matches!(advice, Advice::Keep(_) | Advice::Silent(_));
        [first, scenes.into()].into_iter().chain(keeps.then(|| more.into())).collect()
    }
}

/// The contestants that have trials, in the order of the first block.
fn running(trials: &[model::Trial]) -> Vec<&Contestant> {
    let first = trials.iter().filter(|trial| trial.block == 0);
    first.map(|trial| &*trial.contestant).collect()
}

/// A game has threads of real time already, which must keep what they have.
fn refuse_real_time(contestant: &Contestant) -> Result<()> {
    let SchedulerChoice::Policy { policy } = &contestant.scheduler else { return Ok(()) };
    match policy.class {
        PolicyClass::Other | PolicyClass::Batch | PolicyClass::Idle => Ok(()),
        PolicyClass::Fifo | PolicyClass::Rr | PolicyClass::Deadline => Err(bad_input(format!(
            "--scheduler {}: a program that is used gets no policy of real time; write \
             policy:other, policy:batch or policy:idle",
            contestant.name
        ))),
    }
}

/// The 1 % low decides. The margins are those of the care `games`.
fn aim(cell: &str) -> Aim {
    let watched = |measure: &str, words: &str, percent, least| Watched {
        cell: cell.to_owned(),
        measure: measure.parse::<MeasureKey>().expect("a measure of this program"),
        words: words.to_owned(),
        percent,
        least,
        model_error: None,
    };
    Aim {
        name: "frames".into(),
        decides: watched(HEADLINE[0], "the 1 % low", 10.0, 0.0),
        keeps: vec![
            watched(HEADLINE[3], "the fraction of its frames that stutter", 10.0, 0.01),
            watched(HEADLINE[4], "its frame rate", 10.0, 0.0),
        ],
    }
}

/// Keeps the records of blocks in which every contestant has run; their number.
fn keep_complete_blocks(records: &mut Vec<Record>, contestants: usize) -> usize {
    let blocks: Vec<u32> = records.iter().map(|record| record.trial.block).collect();
    let is_complete = |block| blocks.iter().filter(|of| **of == block).count() == contestants;
    records.retain(|record| is_complete(record.trial.block));
    records.len() / contestants
}
