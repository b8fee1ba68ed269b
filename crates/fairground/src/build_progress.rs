// SPDX-License-Identifier: GPL-2.0-only
//! Progress of a build on standard error: notes as lines, and how many files are compiled.

use std::io::{self, IsTerminal};
use std::thread;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use vm::kernels::build::{BuildEvent, Hear};

use crate::output::tell;

/// Does some work, and shows its progress while it lasts.
pub fn watch<Done>(work: impl FnOnce(&mut Hear<'_>) -> Done) -> Done {
    let mut screen = BuildScreen::new();
    let done = work(&mut |event| screen.show(&event));
    screen.clear();
    done
}

/// Compilers at a time: as many as the user says, or all CPUs.
pub fn jobs(said: Option<usize>) -> usize {
    said.unwrap_or_else(|| thread::available_parallelism().map_or(1, usize::from)).max(1)
}

/// Notes as lines, and one line of progress.
struct BuildScreen {
    bar: Option<ProgressBar>,
    started: Option<Instant>,
    /// Tenths that were told, where there is no terminal.
    tenths: u64,
}

impl BuildScreen {
    fn new() -> BuildScreen {
        let style = ProgressStyle::with_template("{wide_msg}");
        let bar = io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::new_spinner();
            style.map_or_else(|_| bar.clone(), |style| bar.clone().with_style(style))
        });
        BuildScreen { bar, started: None, tenths: 0 }
    }

    fn show(&mut self, event: &BuildEvent<'_>) {
        match event {
            BuildEvent::Note(note) => match &self.bar {
                Some(bar) => bar.suspend(|| tell(note)),
                None => tell(note),
            },
            BuildEvent::Compiled { done, about } => self.compiled(*done, *about),
        }
    }

    fn compiled(&mut self, done: u64, about: u64) {
        let started = *self.started.get_or_insert_with(Instant::now);
        let text = progress(done, about, started.elapsed());
        if let Some(bar) = &self.bar {
            bar.set_message(text);
            bar.tick();
        } else if done * 10 / about.max(1) > self.tenths {
            self.tenths = done * 10 / about.max(1);
            tell(text);
        }
    }

    fn clear(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

fn progress(done: u64, about: u64, elapsed: Duration) -> String {
    let left = elapsed.mul_f64((about - done) as f64 / done.max(1) as f64);
    format!("{done} of about {about} files, {} left", crate::times::words(left))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_left_follows_from_what_is_done() {
        let text = progress(100, 400, Duration::from_secs(60));
        assert!(text.starts_with("100 of about 400 files, 3 min"), "{text}");
    }
}
