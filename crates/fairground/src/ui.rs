// SPDX-License-Identifier: GPL-2.0-only
//! Progress on standard error: a bar with the time left on a terminal; elsewhere, as in a file,
//! only what stays true.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use model::{Outcome, Progress, Trial, text};

use crate::execution::sink::OnProgress;
use crate::output;
use crate::times::words;

/// Does some work, and shows its progress while it lasts.
pub fn watch<Done>(work: impl FnOnce(&mut OnProgress<'_>) -> Done) -> Done {
    let mut screen = Screen::new();
    work(&mut |progress: &Progress<'_>| screen.show(progress))
}

/// One line on a terminal that changes, and lines above it; elsewhere only the lines.
pub struct StatusLine(Option<ProgressBar>);

impl StatusLine {
    /// An empty line; `template` is indicatif's.
    pub fn new(template: &str) -> StatusLine {
        let style = ProgressStyle::with_template(template);
        StatusLine(output::can_redraw().then(|| {
            let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr());
            style.map_or_else(|_| bar.clone(), |style| bar.clone().with_style(style))
        }))
    }

    /// Whether there is a terminal where [`StatusLine::show`] shows something.
    pub fn is_seen(&self) -> bool {
        self.0.is_some()
    }

    pub fn show(&self, text: &str) {
        if let Some(bar) = &self.0 {
            bar.set_message(text::line(text));
            bar.tick();
        }
    }

    /// A line that stays.
    pub fn print(&self, text: &str) {
        match &self.0 {
            Some(bar) => bar.println(text::lines(text)),
            None => output::tell(text),
        }
    }
}

impl Drop for StatusLine {
    fn drop(&mut self) {
        if let Some(bar) = &self.0 {
            bar.finish_and_clear();
        }
    }
}

struct Screen {
    status: StatusLine,
    done: usize,
    trials: usize,
    /// When the plan began, and how many trials were done then.
    began: (Instant, usize),
    /// The kernel of each boot: a boot that fails is started again.
    kernels: BTreeMap<u32, String>,
    /// Notes and reasons that were shown: each is shown once.
    told: BTreeSet<String>,
}

impl Screen {
    /// Starts with nothing on the terminal.
    fn new() -> Screen {
        let now = Instant::now();
        let template = "{bar:24} {pos}/{len} {elapsed} elapsed{prefix}  {wide_msg}";
        Screen {
            status: StatusLine::new(template),
            done: 0,
            trials: 0,
            began: (now, 0),
            kernels: BTreeMap::new(),
            told: BTreeSet::new(),
        }
    }

    fn show(&mut self, progress: &Progress<'_>) {
        match progress {
            Progress::Planned { trials, done } => self.planned(*trials, *done),
            Progress::BootStarted { boot, kernel } => {
                // Simulated trials come first, and say nothing about the speed of guests.
                if self.kernels.is_empty() {
                    self.began = (Instant::now(), self.done);
                }
                self.kernels.insert(*boot, (*kernel).to_owned());
                self.status.show(&format!("boot {boot}: starting {kernel}"));
            }
            Progress::Booted { boot, boot_ms } => self.booted(*boot, *boot_ms),
            Progress::TrialStarted(trial) => self.status.show(&label(trial)),
            Progress::TrialFinished(trial, outcome) => self.finished(trial, outcome),
            Progress::Note(note) if self.told.insert((*note).to_owned()) => self.status.print(note),
            Progress::Note(_) => {}
        }
    }

    fn planned(&mut self, trials: usize, done: usize) {
        self.trials = trials;
        self.done = done;
        self.began = (Instant::now(), done);
        let noun = if trials == 1 { "trial" } else { "trials" };
        let there = if done > 0 { format!(", {done} already in the store") } else { String::new() };
        self.status.print(&format!("{trials} {noun}{there}"));
        if let Some(bar) = &self.status.0 {
            bar.reset();
            bar.set_prefix("");
            bar.set_length((trials - done) as u64);
            bar.enable_steady_tick(Duration::from_millis(250));
        }
    }

    fn booted(&mut self, boot: u32, boot_ms: u64) {
        let kernel = self.kernels.get(&boot).cloned().unwrap_or_default();
        let seconds = boot_ms as f64 / 1000.0;
        let text = format!("boot {boot}: {kernel} is up after {seconds:.1} s");
        if self.status.is_seen() {
            self.status.show(&text);
        } else {
            self.status.print(&text);
        }
    }

    fn finished(&mut self, trial: &Trial, outcome: &Outcome) {
        self.done += 1;
        if !outcome.is_ok() {
            self.misbehaved(trial, outcome);
        }
        if let Some(bar) = &self.status.0 {
            bar.inc(1);
            bar.set_prefix(format!(", about {} left", words(self.left())));
        }
    }

    /// A reason can have many lines, like a verifier's: it is shown in full once.
    fn misbehaved(&mut self, trial: &Trial, outcome: &Outcome) {
        let (word, reason) = (outcome.word(), outcome.reason());
        let is_new = self.told.insert(reason.to_owned());
        let reason = if is_new { reason } else { first_line(reason) };
        // Its further lines must not look like lines of ours.
        let reason = reason.replace('\n', "\n    ");
        self.status.print(&format!("{word}: {}: {reason}", label(trial)));
    }

    fn left(&self) -> Duration {
        let (began, before) = self.began;
        let new = self.done.saturating_sub(before).max(1) as f64;
        began.elapsed().mul_f64((self.trials - self.done.min(self.trials)) as f64 / new)
    }
}

/// A reason's first line, for places where it is repeated.
pub fn first_line(reason: &str) -> &str {
    reason.lines().next().unwrap_or_default()
}

/// A trial in one line: `fifo in pipe, boot 3`.
pub fn label(trial: &Trial) -> String {
    let (contestant, cell) = (&trial.contestant.name, trial.workload.cell());
    format!("{contestant} in {cell}, boot {}", trial.boot)
}
