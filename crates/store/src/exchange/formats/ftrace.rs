// SPDX-License-Identifier: GPL-2.0-only
//! The kernel's own trace text, as Perfetto's UI and scripts around `trace-cmd report` read it.
//!
//! The simulator's decisions are left out: the kernel has no such events, and tools that read its
//! text fail on unknown ones. `explain` shows them.

use std::collections::BTreeMap;
use std::io::{Result, Write};

use model::trace::{Trace, TraceEvent, TraceTask, What};

const HEADER: &str = "\
# tracer: nop
#
#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION
#              | |         |   |||||     |         |
";

/// The running task of each CPU at an event: the left column.
struct TextWriter<'a> {
    tasks: BTreeMap<u32, &'a TraceTask>,
    running: BTreeMap<u32, u32>,
}

pub fn write(trace: &Trace, out: &mut dyn Write) -> Result<()> {
    let mut writer = TextWriter {
        tasks: trace.tasks.iter().map(|task| (task.pid, task)).collect(),
        running: BTreeMap::new(),
    };
    out.write_all(HEADER.as_bytes())?;
    for event in trace.events.iter().filter(|event| event.what.has_tracepoint()) {
        writer.event(event, out)?;
    }
    if trace.lost > 0 {
        writeln!(out, "# {} events were lost", trace.lost)?;
    }
    Ok(())
}

impl TextWriter<'_> {
    fn event(&mut self, event: &TraceEvent, out: &mut dyn Write) -> Result<()> {
        let pid = self.current(event);
        let comm = if pid == 0 { "<idle>".into() } else { self.comm(pid, event.cpu) };
        let (seconds, micros) = (event.time_ns / 1_000_000_000, event.time_ns / 1000 % 1_000_000);
        let flags = flags(&event.what);
        write!(out, "{comm:>16}-{pid:<7} [{:03}] {flags} {seconds:5}.{micros:06}: ", event.cpu)?;
        writeln!(out, "{}", self.text(event))?;
        if let What::Switch { next, .. } = event.what {
            self.running.insert(event.cpu, next);
        }
        Ok(())
    }

    fn current(&self, event: &TraceEvent) -> u32 {
        match event.what {
            What::Switch { prev, .. } => prev,
            What::Fork { parent, .. } => parent,
            What::Exit { pid } => pid,
            _ => self.running.get(&event.cpu).copied().unwrap_or(0),
        }
    }

    fn text(&self, event: &TraceEvent) -> String {
        let comm = |pid: u32| self.comm(pid, event.cpu);
        match &event.what {
            What::Switch { prev, prev_prio, prev_state, next, next_prio, .. } => format!(
                "sched_switch: prev_comm={} prev_pid={prev} prev_prio={prev_prio} \
                 prev_state={prev_state} ==> next_comm={} next_pid={next} next_prio={next_prio}",
                comm(*prev),
                comm(*next)
            ),
            What::Waking { pid, prio, target, .. } => format!(
                "sched_waking: comm={} pid={pid} prio={prio} target_cpu={target:03}",
                comm(*pid)
            ),
            What::Fork { parent, child } => format!(
                "sched_process_fork: comm={} pid={parent} child_comm={} child_pid={child}",
                comm(*parent),
                comm(*child)
            ),
            What::Exit { pid } => {
                format!("sched_process_exit: comm={} pid={pid} prio=120", comm(*pid))
            }
            What::Send { .. } | What::Take { .. } => String::new(),
            What::Enqueue { .. } | What::Choose { .. } | What::Preempt { .. } => String::new(),
        }
    }

    fn comm(&self, pid: u32, cpu: u32) -> String {
        match (pid, self.tasks.get(&pid)) {
            (0, _) => format!("swapper/{cpu}"),
            (_, Some(task)) => task.comm.clone(),
            (_, None) => "<...>".into(),
        }
    }
}

/// The kernel's flags: `h` is a hard interrupt.
fn flags(what: &What) -> &'static str {
    match what {
        What::Waking { interrupt: true, .. } => "..h..",
        _ => ".....",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A hog is woken, runs, forks, and goes to sleep.
    fn sample() -> Trace {
        let event = |time_ns, what| TraceEvent { time_ns, cpu: 0, what };
        let switch = |prev, prev_state: &str, next| What::Switch {
            prev,
            prev_prio: 120,
            prev_state: prev_state.into(),
            next,
            next_prio: 120,
            reason: None,
        };
        Trace {
            tasks: vec![TraceTask { pid: 7, comm: "hog".into(), group: "hogs".into() }],
            events: vec![
                event(
                    1_000,
                    What::Waking { pid: 7, prio: 120, target: 0, interrupt: false, by: None },
                ),
                event(2_500, switch(0, "R", 7)),
                event(2_500_000_000, What::Fork { parent: 7, child: 8 }),
                event(2_500_001_000, switch(7, "S", 0)),
            ],
            lost: 0,
        }
    }

    #[test]
    fn lines_have_the_kernels_form() {
        let mut out = Vec::new();
        write(&sample(), &mut out).expect("memory takes it");
        let text = String::from_utf8(out).expect("text");
        let lines: Vec<&str> = text.lines().skip(4).collect();
        let expected = [
            "          <idle>-0       [000] .....     0.000001: sched_waking: comm=hog pid=7 \
             prio=120 target_cpu=000",
            "          <idle>-0       [000] .....     0.000002: sched_switch: \
             prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=hog \
             next_pid=7 next_prio=120",
            "             hog-7       [000] .....     2.500000: sched_process_fork: comm=hog pid=7 \
             child_comm=<...> child_pid=8",
            "             hog-7       [000] .....     2.500001: sched_switch: prev_comm=hog \
             prev_pid=7 prev_prio=120 prev_state=S ==> next_comm=swapper/0 next_pid=0 \
             next_prio=120",
        ];
        assert_eq!(lines, expected);
    }
}
