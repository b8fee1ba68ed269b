// SPDX-License-Identifier: GPL-2.0-only
//! Reading a console: the part that belongs into a record.

/// A panic with its registers and its trace.
const LINES_MAX: usize = 60;

pub fn tail(lines: &[String]) -> String {
    lines[lines.len().saturating_sub(LINES_MAX)..].join("\n")
}

/// The panic's own line, which is what tables show, then the last lines.
pub fn crash(lines: &[String]) -> String {
    let is_panic = |line: &&String| line.contains("Kernel panic");
    let headline = match lines.iter().rev().find(is_panic) {
        Some(line) => strip_time(line),
        None => "the virtual machine ended without a word of its kernel",
    };
    [headline, &tail(lines)].join("\n").trim_end().to_owned()
}

/// Whether the kernel died of a breakpoint that it had already removed.
///
/// A kernel switches its own code on and off (static keys; loading a scheduler does): it writes a
/// breakpoint (`int3`), notifies every CPU, writes the rest, and removes the breakpoint. If a CPU
/// executes the breakpoint afterwards, no handler knows it, and the kernel panics. That cannot
/// happen on a processor. QEMU before 8.1 translates code without locking its page, so that with a
/// thread for each CPU a translation made of the breakpoint may outlive it.
pub fn is_stale_code(lines: &[String]) -> bool {
    lines.iter().any(|line| strip_time(line).starts_with("Oops: int3"))
}

/// `[    1.234567] text` → `text`.
fn strip_time(line: &str) -> &str {
    let stamped = line.trim_start().strip_prefix('[').and_then(|rest| rest.split_once("] "));
    stamped.map_or(line, |(_, text)| text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<String> {
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn a_crash_opens_with_the_panics_line() {
        let console =
            lines("[ 1.0] BUG: x\n[    2.500000] Kernel panic - not syncing: y\n[ 2.6] end");
        let text = crash(&console);
        assert!(text.starts_with("Kernel panic - not syncing: y\n[ 1.0] BUG: x\n"), "{text}");
    }

    #[test]
    fn a_breakpoint_that_nobody_knows_is_stale_code() {
        let stale = "[  163.998953] Oops: int3: 0000 [#1] SMP NOPTI\n[ 164.0] Kernel panic - x";
        assert!(is_stale_code(&lines(stale)));
        assert!(!is_stale_code(&lines("[ 1.0] Oops: 0000 [#1]\n[ 1.1] RIP: int3_handler")));
    }

    #[test]
    fn a_silent_end_says_so() {
        assert_eq!(crash(&[]), "the virtual machine ended without a word of its kernel");
    }

    #[test]
    fn only_the_last_lines_are_kept() {
        let many: Vec<String> = (0..100).map(|number| number.to_string()).collect();
        assert!(tail(&many).starts_with("40\n41\n"));
    }
}
