// SPDX-License-Identifier: GPL-2.0-only
//! From tapes to what groups do on average: how long they compute at a time, what they sleep for,
//! whom they wake. No time or number of a single task is left.

use model::tape::GroupModel;
use model::{Beat, Tape};

/// The most values that stand for a distribution.
const VALUES_MAX: usize = 32;

/// What one group's tasks did.
#[derive(Default)]
struct Seen {
    bursts_ns: Vec<u64>,
    timers_ns: Vec<u64>,
    delays_ns: Vec<u64>,
    waits: u64,
    begins_computing: u32,
}

/// Describes the groups; `groups` are the names and counts of those that play the tapes, in order.
pub fn groups(tapes: &[Tape], groups: &[(String, u32)]) -> Vec<GroupModel> {
    let graph = crate::graph::of(tapes, groups);
    let mut rest = tapes;
    let mut models = Vec::with_capacity(groups.len());
    for (name, count) in groups {
        let (own, others) = rest.split_at((*count as usize).min(rest.len()));
        rest = others;
        let mut seen = Seen::default();
        own.iter().for_each(|tape| seen.tape(tape));
        let wakes = graph.edges.iter().filter(|edge| edge.from == *name);
        models.push(GroupModel {
            name: name.clone(),
            begins_computing: seen.begins_computing,
            bursts: seen.bursts_ns.len() as u64,
            burst_ns: values(seen.bursts_ns),
            waits: seen.waits,
            timers: seen.timers_ns.len() as u64,
            timer_ns: values(seen.timers_ns),
            delays: seen.delays_ns.len() as u64,
            delay_ns: values(seen.delays_ns),
            wakes: wakes.map(|edge| (edge.to.clone(), edge.wakes)).collect(),
        });
    }
    models
}

impl Seen {
    fn tape(&mut self, tape: &Tape) {
        let (mut burst_ns, mut timer_ns) = (0_u64, 0);
        let asleep = tape.beats.iter().position(|beat| beat.is_sleep());
        self.begins_computing += u32::from(asleep != Some(0));
        for (place, beat) in tape.beats.iter().enumerate() {
            match *beat {
                Beat::Run(ns) => {
                    burst_ns = ns.saturating_add(burst_ns);
                    continue;
                }
                Beat::Post(..) | Beat::Fork(_) | Beat::Take(..) => continue,
                Beat::Nice(_) | Beat::Yield => continue,
                Beat::Wait(..) | Beat::Receive(..) => self.waits += 1,
                Beat::Sleep(ns) => self.delays_ns.push(ns),
                Beat::Until(ns) => {
                    self.timers_ns.push(ns.saturating_sub(timer_ns));
                    timer_ns = ns;
                }
            }
            if place > 0 {
                self.bursts_ns.push(std::mem::take(&mut burst_ns));
            }
        }
        if burst_ns > 0 {
            self.bursts_ns.push(burst_ns);
        }
    }
}

/// At most [`VALUES_MAX`] values that are equally likely and have the mean of all: each is the mean
/// of a part of the sorted ones.
fn values(mut all: Vec<u64>) -> Vec<u64> {
    all.sort_unstable();
    let parts = all.len().min(VALUES_MAX);
    let part = |index: usize| {
        let part = &all[index * all.len() / parts..(index + 1) * all.len() / parts];
        let sum: u128 = part.iter().map(|value| u128::from(*value)).sum();
        (sum / part.len() as u128) as u64
    };
    (0..parts).map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_distribution_keeps_its_mean_and_its_ends() {
        assert_eq!(values(vec![3, 1, 2]), [1, 2, 3]);
        let many = values((0..3200).rev().collect());
        assert_eq!((many.len(), many[0], many[31]), (32, 49, 3149));
        assert!(values(Vec::new()).is_empty());
    }

    #[test]
    fn a_group_is_what_its_tasks_do_on_average() {
        let text = "task 1 a\nr10 p1 r5 u100 r20 p1 u300\ntask 2 b\nw0 r7 s9 w0 r3";
        let tapes = model::tape::read(text).expect("tapes");
        let models = groups(&tapes, &[("a".into(), 1), ("b".into(), 1)]);
        let (a, b) = (&models[0], &models[1]);
        assert_eq!((a.begins_computing, a.bursts, a.timers, a.waits), (1, 2, 2, 0));
        assert_eq!(
            (a.burst_ns.as_slice(), a.timer_ns.as_slice()),
            (&[15, 20][..], &[100, 200][..])
        );
        assert_eq!(a.wakes.get("b"), Some(&2));
        assert_eq!((b.begins_computing, b.bursts, b.waits, b.delays), (0, 3, 2, 1));
        assert_eq!(b.burst_ns, [0, 3, 7]);
    }
}
