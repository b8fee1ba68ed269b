// SPDX-License-Identifier: GPL-2.0-only
//! What `record` says while it records, and of its cost.

use std::io::{self, IsTerminal};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use live::recorder::{Cost, Progress};

use crate::{duration, output, size};

/// One line on standard error that changes; elsewhere than on a terminal, one that does not.
pub struct Line(Option<ProgressBar>);

impl Line {
    /// Says that the recording has begun.
    pub fn new(is_open: bool) -> Line {
        let bar = io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
            match ProgressStyle::with_template("{spinner} {wide_msg}") {
                Ok(style) => bar.with_style(style),
                Err(_) => bar,
            }
        });
        if bar.is_none() {
            output::tell(if is_open { "recording until Ctrl-C" } else { "recording" });
        }
        Line(bar)
    }

    pub fn show(&self, elapsed: Duration, seen: &Progress, limit: u64) {
        if let Some(bar) = &self.0 {
            bar.set_message(progress(elapsed, seen, limit));
            bar.tick();
        }
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        if let Some(bar) = &self.0 {
            bar.finish_and_clear();
        }
    }
}

fn progress(elapsed: Duration, seen: &Progress, limit: u64) -> String {
    let (bytes, limit) = (size::words(seen.bytes), size::words(limit));
    let lost = match seen.lost_events {
        0 => String::new(),
        lost => format!(", {lost} lost"),
    };
    let time = duration::words(elapsed);
    format!("recording for {time}: {} events, {bytes} of {limit}{lost}", seen.events)
}

/// What the recording took from the machine, and what helps if that is too much.
pub fn cost(cost: &Cost, goal_percent: f64) -> String {
    let machine_ns = cost.length_ns as f64 * f64::from(cost.cpus);
    let share = |ns: u64| 100.0 * ns as f64 / machine_ns.max(1.0);
    let own = share(cost.own_ns);
    let Some((all, programs)) = cost.percent().zip(cost.programs_ns) else {
        return format!(
            "cost: {own:.2} % of the machine's CPU time in fairground; what its programs in the \
             kernel took is only counted for CAP_SYS_ADMIN"
        );
    };
    let advice = if all > goal_percent {
        "; tasks may behave otherwise than without it: record less with --only"
    } else {
        ""
    };
    let programs = share(programs);
    format!(
        "cost: {all:.2} % of the machine's CPU time ({programs:.2} in the kernel, {own:.2} in \
         fairground){advice}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lost_events_show_at_once() {
        let seen = Progress { events: 12, bytes: 3_000_000, lost_events: 0 };
        let said = progress(Duration::from_secs(12), &seen, 200_000_000);
        assert_eq!(said, "recording for 12 s: 12 events, 3.0 MB of 200 MB");
        let seen = Progress { lost_events: 4, ..seen };
        assert!(progress(Duration::from_secs(12), &seen, 1).ends_with(", 4 lost"));
    }

    #[test]
    fn a_high_cost_has_advice_and_an_unknown_one_a_reason() {
        let low = Cost {
            programs_ns: Some(20_000_000),
            own_ns: 10_000_000,
            length_ns: 1_000_000_000,
            cpus: 2,
        };
        assert_eq!(
            cost(&low, 3.0),
            "cost: 1.50 % of the machine's CPU time (1.00 in the kernel, 0.50 in fairground)"
        );
        assert!(cost(&Cost { cpus: 1, ..low }, 2.9).contains("record less with --only"));
        let unknown = cost(&Cost { programs_ns: None, ..low }, 3.0);
        assert!(unknown.contains("0.50 %") && unknown.contains("CAP_SYS_ADMIN"), "{unknown}");
    }
}
