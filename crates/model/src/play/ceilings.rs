// SPDX-License-Identifier: GPL-2.0-only
//! Mutexes with a priority ceiling, as the C library plays them (`PTHREAD_PRIO_PROTECT`): a task
//! raises itself before it takes the mutex, and goes back after it has released it.
//!
//! No step is conditional, so each place of the steps has one policy: the operations
//! [`Op::Policy`] around those of the mutex say it, and schedulers see what the kernel shows them.

use crate::play::limits::{self, Refusal};
use crate::play::op::{Op, Resolver};
use crate::play::policy::{LAB_PRIORITY, class_name};
use crate::{Mutex, Policy, PolicyClass, Protocol, Step};

/// What decides the priority of a task at one place of its steps.
pub struct Priority {
    pub own: Policy,
    /// The ceilings of the mutexes that it holds.
    held: Vec<u32>,
    /// Whether it takes such mutexes at all.
    pub is_lifted: bool,
}

impl Priority {
    pub fn new(own: Policy) -> Priority {
        Priority { own, held: Vec::new(), is_lifted: false }
    }

    /// The policy that the task has at this place.
    fn policy(&self) -> Policy {
        let held = self.held.iter().copied();
        Policy { priority: held.fold(self.own.priority, u32::max), ..self.own }
    }

    /// Each pass over steps must begin with the policy of the one before.
    pub fn check_round(&self, before: &Policy) -> Result<(), Refusal> {
        if !self.is_lifted || self.own == *before {
            return Ok(());
        }
        Err(Refusal::new(
            "a round of these steps, which take a mutex with a ceiling, changes the policy",
            "end the round with a step { policy = … } that restores the first one",
        ))
    }

    fn take(&mut self, mutex: &Mutex) -> Result<(), Refusal> {
        let (name, ceiling) = (&mutex.name, mutex.ceiling);
        if !is_real_time(&self.own) {
            return Err(Refusal::new(
                format!(
                    "a task of the class '{}' cannot take '{name}': the C library refuses \
                     mutexes with a ceiling to all but real-time tasks (EINVAL)",
                    class_name(self.own.class)
                ),
                "give the task a policy 'fifo' or 'rr', or the mutex the protocol 'inherit'",
            ));
        }
        if self.own.priority > ceiling {
            return Err(Refusal::new(
                format!(
                    "the task's priority {} is above the ceiling {ceiling} of '{name}' (EINVAL)",
                    self.own.priority
                ),
                "write the highest priority of the tasks that take it as its ceiling",
            ));
        }
        self.is_lifted = true;
        self.held.push(ceiling);
        Ok(())
    }

    fn release(&mut self, mutex: &Mutex) {
        if let Some(at) = self.held.iter().position(|&ceiling| ceiling == mutex.ceiling) {
            self.held.swap_remove(at);
        }
    }
}

fn is_real_time(policy: &Policy) -> bool {
    matches!(policy.class, PolicyClass::Fifo | PolicyClass::Rr)
}

impl<'a> Resolver<'a> {
    /// Appends the operations of a step that takes or releases a mutex with a ceiling; false: it is
    /// another step.
    pub(super) fn with_ceiling(&mut self, step: &Step) -> Result<bool, Refusal> {
        let Some(mutex) = self.ceiling_of(step) else { return Ok(false) };
        let lock = self.names.lock(&mutex.name);
        match step {
            Step::Lock(_) => self.raise(mutex, lock)?,
            Step::Wait { condition, .. } | Step::Sync { condition, .. } => {
                let condition = self.names.condition(condition);
                let signal = matches!(step, Step::Sync { .. });
                self.ops.push(Op::Enlist { condition, signal });
                self.lower(mutex, lock);
                self.ops.push(Op::Await(condition));
                self.raise(mutex, lock)?;
            }
            _ => self.lower(mutex, lock),
        }
        Ok(true)
    }

    fn ceiling_of(&self, step: &Step) -> Option<&'a Mutex> {
        let name = match step {
            Step::Unlock(lock) => lock,
            other => other.mutex()?,
        };
        let mut mutexes = self.workload.mutexes.iter();
        mutexes.find(|mutex| mutex.name == *name && mutex.protocol == Protocol::Ceiling)
    }

    fn raise(&mut self, mutex: &Mutex, lock: usize) -> Result<(), Refusal> {
        let before = self.priority.policy();
        self.priority.take(mutex)?;
        self.follow(&before);
        self.ops.push(Op::Lock(lock));
        Ok(())
    }

    fn lower(&mut self, mutex: &Mutex, lock: usize) {
        self.ops.push(Op::Unlock(lock));
        let before = self.priority.policy();
        self.priority.release(mutex);
        self.follow(&before);
    }

    /// Where the task's policy is another one now, it is a system call.
    fn follow(&mut self, before: &Policy) {
        let policy = self.priority.policy();
        if policy != *before {
            self.names.policies.push(policy);
            self.ops.push(Op::Policy(self.names.policies.len() - 1));
        }
    }

    /// The policy that a task has after it has asked for one: its ceilings stay.
    pub(super) fn own_policy(&mut self, policy: &Policy) -> Result<Policy, Refusal> {
        if !self.priority.held.is_empty() && !is_real_time(policy) {
            let class = class_name(policy.class);
            return Err(Refusal::new(
                format!("the task cannot become '{class}' while it holds a mutex with a ceiling"),
                "unlock it before",
            ));
        }
        self.priority.own = *policy;
        Ok(self.priority.policy())
    }
}

pub fn check(mutexes: &[Mutex]) -> Result<(), Refusal> {
    for (index, mutex) in mutexes.iter().enumerate() {
        check_one(mutex).map_err(|refusal| refusal.inside(format_args!("mutex[{index}]")))?;
    }
    Ok(())
}

fn check_one(mutex: &Mutex) -> Result<(), Refusal> {
    match (mutex.protocol, mutex.ceiling) {
        (Protocol::Ceiling, 0) => Err(Refusal::new(
            format!("the ceiling of '{}' is missing", mutex.name),
            "write 'ceiling = …', the highest priority of the tasks that take it",
        )
        .inside("protocol")),
        (Protocol::Ceiling, ceiling) => {
            let most = u64::from(LAB_PRIORITY - 1);
            limits::range("a ceiling", u64::from(ceiling), 1, most)
                .map(|_| ())
                .map_err(|refusal| refusal.inside("ceiling"))
        }
        (_, 0) => Ok(()),
        _ => Err(Refusal::new(
            format!("the protocol of '{}' has no ceiling", mutex.name),
            "write protocol = \"ceiling\", or leave the ceiling out",
        )
        .inside("ceiling")),
    }
}
