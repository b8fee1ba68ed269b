// SPDX-License-Identifier: GPL-2.0-only
//! An explanation as plain sentences.

use std::collections::BTreeMap;

use model::metric::Unit;
use model::trace::{Preemption, Queue};
use stats::explain::{
    Began, Ended, Episode, Explanation, Held, IdleWhileWaiting, Interrupted, Link, Origin, Placed,
    STRETCH_NS, Spent, Turn, View, Wait,
};

use super::group_cause;
use crate::units;

/// The legend of a timeline lists all groups if there are at most this many.
const LEGEND: usize = 8;

/// The most queues of a wait that are listed.
const PLACED: usize = 4;

/// A task that is taken from a queue and runs within this time has not waited in between, ns.
const SOON_NS: u64 = 20_000;

/// Groups that ran instead for less than the whole divided by this are not mentioned.
const LITTLE: u64 = 1000;

/// A duration: `4.01 ms`.
pub fn time(ns: u64) -> String {
    units::number(ns as f64, Unit::Nanoseconds)
}

/// A moment of the trial: `104.210 ms`.
pub fn moment(ns: u64) -> String {
    format!("{}.{:03} ms", ns / 1_000_000, ns / 1_000 % 1_000)
}

/// A part of a whole: `12.3 %`.
pub fn share(part: u64, whole: u64) -> String {
    match 100.0 * part as f64 / whole.max(1) as f64 {
        percent if percent >= 99.95 => "100 %".into(),
        percent if part > 0 && percent < 0.05 => "<0.1 %".into(),
        percent => format!("{percent:.1} %"),
    }
}

/// A group's name; tasks that are not the workload's have none.
pub fn group(name: &str) -> &str {
    if name.is_empty() { "others" } else { name }
}

/// Groups with their time in ns, the longest first.
fn by_time(sums: &BTreeMap<String, u64>) -> Vec<(&str, u64)> {
    let mut sums: Vec<_> = sums.iter().map(|(name, &ns)| (name.as_str(), ns)).collect();
    sums.sort_by_key(|&(name, ns)| (std::cmp::Reverse(ns), name));
    sums
}

/// `its CPU ran hog 98.2 % of that time, others 0.5 %, and idled 1.3 %`.
pub fn instead(sums: &BTreeMap<String, u64>, idle_ns: u64, whole: u64) -> String {
    let part = |&(name, ns): &(&str, u64)| format!("{} {}", group(name), share(ns, whole));
    let counts = |ns: u64| ns > 0 && ns >= whole / LITTLE;
    let ran: Vec<String> = by_time(sums).iter().filter(|&&(_, ns)| counts(ns)).map(part).collect();
    let idle_ns = if counts(idle_ns) { idle_ns } else { 0 };
    match (ran.is_empty(), idle_ns) {
        (true, _) => "the CPU that it waited on idled".into(),
        (false, 0) => format!("its CPU ran {}", ran.join(", ")),
        (false, ns) => format!("its CPU ran {}, and idled {}", ran.join(", "), share(ns, whole)),
    }
}

/// Empty unless another CPU idled meanwhile.
pub fn elsewhere(other_idle_ns: u64, whole: u64) -> String {
    match other_idle_ns {
        0 => String::new(),
        ns => format!(" For {} of it another CPU that it may use was idle.", share(ns, whole)),
    }
}

/// Why a wait was long: its beginning, the queues, the tasks that ran instead, its end.
pub fn wait(wait: &Wait) -> Vec<String> {
    let mut sentences: Vec<String> = wait.control_group.iter().map(group_cause).collect();
    sentences.push(beginning(wait));
    sentences.extend(chain(wait));
    sentences.extend(further(wait));
    if !wait.allowed.is_empty() {
        let cpus: Vec<String> = wait.allowed.iter().map(u32::to_string).collect();
        let which = if cpus.len() == 1 { "CPU" } else { "the CPUs" };
        sentences.push(format!("It may only use {which} {}.", cpus.join(", ")));
    }
    sentences.extend(meanwhile(wait));
    if wait.interrupts_ns > 0 {
        sentences.push(format!("Interrupts took {} of that time.", time(wait.interrupts_ns)));
    }
    if wait.other_idle_ns > 0 {
        let (ns, all) = (time(wait.other_idle_ns), wait.to_ns - wait.from_ns);
        let part = share(wait.other_idle_ns, all);
        sentences.push(format!("For {ns} ({part}) another CPU that it may use was idle."));
    }
    sentences.push(end(wait));
    sentences
}

/// Who woke it, and what that one had waited for. A waker that only ran needs no words.
fn chain(wait: &Wait) -> Option<String> {
    let told = wait.chain.iter().any(|link| link.waited_ns > 0);
    let is_wake_up = matches!(wait.began, Began::Woken { .. });
    let link = |link: &Link| {
        let waited = match link.waited_ns {
            0 => String::new(),
            ns => format!(" waited {} and", time(ns)),
        };
        format!("{}{waited} ran {}", link.task, time(link.ran_ns))
    };
    let origin = match wait.origin {
        Origin::Timer => vec!["a timer".to_owned()],
        Origin::Interrupt => vec!["an interrupt".to_owned()],
        Origin::Unknown => Vec::new(),
    };
    let all: Vec<String> = origin.into_iter().chain(wait.chain.iter().map(link)).collect();
    (told && is_wake_up)
        .then(|| format!("The wake-ups before: {}, and woke it.", all.join(", then ")))
}

/// A sleep that lasted because the task that had to end it waited for a CPU.
pub fn held(held: &Held) -> String {
    let Held { from_ns, to_ns, waited_ns, longest, .. } = held;
    let why = meanwhile(longest).map_or(String::new(), |why| format!(" {why}"));
    format!(
        "It slept at {} and was woken at {}. For {} ({}) of that, tasks that had to run first \
         waited for a CPU, {} longest, for {} from {} on.{why}",
        moment(*from_ns),
        moment(*to_ns),
        time(*waited_ns),
        share(*waited_ns, to_ns - from_ns),
        longest.task,
        time(longest.to_ns - longest.from_ns),
        moment(longest.from_ns)
    )
}

/// What interrupts took of a CPU.
pub fn interrupted(of: &Interrupted, end_ns: u64) -> String {
    let times = units::count(of.times, "interrupt");
    let stretch = share(of.worst_ns, STRETCH_NS);
    let lost = match of.task.as_str() {
        "" => String::new(),
        task => format!(" {task} lost most to them, {} while it ran.", time(of.task_ns)),
    };
    format!(
        "CPU {}: {} ({}) in {times}; {stretch} of the {} from {} on.{lost}",
        of.cpu,
        time(of.ns),
        share(of.ns, end_ns),
        time(STRETCH_NS),
        moment(of.worst_from_ns)
    )
}

/// `hog[7] lost its CPU 12 times and went to another one 3 times.`
pub fn moved(spent: &Spent) -> String {
    let [lost, moves] = [spent.preemptions, spent.moves].map(|times| units::count(times, "time"));
    format!("{} lost its CPU {lost} and went to another one {moves}.", spent.name)
}

fn beginning(wait: &Wait) -> String {
    let at = moment(wait.from_ns);
    let began = match &wait.began {
        Began::Woken { cpu } => format!("It was woken at {at} on CPU {cpu}"),
        Began::Started => format!("It started at {at}"),
        Began::Forked { parent } => format!("It was forked by {parent} at {at}"),
        Began::Yielded { cpu } => format!("It gave CPU {cpu} away at {at}"),
        Began::Preempted { cpu, by, why, cause } => {
            let by = by.as_ref().map_or(String::new(), |by| format!(" to {by}"));
            let why = why.map_or(String::new(), |why| {
                format!(", because {}", reason(why, cause.as_deref()))
            });
            format!("It lost CPU {cpu}{by} at {at}{why}")
        }
    };
    match wait.placed.first() {
        Some(first) => format!("{began}, and {}.", placed(first)),
        None => format!("{began}."),
    }
}

/// `was put into queue 0 behind 3 others, with virtual time 1200`.
fn placed(placed: &Placed) -> String {
    let queue = queue(&placed.queue);
    let verb = match placed.from {
        Some(from) => {
            format!("was moved by CPU {} from {} to {queue}", placed.cpu, self::queue(&from))
        }
        // Into any other queue than a CPU's own, "at once" makes no difference.
        None if placed.direct && placed.queue.cpu().is_some() => {
            format!("was dispatched at once to {queue}")
        }
        None => format!("was put into {queue}"),
    };
    let ahead = match placed.ahead {
        None => String::new(),
        Some(0) => " as its first".into(),
        Some(1) => " behind 1 other".into(),
        Some(tasks) => format!(" behind {} others", units::number(f64::from(tasks), Unit::Count)),
    };
    // In full: only all digits show the order.
    let vtime = placed.vtime.map_or(String::new(), |vtime| format!(", with virtual time {vtime}"));
    format!("{verb}{ahead}{vtime}")
}

pub fn queue(queue: &Queue) -> String {
    match queue {
        Queue::Local(cpu) => format!("the local queue of CPU {cpu}"),
        Queue::Global(0) => "the global queue".into(),
        Queue::Global(node) => format!("the global queue of node {node}"),
        Queue::Shared(id) if *id < 1 << 32 => format!("queue {id}"),
        Queue::Shared(id) => format!("queue {id:#x}"),
        Queue::Scheduler => "the scheduler's own memory".into(),
        Queue::Bypass => "the queue for the time without a scheduler".into(),
        Queue::RealTime(cpu) => format!("the real-time queue of CPU {cpu}"),
        Queue::Deadline(cpu) => format!("the deadline queue of CPU {cpu}"),
    }
}

/// Why a task lost its CPU.
fn reason(why: Preemption, cause: Option<&str>) -> String {
    let who = cause.unwrap_or("a task");
    match why {
        Preemption::SliceEnd => "its slice was used up".into(),
        Preemption::Yield => "it yielded".into(),
        Preemption::Kick { from } => format!("the scheduler kicked the CPU from CPU {from}"),
        Preemption::Inserted { .. } => format!("the scheduler let {who} preempt it"),
        Preemption::MoreImportant { .. } => format!("{who} is more important"),
        Preemption::Moved => "it may not use that CPU any more".into(),
        Preemption::Reservation => "a reservation of CPU time began or ended".into(),
        Preemption::Other => "the CPU had to choose again".into(),
    }
}

/// The queues that it was moved to, before the move that ended the wait.
fn further(wait: &Wait) -> Vec<String> {
    let later = wait.placed.get(1..).unwrap_or_default();
    let later = &later[..later.len() - usize::from(last_move(wait).is_some())];
    let listed = later.iter().take(PLACED);
    let mut sentences: Vec<String> =
        listed.map(|place| format!("At {} it {}.", moment(place.at_ns), placed(place))).collect();
    if later.len() > PLACED {
        let more = units::count((later.len() - PLACED) as u64, "more time");
        sentences.push(format!("It was moved {more}."));
    }
    sentences
}

/// The move from a queue to the CPU, if it ended the wait.
fn last_move(wait: &Wait) -> Option<&Placed> {
    let last = wait.placed.get(1..)?.last()?;
    let taken = last.from.is_some() && last.queue.cpu() == Some(wait.cpu);
    let soon = wait.to_ns - last.at_ns.min(wait.to_ns) < SOON_NS;
    (taken && !wait.open && soon).then_some(last)
}

fn meanwhile(wait: &Wait) -> Option<String> {
    let mut parts: Vec<String> = wait.instead.iter().map(turn).collect();
    if wait.others_ns > 0 {
        parts.push(format!("{} for {}", units::count(wait.others, "other"), time(wait.others_ns)));
    }
    let idled = match wait.cpu_idle_ns {
        0 => None,
        ns => Some(format!("idled for {}", time(ns))),
    };
    let ran = (!parts.is_empty()).then(|| format!("ran {}", parts.join(", ")));
    let both: Vec<String> = ran.into_iter().chain(idled).collect();
    let whose = format!("Meanwhile CPU {}", wait.cpu);
    (!both.is_empty()).then(|| format!("{whose} {}.", both.join(" and ")))
}

/// `hog/1 for 4.00 ms (its slice ended)`.
fn turn(turn: &Turn) -> String {
    let mut details: Vec<String> = Vec::new();
    if turn.turns > 1 {
        details.push(format!("in {} turns", turn.turns));
    }
    if turn.renewed > 0 {
        details.push(format!("chosen again {}", units::count(turn.renewed, "time")));
    }
    if turn.turns == 1 {
        details.extend(ended(turn.ended).map(str::to_owned));
    }
    let details =
        if details.is_empty() { String::new() } else { format!(" ({})", details.join(", ")) };
    format!("{} for {}{details}", turn.task, time(turn.ns))
}

fn ended(ended: Ended) -> Option<&'static str> {
    match ended {
        Ended::Slept => Some("until it slept"),
        Ended::Blocked => Some("until it waited for the disk"),
        Ended::Exited => Some("until it ended"),
        Ended::Left(Some(Preemption::SliceEnd)) => Some("until its slice ended"),
        Ended::Left(Some(Preemption::Yield)) => Some("until it yielded"),
        Ended::Left(Some(Preemption::Kick { .. })) => Some("until a kick"),
        Ended::Left(_) => Some("until it was preempted"),
        Ended::Open => None,
    }
}

fn end(wait: &Wait) -> String {
    let (at, cpu) = (moment(wait.to_ns), wait.cpu);
    if wait.open {
        return format!("At the end, at {at}, it was still waiting.");
    }
    let slice = wait.slice_ns.map_or(String::new(), |ns| format!(", for at most {}", time(ns)));
    let slice = match wait.moved_from {
        Some(before) => format!("{slice}; before, it had run on CPU {before}"),
        None => slice,
    };
    match last_move(wait).and_then(|last| last.from) {
        Some(from) => format!("CPU {cpu} took it from {} and ran it at {at}{slice}.", queue(&from)),
        None => format!("CPU {cpu} ran it at {at}{slice}."),
    }
}

pub fn idle(explanation: &Explanation) -> String {
    let IdleWhileWaiting { cpu_ns, time_ns, episodes, .. } = explanation.idle;
    if cpu_ns == 0 {
        return "No CPU ever idled while a task waited that could have used it.".into();
    }
    let machine_ns = explanation.end_ns.saturating_mul(explanation.cpus.into());
    let (episodes, part) = (units::count(episodes, "episode"), share(cpu_ns, machine_ns));
    format!(
        "{} of CPU time, {part} of the machine, went unused while a task waited that could have \
         used it: {episodes}, {} in all. The worst:",
        time(cpu_ns),
        time(time_ns)
    )
}

pub fn episode(episode: &Episode) -> String {
    let Episode { from_ns, to_ns, cpu_ns, task, task_cpu, idle_cpu } = episode;
    let lasted = time(to_ns - from_ns);
    let lost = if *cpu_ns > to_ns - from_ns {
        format!(" ({} of CPU time)", time(*cpu_ns))
    } else {
        String::new()
    };
    let place = if task_cpu == idle_cpu {
        format!("{task} waited for CPU {idle_cpu}, which idled")
    } else {
        format!("{task} waited on CPU {task_cpu} while CPU {idle_cpu} idled")
    };
    format!("{lasted}{lost} from {}: {place}.", moment(*from_ns))
}

pub fn legend(explanation: &Explanation) -> String {
    let ours = explanation.groups.iter().filter(|group| !group.name.is_empty());
    let seen = |letter: char| explanation.lanes.iter().any(|lane| lane.letters.contains(letter));
    let (mut letters, mut rest) = (Vec::new(), 0);
    for (place, group) in ours.enumerate() {
        match stats::explain::group_letter(place) {
            '?' => rest += 1,
            // Of a machine's many groups only those that are seen.
            letter if place < LEGEND || seen(letter) => {
                letters.push(format!("{letter} {}", group.name))
            }
            _ => {}
        }
    }
    letters.extend((rest > 0).then(|| format!("? one of {rest} more groups")));
    letters.extend(["* others".into(), ". idle".into()]);
    let length = time(explanation.column_ns);
    format!("What had the CPU longest in each {length}: {}.", letters.join(", "))
}

/// The legend of the closer timeline.
pub fn view(view: &View) -> String {
    format!("The longest wait, one sign per {}: # runs, - waits, · sleeps.", time(view.column_ns))
}

/// Limits of the trace that a reader must know.
pub fn notes(explanation: &Explanation) -> Vec<String> {
    let mut notes = Vec::new();
    if explanation.lost > 0 {
        let lost = explanation.lost;
        notes.push(format!("{lost} events were lost, so these numbers are incomplete"));
    }
    if !explanation.decisions {
        notes.push(
            "a real kernel's trace does not say which queue a task was put into or why a task \
             lost its CPU; the simulator's does"
                .into(),
        );
    }
    notes
}
