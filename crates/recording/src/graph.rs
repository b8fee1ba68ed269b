// SPDX-License-Identifier: GPL-2.0-only
//! What tapes show before they are played: what groups of tasks do, and which group wakes which.

use std::collections::BTreeMap;

use model::{Tape, TapeOp};
use serde::Serialize;

/// A workload's groups as far as their tapes tell.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Graph {
    /// The groups in the workload's order.
    pub groups: Vec<GroupUse>,
    /// Wake-ups between groups, the most frequent first.
    pub edges: Vec<Edge>,
}

/// What the tasks of a group do.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct GroupUse {
    pub name: String,
    pub tasks: u32,
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
    pub from: String,
    pub to: String,
    pub wakes: u64,
}

/// Reads tapes. `groups` are the names and counts of the groups that play them, in order.
pub fn of(tapes: &[Tape], groups: &[(String, u32)]) -> Graph {
    let players = groups.iter().enumerate();
    let group_of: Vec<usize> = players
        .flat_map(|(group, (_, count))| std::iter::repeat_n(group, *count as usize))
        .collect();
    let named = |(name, tasks): &(String, u32)| GroupUse {
        name: name.clone(),
        tasks: *tasks,
        ..GroupUse::default()
    };
    let mut uses: Vec<GroupUse> = groups.iter().map(named).collect();
    let mut wakes: BTreeMap<(usize, usize), u64> = BTreeMap::new();
    for (tape, to) in tapes.iter().zip(&group_of) {
        let group = &mut uses[*to];
        for op in &tape.ops {
            match *op {
                TapeOp::Run(ns) => group.cpu_ns = group.cpu_ns.saturating_add(ns),
                TapeOp::Wait(from, _) | TapeOp::Receive(from, _) => {
                    group.waits += 1;
                    *wakes.entry((group_of[from as usize], *to)).or_default() += 1;
                }
                TapeOp::Until(_) => group.timers += 1,
                TapeOp::Sleep(_) => group.delays += 1,
                TapeOp::Post(..) | TapeOp::Fork(_) | TapeOp::Nice(_) | TapeOp::Yield => {}
            }
        }
    }
    let name = |group: usize| groups[group].0.clone();
    let edge = |((from, to), wakes)| Edge { from: name(from), to: name(to), wakes };
    let mut edges: Vec<Edge> = wakes.into_iter().map(edge).collect();
    edges.sort_by_key(|edge| std::cmp::Reverse(edge.wakes));
    Graph { groups: uses, edges }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_graph_counts_wake_ups_between_groups() {
        let text = "task 1 a\np1 p1 r5 p2\ntask 2 b\nw0 w0 s7 r9 p2\ntask 3 b\nw1 w0 u50 r1";
        let tapes = model::tape::read(text).expect(text);
        let graph = of(&tapes, &[("a".into(), 1), ("b".into(), 2)]);
        let edge = |from: &str, to: &str, wakes| Edge { from: from.into(), to: to.into(), wakes };
        assert_eq!(graph.edges, [edge("a", "b", 3), edge("b", "b", 1)]);
        let b = &graph.groups[1];
        assert_eq!((b.tasks, b.cpu_ns, b.waits, b.timers, b.delays), (2, 10, 4, 1, 1));
    }
}
