// SPDX-License-Identifier: GPL-2.0-only
//! Progress on standard error: a bar with the time left on a terminal, a few plain lines otherwise.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use model::{Outcome, Progress, Trial, text};

use crate::execution::sink::Hear;
use crate::output;
use crate::times::words;

/// Without a terminal, a line tells how far the plan is, this often.
const PLAIN_LINES: Duration = Duration::from_secs(15);

/// Does some work, and shows its progress while it lasts.
pub fn watch<Done>(work: impl FnOnce(&mut Hear<'_>) -> Done) -> Done {
    let mut screen = Screen::new();
    let done = work(&mut |progress: &Progress<'_>| screen.show(progress));
    screen.clear();
    done
}

struct Screen {
    bar: Option<ProgressBar>,
    done: usize,
    trials: usize,
    /// When the plan began, and how many trials were done then.
    began: (Instant, usize),
    last_line: Instant,
    /// The kernel of each boot: a boot that fails is started again.
    kernels: BTreeMap<u32, String>,
    /// Notes and reasons that were shown: each is shown once.
    told: BTreeSet<String>,
}

impl Screen {
    /// Starts with nothing on the terminal.
    fn new() -> Screen {
        let bar = io::stderr().is_terminal().then(bar);
        let now = Instant::now();
        Screen {
            bar,
            done: 0,
            trials: 0,
            began: (now, 0),
            last_line: now,
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
                self.say_doing(format!("boot {boot}: starting {kernel}"));
            }
            Progress::Booted { boot, boot_ms } => self.booted(*boot, *boot_ms),
            Progress::TrialStarted(trial) => self.say_doing(label(trial)),
            Progress::TrialFinished(trial, outcome) => self.finished(trial, outcome),
            Progress::Note(note) if self.told.insert((*note).to_owned()) => self.line(note),
            Progress::Note(_) => {}
        }
    }

    fn planned(&mut self, trials: usize, done: usize) {
        self.trials = trials;
        self.done = done;
        self.began = (Instant::now(), done);
        self.last_line = self.began.0;
        let noun = if trials == 1 { "trial" } else { "trials" };
        let there = if done > 0 { format!(", {done} already in the store") } else { String::new() };
        self.line(&format!("{trials} {noun}{there}"));
        if let Some(bar) = &self.bar {
            bar.reset();
            bar.set_length((trials - done) as u64);
            bar.enable_steady_tick(Duration::from_millis(250));
        }
    }

    fn booted(&mut self, boot: u32, boot_ms: u64) {
        let kernel = self.kernels.get(&boot).cloned().unwrap_or_default();
        let seconds = boot_ms as f64 / 1000.0;
        let text = format!("boot {boot}: {kernel} is up after {seconds:.1} s");
        if self.bar.is_some() { self.say_doing(text) } else { self.line(&text) }
    }

    fn finished(&mut self, trial: &Trial, outcome: &Outcome) {
        self.done += 1;
        if !outcome.is_ok() {
            self.misbehaved(trial, outcome);
        }
        match &self.bar {
            Some(bar) => bar.inc(1),
            None if self.last_line.elapsed() >= PLAIN_LINES => {
                self.last_line = Instant::now();
                self.line(&self.plain_line());
            }
            None => {}
        }
    }

    /// A reason can have many lines, like a verifier's: it is shown in full once.
    fn misbehaved(&mut self, trial: &Trial, outcome: &Outcome) {
        let (word, reason) = (outcome.word(), outcome.reason());
        let is_new = self.told.insert(reason.to_owned());
        let reason = if is_new { reason } else { first_line(reason) };
        // Its further lines must not look like lines of ours.
        let reason = reason.replace('\n', "\n    ");
        self.line(&format!("{word}: {}: {reason}", label(trial)));
    }

    /// `120 of 738 trials, 16 %, about 3 min 20 s left`.
    fn plain_line(&self) -> String {
        let (began, before) = self.began;
        let new = self.done.saturating_sub(before).max(1) as f64;
        let left = began.elapsed().mul_f64((self.trials - self.done.min(self.trials)) as f64 / new);
        let percent = self.done * 100 / self.trials.max(1);
        let (done, trials, left) = (self.done, self.trials, words(left));
        format!("{done} of {trials} trials, {percent} %, about {left} left")
    }

    /// What runs at the moment: on the bar only, because it changes within a second.
    fn say_doing(&self, text: String) {
        if let Some(bar) = &self.bar {
            bar.set_message(text::line(&text));
        }
    }

    fn line(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.println(text::lines(text)),
            None => output::tell(text),
        }
    }

    fn clear(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

fn bar() -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr());
    let template = "{bar:24} {pos}/{len} {elapsed} elapsed, {eta} left  {wide_msg}";
    match ProgressStyle::with_template(template) {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
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
