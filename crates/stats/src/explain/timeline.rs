// SPDX-License-Identifier: GPL-2.0-only
//! Events → the states of every task, the use of every CPU, and every wait.

use std::collections::BTreeMap;

use model::Trace;
use model::trace::{Preemption, TraceEvent, What};

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
    /// The CPUs that each group may use; `None`: all.
    pub allowed: Vec<Option<Vec<u32>>>,
    pub end_ns: u64,
    pub switches: u64,
}

/// A span in which one task has a CPU.
#[derive(Clone, Copy, Debug)]
pub struct CpuSpan {
    /// The task's place in [`Timeline::tasks`]; `None`: the idle task.
    pub task: Option<usize>,
    pub from_ns: u64,
    pub to_ns: u64,
    pub ended: Ended,
}

#[derive(Clone, Debug)]
pub struct RunDelay {
    pub task: usize,
    pub from_ns: u64,
    pub to_ns: u64,
    /// It was still waiting at the end.
    pub open: bool,
    /// The events that it lies between, by number.
    pub events: (usize, usize),
    /// Where it waited, in order of time.
    pub parts: Vec<WaitPart>,
}

#[derive(Clone, Copy, Debug)]
pub struct WaitPart {
    pub cpu: u32,
    pub from_ns: u64,
    pub to_ns: u64,
}

impl Timeline {
    pub fn from_trace(trace: &Trace, about: &About) -> Timeline {
        let mut reader = Reader::new(trace, about);
        for (number, event) in trace.events.iter().enumerate() {
            reader.event(number, event);
        }
        let last_ns = trace.events.last().map_or(0, |event| event.time_ns);
        reader.close(last_ns.max(about.end_ns), trace.events.len())
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

#[derive(Clone, Default)]
struct OpenWait {
    event: usize,
    from_ns: u64,
    /// The CPU whose queue it is in, if it is in one CPU's queue, and since when.
    parts: Vec<(Option<u32>, u64)>,
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
    switches: u64,
    decisions: bool,
}

impl Reader {
    fn new(trace: &Trace, about: &About) -> Reader {
        let seen = trace.events.iter().map(|event| event.cpu + 1).max();
        let cpus = about.cpus.max(seen.unwrap_or(0)) as usize;
        let (tasks, groups) = named(&trace.tasks);
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
            switches: 0,
            decisions: trace.events.iter().any(|event| event.what.is_decision()),
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
            What::Waking { pid, target, .. } => {
                let task = self.place(*pid);
                self.wake(number, at, task, *target);
            }
            What::Fork { child, .. } => {
                let child = self.place(*child);
                if self.now[child].state == State::Absent {
                    self.wait(number, at, child, cpu);
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

    fn wake(&mut self, number: usize, at: u64, task: usize, target: u32) {
        match self.now[task].state {
            State::Sleeping | State::Blocked | State::Absent => {
                self.count(task, at);
                self.wait(number, at, task, target);
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
        now.wait = OpenWait { event: number, from_ns: at, parts: Vec::new() };
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
        if self.now[task].state != State::Running {
            self.ran_unseen(task, number, since_ns);
        }
        self.count(task, at);
        self.now[task].cpu = cpu;
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
        if now.state == State::Sleeping && now.woken_early {
            // It never really slept.
            now.state = State::Waiting;
            now.wait = OpenWait { event: number, from_ns: now.since_ns, parts: Vec::new() };
        }
        if now.state == State::Waiting {
            self.end_wait(task, number, at, cpu, false);
        }
        self.count(task, at);
        let now = &mut self.now[task];
        now.begin(State::Running, at);
        now.cpu = cpu;
        now.sent_away = None;
        now.home = None;
        now.woken_early = false;
    }

    fn end_wait(&mut self, task: usize, number: usize, at: u64, cpu: u32, open: bool) {
        let wait = std::mem::take(&mut self.now[task].wait);
        if at <= wait.from_ns {
            return;
        }
        let parts = parts(&wait, at, cpu);
        let events = (wait.event, number);
        self.waits.push(RunDelay { task, from_ns: wait.from_ns, to_ns: at, open, events, parts });
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
        let Reader { tasks, groups, stretches, waits, allowed, switches, .. } = self;
        Timeline { tasks, groups, stretches, waits, allowed, end_ns, switches }
    }
}

/// Where the task waited: time outside of CPUs' own queues belongs to the next CPU that had it.
fn parts(wait: &OpenWait, to_ns: u64, cpu: u32) -> Vec<WaitPart> {
    let mut parts: Vec<WaitPart> = Vec::new();
    let (mut until_ns, mut home) = (to_ns, cpu);
    for &(queue, since_ns) in wait.parts.iter().rev() {
        home = queue.unwrap_or(home);
        let since_ns = since_ns.clamp(wait.from_ns, until_ns);
        parts.push(WaitPart { cpu: home, from_ns: since_ns, to_ns: until_ns });
        until_ns = since_ns;
    }
    parts.push(WaitPart { cpu: home, from_ns: wait.from_ns, to_ns: until_ns });
    parts.retain(|part| part.to_ns > part.from_ns);
    parts.reverse();
    parts.dedup_by(|later, earlier| {
        let same = later.cpu == earlier.cpu;
        earlier.to_ns = if same { later.to_ns } else { earlier.to_ns };
        same
    });
    parts
}
