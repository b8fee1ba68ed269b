// SPDX-License-Identifier: GPL-2.0-only
//! The events that matter, in the three forms in which they are printed: that of the kernel
//! (`prev_comm=… prev_pid=… ==> next_comm=…`), the short one of trace-cmd and perf (`bash:1977
//! [120] S ==> …`), and the raw fields (`trace-cmd report -R`, ftrace's option `fields`), in which
//! states are numbers and nothing stands between the tasks.

use crate::event::{Leaves, Named, Scheduling, Waker};

/// Reads an event.
///
/// # Errors
/// It lacks something.
pub fn parse<'a>(name: &str, arguments: &'a str) -> Result<Scheduling<'a>, String> {
    let lacks = |what: &str| format!("{what} is missing");
    Ok(match name {
        "sched_switch" => switch(arguments).ok_or_else(|| lacks("a task or its state"))?,
        "sched_waking" => {
            Scheduling::Waking(task(arguments).ok_or_else(|| lacks("the task"))?, None)
        }
        "sched_wakeup" => Scheduling::Wakeup(task(arguments).ok_or_else(|| lacks("the task"))?),
        "sched_process_fork" => fork(arguments).ok_or_else(|| lacks("a task"))?,
        "sched_process_exit" => Scheduling::Exit(task(arguments).ok_or_else(|| lacks("the task"))?),
        "cgroup_attach_task" => attach(arguments).ok_or_else(|| lacks("the task or its group"))?,
        "hrtimer_expire_entry" | "timer_expire_entry" | "local_timer_entry" => {
            Scheduling::Enter(Waker::Timer)
        }
        "softirq_entry" if is_timers(arguments) => Scheduling::Enter(Waker::Timer),
        "softirq_entry" | "irq_handler_entry" => Scheduling::Enter(Waker::Interrupt),
        "hrtimer_expire_exit"
        | "timer_expire_exit"
        | "local_timer_exit"
        | "softirq_exit"
        | "irq_handler_exit" => Scheduling::Leave,
        _ => Scheduling::Other,
    })
}

/// `dst_root=0 dst_id=41 dst_level=2 dst_path=/user.slice/game pid=12 comm=bash`. Another root than
/// 0 is a hierarchy of cgroup v1, which may have other controllers.
fn attach(arguments: &str) -> Option<Scheduling<'_>> {
    let (root, rest) = arguments.trim_start().strip_prefix("dst_root=")?.split_once(' ')?;
    let (_, rest) = rest.split_once("dst_path=")?;
    let (rest, comm) = rest.split_once(" comm=")?;
    let (path, tid) = rest.rsplit_once(" pid=")?;
    let task = Named { comm, tid: tid.trim_end().parse().ok()?, prio: None };
    Some(if root == "0" {
        Scheduling::Attach(task, path.strip_prefix('/')?)
    } else {
        Scheduling::Other
    })
}

/// `vec=1 [action=TIMER]`; without the name the kernel's numbers of `TIMER_SOFTIRQ` and
/// `HRTIMER_SOFTIRQ`.
fn is_timers(arguments: &str) -> bool {
    arguments.contains("TIMER") || matches!(arguments.trim_end(), "vec=1" | "vec=8")
}

fn switch(arguments: &str) -> Option<Scheduling<'_>> {
    let raw = || arguments.rfind(" next_comm=").map(|at| (&arguments[..at], &arguments[at + 1..]));
    let (left, right) = arguments.rsplit_once(" ==> ").or_else(raw)?;
    let (out, state) = match left.rsplit_once(" prev_state=") {
        Some((task, state)) => (fields(task, "prev_")?, state),
        None => {
            let (task, state) = left.trim_end().rsplit_once(' ')?;
            (short(task)?, state)
        }
    };
    let next = fields(right, "next_").or_else(|| short(right))?;
    Some(Scheduling::Switch { out: Some(out), leaves: leaves(state)?, next })
}

/// `prev_state` is a letter or a number.
fn leaves(state: &str) -> Option<Leaves> {
    let word = state.split_ascii_whitespace().next()?;
    let bits = match word.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => word.parse().ok(),
    };
    let letter = || word.chars().next().map(Leaves::in_state);
    bits.map(Leaves::of_bits).or_else(letter)
}

fn task(arguments: &str) -> Option<Named<'_>> {
    fields(arguments, "").or_else(|| short(arguments))
}

fn fork(arguments: &str) -> Option<Scheduling<'_>> {
    let (parent, child) = arguments.rsplit_once(" child_comm=")?;
    let (comm, tid) = child.rsplit_once(" child_pid=")?;
    let tid = tid.split_ascii_whitespace().next()?.parse().ok()?;
    let child = Named { comm, tid, prio: None };
    let parent = fields(parent, "").or_else(|| fields(parent, "parent_"))?;
    Some(Scheduling::Fork { parent: Some(parent), child })
}

/// `prev_comm=bash prev_pid=1977 prev_prio=120`. A name can hold anything.
fn fields<'a>(text: &'a str, prefix: &str) -> Option<Named<'a>> {
    let text = text.strip_prefix(prefix)?.strip_prefix("comm=")?;
    let (comm, rest) = text.rsplit_once(&format!(" {prefix}pid="))?;
    let mut words = rest.split_ascii_whitespace();
    let tid = words.next()?.parse().ok()?;
    let prio =
        words.find_map(|word| word.strip_prefix(prefix)?.strip_prefix("prio=")?.parse().ok());
    Some(Named { comm, tid, prio })
}

/// `bash:1977 [120] success=1 CPU:003`.
fn short(text: &str) -> Option<Named<'_>> {
    let (task, rest) = text.rsplit_once(" [")?;
    let (comm, tid) = task.rsplit_once(':')?;
    let prio = rest.split_once(']')?.0.parse().ok();
    Some(Named { comm, tid: tid.parse().ok()?, prio })
}
