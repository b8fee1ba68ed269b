// SPDX-License-Identifier: GPL-2.0-only
//! Progress of a build on standard error: notes as lines, and how many files are compiled.

use std::thread;
use std::time::{Duration, Instant};

use vm::kernels::build::{BuildEvent, OnBuildEvent};

use crate::ui::StatusLine;

/// Does some work, and shows its progress while it lasts.
pub fn watch<Done>(work: impl FnOnce(&mut OnBuildEvent<'_>) -> Done) -> Done {
    let status = StatusLine::new("{wide_msg}");
    let mut screen = BuildScreen { status, started: None };
    work(&mut |event| screen.show(&event))
}

/// Compilers at a time: as many as the user says, or all CPUs.
pub fn jobs(said: Option<usize>) -> usize {
    said.unwrap_or_else(|| thread::available_parallelism().map_or(1, usize::from)).max(1)
}

/// Notes as lines, and one line of progress.
struct BuildScreen {
    status: StatusLine,
    started: Option<Instant>,
}

impl BuildScreen {
    fn show(&mut self, event: &BuildEvent<'_>) {
        match event {
            BuildEvent::Note(note) => self.status.print(note),
            BuildEvent::Compiled { done, about } => self.compiled(*done, *about),
        }
    }

    fn compiled(&mut self, done: u64, about: u64) {
        let started = *self.started.get_or_insert_with(Instant::now);
        self.status.show(&progress(done, about, started.elapsed()));
    }
}

fn progress(done: u64, about: u64, elapsed: Duration) -> String {
    if done >= about {
        // The last one is the program itself, which takes longer than most.
        return format!("{done} compiled, almost done");
    }
    let left = elapsed.mul_f64((about - done) as f64 / done.max(1) as f64);
    format!("{done} of about {about} compiled, {} left", crate::times::words(left))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_left_follows_from_what_is_done() {
        let text = progress(100, 400, Duration::from_secs(60));
        assert!(text.starts_with("100 of about 400 compiled, 3 min"), "{text}");
        assert_eq!(progress(400, 400, Duration::from_secs(60)), "400 compiled, almost done");
    }
}
