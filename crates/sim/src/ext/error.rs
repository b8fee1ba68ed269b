// SPDX-License-Identifier: GPL-2.0-only
//! How a scheduler exits: at its own request, by an error, or by the watchdog.

use std::fmt::Write;

use crate::core::kernel::ExitInfo;
use crate::core::{Core, NO_TASK, TaskId};
use crate::flags::*;

/// What a dump says of a queue from which no callback has ever taken a task.
const NEVER_TAKEN: &str = " (nothing was ever taken from it)";

/// What a user reads about a scheduler that uses what the simulator lacks.
pub(crate) fn lacking(what: &str) -> String {
    format!("use the vm backend: the simulator does not model {what}")
}

impl Core {
    /// Ejects the scheduler because of an error (`scx_error`). Only the first error counts.
    pub fn error(&mut self, message: String) {
        self.end(EXIT_ERROR, 0, "runtime error", message);
    }

    /// `scx_bpf_error()`.
    pub fn error_bpf(&mut self, message: String) {
        self.end(EXIT_ERROR_BPF, 0, "scx_bpf_error", message);
    }

    /// `scx_bpf_exit()`.
    pub fn exit_bpf(&mut self, code: i64, message: String) {
        self.end(EXIT_UNREG_BPF, code, "unregistered from BPF", message);
    }

    /// Ends the trial, because the scheduler uses what the simulator lacks.
    #[cold]
    pub(crate) fn lacks(&mut self, what: &str) {
        self.ext.lacks |= self.ext.exit.is_none() && !self.ext.leaving;
        self.end(EXIT_ERROR, 0, &lacking(what), String::new());
    }

    pub(crate) fn end(&mut self, kind: u64, code: i64, reason: &str, message: String) {
        if self.ext.exit.is_none() && !self.ext.leaving {
            self.ext.exit = Some(ExitInfo { kind, code, reason: reason.into(), message });
            let now = self.ops.place();
            // The core checks a destination only after the callback that named it has returned.
            self.ext.exit_place =
                if now.is_empty() { std::mem::take(&mut self.ext.suspect) } else { now };
        }
    }

    /// Remembers the source line of an insertion into a queue that does not exist.
    pub(crate) fn suspect(&mut self, dsq_id: u64) {
        let is_known = match dsq_id {
            DSQ_LOCAL | DSQ_GLOBAL => true,
            id if id & DSQ_LOCAL_ON == DSQ_LOCAL_ON => {
                id & DSQ_LOCAL_CPU_MASK < u64::from(self.machine.topology.cpus)
            }
            id => self.user_queue(id).is_some(),
        };
        if !is_known {
            self.ext.suspect = self.ops.place();
        }
    }

    /// Checks a CPU number from the scheduler (`ops_cpu_valid`).
    #[inline]
    pub fn cpu_valid(&mut self, cpu: i32, place: &str) -> bool {
        let valid = cpu >= 0 && (cpu as u32) < self.machine.topology.cpus;
        if !valid {
            self.refuse_cpu(cpu, place);
        }
        valid
    }

    #[cold]
    fn refuse_cpu(&mut self, cpu: i32, place: &str) {
        self.error(format!("invalid CPU {cpu} {place}").trim_end().into());
    }

    /// The state at the ejection, like the kernel's debug dump: each CPU with work, and below it
    /// the tasks that wait for it, the longest waiting first.
    pub(crate) fn dump(&self) -> String {
        const LINES_MAX: usize = 200;
        let mut text = String::new();
        for (number, cpu) in self.machine.cpus.iter().enumerate() {
            if cpu.nr_ext == 0 && cpu.curr.0 as usize == number {
                continue;
            }
            let curr =
                if cpu.curr.0 as usize == number { "idle".into() } else { self.name(cpu.curr) };
            let local = self.ext.queues.len(number as u32);
            // Writing to a string cannot fail.
            let _ = writeln!(text, "CPU {number}: curr={curr} nr_ext={} local={local}", cpu.nr_ext);
            let mut at = cpu.watch_head;
            while at != NO_TASK {
                let _ = writeln!(text, "  {}", self.dump_task(TaskId(at)));
                at = self.machine.tasks[at as usize].watch_next;
            }
        }
        text.lines().take(LINES_MAX).collect::<Vec<_>>().join("\n")
    }

    fn dump_task(&self, task: TaskId) -> String {
        let waited_ms =
            self.machine.now.saturating_sub(self.machine.task(task).runnable_at) / 1_000_000;
        let place = match self.ext.queues.queue_of(task.0) {
            NO_TASK => "with the scheduler".to_owned(),
            queue => {
                let queue = &self.ext.queues.queues[queue as usize];
                let untouched = if queue.is_taken_from { "" } else { NEVER_TAKEN };
                format!("dsq={:#x}{untouched}", queue.id)
            }
        };
        let (slice_us, vtime) = (self.slice(task) / 1_000, self.dsq_vtime(task));
        let name = self.name(task);
        format!("{name} waits {waited_ms} ms, {place}, slice={slice_us} us vtime={vtime}")
    }
}
