// SPDX-License-Identifier: GPL-2.0-only
//! What an answer says besides its numbers: where they were measured, how far they can be trusted,
//! and what its words mean.

use std::collections::BTreeMap;

use model::{Backend, Clock, Contestant, Machine, SchedulerChoice, Step, TaskGroup, Workload};
use spec::care::Care;
use stats::Recommendation;
use stats::decide::recommend::Advice;

use super::host::Host;
use super::race::Race;
use super::{commands, in_use};

/// Where a race was run.
pub struct Place {
    pub backend: Backend,
    pub blocks: u32,
    /// Why not on this kernel and this machine, if the user did not choose.
    pub because: Option<String>,
    /// See [`super::in_use::InUse::stands_for`].
    pub stands_for: String,
}

impl Place {
    /// What was measured and where, and how far it can be trusted.
    pub fn measured(&self, race: &Race, host: &Host) -> Vec<String> {
        let experiment = &race.planned.experiment;
        let (machine, release) = (Host::words(&experiment.machines[0]), &host.release);
        let because =
            self.because.as_ref().map(|why| format!(", because {why}")).unwrap_or_default();
        let blocks = self.blocks;
        let first = if self.backend.uses_running_kernel() {
            format!("{blocks} blocks on this kernel, Linux {release}.")
        } else if self.backend.boots_kernels() {
            format!(
                "{blocks} blocks on kernels of their own in virtual machines, not on Linux \
                 {release}{because}; {machine}."
            )
        } else {
            format!("{blocks} blocks in {}{because}; {machine}.", self.backend.noun())
        };
        let stands_for = Some(self.stands_for.clone()).filter(|words| !words.is_empty());
        let unequal = unequal_cpus(&experiment.machines[0]);
        let is_file = self.backend.is_model() && host.fair == "eevdf";
        let cpus = experiment.machines[0].cpus;
        let late = late_balancing(cpus, &experiment.workloads).filter(|_| is_file);
        let all = [Some(first), stands_for, self.caveat(race, host), unequal, late];
        all.into_iter().flatten().collect()
    }

    /// What a reader must know about numbers of this backend.
    fn caveat(&self, race: &Race, host: &Host) -> Option<String> {
        let machine = &race.planned.experiment.machines[0];
        match self.backend {
            on if on.is_model() => Some(
                "These are predictions by a model of such a machine. Differences below the \
                 simulator's error, where the evidence names it, count for nothing. Intervals say \
                 how much the answer depends on arrivals, not how wrong the model is."
                    .into(),
            ),
            on if on.clock(machine) == Clock::Virtual => Some(
                "A CPU takes 1 ns for each instruction. That is exact, and the same everywhere; \
                 but there are no caches. Intervals say how much the answer depends on arrivals."
                    .into(),
            ),
            on if on.uses_running_kernel() && !host.can_load() => Some(format!(
                "Schedulers that must be loaded were left out: {}.",
                host.why_not_load()
            )),
            _ => None,
        }
    }
}

/// What no scheduler file does on CPUs of different speeds: Linux has
/// `active_load_balance_cpu_stop`.
fn unequal_cpus(machine: &Machine) -> Option<String> {
    let first = machine.capacity.first()?;
    machine.capacity.iter().any(|capacity| capacity != first).then(|| {
        "The CPUs of this machine have different speeds. Linux moves a running task to a faster \
         CPU that idles; no scheduler file does, so a kernel's own scheduler may be better there \
         than here."
            .into()
    })
}

/// Where more tasks compute than there are CPUs: Linux waits until `runnable_avg` shows that a CPU
/// is overloaded, and a CPU that idles does not always pull. The sizes are measured, see
/// docs/src/method/advice.md.
fn late_balancing(cpus: u32, workloads: &[Workload]) -> Option<String> {
    let computes = |task: &&TaskGroup| {
        let runs = |step: &Step| matches!(step, Step::RunUs(_) | Step::RunBetweenUs { .. });
        task.repeat != Some(1) && !task.template && task.steps.iter().all(runs)
    };
    let is_crowded = |workload: &Workload| {
        let hogs = workload.tasks.iter().filter(computes);
        hogs.map(|task| task.count).sum::<u32>() > cpus
    };
    (cpus > 1 && workloads.iter().any(is_crowded)).then(|| {
        "Linux spreads tasks that compute without a pause over the CPUs 60 to 150 ms after they \
         begin; here it happens at once. On two CPUs a short task beside four of them waits up to \
         4.0 ms under EEVDF of 7.3, and up to 1.8 ms here."
            .into()
    })
}

/// The names in the answer's first sentence and the cares, each in a few words.
pub fn in_words(race: &Race, cares: &[Care], advised: &Recommendation, host: &Host) -> String {
    let chosen = match &advised.advice {
        Advice::Switch(names) => names.first(),
        _ => None,
    };
    let contestant = |name: &String| {
        race.planned.experiment.contestants.iter().find(|contestant| contestant.name == *name)
    };
    let (major, minor) = in_use::version(&host.release);
    let now = contestant(&advised.now).map(|now| {
        let is_file = matches!(now.scheduler, SchedulerChoice::File { .. });
        let fair = host.fair.to_uppercase();
        let what = match (is_file, &now.kernel) {
            (true, _) => format!("{fair} with the rules of Linux {major}.{minor}, as a file"),
            (false, Some(kernel)) => format!("the scheduler of Linux {kernel} itself"),
            (false, None) => "the kernel's own".into(),
        };
        format!("{} is what you use now: {what}", now.name)
    });
    let choice = chosen.and_then(contestant).and_then(title);
    let cares = cares.iter().map(|care| format!("{} is your care: {}", care.name, care.about));
    choice.into_iter().chain(now).chain(cares).collect::<Vec<_>>().join("; ")
}

/// `bmq is the BitMap Queue of Project C: strict levels with boosts`.
fn title(contestant: &Contestant) -> Option<String> {
    let SchedulerChoice::File { file, .. } = &contestant.scheduler else { return None };
    let source = compile::builtin().into_iter().find(|source| source.name == *file)?;
    let title = source.header.title.trim_end_matches('.');
    let title = title.strip_prefix("The ").map_or(title.to_owned(), |rest| format!("the {rest}"));
    Some(format!("{} is {title}", contestant.name))
}

/// How to switch to each scheduler that is recommended.
pub fn switches(race: &Race, advice: &Advice, host: &Host) -> BTreeMap<String, Vec<String>> {
    let Advice::Switch(names) = advice else { return BTreeMap::new() };
    let contestants = race.planned.experiment.contestants.iter();
    let wanted = contestants.filter(|contestant| names.contains(&contestant.name));
    wanted.map(|contestant| (contestant.name.clone(), commands::switch(contestant, host))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_tasks_crowd_the_cpus_it_says_that_linux_spreads_them_later() {
        let says = |cpus, hogs, steps: &[Step]| {
            let group = TaskGroup::once("hog", steps.to_vec());
            let tasks = vec![TaskGroup { count: hogs, repeat: None, ..group }];
            let workload = Workload { tasks, ..Workload::default() };
            late_balancing(cpus, &[workload]).is_some()
        };
        let run = Step::RunUs(1000);
        assert!(says(2, 4, std::slice::from_ref(&run)));
        assert!(!says(1, 4, std::slice::from_ref(&run)), "one CPU has nothing to spread");
        assert!(!says(2, 2, std::slice::from_ref(&run)), "each has a CPU");
        assert!(!says(2, 4, &[run, Step::SleepUs(10)]), "none computes without a pause");
    }
}
