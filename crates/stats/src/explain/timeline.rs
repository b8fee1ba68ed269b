// SPDX-License-Identifier: GPL-2.0-only
//! Events → the states of every task, the use of every CPU, and every wait.

use std::collections::BTreeMap;

use model::trace::{Preemption, TraceEvent, TraceTask, What, WokenBy};

pub use super::chains::{CpuSpan, RunDelay, Sleep};
use super::chains::{OpenWait, Origin};
use super::{About, Ended, TaskTimes, named};

/// Who ran, waited and slept when: all tasks and CPUs.
pub struct Timeline {
    /// The tasks, ordered by group and thread number.
    pub tasks: Vec<TaskTimes>,
    /// Names of the groups; the last one is empty: tasks outside the workload.
    pub groups: Vec<String>,
    /// The use of each CPU, without gaps from 0 to the end.
    pub stretches: Vec<Vec<CpuSpan>>,
    /// Every wait, in order of its end.
    pub waits: Vec<RunDelay>,
    /// Every sleep that ended, in order of its end.
    pub sleeps: Vec<Sleep>,
    /// The CPUs that each group may use; `None`: all.
    pub allowed: Vec<Option<Vec<u32>>>,
    pub end_ns: u64,
    pub switches: u64,
}

impl Timeline {
    pub fn new(tasks: &[TraceTask], events: &[TraceEvent], about: &About) -> Timeline {
        let mut reader = Reader::new(tasks, events, about);
        for (number, event) in events.iter().enumerate() {
            reader.event(number, event);
        }
        let last_ns = events.last().map_or(0, |event| event.time_ns);
        reader.close(last_ns.max(about.end_ns), events.len())
    }

    /// The stretches of a CPU between two moments, and for how long each is.
    pub fn within(
        &self,
        cpu: u32,
        from_ns: u64,
        to_ns: u64,
    ) -> impl Iterator<Item = (&CpuSpan, u64)> {
        let spans = self.stretches.get(cpu as usize).map_or(&[][..], Vec::as_slice);
        let first = spans.partition_point(|span| span.to_ns <= from_ns);
        let spans = spans[first..].iter().take_while(move |span| span.from_ns < to_ns);
        spans.map(move |span| (span, span.to_ns.min(to_ns) - span.from_ns.max(from_ns)))
    }
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    /// Not seen yet, or ended.
    Absent,
    Running,
    Waiting,
    Sleeping,
    Blocked,
}

/// What is known of a task while events are read.
#[derive(Clone)]
struct TaskState {
    state: State,
    since_ns: u64,
    /// The CPU that it is or was on, or that it will wait on.
    cpu: u32,
    /// The CPU that it ran on last.
    last_cpu: Option<u32>,
    /// The decision to preempt it, and where it was put then.
    sent_away: Option<(usize, Preemption)>,
    home: Option<u32>,
    /// It was woken while it was about to sleep: the wake-up precedes the switch in the trace.
    woken_early: bool,
    wait: OpenWait,
}

impl TaskState {
    fn begin(&mut self, state: State, at_ns: u64) {
        self.state = state;
        self.since_ns = at_ns;
    }
}

struct Reader {
    tasks: Vec<TaskTimes>,
    now: Vec<TaskState>,
    place: BTreeMap<u32, usize>,
    groups: Vec<String>,
    allowed: Vec<Option<Vec<u32>>>,
    stretches: Vec<Vec<CpuSpan>>,
    /// The user of each CPU, and since when; `None` before the first event there.
    current: Vec<Option<(Option<usize>, u64)>>,
    waits: Vec<RunDelay>,
    sleeps: Vec<Sleep>,
    switches: u64,
    decisions: bool,
}

impl Reader {
    fn new(known: &[TraceTask], events: &[TraceEvent], about: &About) -> Reader {
        let seen = events.iter().map(|event| event.cpu + 1).max();
        let cpus = about.cpus.max(seen.unwrap_or(0)) as usize;
        let (tasks, groups) = named(known, about.by_comm);
        let allowed = groups.iter().map(|group| about.affinity.get(group).cloned()).collect();
        let place = tasks.iter().enumerate().map(|(place, task)| (task.pid, place)).collect();
        let mut reader = Reader {
            tasks: Vec::new(),
            now: Vec::new(),
            place,
            groups,
            allowed,
            stretches: vec![Vec::new(); cpus],
            current: vec![None; cpus],
            waits: Vec::new(),
            sleeps: Vec::new(),
            switches: 0,
            decisions: events.iter().any(|event| event.what.is_decision()),
        };
        tasks.into_iter().for_each(|task| reader.add(task));
        reader
    }

    fn add(&mut self, task: TaskTimes) {
        self.tasks.push(task);
        self.now.push(TaskState {
            state: State::Absent,
            since_ns: 0,
            cpu: 0,
            last_cpu: None,
            sent_away: None,
            home: None,
            woken_early: false,
            wait: OpenWait::default(),
        });
    }

    /// The place of a task; one that the trace does not name is outside the workload.
    fn place(&mut self, pid: u32) -> usize {
        let next = self.tasks.len();
        let place = *self.place.entry(pid).or_insert(next);
        if place == next {
            let (name, group) = (format!("task {pid}"), self.groups.len() - 1);
            self.add(TaskTimes { pid, name, group, ..TaskTimes::default() });
        }
        place
    }

    fn event(&mut self, number: usize, event: &TraceEvent) {
        let (at, cpu) = (event.time_ns, event.cpu);
        match &event.what {
            What::Switch { prev, prev_state, next, .. } => {
                self.switches += 1;
                let prev = (*prev != 0).then(|| self.place(*prev));
                let next = (*next != 0).then(|| self.place(*next));
                self.leave(number, at, cpu, prev, prev_state);
                self.enter(number, at, cpu, next);
            }
            What::Waking { pid, target, interrupt, by, .. } => {
                let task = self.place(*pid);
                let by = self.waker(cpu, *interrupt, *by);
                self.wake(number, at, task, (*target, by));
            }
            What::Fork { child, parent } => {
                let (child, parent) = (self.place(*child), self.place(*parent));
                if self.now[child].state == State::Absent {
                    self.tasks[child].wakeups += 1;
                    self.wait(number, at, child, cpu);
                    self.now[child].wait.by = Some(parent);
                }
            }
            What::Enqueue { pid, queue, .. } => {
                let task = self.place(*pid);
                if self.now[task].state == State::Absent {
                    self.wait(number, at, task, cpu);
                }
                self.put(at, task, queue.cpu());
            }
            What::Preempt { pid, why } => {
                let task = self.place(*pid);
                self.now[task].sent_away = Some((number, *why));
                self.now[task].home = None;
            }
            What::Choose { .. } | What::Exit { .. } | What::Send { .. } | What::Take { .. } => {}
        }
    }

    /// The task that wakes another one on that CPU, or what else does.
    fn waker(&mut self, cpu: u32, interrupt: bool, by: Option<WokenBy>) -> (Option<usize>, Origin) {
        match by {
            Some(WokenBy::Task(pid)) => (Some(self.place(pid)), Origin::Unknown),
            Some(WokenBy::Timer) => (None, Origin::Timer),
            Some(WokenBy::Device) => (None, Origin::Interrupt),
            None if interrupt => (None, Origin::Interrupt),
            None => match self.current[cpu as usize] {
                Some((task, _)) => (task, Origin::Unknown),
                None => (None, Origin::Unknown),
            },
        }
    }

    fn wake(
        &mut self,
        number: usize,
        at: u64,
        task: usize,
        (target, waker): (u32, (Option<usize>, Origin)),
    ) {
        match self.now[task].state {
            State::Sleeping | State::Blocked | State::Absent => {
                if self.now[task].state != State::Absent {
                    let (from_ns, (by, origin)) = (self.now[task].since_ns, waker);
                    self.sleeps.push(Sleep { task, from_ns, to_ns: at, by, origin });
                }
                self.count(task, at);
                self.tasks[task].wakeups += 1;
                self.wait(number, at, task, target);
                (self.now[task].wait.by, self.now[task].wait.origin) = (waker.0, Some(waker.1));
                self.now[task].woken_early = false;
            }
            // The simulator's events of different CPUs can be out of order by a few microseconds,
            // but it never wakes a task that has not gone to sleep.
            State::Running => self.now[task].woken_early = !self.decisions,
            State::Waiting => {}
        }
    }

    /// It is in the queue of this CPU now, or in one that all share.
    fn put(&mut self, at: u64, task: usize, home: Option<u32>) {
        let now = &mut self.now[task];
        match now.state {
            State::Waiting => now.wait.parts.push((home, at)),
            State::Running if now.sent_away.is_some() => now.home = home,
            _ => {}
        }
    }

    fn wait(&mut self, number: usize, at: u64, task: usize, cpu: u32) {
        let now = &mut self.now[task];
        now.begin(State::Waiting, at);
        now.cpu = cpu;
        now.wait = OpenWait { event: number, from_ns: at, ..OpenWait::default() };
    }

    /// Adds up the state that ends now.
    fn count(&mut self, task: usize, at: u64) {
        let (past, now) = (&mut self.tasks[task], &mut self.now[task]);
        let ns = at.saturating_sub(now.since_ns);
        match now.state {
            State::Absent => {}
            State::Running => past.running_ns += ns,
            State::Waiting => past.waiting_ns += ns,
            State::Sleeping => past.sleeping_ns += ns,
            State::Blocked => past.blocked_ns += ns,
        }
        now.since_ns = at;
    }

    fn leave(&mut self, number: usize, at: u64, cpu: u32, prev: Option<usize>, state: &str) {
        let sent_away = prev.and_then(|task| self.now[task].sent_away);
        let ended = match state.as_bytes().first() {
            Some(b'R') => Ended::Left(sent_away.map(|(_, why)| why)),
            Some(b'D') => Ended::Blocked,
            Some(b'X' | b'Z') => Ended::Exited,
            _ => Ended::Slept,
        };
        let (known, since_ns) = self.current[cpu as usize].unwrap_or((prev, 0));
        self.push_stretch(cpu, CpuSpan { task: known, from_ns: since_ns, to_ns: at, ended });
        let Some(task) = prev else { return };
        self.tasks[task].switches += 1;
        if self.now[task].state != State::Running {
            self.ran_unseen(task, number, since_ns);
        }
        self.count(task, at);
        self.tasks[task].preemptions += u64::from(matches!(ended, Ended::Left(_)));
        (self.now[task].cpu, self.now[task].last_cpu) = (cpu, Some(cpu));
        match ended {
            Ended::Left(_) | Ended::Open => self.sent_to_wait(number, at, task),
            Ended::Slept => self.now[task].state = State::Sleeping,
            Ended::Blocked => self.now[task].state = State::Blocked,
            Ended::Exited => self.now[task].state = State::Absent,
        }
    }

    /// It ran although no event said that it began to: it did so before the trace, or events were
    /// lost. Its wait, if any, ended when the CPU switched to it.
    fn ran_unseen(&mut self, task: usize, number: usize, at: u64) {
        let at = at.max(self.now[task].since_ns);
        if self.now[task].state == State::Waiting {
            let cpu = self.now[task].cpu;
            self.end_wait(task, number, at, cpu, false);
        }
        self.count(task, at);
        self.now[task].begin(State::Running, at);
    }

    fn sent_to_wait(&mut self, number: usize, at: u64, task: usize) {
        let (sent_away, home) = (self.now[task].sent_away.take(), self.now[task].home.take());
        let first = sent_away.map_or(number, |(decision, _)| decision);
        let cpu = self.now[task].cpu;
        self.wait(first, at, task, cpu);
        if home.is_some() {
            self.now[task].wait.parts.push((home, at));
        }
    }

    fn enter(&mut self, number: usize, at: u64, cpu: u32, next: Option<usize>) {
        self.current[cpu as usize] = Some((next, at));
        let Some(task) = next else { return };
        let now = &mut self.now[task];
        if matches!(now.state, State::Sleeping | State::Blocked) && now.woken_early {
            // It never really slept.
            self.tasks[task].wakeups += 1;
            now.state = State::Waiting;
            now.wait = OpenWait { event: number, from_ns: now.since_ns, ..OpenWait::default() };
        }
        if now.state == State::Waiting {
            self.end_wait(task, number, at, cpu, false);
        }
        self.count(task, at);
        let now = &mut self.now[task];
        now.begin(State::Running, at);
        now.cpu = cpu;
        self.tasks[task].moves += u64::from(now.last_cpu.is_some_and(|last| last != cpu));
        now.last_cpu = Some(cpu);
        now.sent_away = None;
        now.home = None;
        now.woken_early = false;
    }

    fn end_wait(&mut self, task: usize, number: usize, at: u64, cpu: u32, open: bool) {
        let wait = std::mem::take(&mut self.now[task].wait);
        if at <= wait.from_ns {
            return;
        }
        let parts = wait.parts(at, cpu);
        let (events, by) = ((wait.event, number), wait.by);
        let origin = wait.origin.unwrap_or(Origin::Unknown);
        let moved_from = self.now[task].last_cpu.filter(|last| *last != cpu && !open);
        let from_ns = wait.from_ns;
        let wait =
            RunDelay { task, from_ns, to_ns: at, open, events, parts, by, origin, moved_from };
        self.waits.push(wait);
    }

    /// Stretches of one CPU follow each other without a gap.
    fn push_stretch(&mut self, cpu: u32, stretch: CpuSpan) {
        if stretch.to_ns > stretch.from_ns {
            self.stretches[cpu as usize].push(stretch);
        }
    }

    fn close(mut self, end_ns: u64, events: usize) -> Timeline {
        for cpu in 0..self.stretches.len() {
            let (task, from_ns) = self.current[cpu].unwrap_or((None, 0));
            let stretch = CpuSpan { task, from_ns, to_ns: end_ns, ended: Ended::Open };
            self.push_stretch(cpu as u32, stretch);
        }
        for task in 0..self.tasks.len() {
            if self.now[task].state == State::Waiting {
                let cpu = self.now[task].cpu;
                self.end_wait(task, events, end_ns, cpu, true);
            }
            self.count(task, end_ns);
        }
        let Reader { tasks, groups, stretches, waits, sleeps, allowed, switches, .. } = self;
        Timeline { tasks, groups, stretches, waits, sleeps, allowed, end_ns, switches }
    }
}
