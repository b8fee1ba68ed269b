// SPDX-License-Identifier: GPL-2.0-only
//! Original against file: expectations that a test of originals and a test of our files share on
//! one backend, and answer differently.
//!
//! Contestants of the two have different names. They play the same part if the file is the one that
//! the kernel's definition names, whatever its era. What others are compared with, a kernel without
//! patches or the file of its scheduler, is one part too.

use std::collections::BTreeMap;
use std::path::Path;

use model::claim::Place;
use model::{Contestant, Expectation, Record, SchedulerChoice};
use report::replication::{At, Contrary, Tested};
use spec::contestant::kernel_name;

use super::answers::Answers;
use super::choose::Session;

/// The part of the schedulers that have no patch.
const BASE: &str = "base";

/// What each contestant of an experiment stands for.
type Parts = BTreeMap<String, String>;

/// Each expectation of a test of originals, with the first of our files' that asks the same, if
/// both have numbers and other verdicts.
pub fn all(tests: &[Tested], answers: &Answers) -> Vec<Contrary> {
    let parts: Vec<Parts> = tests.iter().map(|tested| parts(tested, answers)).collect();
    let mut found = Vec::new();
    for (original, tested) in each(tests).filter(|(at, _)| tests[at.test].test.originals) {
        let is_file = |at: &At| {
            let test = &tests[at.test].test;
            !test.originals && test.on == tests[original.test].test.on
        };
        let asked = question(tested, &parts[original.test]);
        let same = |(at, other): &(At, &Expectation)| {
            is_file(at) && asked.is_some() && question(other, &parts[at.test]) == asked
        };
        let Some((file, _)) = each(tests).find(same) else { continue };
        let [ours, theirs] = [original, file].map(|at| tests[at.test].expect[at.expect].verdict);
        if ours.has_data() && theirs.has_data() && ours != theirs {
            found.push(Contrary { original, file });
        }
    }
    found
}

/// The expectations of all tests that were measured.
fn each(tests: &[Tested]) -> impl Iterator<Item = (At, &Expectation)> {
    tests.iter().enumerate().flat_map(|(test, tested)| {
        let pairs = tested.test.expect.iter().zip(&tested.expect);
        pairs.enumerate().map(move |(expect, (demand, _))| (At { test, expect }, demand))
    })
}

/// An expectation with parts instead of contestants; `None` if one has none.
fn question(expectation: &Expectation, parts: &Parts) -> Option<Expectation> {
    let part = |Place { contestant, .. }: Place<'_>| parts.get(contestant).cloned();
    Some(Expectation {
        of: part(expectation.place())?,
        over: expectation.other().map(part).map_or(Some(None), |part| part.map(Some))?,
        says: None,
        ..expectation.clone()
    })
}

/// The parts of a test's contestants. Of several that are the same file with other knobs, the one
/// with the fewest has the part.
fn parts(tested: &Tested, answers: &Answers) -> Parts {
    let Some(experiment) = tested.test.experiment.clone() else { return Parts::new() };
    let session = Session { on: tested.test.on, experiment };
    let Some(Ok((_, records))) = answers.sessions.get(&session) else { return Parts::new() };
    let mut plainest: BTreeMap<String, &Contestant> = BTreeMap::new();
    for Record { trial, .. } in records {
        let Some(part) = part(&trial.contestant) else { continue };
        let known = plainest.entry(part).or_insert(&trial.contestant);
        if knobs(&trial.contestant) < knobs(known) {
            *known = &trial.contestant;
        }
    }
    plainest.into_iter().map(|(part, contestant)| (contestant.name.clone(), part)).collect()
}

fn knobs(contestant: &Contestant) -> usize {
    match &contestant.scheduler {
        SchedulerChoice::File { knobs, .. } => knobs.len(),
        _ => 0,
    }
}

/// The scheduler's file, or that of which the kernel is the original.
fn part(contestant: &Contestant) -> Option<String> {
    let scheduler = match (&contestant.scheduler, &contestant.kernel) {
        (SchedulerChoice::File { file, .. }, _) => {
            let name = Path::new(file).file_name()?.to_string_lossy();
            name.split('.').next()?.to_owned()
        }
        (SchedulerChoice::Kernel, Some(kernel)) => {
            match vm::kernels::build::definition::read(kernel) {
                Ok(definition) => definition.original_of.split(' ').next()?.to_owned(),
                Err(_) => kernel_name(kernel).split('-').next()?.to_owned(),
            }
        }
        _ => return None,
    };
    Some(if matches!(scheduler.as_str(), "cfs" | "eevdf") { BASE.into() } else { scheduler })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(pairs: &[(&str, &str)]) -> Parts {
        pairs.iter().map(|(name, part)| ((*name).into(), (*part).into())).collect()
    }

    fn expectation(of: &str, over: &str) -> Expectation {
        let size = Some(vec![1.01, 5.0]);
        Expectation { over: Some(over.into()), size, ..Expectation::more("completion_ns all", of) }
    }

    #[test]
    fn a_question_is_the_same_whoever_plays_the_parts() {
        let original = parts(&[("muqss-5.10", "muqss"), ("base-5.10", BASE)]);
        let file = parts(&[("muqss", "muqss"), ("cfs era=51100", BASE)]);
        let asked = question(&expectation("muqss-5.10", "base-5.10"), &original);
        assert!(asked.is_some());
        assert_eq!(asked, question(&expectation("muqss", "cfs era=51100"), &file));
        let reversed = question(&expectation("cfs era=51100", "muqss"), &file);
        assert!(reversed.is_some() && reversed != asked, "the other way round is another question");
        let size = Some(vec![1.5, 5.0]);
        let larger = Expectation { size, ..expectation("muqss", "cfs era=51100") };
        assert_ne!(question(&larger, &file), asked, "another rule is another question");
        assert_eq!(question(&expectation("muqss rr_interval_ms=2", "muqss"), &file), None);
    }

    #[test]
    fn kernels_play_the_parts_of_the_files_that_were_written_after_them() {
        let of = |kernel: &str| {
            let scheduler = SchedulerChoice::Kernel;
            part(&Contestant { name: "x".into(), kernel: Some(kernel.into()), scheduler })
        };
        assert_eq!(of("bmq").as_deref(), Some("bmq"));
        assert_eq!(of("bore-5.9.6").as_deref(), Some("bore"));
        assert_eq!(of("base-6.12").as_deref(), Some(BASE));
        assert_eq!(of("6.1").as_deref(), Some(BASE));
    }
}
