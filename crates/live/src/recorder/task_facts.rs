// SPDX-License-Identifier: GPL-2.0-only
//! What the kernel's numbers say of a task.

use model::{Policy, PolicyClass};
use recording::event::Attributes;

use super::object::{CPU_WORDS, TaskFacts};

/// Nice 0.
const DEFAULT_PRIO: i32 = 120;

/// The kernel's numbers of the policies (`sched(7)`); sched_ext's, 7, is the scheduler's choice and
/// counts as what it replaces.
fn class(policy: u32) -> Option<PolicyClass> {
    Some(match policy {
        0 | 7 => PolicyClass::Other,
        1 => PolicyClass::Fifo,
        2 => PolicyClass::Rr,
        3 => PolicyClass::Batch,
        5 => PolicyClass::Idle,
        6 => PolicyClass::Deadline,
        _ => return None,
    })
}

/// What a scheduler is told of a task, on a machine of so many CPUs.
pub fn attributes(facts: &TaskFacts, cpus: u32) -> Attributes {
    let nice = facts.static_prio - DEFAULT_PRIO;
    Attributes {
        nice: Some(nice),
        policy: class(facts.policy).map(|class| policy(class, facts)),
        affinity: affinity(facts, cpus),
    }
}

fn policy(class: PolicyClass, facts: &TaskFacts) -> Policy {
    let bare = Policy { class, ..Policy::default() };
    match class {
        PolicyClass::Fifo | PolicyClass::Rr => Policy { priority: facts.rt_priority, ..bare },
        PolicyClass::Deadline => Policy {
            runtime_us: facts.dl_runtime_ns / 1_000,
            deadline_us: facts.dl_deadline_ns / 1_000,
            period_us: facts.dl_period_ns / 1_000,
            ..bare
        },
        PolicyClass::Other | PolicyClass::Batch => {
            Policy { nice: facts.static_prio - DEFAULT_PRIO, ..bare }
        }
        PolicyClass::Idle => bare,
    }
}

/// Empty: all. `None` on machines with more CPUs than facts have bits.
fn affinity(facts: &TaskFacts, cpus: u32) -> Option<Vec<u32>> {
    if cpus as usize > CPU_WORDS * 64 {
        return None;
    }
    let may = |cpu: &u32| facts.cpus[*cpu as usize / 64] >> (cpu % 64) & 1 == 1;
    let allowed: Vec<u32> = (0..cpus).filter(may).collect();
    Some(if allowed.len() == cpus as usize { Vec::new() } else { allowed })
}

/// A thread's name, as the kernel keeps it.
pub fn name(comm: &[u8; 16]) -> String {
    let end = comm.iter().position(|&byte| byte == 0).unwrap_or(comm.len());
    String::from_utf8_lossy(&comm[..end]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(static_prio: i32, policy: u32, cpus: u64) -> TaskFacts {
        let mut facts = TaskFacts { static_prio, policy, ..TaskFacts::default() };
        facts.cpus[0] = cpus;
        facts
    }

    #[test]
    fn all_cpus_are_no_affinity() {
        assert_eq!(attributes(&facts(120, 0, 0b1111), 4).affinity, Some(vec![]));
        assert_eq!(attributes(&facts(120, 0, u64::MAX), 4).affinity, Some(vec![]));
        assert_eq!(attributes(&facts(120, 0, 0b1010), 4).affinity, Some(vec![1, 3]));
        assert_eq!(attributes(&facts(120, 0, 1), 4096).affinity, None);
    }

    #[test]
    fn policies_have_their_own_parameters() {
        let idle = attributes(&facts(125, 5, 1), 1);
        assert_eq!((idle.nice, idle.policy.map(|p| p.class)), (Some(5), Some(PolicyClass::Idle)));
        let fifo = TaskFacts { rt_priority: 40, ..facts(120, 1, 1) };
        assert_eq!(attributes(&fifo, 1).policy.map(|p| p.priority), Some(40));
        let deadline = TaskFacts { dl_runtime_ns: 5_000_000, ..facts(120, 6, 1) };
        assert_eq!(attributes(&deadline, 1).policy.map(|p| p.runtime_us), Some(5_000));
        assert_eq!(attributes(&facts(110, 7, 1), 1).policy.map(|p| p.nice), Some(-10));
        assert_eq!(attributes(&facts(120, 4, 1), 1).policy, None);
    }

    #[test]
    fn names_end_at_their_end() {
        assert_eq!(name(b"sh\0xx\0\0\0\0\0\0\0\0\0\0\0"), "sh");
        assert_eq!(name(b"sixteen letters."), "sixteen letters.");
    }
}
