// SPDX-License-Identifier: GPL-2.0-only
//! How the workload's tasks come to the gate, as the live player brings them there: the main task
//! starts a task, the starter; it sleeps for a while, as a shell would; then it makes one task
//! after the other, and each has run and sleeps before the next one is made. Then the process of
//! each session starts a starter, which makes the tasks of that session.
//!
//! None of it is measured, but a scheduler sees all of it: the tasks' virtual times, the CPUs that
//! they were on last, and what they inherited are what the common start begins with.

use model::play::Script;
use model::{Policy, PolicyClass};

use super::workload_state::{Ending, Flow, Gate};
use crate::core::events::EventKind;
use crate::core::task::{NewTask, State};
use crate::core::{Core, TaskId};
use crate::flags::PF_FORKNOEXEC;

/// How often the starter sleeps before it makes the first task, and how long.
const SLEEPS: u32 = 32;
const SLEEP_NS: u64 = 1_000_000;
/// How long it sleeps after it has made one.
const WAY_TO_GATE_NS: u64 = 500_000;
/// How long it sleeps if that was too short.
const PAUSE_NS: u64 = 50_000;
/// System calls with which it looks whether a task sleeps: it opens, reads and closes a file.
const CALLS_TO_LOOK: u64 = 3;
/// System calls between the birth of a thread and its maker's sleep: the maker restores its signal
/// mask and asks for the sleep. Meanwhile another CPU takes the new thread. Otherwise the maker's
/// CPU, which idles then, would.
pub(super) const CALLS_AFTER_BIRTH: u64 = 2;
/// Process numbers before those of the main task and of the workload.
const STARTER_PID: i32 = 998;
const EXTRA_PID: i32 = 999;

/// The name of a thread that has not given itself its own.
pub(super) const PROGRAM: &str = "fairground";

type Place = (usize, usize);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// It sleeps; the number says how many times it has slept.
    Sleep(u32),
    /// It makes this one of its tasks; the time that this costs has passed.
    Make(usize),
    /// It goes on for a moment, then to sleep.
    Made(usize),
    /// It waits until that one sleeps at the gate.
    Await(usize),
    /// It makes a task that plays no part, so that none that does is the newest.
    MakeExtra,
    MadeExtra,
    /// It waits until that one has gone.
    AwaitExtra,
}

pub struct Starter {
    /// Its task, while it lives.
    pub(super) task: Option<TaskId>,
    last: Option<TaskId>,
    step: Step,
    /// The session whose tasks it makes; none: those of none.
    pub(super) session: Option<usize>,
    /// The tasks that it makes, in order.
    places: Vec<Place>,
}

impl Starter {
    /// The one of a session, which has still to be made.
    pub(super) fn new(script: &Script, session: Option<usize>) -> Starter {
        let places = script.started_by(session);
        let places = places.map(|(group, number)| (group, number as usize)).collect();
        Starter { task: None, last: None, step: Step::Sleep(0), session, places }
    }
}

impl Core {
    /// Makes all tasks where they wait for the common start, without a past. On a machine on which
    /// threads cost nothing to make, the way there has no length.
    pub(super) fn create_all_at_gate(&mut self) {
        loop {
            // One copy of a name for all: thousands would take as long as making the tasks.
            let mut last = (usize::MAX, String::new());
            for place in std::mem::take(&mut self.workload.starter.places) {
                if last.0 != place.0 {
                    last = (place.0, self.workload.script.groups[place.0].name.clone());
                }
                self.create_at_gate(place, &last.1);
            }
            if !self.next_starter() {
                return;
            }
        }
    }

    /// Goes on to the next session; false after the last one.
    pub(super) fn next_starter(&mut self) -> bool {
        let next = self.workload.starter.session.map_or(0, |session| session + 1);
        let is_there = next < self.workload.leaders.len();
        if is_there {
            self.workload.starter = Starter::new(&self.workload.script, Some(next));
        }
        is_there
    }

    /// Makes the processes of the sessions. Each sleeps on a CPU that is not the main task's, if
    /// there is one: Linux puts a new real-time task where none runs.
    ///
    /// DIVERGES: the process of a session has never run. On a real kernel it has called `setsid`.
    pub(super) fn make_leaders(&mut self) {
        let other_cpus = self.machine.topology.cpus - 1;
        for number in 0..self.workload.script.sessions.len() {
            let cpu = if other_cpus == 0 { 0 } else { 1 + number as u32 % other_cpus };
            let pid = self.take_pid();
            // The main task forks it.
            let idle = std::mem::replace(&mut self.machine.cpu_mut(0).curr, self.workload.main);
            let leader = self.new_task(&NewTask {
                pid,
                tgid: pid,
                comm: PROGRAM,
                policy: Policy::default(),
                mask: 0,
                parent: Some(self.workload.main),
                cpu,
                flags: PF_FORKNOEXEC,
                group: u32::MAX,
            });
            self.machine.cpu_mut(0).curr = idle;
            self.machine.task_mut(leader).state = State::Sleeping;
            self.workload.progress[leader.0 as usize].group = u32::MAX;
            self.machine.write_session(leader, number as u32 + 1);
            let group = self.machine.task(leader).control_group;
            self.machine.write_group(leader, group);
            self.workload.leaders.push(leader);
        }
    }

    fn create_at_gate(&mut self, place: Place, name: &str) {
        let mask = self.mask_of_group(place.0);
        let cpu = self.first_cpu(mask, self.workload.live_tasks);
        // The main task forks it, so it inherits from the main task, which has no CPU yet.
        let idle = std::mem::replace(&mut self.machine.cpu_mut(0).curr, self.workload.main);
        let task = self.create_member(place, name, cpu);
        self.machine.cpu_mut(0).curr = idle;
        self.machine.task_mut(task).state = State::Sleeping;
        self.workload.progress[task.0 as usize].gate = Gate::Closed;
        self.dress(task);
        if self.joins_group(task) && self.may_join(cpu, task) {
            self.join_group(cpu, task);
        }
        self.wait_for_first_post(task);
    }

    /// The CPU of a task without a past: tasks begin on one CPU of the set after the other.
    fn first_cpu(&self, mask: u32, tasks_before: u32) -> u32 {
        if mask == 0 {
            return tasks_before % self.machine.topology.cpus;
        }
        let allowed = &self.machine.masks[mask as usize];
        let place = tasks_before % allowed.count().max(1);
        allowed.iter().nth(place as usize).unwrap_or(0)
    }

    /// Makes the starter, on the main task's CPU, and wakes it.
    pub(super) fn make_starter(&mut self) {
        let session = self.workload.starter.session;
        let pid = if session.is_none() { STARTER_PID } else { self.take_pid() };
        let starter = self.make_thread(pid, u32::MAX, PROGRAM, self.machine.this_cpu);
        self.workload.starter.task = Some(starter);
        self.wake_new(starter);
    }

    fn make_thread(&mut self, pid: i32, group: u32, comm: &str, cpu: u32) -> TaskId {
        let fair = Policy::default();
        // The fair class is above a scheduler that takes only tasks that ask for it.
        let above = Policy { class: PolicyClass::Fifo, priority: 1, ..fair };
        let policy = if self.machine.switches_partially { above } else { fair };
        let process = self.workload.leader(self.workload.starter.session);
        let task = self.clone_thread(process, (policy, 0), pid, group, comm, cpu);
        self.workload.starter.last = Some(task);
        task
    }

    /// A thread of the player with the policy and the set of CPUs of the one that makes it.
    fn clone_thread(
        &mut self,
        process: TaskId,
        (policy, mask): (Policy, u32),
        pid: i32,
        group: u32,
        comm: &str,
        cpu: u32,
    ) -> TaskId {
        let task = self.new_task(&NewTask {
            pid,
            tgid: self.pid(process),
            comm,
            policy,
            mask,
            parent: Some(process),
            cpu,
            flags: 0,
            group,
        });
        self.workload.progress[task.0 as usize].group = group;
        task
    }

    pub(super) fn run_starter(&mut self, cpu: u32, task: TaskId) {
        let flow = match self.workload.starter.step {
            Step::Sleep(SLEEPS) => self.make_next(cpu, 0),
            Step::Sleep(times) => self.nap(cpu, task, SLEEP_NS, Step::Sleep(times + 1)),
            Step::Make(number) => {
                self.create_one(self.workload.starter.places[number]);
                self.go_on_after_birth(cpu, Step::Made(number))
            }
            Step::Made(number) => self.nap(cpu, task, WAY_TO_GATE_NS, Step::Await(number)),
            Step::Await(number) => {
                if self.last_is(cpu, State::Sleeping) {
                    self.make_next(cpu, number + 1)
                } else {
                    self.nap(cpu, task, PAUSE_NS, Step::Await(number))
                }
            }
            Step::MakeExtra => {
                self.create_extra();
                self.go_on_after_birth(cpu, Step::MadeExtra)
            }
            Step::MadeExtra => self.nap(cpu, task, WAY_TO_GATE_NS, Step::AwaitExtra),
            Step::AwaitExtra => {
                if self.last_is(cpu, State::Dead) {
                    self.end_starter(cpu, task)
                } else {
                    self.nap(cpu, task, PAUSE_NS, Step::AwaitExtra)
                }
            }
        };
        match flow {
            Flow::Sleep(state) => self.schedule(cpu, Some(state)),
            _ => self.machine.resume(cpu),
        }
    }

    fn go_on_after_birth(&mut self, cpu: u32, then: Step) -> Flow {
        self.workload.starter.step = then;
        self.machine.charge(cpu, self.machine.costs.syscall_ns * CALLS_AFTER_BIRTH);
        Flow::Again
    }

    fn end_starter(&mut self, cpu: u32, task: TaskId) -> Flow {
        self.workload.starter.task = None;
        self.workload.progress[task.0 as usize].ending = Ending::TidyUp;
        self.machine.charge(cpu, self.machine.costs.exit_ns);
        self.wake(self.workload.maker(), 0);
        Flow::Again
    }

    fn nap(&mut self, cpu: u32, task: TaskId, ns: u64, then: Step) -> Flow {
        self.workload.starter.step = then;
        let until = self.machine.clock(cpu) + ns;
        self.sleep_for_timer(cpu, task, until)
    }

    /// The time passes that it costs to make the next task.
    fn make_next(&mut self, cpu: u32, number: usize) -> Flow {
        let starter = &mut self.workload.starter;
        let is_last = number >= starter.places.len();
        starter.step = if is_last { Step::MakeExtra } else { Step::Make(number) };
        self.machine.charge(cpu, self.machine.costs.thread_ns);
        Flow::Again
    }

    /// Whether the newest task is in `state`. Charges the calls with which a real program finds
    /// out.
    fn last_is(&mut self, cpu: u32, state: State) -> bool {
        self.machine.charge(cpu, self.machine.costs.syscall_ns * CALLS_TO_LOOK);
        let last = self.workload.starter.last;
        last.is_none_or(|task| self.machine.task(task).state == state)
    }

    /// A task of the workload that starts by itself.
    fn create_member(&mut self, (group, number): Place, comm: &str, cpu: u32) -> TaskId {
        let pid = self.take_pid();
        let task = self.make_thread(pid, group as u32, comm, cpu);
        let delay_ns = self.workload.script.groups[group].starts_ns[number];
        self.begin_member(task, (group, number as u32), delay_ns);
        task
    }

    fn begin_member(&mut self, task: TaskId, (group, number): (usize, u32), start_ns: u64) {
        self.begin(task, group, number, start_ns);
        self.workload.live_finite += u32::from(self.workload.script.groups[group].finite);
    }

    /// A task of the workload that another one makes. Like any new task it has its maker's name and
    /// attributes until it gives itself its own.
    pub(super) fn create_during_trial(&mut self, cpu: u32, maker: TaskId, place: (usize, u32)) {
        let (group, number) = place;
        let inherited = (self.machine.task(maker).policy, self.machine.task(maker).mask);
        let comm = self.workload.script.groups[self.group_of(maker)].name.clone();
        let pid = self.take_pid();
        let process = self.workload.leader(self.workload.script.groups[group].session);
        let task = self.clone_thread(process, inherited, pid, group as u32, &comm, cpu);
        let delay_ns = self.workload.script.groups[group].starts_ns[number as usize];
        self.begin_member(task, place, self.workload.start_ns + delay_ns);
        let play = &mut self.workload.progress[task.0 as usize];
        (play.gate, play.tape.owed_ns) = (Gate::Made, self.machine.costs.thread_start_ns);
        self.machine.task_mut(task).work_left = self.machine.costs.thread_start_ns;
        let clock = self.machine.clock(cpu);
        self.recorder.fork(clock, cpu, self.pid(maker), pid);
        self.wake_new(task);
    }

    fn create_one(&mut self, place: Place) {
        let task = self.create_member(place, PROGRAM, self.machine.this_cpu);
        self.workload.progress[task.0 as usize].gate = Gate::Made;
        self.machine.task_mut(task).work_left = self.machine.costs.thread_start_ns;
        self.wake_new(task);
    }

    fn create_extra(&mut self) {
        let is_first = self.workload.starter.session.is_none();
        let pid = if is_first { EXTRA_PID } else { self.take_pid() };
        let task = self.make_thread(pid, u32::MAX, PROGRAM, self.machine.this_cpu);
        self.workload.progress[task.0 as usize].ending = Ending::TidyUp;
        self.machine.task_mut(task).work_left = self.machine.costs.thread_start_ns;
        self.wake_new(task);
    }

    /// A new task gives itself its name and its attributes, then it sleeps at the gate, if the
    /// common start has not been.
    pub(super) fn go_to_gate(&mut self, cpu: u32, task: TaskId) -> Flow {
        let here = &mut self.workload.progress[task.0 as usize].gate;
        let next = match std::mem::replace(here, Gate::Closed) {
            Gate::Ready => {
                self.machine.charge(cpu, self.machine.costs.syscall_ns);
                self.wait_for_first_post(task);
                return Flow::Sleep(State::Sleeping);
            }
            Gate::Joining => {
                self.join_group(cpu, task);
                self.after_dressing()
            }
            _ => {
                let group = self.group_of(task);
                self.machine.set_comm(task, &self.workload.script.groups[group].name);
                self.dress(task);
                let joins = self.joins_group(task) && self.may_join(cpu, task);
                if joins { Gate::Joining } else { self.after_dressing() }
            }
        };
        self.workload.progress[task.0 as usize].gate = next;
        Flow::Again
    }

    fn after_dressing(&self) -> Gate {
        if self.workload.has_begun() { Gate::Closed } else { Gate::Ready }
    }

    /// Gives a task its group's attributes, but not its control group.
    fn dress(&mut self, task: TaskId) {
        let number = self.group_of(task);
        let group = &self.workload.script.groups[number];
        let (policy, is_bound) = (group.policy, !group.affinity.is_empty());
        if policy != self.machine.task(task).policy && !self.set_policy(task, policy) {
            self.refuse_policy(task);
        }
        if is_bound || self.machine.task(task).mask != 0 {
            // It may have to leave this CPU immediately.
            let mask = self.mask_of_group(number);
            self.ask_for_cpus(task, mask);
        }
    }

    /// The common start: only what comes after it counts.
    pub(super) fn begin_measurement(&mut self) {
        let start_ns = self.machine.clock(self.machine.this_cpu);
        self.workload.start_ns = start_ns;
        self.recorder.restart(start_ns);
        for task in self.machine.all_tasks() {
            self.machine.stats[task.0 as usize].restart(start_ns);
            self.workload.progress[task.0 as usize].start_at(start_ns);
        }
        self.begin_interrupts(start_ns);
        // Without a duration the trial's time limit holds for virtual time, as it does on a real
        // kernel.
        let (end_ns, is_limit) = match self.workload.end_ns() {
            Some(end_ns) => (end_ns, 0),
            None => (start_ns.saturating_add(self.workload.time_limit_ns), 1),
        };
        // What happens at that time still counts.
        self.machine.events.push_last(end_ns, EventKind::End, 0, is_limit);
    }
}
