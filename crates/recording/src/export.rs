// SPDX-License-Identifier: GPL-2.0-only
//! A recording as the kernel's own trace text, for tools that read it.
//!
//! That text has no place for why a task sleeps or for its policy and affinity. Who wakes it is
//! told as the kernel does: by the current task, and by the interrupt that goes on.

use std::collections::BTreeMap;
use std::io::{Result, Write};

use model::{Policy, PolicyClass};

use crate::event::{Attributes, Event, Leaves, Reason, Recording, TaskIndex, Waker, What};

/// The kernel's priority of nice 0, and the one above the highest real-time priority.
const NICE_0: i32 = 120;
const REAL_TIME: i32 = 99;

/// Writes the text.
///
/// # Errors
/// If writing to `out` fails.
pub fn write(recording: &Recording, out: &mut dyn Write) -> Result<()> {
    let events = recording.events.len();
    writeln!(out, "# tracer: nop\n#")?;
    writeln!(
        out,
        "# entries-in-buffer/entries-written: {events}/{events}   #P:{}",
        recording.cpus
    )?;
    writeln!(out, "#\n#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION")?;
    writeln!(out, "#              | |         |   |||||     |         |")?;
    let mut writer = Writer {
        recording,
        priorities: recording.tasks.iter().map(|task| priority(&task.attributes, None)).collect(),
        running: BTreeMap::new(),
    };
    recording.events.iter().try_for_each(|event| writer.event(event, out))?;
    if recording.lost_events > 0 {
        writeln!(out, "# {} events were lost", recording.lost_events)?;
    }
    Ok(())
}

/// The kernel's priority of a task; what attributes do not tell stays as it was.
fn priority(attributes: &Attributes, before: Option<i32>) -> i32 {
    let nice = attributes.nice.unwrap_or_default();
    match attributes.policy {
        Some(Policy { class: PolicyClass::Fifo | PolicyClass::Rr, priority, .. }) => {
            REAL_TIME - priority as i32
        }
        Some(Policy { class: PolicyClass::Deadline, .. }) => -1,
        Some(policy) => NICE_0 + attributes.nice.unwrap_or(policy.nice),
        None if attributes.nice.is_none() => before.unwrap_or(NICE_0),
        None => NICE_0 + nice,
    }
}

struct Writer<'a> {
    recording: &'a Recording,
    priorities: Vec<i32>,
    running: BTreeMap<u32, Option<TaskIndex>>,
}

impl Writer<'_> {
    fn event(&mut self, event: &Event, out: &mut dyn Write) -> Result<()> {
        match &event.what {
            What::Switch { out: from, leaves, next } => {
                let text = self.switch(*from, *leaves, *next, event.cpu);
                self.running.insert(event.cpu, *next);
                self.line(event, *from, "d....", &text, out)
            }
            What::Wake { task, waker } => self.wake(event, *task, *waker, out),
            What::Fork { parent, child } => {
                let (from, to) = (self.named(*parent), self.named(*child));
                let text = format!(
                    "sched_process_fork: comm={} pid={} child_comm={} child_pid={}",
                    from.0, from.1, to.0, to.1
                );
                self.line(event, Some(*parent), ".....", &text, out)
            }
            What::Exit { task } => {
                let text = format!("sched_process_exit: {}", self.fields(*task));
                self.line(event, Some(*task), ".....", &text, out)
            }
            // The kernel's trace has no such events.
            What::Send { .. } | What::Take { .. } => Ok(()),
            What::Changed { task, to } => {
                let before = &mut self.priorities[task.0 as usize];
                *before = priority(to, Some(*before));
                Ok(())
            }
        }
    }

    /// A timer's and a device's wake-ups stand between the lines of an interrupt.
    fn wake(
        &self,
        event: &Event,
        task: TaskIndex,
        waker: Waker,
        out: &mut dyn Write,
    ) -> Result<()> {
        let current = self.running.get(&event.cpu).copied().flatten();
        let text = format!("sched_waking: {} target_cpu={:03}", self.fields(task), event.cpu);
        let (around, current) = match waker {
            Waker::Timer => (
                Some(["hrtimer_expire_entry: hrtimer=0", "hrtimer_expire_exit: hrtimer=0"]),
                current,
            ),
            Waker::Interrupt => (
                Some(["irq_handler_entry: irq=0 name=0", "irq_handler_exit: irq=0 ret=handled"]),
                current,
            ),
            Waker::Task(waker) => (None, Some(waker)),
            Waker::Unknown => (None, None),
        };
        let Some([before, after]) = around else {
            return self.line(event, current, "d....", &text, out);
        };
        for text in [before, &text, after] {
            self.line(event, current, "d.h..", text, out)?;
        }
        Ok(())
    }

    fn line(
        &self,
        event: &Event,
        current: Option<TaskIndex>,
        flags: &str,
        text: &str,
        out: &mut dyn Write,
    ) -> Result<()> {
        let (name, tid) = current.map_or(("<idle>", 0), |task| self.named(task));
        let (seconds, rest_ns) = (event.at_ns / 1_000_000_000, event.at_ns % 1_000_000_000);
        writeln!(
            out,
            "{name:>16}-{tid:<7} [{:03}] {flags} {seconds:5}.{rest_ns:09}: {text}",
            event.cpu
        )
    }

    fn switch(
        &self,
        from: Option<TaskIndex>,
        leaves: Leaves,
        next: Option<TaskIndex>,
        cpu: u32,
    ) -> String {
        let state = match leaves {
            Leaves::Runnable | Leaves::Yields => "R",
            Leaves::Sleeps(Reason::Disk) => "D",
            Leaves::Sleeps(_) => "S",
            Leaves::Ended => "X",
        };
        let idle = |prefix: &str| {
            format!("{prefix}comm=swapper/{cpu} {prefix}pid=0 {prefix}prio={NICE_0}")
        };
        let side = |task: Option<TaskIndex>, prefix: &str| match task {
            None => idle(prefix),
            Some(task) => {
                let ((name, tid), prio) = (self.named(task), self.priorities[task.0 as usize]);
                format!("{prefix}comm={name} {prefix}pid={tid} {prefix}prio={prio}")
            }
        };
        let (left, right) = (side(from, "prev_"), side(next, "next_"));
        format!("sched_switch: {left} prev_state={state} ==> {right}")
    }

    fn fields(&self, task: TaskIndex) -> String {
        let (name, tid) = self.named(task);
        format!("comm={name} pid={tid} prio={}", self.priorities[task.0 as usize])
    }

    fn named(&self, task: TaskIndex) -> (&str, u32) {
        let task = &self.recording.tasks[task.0 as usize];
        (&task.name, task.tid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Task;

    fn text(recording: &Recording) -> Vec<String> {
        let mut out = Vec::new();
        write(recording, &mut out).expect("memory takes it");
        let text = String::from_utf8(out).expect("text");
        text.lines().skip(6).map(|line| line.trim().to_owned()).collect()
    }

    fn sample(events: Vec<(u64, What)>) -> Recording {
        let task = |tid, name: &str| Task { tid, name: name.into(), ..Task::default() };
        let mut second = task(8, "b");
        second.attributes.policy =
            Some(Policy { class: PolicyClass::Fifo, priority: 40, ..Policy::default() });
        Recording {
            cpus: 2,
            tasks: vec![task(7, "a"), second],
            events: events.into_iter().map(|(at_ns, what)| Event { at_ns, cpu: 1, what }).collect(),
            ..Recording::default()
        }
    }

    const A: TaskIndex = TaskIndex(0);
    const B: TaskIndex = TaskIndex(1);

    #[test]
    fn lines_have_the_kernels_form() {
        let leaves = Leaves::Sleeps(Reason::Pipe);
        let lines = text(&sample(vec![
            (1_000_000_001, What::Switch { out: None, leaves: Leaves::Runnable, next: Some(A) }),
            (1_000_000_002, What::Wake { task: B, waker: Waker::Task(A) }),
            (1_000_000_003, What::Switch { out: Some(A), leaves, next: Some(B) }),
        ]));
        assert_eq!(
            lines,
            [
                "<idle>-0       [001] d....     1.000000001: sched_switch: prev_comm=swapper/1 \
                 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=a next_pid=7 next_prio=120",
                "a-7       [001] d....     1.000000002: sched_waking: comm=b pid=8 prio=59 \
                 target_cpu=001",
                "a-7       [001] d....     1.000000003: sched_switch: prev_comm=a prev_pid=7 \
                 prev_prio=120 prev_state=S ==> next_comm=b next_pid=8 next_prio=59",
            ]
        );
    }

    #[test]
    fn timers_and_devices_are_interrupts() {
        let wake = |waker| What::Wake { task: A, waker };
        let lines = text(&sample(vec![(1, wake(Waker::Timer)), (2, wake(Waker::Interrupt))]));
        let names: Vec<&str> = lines.iter().filter_map(|line| line.split(": ").nth(1)).collect();
        assert_eq!(
            names,
            [
                "hrtimer_expire_entry",
                "sched_waking",
                "hrtimer_expire_exit",
                "irq_handler_entry",
                "sched_waking",
                "irq_handler_exit",
            ]
        );
    }

    #[test]
    fn a_change_of_nice_shows_from_then_on() {
        let to = Attributes { nice: Some(5), ..Attributes::default() };
        let lines = text(&sample(vec![
            (1, What::Changed { task: A, to }),
            (2, What::Exit { task: A }),
            (3, What::Fork { parent: A, child: B }),
        ]));
        assert_eq!(lines.len(), 2);
        assert!(lines[0].ends_with("sched_process_exit: comm=a pid=7 prio=125"), "{}", lines[0]);
        assert!(lines[1].ends_with("comm=a pid=7 child_comm=b child_pid=8"), "{}", lines[1]);
    }
}
