// SPDX-License-Identifier: GPL-2.0-only
//! How a scheduler ends: its own wish, its mistakes, and the watchdog.

use crate::core::Core;
use crate::flags::*;
use crate::ops::ExitInfo;

impl Core {
    /// The scheduler made a mistake (`scx_error`). Only the first one counts.
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

    pub(crate) fn end(&mut self, kind: u64, code: i64, reason: &str, message: String) {
        if self.exit.is_none() {
            self.exit = Some(ExitInfo { kind, code, reason: reason.into(), message });
        }
    }

    /// Checks a CPU number from the scheduler (`ops_cpu_valid`).
    pub fn cpu_valid(&mut self, cpu: i32, place: &str) -> bool {
        let valid = cpu >= 0 && (cpu as u32) < self.topology.cpus;
        if !valid {
            self.error(format!("invalid CPU {cpu} {place}").trim_end().into());
        }
        valid
    }
}
