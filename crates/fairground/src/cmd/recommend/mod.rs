// SPDX-License-Identifier: GPL-2.0-only
//! `fairground recommend`: what a user cares about → which scheduler to use, with the evidence, or
//! that it makes no measurable difference. The simulator predicts, then a kernel decides.

mod asked;

use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use model::Backend;

use crate::advice::{ask, host};
use crate::exit::{self, bad_input};
use crate::measure::RunOptions;
use crate::times;
use asked::Asked;

#[derive(clap::Args)]
pub struct Args {
    /// Words without an option, for an error that shows the option.
    #[arg(hide = true)]
    words: Vec<String>,
    /// What matters to you, the most important first: see `list cares`; FILE.toml for one of your
    /// own
    #[arg(long = "care", value_name = "NAME", value_delimiter = ',')]
    cares: Vec<String>,
    /// Judge by this workload of yours, with a care or alone: NAME, FILE, 'NAME parameter=value';
    /// its headline measure decides
    #[arg(long = "workload", value_name = "WORKLOAD")]
    workloads: Vec<String>,
    /// Where to run all [default: all in the simulator, then the best on a kernel: live if
    /// schedulers can be loaded here, else vm]
    #[arg(long, value_parser = spec::backend_parser(), value_name = "BACKEND")]
    on: Option<Backend>,
    /// The machine that it is for, instead of this one: NAME or FILE; in virtual machines without
    /// KVM it is one CPU in virtual time
    #[arg(long, value_name = "MACHINE")]
    machine: Option<String>,
    /// The kernel whose scheduler is in use, if it is not the one that runs here: 6.12
    #[arg(long, value_name = "VERSION")]
    kernel: Option<String>,
    /// Consider these instead of those that the cares name
    #[arg(long = "scheduler", value_name = "SCHEDULER")]
    schedulers: Vec<String>,
    /// How long it may take: 90s, 10m, 2h [default: 15m on kernels, 3m in the simulator alone]
    #[arg(long, value_name = "TIME", value_parser = times::parse)]
    budget: Option<Duration>,
    /// The only source of randomness
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    execution: RunOptions,
    /// Ask nothing, and use defaults for what no option says
    #[arg(long)]
    yes: bool,
}

/// Asks for what no option says, runs the race or both races, and says which scheduler to use.
pub fn run(args: Args) -> Result<ExitCode> {
    if let Some(word) = args.words.first() {
        return Err(bad_input(format!(
            "{word}: what matters is named by an option: --care {word}"
        )));
    }
    let mut host = host::this_machine()?;
    args.on.map_or(Ok(()), |on| host.check(on))?;
    if let Some(kernel) = &args.kernel {
        if args.on == Some(Backend::Live) {
            return Err(bad_input("--kernel: --on live asks the kernel that runs; leave one out"));
        }
        host = host.with_kernel(kernel)?;
    }
    let Args { cares, workloads, .. } = &args;
    let is_asked = workloads.is_empty() && !args.yes;
    let names = if cares.is_empty() && !workloads.is_empty() {
        Vec::new()
    } else {
        ask::care_names(cares, is_asked)?
    };
    let asked = Asked { args: &args, host: &host, cares: names };
    match args.on {
        Some(on) if on.is_model() => asked.in_simulator(),
        Some(on) => asked.on_kernel(on),
        None => asked.in_both(),
    }
    .map(|ended| ended.map_or_else(exit::interrupted, |answer| exit::of_records(&answer.records)))
}
