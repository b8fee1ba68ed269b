// SPDX-License-Identifier: GPL-2.0-only
//! Whether a prediction is a close call: the same race on neighbouring machines and with
//! neighbouring loads, in the simulator, with as few blocks as can show a difference.

use anyhow::Result;
use model::{Machine, Step};
use stats::decide::recommend::Advice;

use super::host::Host;
use super::race::{Race, Wish};
use crate::measure::in_own_store;
use spec::machine;

/// How much shorter and longer the jobs of a neighbouring load are.
const JOBS_PERCENT: u64 = 20;

/// A race that differs a little from another one.
struct Neighbour {
    /// `with 3 CPUs`.
    words: String,
    wish: Wish,
    change: Change,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Change {
    Nothing,
    /// All jobs take this many percent of their time.
    Jobs(u64),
    /// The tasks stand in the reverse order.
    Order,
}

/// What the neighbours say of a choice.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stability {
    /// The neighbours that make the same choice, in words.
    pub same: Vec<String>,
    /// Those that choose otherwise, with their choice; `None`: the scheduler in use stays.
    pub other: Vec<(String, Option<String>)>,
}

/// Runs the neighbours of a race; `None` when the user has interrupted it.
pub fn stability(
    wish: &Wish,
    host: &Host,
    advice: &Advice,
    jobs: Option<usize>,
) -> Result<Option<Stability>> {
    let mut stability = Stability::default();
    for neighbour in neighbours(wish) {
        // A load can be impossible on fewer CPUs.
        let Ok(race) = neighbour.race(host) else { continue };
        let Some(theirs) = advice_of(&race, jobs)? else { return Ok(None) };
        stability.add(neighbour.words, advice, &theirs);
    }
    Ok(Some(stability))
}

fn neighbours(wish: &Wish) -> Vec<Neighbour> {
    let changed = |words: String, wish: Wish, change| Neighbour { words, wish, change };
    let smt = wish.machine.smt.max(1);
    let mut all = Vec::new();
    for cpus in [wish.machine.cpus.saturating_sub(smt), wish.machine.cpus + smt] {
        let noun = if cpus == 1 { "CPU" } else { "CPUs" };
        all.extend(with_cpus(&wish.machine, cpus).map(|machine| {
            changed(
                format!("with {cpus} {noun}"),
                Wish { machine, ..wish.clone() },
                Change::Nothing,
            )
        }));
    }
    let jobs = [(100 - JOBS_PERCENT, "shorter"), (100 + JOBS_PERCENT, "longer")];
    all.extend(jobs.map(|(percent, word)| {
        let words = format!("with jobs {JOBS_PERCENT} % {word}");
        changed(words, wish.clone(), Change::Jobs(percent))
    }));
    let reordered = Wish { seed: wish.seed.wrapping_add(1), ..wish.clone() };
    let words = "with other arrivals and the tasks in reverse order".into();
    all.push(changed(words, reordered, Change::Order));
    all
}

/// The machine with another number of CPUs; `None` where no such machine is alike.
fn with_cpus(like: &Machine, cpus: u32) -> Option<Machine> {
    if cpus == 0 || !like.capacity.is_empty() {
        return None;
    }
    let same = Machine { cpus, ..like.clone() };
    let flat = Machine { llcs: 1, nodes: 1, ..same.clone() };
    [same, flat].into_iter().find(machine::divides)
}

impl Neighbour {
    fn race(&self, host: &Host) -> Result<Race> {
        let mut race = self.wish.race(host)?;
        let before = race.planned.experiment.workloads.clone();
        for workload in &mut race.planned.experiment.workloads {
            match self.change {
                Change::Nothing => {}
                Change::Order => workload.tasks.reverse(),
                Change::Jobs(percent) => {
                    workload.tasks.iter_mut().for_each(|group| scale(&mut group.steps, percent));
                }
            }
        }
        let is_same = before == race.planned.experiment.workloads;
        if is_same && matches!(self.change, Change::Jobs(_)) {
            anyhow::bail!("its tasks have no jobs of a given length");
        }
        race.planned = race.planned.replanned();
        Ok(race)
    }
}

fn scale(steps: &mut [Step], percent: u64) {
    let scaled = |us: &mut u64| *us = (*us * percent / 100).max(1);
    for step in steps {
        match step {
            Step::RunUs(us) | Step::RunUntilUs(us) => scaled(us),
            Step::RunBetweenUs { least, most } => [least, most].into_iter().for_each(scaled),
            Step::Loop { steps, .. } | Step::Within { steps, .. } => scale(steps, percent),
            _ => {}
        }
    }
}

/// Runs a race in a store of its own; `None` when the user has interrupted it.
fn advice_of(race: &Race, jobs: Option<usize>) -> Result<Option<Advice>> {
    let planned = race.planned.clone().with_blocks(race.limits().0);
    let Some(selected) = in_own_store(planned, jobs)? else { return Ok(None) };
    let judged = selected.advice()?;
    Ok(judged.into_iter().next().map(|recommendation| recommendation.advice))
}

impl Stability {
    fn add(&mut self, words: String, advice: &Advice, theirs: &Advice) {
        match (chosen(advice), theirs) {
            (_, Advice::Silent(_)) => {}
            (Some(choice), Advice::Switch(names)) if names.iter().any(|name| name == choice) => {
                self.same.push(words);
            }
            (None, Advice::Keep(_)) => self.same.push(words),
            _ => self.other.push((words, chosen(theirs).map(str::to_owned))),
        }
    }

    /// Whether the choice holds, in a sentence.
    pub fn words(&self) -> String {
        let same = self.same.join(", ");
        let choice = |choice: &Option<String>| match choice {
            Some(name) => format!("{name} would be chosen"),
            None => "the scheduler in use would stay".into(),
        };
        let other = self.other.iter().map(|(words, name)| format!("{words} {}", choice(name)));
        let other = other.collect::<Vec<_>>().join("; ");
        match (self.other.is_empty(), same.is_empty()) {
            (true, true) => "no neighbouring machine or load can be raced on".into(),
            (true, false) => format!("the choice is the same {same}"),
            (false, true) => format!("a close call: {other}"),
            (false, false) => format!("a close call: {other}. It is the same {same}"),
        }
    }
}

/// The scheduler that is to be used; `None`: the one in use stays.
pub fn chosen(advice: &Advice) -> Option<&str> {
    match advice {
        Advice::Switch(names) => names.first().map(String::as_str),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use stats::decide::recommend::Reason;

    fn switch(names: &[&str]) -> Advice {
        Advice::Switch(names.iter().map(|name| (*name).to_owned()).collect())
    }

    #[test]
    fn a_choice_is_close_where_a_neighbour_does_not_have_it_among_its_own() {
        let mut stable = Stability::default();
        stable.add("with 1 CPU".into(), &switch(&["bmq"]), &switch(&["tt", "bmq"]));
        assert_eq!(stable.words(), "the choice is the same with 1 CPU");
        stable.add("with 3 CPUs".into(), &switch(&["bmq", "tt"]), &switch(&["tt"]));
        stable.add("later".into(), &switch(&["bmq"]), &Advice::Keep(Reason::NobodyBetter));
        assert_eq!(
            stable.words(),
            "a close call: with 3 CPUs tt would be chosen; later the scheduler in use would stay. \
             It is the same with 1 CPU"
        );
        let mut kept = Stability::default();
        let keep = Advice::Keep(Reason::NoDifference);
        kept.add("a".into(), &keep, &Advice::Keep(Reason::TooLittle));
        kept.add("b".into(), &keep, &switch(&["tt"]));
        assert_eq!((kept.same.len(), kept.other.len()), (1, 1));
    }

    #[test]
    fn a_neighbour_has_one_core_more_or_less() {
        let machine = Machine { cpus: 8, smt: 2, llcs: 2, nodes: 2, ..Machine::default() };
        let cpus = |machine: Option<Machine>| machine.map(|m| (m.cpus, m.smt, m.llcs, m.nodes));
        assert_eq!(cpus(with_cpus(&machine, 6)), Some((6, 2, 1, 1)));
        assert_eq!(cpus(with_cpus(&machine, 12)), Some((12, 2, 2, 2)));
        assert_eq!(cpus(with_cpus(&machine, 0)), None);
        let unequal = Machine { capacity: vec![512; 8], ..machine };
        assert_eq!(cpus(with_cpus(&unequal, 6)), None);
    }

    #[test]
    fn jobs_are_scaled_wherever_they_are() {
        let mut steps =
            vec![Step::RunUs(1_000), Step::Loop { count: 2, steps: vec![Step::RunUs(3)] }];
        steps.push(Step::RunBetweenUs { least: 100, most: 200 });
        scale(&mut steps, 80);
        let inner = vec![Step::RunUs(2)];
        let between = Step::RunBetweenUs { least: 80, most: 160 };
        assert_eq!(steps, [Step::RunUs(800), Step::Loop { count: 2, steps: inner }, between]);
    }
}
