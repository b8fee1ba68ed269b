// SPDX-License-Identifier: GPL-2.0-only
//! What tapes show before they are played: CPU times, wake-ups and the critical path:
//! the longest chain of computing and waiting that no timer interrupts.

use std::collections::{BTreeMap, VecDeque};

use model::tape::SemaphoreKey;
use model::{Tape, TapeOp};
use serde::Serialize;

/// A workload's groups as far as their tapes tell.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Graph {
    /// The groups in the workload's order.
    pub groups: Vec<GroupUse>,
    /// Wake-ups between groups, the most frequent first.
    pub edges: Vec<Edge>,
    /// The longest chain.
    pub path: Path,
}

/// What a group does.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct GroupUse {
    /// Its name.
    pub name: String,
    /// Its tasks.
    pub tasks: u32,
    /// The CPU time of all of them.
    pub cpu_ns: u64,
    /// Waits for other tasks, messages that had come before included.
    pub waits: u64,
    /// Sleeps that timers end.
    pub timers: u64,
    /// Sleeps that devices end.
    pub delays: u64,
}

/// Wake-ups of tasks of one group by those of another one, or of the same.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Edge {
    /// The wakers' group.
    pub from: String,
    /// The group of the woken.
    pub to: String,
    /// How often.
    pub wakes: u64,
}

/// The longest chain of tasks that compute and wait for each other, from the start or a timer on.
/// No number of CPUs makes it shorter.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Path {
    /// When the last task of all ends if no task ever waits for a CPU.
    pub end_ns: u64,
    /// How long the chain is.
    pub length_ns: u64,
    /// The timer that it begins with. 0: the common start.
    pub timer_ns: u64,
    /// The task that it ends with.
    pub last: String,
    /// What groups compute on the chain, most first.
    pub cpu_ns: Vec<(String, u64)>,
    /// Sleeps on the chain that devices end.
    pub delays_ns: u64,
    /// How often the chain goes from one task to another.
    pub handovers: u64,
    /// The wake-ups with which it does, by groups.
    pub edges: Vec<Edge>,
}

/// Reads tapes. `groups` are the names and counts of the groups that play them, in order.
pub fn of(tapes: &[Tape], groups: &[(String, u32)]) -> Graph {
    let names = groups.iter().zip(0..);
    let group_of: Vec<usize> =
        names.flat_map(|((_, count), group)| std::iter::repeat_n(group, *count as usize)).collect();
    let uses = uses(tapes, groups, &group_of);
    let edges = edges(tapes, groups, &group_of);
    Graph { groups: uses, edges, path: Forward::play(tapes).path(tapes, groups, &group_of) }
}

fn uses(tapes: &[Tape], groups: &[(String, u32)], group_of: &[usize]) -> Vec<GroupUse> {
    let named = |(name, tasks): &(String, u32)| GroupUse {
        name: name.clone(),
        tasks: *tasks,
        ..GroupUse::default()
    };
    let mut uses: Vec<GroupUse> = groups.iter().map(named).collect();
    for (tape, group) in tapes.iter().zip(group_of) {
        let group = &mut uses[*group];
        for op in &tape.ops {
            match *op {
                TapeOp::Run(ns) => group.cpu_ns = group.cpu_ns.saturating_add(ns),
                TapeOp::Wait(..) | TapeOp::Receive(..) => group.waits += 1,
                TapeOp::Until(_) => group.timers += 1,
                TapeOp::Sleep(_) => group.delays += 1,
                TapeOp::Post(..) | TapeOp::Fork(_) => {}
                TapeOp::Nice(_) | TapeOp::Yield => {}
            }
        }
    }
    uses
}

fn edges(tapes: &[Tape], groups: &[(String, u32)], group_of: &[usize]) -> Vec<Edge> {
    let mut wakes: BTreeMap<(usize, usize), u64> = BTreeMap::new();
    for (tape, to) in tapes.iter().zip(group_of) {
        for op in &tape.ops {
            if let Some(from) = op.waker() {
                *wakes.entry((group_of[from as usize], *to)).or_default() += 1;
            }
        }
    }
    named(wakes, groups)
}

/// Wake-ups by the places of groups as those by names, the most frequent first.
fn named(wakes: BTreeMap<(usize, usize), u64>, groups: &[(String, u32)]) -> Vec<Edge> {
    let name = |group: usize| groups[group].0.clone();
    let edge = |((from, to), wakes)| Edge { from: name(from), to: name(to), wakes };
    let mut edges: Vec<Edge> = wakes.into_iter().map(edge).collect();
    edges.sort_by_key(|edge| std::cmp::Reverse(edge.wakes));
    edges
}

/// An operation, by its tape and its place there.
type Place = (usize, usize);

/// What decided when a task went on after an operation.
#[derive(Clone, Copy, Default)]
enum Cause {
    /// The operation before.
    #[default]
    Itself,
    /// A post: it came after the task had begun to wait.
    Post(Place),
    /// A timer, for which it slept.
    Timer,
}

/// A time, and the begin of the chain that led to it.
#[derive(Clone, Copy, Default)]
struct Moment {
    ns: u64,
    began_ns: u64,
}

/// The tapes played with a CPU for each.
#[derive(Default)]
struct Forward {
    /// How far each tape is, and when the chain began that led there.
    at: Vec<Moment>,
    /// The end of the longest chain: its length, the tape, and the place after its last operation.
    longest: (u64, usize, usize),
    /// Only the operations whose cause is not the one before.
    causes: BTreeMap<Place, Cause>,
}

impl Forward {
    fn play(tapes: &[Tape]) -> Forward {
        let moments = vec![Moment::default(); tapes.len()];
        let mut forward = Forward { at: moments, ..Forward::default() };
        let mut posts: BTreeMap<SemaphoreKey, VecDeque<(Moment, Place)>> = BTreeMap::new();
        let mut at = vec![0; tapes.len()];
        let mut open: Vec<usize> = (0..tapes.len()).rev().collect();
        while let Some(own) = open.pop() {
            while let Some(op) = tapes[own].ops.get(at[own]) {
                if let Some(key) = op.posts_to(own as u32) {
                    let queue = posts.entry(key).or_default();
                    queue.push_back((forward.at[own], (own, at[own])));
                    let other = key.to as usize;
                    let next = tapes[other].ops.get(at[other]);
                    let waits_for = next.and_then(|op| op.waits_for(key.to));
                    if queue.len() == 1 && waits_for == Some(key) {
                        open.push(other);
                    }
                }
                if let Some(key) = op.waits_for(own as u32) {
                    let queue = posts.entry(key).or_default();
                    let Some((posted, post)) = queue.pop_front() else { break };
                    forward.not_before(own, at[own], posted, Cause::Post(post));
                }
                match *op {
                    TapeOp::Until(ns) => {
                        let timer = Moment { ns, began_ns: ns };
                        forward.not_before(own, at[own], timer, Cause::Timer);
                    }
                    TapeOp::Run(ns) | TapeOp::Sleep(ns) => forward.spend(own, at[own], ns),
                    _ => {}
                }
                at[own] += 1;
            }
        }
        forward
    }

    fn not_before(&mut self, tape: usize, place: usize, moment: Moment, cause: Cause) {
        if moment.ns > self.at[tape].ns {
            self.at[tape] = moment;
            self.causes.insert((tape, place), cause);
        }
    }

    fn spend(&mut self, tape: usize, place: usize, ns: u64) {
        let moment = &mut self.at[tape];
        moment.ns = moment.ns.saturating_add(ns);
        let length_ns = moment.ns - moment.began_ns;
        if length_ns > self.longest.0 {
            self.longest = (length_ns, tape, place + 1);
        }
    }

    /// The chain, from its end back to where it began.
    fn path(&self, tapes: &[Tape], groups: &[(String, u32)], group_of: &[usize]) -> Path {
        let (length_ns, mut own, mut place) = self.longest;
        let mut path = Path {
            end_ns: self.at.iter().map(|moment| moment.ns).max().unwrap_or(0),
            length_ns,
            last: tapes.get(own).map_or_else(String::new, |tape| tape.name.clone()),
            ..Path::default()
        };
        let (mut cpu_ns, mut wakes) = (vec![0; groups.len()], BTreeMap::new());
        while let Some(before) = place.checked_sub(1) {
            place = before;
            match (tapes[own].ops[place], self.causes.get(&(own, place))) {
                (_, Some(&Cause::Post((waker, post)))) => {
                    *wakes.entry((group_of[waker], group_of[own])).or_insert(0) += 1;
                    (own, place) = (waker, post);
                    path.handovers += 1;
                }
                (TapeOp::Until(ns), Some(Cause::Timer)) => {
                    path.timer_ns = ns;
                    break;
                }
                (TapeOp::Run(ns), _) => {
                    let sum: &mut u64 = &mut cpu_ns[group_of[own]];
                    *sum = sum.saturating_add(ns);
                }
                (TapeOp::Sleep(ns), _) => path.delays_ns = path.delays_ns.saturating_add(ns),
                _ => {}
            }
        }
        let computing = groups.iter().zip(cpu_ns).map(|((name, _), ns)| (name.clone(), ns));
        path.cpu_ns = computing.filter(|(_, ns)| *ns > 0).collect();
        path.edges = named(wakes, groups);
        path.cpu_ns.sort_by_key(|(_, ns)| std::cmp::Reverse(*ns));
        path
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(text: &str, groups: &[(&str, u32)]) -> Graph {
        let groups: Vec<(String, u32)> =
            groups.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect();
        of(&model::tape::read(text).expect(text), &groups)
    }

    #[test]
    fn the_graph_counts_wake_ups_between_groups() {
        let text = "task 1 a\np1 p1 r5 p2\ntask 2 b\nw0 w0 s7 r9 p2\ntask 3 b\nw1 w0 u50 r1";
        let graph = graph(text, &[("a", 1), ("b", 2)]);
        let edge = |from: &str, to: &str, wakes| Edge { from: from.into(), to: to.into(), wakes };
        assert_eq!(graph.edges, [edge("a", "b", 3), edge("b", "b", 1)]);
        let b = &graph.groups[1];
        assert_eq!((b.tasks, b.cpu_ns, b.waits, b.timers, b.delays), (2, 10, 4, 1, 1));
    }

    #[test]
    fn the_path_is_what_could_not_be_done_sooner() {
        // The second one waits for the first, which waited for a device.
        let text = "task 1 first\nr10 s30 p1 r500\ntask 2 second\nr20 w0 r600\ntask 3 idle\nr100";
        let path = graph(text, &[("a", 1), ("b", 1), ("c", 1)]).path;
        let expected = Path {
            end_ns: 640,
            length_ns: 640,
            timer_ns: 0,
            last: "second".into(),
            cpu_ns: vec![("b".into(), 600), ("a".into(), 10)],
            delays_ns: 30,
            handovers: 1,
            edges: vec![Edge { from: "a".into(), to: "b".into(), wakes: 1 }],
        };
        assert_eq!(path, expected);
    }

    #[test]
    fn a_timer_that_is_slept_for_begins_a_new_chain() {
        let text = "task 1 a\nr10 u5 r10 u900 r40 p1 u2000 r9\ntask 2 b\nw0 r3";
        let path = graph(text, &[("a", 1), ("b", 1)]).path;
        assert_eq!((path.end_ns, path.timer_ns, path.length_ns), (2009, 900, 43));
        assert_eq!(path.cpu_ns, [("a".to_owned(), 40), ("b".to_owned(), 3)]);
        assert_eq!((path.handovers, path.last.as_str()), (1, "b"));
        assert_eq!(graph("", &[]).path, Path::default());
    }
}
