// SPDX-License-Identifier: GPL-2.0-only
//! What an interleaved scheduler calls in addition, and what is said of the races that were found.

use compile::native::{Native, find_line};
use model::Outcome;

use super::abi::InsertVtime;
use super::callbacks::{CALLBACKS, TaskPointer};
use super::kfuncs::kfuncs;
use super::scheduler::NativeScheduler;
use super::simulator::{This, core, task};
use crate::races::Races;
use crate::races::lost_updates::{LostUpdate, Runs};

kfuncs! {
    fn fairground_point(line: u64; this) {
        if let Some(core) = (*this).core.as_mut() {
            core.race_point(line);
        }
    }

    fn fairground_read(at: u64, line: u64; this) {
        if let Some(core) = (*this).core.as_mut() && let Some(races) = &mut core.races {
            races.on_read(at, line);
        }
    }

    fn fairground_write(at: u64, line: u64; this) {
        if let Some(core) = (*this).core.as_mut() && let Some(races) = &mut core.races {
            races.on_write(at, line, core.machine.now);
        }
    }

    fn fairground_pause(; this) {
    }

    // A loop may wait for another CPU.
    fn fairground_may_loop(; this) -> bool {
        let left = &mut (*(*this).state).loops_left;
        *left -= 1;
        *left >= 0
    }

    fn fairground_lock(lock: u64; this) -> i32 {
        if core(this).race_lock(lock) { 0 } else { -libc::EDEADLK }
    }

    fn fairground_unlock(lock: u64; this) {
        core(this).race_unlock(lock)
    }

    fn scx_bpf_dsq_insert(p: TaskPointer, dsq: u64, slice: u64, flags: u64; this) -> bool {
        let Some(task) = task(this, p, "scx_bpf_dsq_insert") else { return false };
        core(this).await_task(task);
        core(this).dsq_insert(task, dsq, slice, flags)
    }

    fn __scx_bpf_dsq_insert_vtime(p: TaskPointer, args: *const InsertVtime; this) -> bool {
        let InsertVtime { dsq_id, slice, vtime, enq_flags } = args.read();
        let Some(task) = task(this, p, "scx_bpf_dsq_insert_vtime") else { return false };
        core(this).await_task(task);
        core(this).dsq_insert_vtime(task, dsq_id, slice, vtime, enq_flags)
    }
}

impl<const RACES: bool, const INSIDE: bool> NativeScheduler<RACES, INSIDE> {
    /// What is said of the races, a sentence each: lost updates, then what was left just before the
    /// trial ended.
    pub(super) fn said_of(&self, native: &Native, races: &Races) -> Said {
        let lost = races.updates.found.iter().map(|one| self.lost(native, one)).collect();
        let seen = races.stops.iter().rev().filter(|stop| !stop.meanwhile.is_empty());
        let stops = seen.take(LAST_STOPS).map(|stop| {
            let others: Vec<String> = stop.meanwhile.iter().map(name).collect();
            let (stopped, line) = (name(&stop.stopped), self.line(native, stop.line));
            format!("{stopped}{line} was left while {} ran", others.join(", "))
        });
        Said { lost, stops: stops.collect() }
    }

    fn lost(&self, native: &Native, one: &LostUpdate) -> String {
        let line = |address| self.line(native, address);
        format!(
            "lost update of {}: {} reads it{} and writes it{}; what {} writes in between{} is \
             lost; at {:.3} ms",
            self.variable(native, one.place),
            name(&one.loser),
            line(one.read_at),
            line(one.written_at),
            name(&one.other),
            line(one.other_at),
            one.time_ns as f64 / 1e6
        )
    }

    /// ` (mine.bpf.c:31)`, for the address behind a call.
    fn line(&self, native: &Native, address: u64) -> String {
        let offset = (address - 1).saturating_sub(self.loaded.range().0);
        let line = find_line(&native.object, offset);
        line.map(|line| format!(" ({}:{})", line.file, line.line)).unwrap_or_default()
    }

    fn variable(&self, native: &Native, place: u64) -> String {
        let offset = place.wrapping_sub(self.loaded.range().0);
        let contains = |one: &compile::native::SymbolRange| {
            (one.address..one.address + one.size).contains(&offset)
        };
        let variable = native.facts.variables.iter().find(|variable| contains(&variable.place));
        if let Some(variable) = variable {
            return variable.name.clone();
        }
        // SAFETY: ours, and no callback runs.
        let maps = unsafe { &mut (*self.simulator).maps };
        let map =
            maps.iter_mut().find_map(|map| map.contains(place as *mut u8).then_some(&map.name));
        map.map_or("memory".into(), |name| format!("a value of {name}"))
    }
}

const LAST_STOPS: usize = 3;

/// Sentences about the races of a trial.
pub struct Said {
    lost: Vec<String>,
    stops: Vec<String>,
}

fn name(runs: &Runs) -> String {
    let callback = CALLBACKS.get(runs.callback as usize).copied().unwrap_or_default();
    format!("{callback} on CPU {}", runs.cpu)
}

/// The outcome of a trial with races: a lost update is a failure; of one that has ended badly, what
/// came before is told.
pub fn told(outcome: Outcome, said: &Said) -> Outcome {
    let with = |reason: String| {
        let stops = said.stops.iter().map(|stop| format!("before that, {stop}"));
        let parts = std::iter::once(reason).chain(said.lost.iter().cloned()).chain(stops);
        parts.collect::<Vec<_>>().join("\n")
    };
    match outcome {
        Outcome::Ok if said.lost.is_empty() => Outcome::Ok,
        Outcome::Ok => Outcome::Failed { reason: said.lost.join("\n") },
        Outcome::Ejected { reason, dump } => Outcome::Ejected { reason: with(reason), dump },
        Outcome::Timeout { reason } => Outcome::Timeout { reason: with(reason) },
        Outcome::Failed { reason } => Outcome::Failed { reason: with(reason) },
        other => other,
    }
}
