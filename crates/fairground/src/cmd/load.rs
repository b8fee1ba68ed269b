// SPDX-License-Identifier: GPL-2.0-only
//! `fairground load SCHEDULER`: a scheduler's file on this machine's kernel, until Ctrl-C.

use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::thread::sleep;
use std::time::Duration;

use anyhow::Result;
use live::facts::active;
use live::loader::{self, ExitInfo, LoadError};
use model::SchedulerChoice;

use crate::advice::commands::{by_loader, of_program};
use crate::execution::{interrupt, objects};
use crate::exit::{self, bad_input};
use crate::output;
use crate::planned_experiment::contestant;

/// How often this looks whether the scheduler is still loaded.
const LOOK: Duration = Duration::from_millis(100);

#[derive(clap::Args)]
pub struct Args {
    /// The scheduler, with its knobs: NAME, FILE.bpf.c, NAME knob=value
    #[arg(required = true)]
    scheduler: Vec<String>,
}

/// Loads the scheduler with the loader that trials use, and holds it. Exit code 1 if the kernel
/// refuses or ejects it.
pub fn run(args: Args) -> Result<ExitCode> {
    let option = args.scheduler.join(" ");
    let (contestant, sources) = contestant(&option)?;
    let SchedulerChoice::File { file, sha256, .. } = &contestant.scheduler else {
        if let SchedulerChoice::Program { command, .. } = &contestant.scheduler {
            let program = of_program(command);
            let lines = by_loader(command).into_iter().map(|line| format!("\n{line}"));
            return Err(bad_input(format!(
                "{option} is a program, which loads itself: start it by `sudo {program}`{}",
                lines.collect::<String>()
            )));
        }
        return Err(bad_input(format!(
            "{option}: only a scheduler's file can be loaded; `fairground list schedulers` shows \
             the files"
        )));
    };
    let compiled = objects::object(file, sha256, &sources)?;
    let before = active();
    if before.sched_ext_state == "enabled" {
        return Err(bad_input(format!(
            "the sched_ext scheduler `{}` is running; stop it first",
            before.sched_ext_ops
        )));
    }
    let stop = interrupt::flag()?;
    let loaded = match loader::load(&compiled, &contestant.scheduler.values()) {
        Ok(loaded) => loaded,
        Err(error) => return refused(&contestant.name, error),
    };
    loaded.notes().iter().for_each(output::tell);
    output::tell(format_args!("{} schedules now; Ctrl-C stops it", loaded.ops_name()));
    while !stop.load(Ordering::SeqCst) && active().sched_ext_ops == loaded.ops_name() {
        sleep(LOOK);
    }
    let ejected = !stop.load(Ordering::SeqCst);
    let exit = loaded.unload();
    let reason = match exit.filter(|exit| ejected && !exit.was_asked_for()) {
        None if ejected => "it is not active any more".into(),
        None => {
            output::tell(format_args!("{} schedules again", active().fair));
            return Ok(ExitCode::SUCCESS);
        }
        Some(ExitInfo { reason, message, .. }) => format!("{reason} {message}"),
    };
    let now = active().fair;
    output::tell(format_args!("the kernel ejected it: {}; {now} schedules again", reason.trim()));
    Ok(ExitCode::from(exit::MISBEHAVED))
}

fn refused(name: &str, error: LoadError) -> Result<ExitCode> {
    if error.unsupported {
        return Err(bad_input(format!("{name}: {}", error.message)));
    }
    output::tell(format_args!("{name}: {}", error.message));
    error.verifier_tail.iter().for_each(output::tell);
    Ok(ExitCode::from(exit::MISBEHAVED))
}
