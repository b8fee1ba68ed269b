// SPDX-License-Identifier: GPL-2.0-only
//! A campaign on a fleet: submits chunks, takes each record once, submits again what did not come
//! back, and names what never does.
//!
//! Only records count. What a queue says about its tasks decides when to stop waiting for them.

pub mod part;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};
use execution::sink::Sink;
use model::{Backend, Progress, Record, Trial};

use crate::cut;
use crate::options::FleetOptions;
use crate::pace::{self, Pace};
use crate::queue::{Array, Needs, Queue, Stage, Task, TaskId};
use part::{Files, Part};

/// How often in a row trials are submitted that bring no record.
const FRUITLESS_MAX: u32 = 3;

/// How often a task must be found ended before its chunk is: a queue forgets tasks for a moment
/// when it puts them back.
const ENDED: u32 = 2;

/// The pauses of a campaign.
#[derive(Clone, Copy, Debug)]
pub struct Pauses {
    /// Between two looks at the files.
    pub files: Duration,
    /// Between two questions to the queue.
    pub queue: Duration,
    /// Between two notes about progress.
    pub notes: Duration,
    /// The longest wait for cancelled tasks.
    pub end: Duration,
}

impl Default for Pauses {
    fn default() -> Pauses {
        Pauses {
            files: Duration::from_millis(250),
            queue: Duration::from_secs(2),
            notes: Duration::from_secs(30),
            end: Duration::from_secs(40),
        }
    }
}

/// What a campaign has to do.
pub struct Work<'a> {
    /// Its files.
    pub files: Files<'a>,
    /// The trials without a record, in the order of the plan.
    pub left: Vec<Trial>,
    /// Records of boots that an earlier session began.
    pub earlier: Vec<Record>,
}

/// Runs the trials on the fleet until each has a record in the sink, or the sink says stop.
///
/// # Errors
/// When the queue refuses chunks, a file cannot be read, or a chunk never comes back.
pub fn run(
    work: Work<'_>,
    options: &FleetOptions,
    pauses: Pauses,
    queue: &mut dyn Queue,
    sink: &Sink<'_>,
) -> Result<()> {
    let mut drive = Drive::new(work, options, pauses, queue, sink);
    let done = drive.recover().and_then(|()| drive.all());
    let ended = drive.end();
    done.and(ended)?;
    drive.named()
}

/// Chunks, and the trials that are in none of them.
type Cut = (Vec<Vec<Trial>>, Vec<Trial>);

struct Drive<'a, 'sink> {
    files: Files<'a>,
    options: &'a FleetOptions,
    pauses: Pauses,
    queue: &'a mut dyn Queue,
    sink: &'a Sink<'sink>,
    /// Trials that are in no chunk yet, by backend.
    waiting: BTreeMap<Backend, Vec<Trial>>,
    /// Chunks that are in no queue yet.
    ready: VecDeque<(Vec<Trial>, u32)>,
    parts: Vec<Part>,
    /// What the user must be told about chunks that never came back.
    lost: Vec<String>,
    /// Records of boots of the virtual clock.
    counted: Vec<Record>,
    pace: Pace,
    next: usize,
    back: usize,
    /// Backends with a chunk that is back.
    shown: BTreeSet<Backend>,
    /// Whether no job has brought a record.
    is_barren: bool,
    asked: Option<Instant>,
    told: Instant,
}

impl<'a, 'sink> Drive<'a, 'sink> {
    fn new(
        work: Work<'a>,
        options: &'a FleetOptions,
        pauses: Pauses,
        queue: &'a mut dyn Queue,
        sink: &'a Sink<'sink>,
    ) -> Drive<'a, 'sink> {
        let mut waiting: BTreeMap<Backend, Vec<Trial>> = BTreeMap::new();
        for trial in work.left {
            waiting.entry(trial.backend).or_default().push(trial);
        }
        Drive {
            files: work.files,
            options,
            pauses,
            queue,
            sink,
            waiting,
            ready: VecDeque::new(),
            parts: Vec::new(),
            lost: Vec::new(),
            counted: work.earlier,
            pace: Pace::default(),
            next: 0,
            back: 0,
            shown: BTreeSet::new(),
            is_barren: true,
            asked: None,
            told: Instant::now(),
        }
    }

    /// Takes what the jobs of a process left behind that was killed, and ends those jobs.
    fn recover(&mut self) -> Result<()> {
        self.cancel_all()?;
        let files = self.files.records()?;
        self.next = self.files.next_number()?;
        let paths: Vec<_> = files.into_values().flatten().collect();
        let all: Vec<Trial> = self.waiting.values().flatten().cloned().collect();
        let mut earlier = Part::new(0, all, 0);
        let records = earlier.collect(&paths)?;
        for trials in self.waiting.values_mut() {
            trials.retain(|trial| earlier.missing.contains(&trial.id()));
        }
        self.waiting.retain(|_, trials| !trials.is_empty());
        self.take(records);
        Ok(())
    }

    fn all(&mut self) -> Result<()> {
        while !self.is_done() && !self.sink.is_stopped() {
            self.size_chunks()?;
            self.submit()?;
            self.collect()?;
            self.look()?;
            self.tell_progress();
            std::thread::sleep(self.pauses.files);
        }
        Ok(())
    }

    fn is_done(&self) -> bool {
        self.waiting.is_empty() && self.ready.is_empty() && self.parts.is_empty()
    }

    /// Makes chunks of trials that wait: as the user says, or a few that show how long trials take,
    /// and the others when the first of these is back.
    fn size_chunks(&mut self) -> Result<()> {
        let backends: Vec<Backend> = self.waiting.keys().copied().collect();
        for backend in backends {
            let ready = self.ready.iter().map(|(trials, _)| &trials[0]);
            let submitted = self.parts.iter().map(|part| &part.trials[0]);
            let under_way = ready.chain(submitted).any(|trial| trial.backend == backend);
            let is_shown = self.shown.contains(&backend);
            if under_way && !is_shown && self.options.chunk_trials.is_none() {
                continue;
            }
            let trials = self.waiting.remove(&backend).unwrap_or_default();
            let (chunks, rest) = self.chunks_of(backend, trials)?;
            if !rest.is_empty() {
                self.waiting.insert(backend, rest);
            }
            self.ready.extend(chunks.into_iter().map(|trials| (trials, 0)));
        }
        Ok(())
    }

    /// Chunks of a backend's trials, and the trials that still wait.
    fn chunks_of(&mut self, backend: Backend, trials: Vec<Trial>) -> Result<Cut> {
        if let Some(most) = self.options.chunk_trials {
            return Ok((cut::cut(&trials, f64::from(most), &|_| 1.0), Vec::new()));
        }
        let slots = self.queue.slots(&Needs::of(&trials))?;
        Ok(match self.pace.knows(backend) {
            true => (self.pace.chunks(&trials, slots, self.options.chunk_s), Vec::new()),
            false => Pace::pilots(&trials, slots),
        })
    }

    /// Submits the chunks that are ready: neighbours that need the same as one array.
    fn submit(&mut self) -> Result<()> {
        while let Some((trials, _)) = self.ready.front() {
            let needs = Needs::of(trials);
            let alike = |(it, _): &&(Vec<Trial>, u32)| Needs::of(it) == needs;
            let count = self.ready.iter().take_while(alike).count();
            let mut parts = Vec::new();
            for (trials, fruitless) in self.ready.drain(..count) {
                let part = Part::new(self.next + parts.len(), trials, fruitless);
                self.files.write(&part, &self.counted)?;
                parts.push(part);
            }
            let array = Array { first: self.next, count: parts.len(), needs };
            let tasks = self.queue.submit(&array)?;
            self.next += parts.len();
            for (part, task) in parts.iter_mut().zip(tasks) {
                part.task = task;
            }
            self.parts.extend(parts);
        }
        Ok(())
    }

    /// Takes the records that are new in the files.
    fn collect(&mut self) -> Result<()> {
        let files = self.files.records()?;
        let mut new = Vec::new();
        for part in &mut self.parts {
            let own = files.get(&part.number).map_or(&[][..], Vec::as_slice);
            new.extend(part.collect(own)?);
        }
        for part in self.parts.extract_if(.., |part| part.is_complete()) {
            self.shown.insert(part.trials[0].backend);
            self.back += 1;
        }
        self.take(new);
        Ok(())
    }

    fn take(&mut self, records: Vec<Record>) {
        self.is_barren &= records.is_empty();
        for record in &records {
            self.pace.learn(record);
            if part::is_counted(&record.trial) {
                self.counted.push(record.clone());
            }
        }
        self.sink.records(records);
    }

    /// Asks the queue, if it is time, and gives up waiting for tasks that have ended.
    fn look(&mut self) -> Result<()> {
        if self.asked.is_some_and(|asked| asked.elapsed() < self.pauses.queue) {
            return Ok(());
        }
        self.asked = Some(Instant::now());
        let tasks = match self.queue.tasks() {
            Ok(tasks) => tasks,
            Err(error) => {
                self.note(&format!("{error:#}; asking again"));
                return Ok(());
            }
        };
        self.parts.iter_mut().for_each(|part| see(part, tasks.get(&part.task)));
        // What was written before a task ended is there now.
        self.collect()?;
        let (ended, rest) = self.parts.drain(..).partition(|part: &Part| part.ended >= ENDED);
        self.parts = rest;
        let ended: Vec<Part> = ended;
        ended.into_iter().try_for_each(|part| self.again(part))
    }

    /// Submits again what a chunk did not bring back, unless it never does.
    fn again(&mut self, part: Part) -> Result<()> {
        let brought = part.missing.len() < part.trials.len();
        let fruitless = if brought { 0 } else { part.fruitless + 1 };
        let words = self.end_of(&part);
        let label = part.label();
        self.queue.cancel(std::slice::from_ref(&part.task)).unwrap_or_default();
        if fruitless >= FRUITLESS_MAX {
            self.lost.push(format!("{label} never came back: {words}"));
            // If no job has brought anything, the others will not either.
            return if self.is_barren { self.named() } else { Ok(()) };
        }
        self.note(&format!("{label} did not come back ({words}); its trials are submitted again"));
        self.ready.push_back((part.left(), fruitless));
        Ok(())
    }

    fn end_of(&mut self, part: &Part) -> String {
        let seen = part.seen.as_ref().map_or("the queue has forgotten it".into(), |task| {
            let on = if task.node.is_empty() { "" } else { " on " };
            format!("{}{on}{}", task.words, task.node)
        });
        let said = self.queue.last_words(&part.task);
        if said.is_empty() { seen } else { format!("{seen}; {said}") }
    }

    fn note(&self, text: &str) {
        self.sink.progress(&Progress::Note(text));
    }

    fn tell_progress(&mut self) {
        if self.told.elapsed() < self.pauses.notes {
            return;
        }
        self.told = Instant::now();
        let is_running =
            |part: &&Part| part.seen.as_ref().is_some_and(|task| task.stage == Stage::Running);
        let running = self.parts.iter().filter(is_running).count();
        let queued = self.parts.len() - running + self.ready.len();
        let left = self
            .seconds_left(running)
            .map_or_else(String::new, |seconds| format!("; about {} left", pace::words(seconds)));
        self.note(&format!("chunks: {} back, {running} running, {queued} queued{left}", self.back));
    }

    /// The time of the trials that are left, spread over the chunks that run.
    fn seconds_left(&self, running: usize) -> Option<f64> {
        let own = self.parts.iter().flat_map(Part::left);
        let waiting = self.waiting.values().flatten().cloned();
        let ready = self.ready.iter().flat_map(|(trials, _)| trials.iter().cloned());
        let left: Vec<Trial> = own.chain(waiting).chain(ready).collect();
        let all_known = left.iter().all(|trial| self.pace.knows(trial.backend));
        let total: f64 = left.iter().map(|trial| self.pace.seconds(trial)).sum();
        (all_known && running > 0).then(|| total / running as f64)
    }

    /// Cancels what is in the queue and takes what was finished meanwhile.
    fn end(&mut self) -> Result<()> {
        self.cancel_all()?;
        self.collect()
    }

    /// Ends all tasks of this campaign and waits until they are gone, for a while.
    fn cancel_all(&mut self) -> Result<()> {
        let (began, mut cancelled) = (Instant::now(), false);
        loop {
            let tasks = self.queue.tasks()?;
            let alive = tasks.iter().filter(|(_, task)| task.stage != Stage::Ended);
            let alive: Vec<TaskId> = alive.map(|(id, _)| id.clone()).collect();
            if alive.is_empty() || began.elapsed() > self.pauses.end {
                return Ok(());
            }
            if !cancelled && began.elapsed() >= self.grace() {
                self.queue.cancel(&alive)?;
                cancelled = true;
            }
            std::thread::sleep(self.pauses.files);
        }
    }

    /// Tasks whose records are all back end by themselves.
    fn grace(&self) -> Duration {
        if self.sink.is_stopped() || !self.is_done() { Duration::ZERO } else { self.pauses.queue }
    }

    /// The error that names what is lost.
    fn named(&self) -> Result<()> {
        match self.lost.is_empty() {
            true => Ok(()),
            false => Err(anyhow!("{}", self.lost.join("\n"))),
        }
    }
}

fn see(part: &mut Part, task: Option<&Task>) {
    let alive = task.is_some_and(|task| task.stage != Stage::Ended);
    part.ended = if alive { 0 } else { part.ended + 1 };
    // The words of a task that was forgotten since are better than none.
    if let Some(task) = task {
        part.seen = Some(task.clone());
    }
}
