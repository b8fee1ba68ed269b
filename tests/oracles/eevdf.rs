// SPDX-License-Identifier: GPL-2.0-only
//! EEVDF under random sets of hogs and sleepers: beside the scheduler an ideal one keeps account of
//! each task's lag, by the rules of `entity_lag()`, `place_entity()` and
//! `requeue_delayed_entity()` in `fair.c` of Linux 7.x and with real numbers. It sees only which
//! task runs, sleeps and wakes up when. Whatever the scheduler gives to a sleeper that these rules
//! do not, shows as a task that runs and should not.

use std::collections::{BTreeMap, BTreeSet};

use model::trace::What;
use model::{Record, Trace};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use crate::oracle::Run;
use crate::task_sets::{HOG, Task, hog_or_sleeper, task, task_set};

/// The kernel's weights from nice -10 to 10.
const WEIGHTS: [f64; 21] = [
    9548.0, 7620.0, 6100.0, 4904.0, 3906.0, 3121.0, 2501.0, 1991.0, 1586.0, 1277.0, 1024.0, 820.0,
    655.0, 526.0, 423.0, 335.0, 272.0, 215.0, 172.0, 137.0, 110.0,
];

/// Which of a sleeper's rules hold, and the scheduler with them.
#[derive(Clone, Copy, Debug)]
struct Rules {
    scheduler: &'static str,
    place_lag: bool,
    delay_dequeue: bool,
}

/// So many tasks where not all that decides is seen, see [`Worlds`].
const FEW: usize = 3;

const RULES: [Rules; 4] = [
    rules("eevdf", true, true),
    rules("eevdf place_lag=false", false, true),
    rules("eevdf delay_dequeue=false", true, false),
    rules("eevdf delay_dequeue=false place_lag=false", false, false),
];

const fn rules(scheduler: &'static str, place_lag: bool, delay_dequeue: bool) -> Rules {
    Rules { scheduler, place_lag, delay_dequeue }
}

/// How a task left.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Away {
    /// With this lag, in virtual time: 0 if it was never there.
    With(f64),
    /// It was not eligible, so it stays in the average until it would be chosen.
    Delayed,
}

/// A task in the ideal account. Times are milliseconds.
#[derive(Clone, Debug)]
struct Account {
    weight: f64,
    /// The longest that its request can be: its slice, which ends at a tick.
    request: f64,
    vruntime: f64,
    /// `None` while it is runnable.
    away: Option<Away>,
    /// By how much others' coming and going has moved its lag down since it was last owed
    /// something, and up since it last owed something.
    down: f64,
    up: f64,
}

#[derive(Clone)]
struct Ideal {
    rules: Rules,
    accounts: Vec<Account>,
    /// V, as it was when somebody was last runnable.
    average: f64,
}

/// Rounding, in the kernel's fixed-point arithmetic.
const ERROR: f64 = 0.001;

impl Ideal {
    fn new(tasks: &[Task], rules: Rules, tick: f64) -> Ideal {
        let account = |task: &Task| Account {
            weight: WEIGHTS[(task.nice + 10) as usize] / 1024.0,
            request: if task.slice_us == 0 { 0.7 } else { task.slice_us as f64 / 1e3 } + tick,
            vruntime: 0.0,
            away: Some(Away::With(0.0)),
            down: 0.0,
            up: 0.0,
        };
        Ideal { rules, accounts: tasks.iter().map(account).collect(), average: 0.0 }
    }

    /// Those in the average: who can run, and sleepers that were not eligible.
    fn counted(&self) -> impl Iterator<Item = &Account> {
        self.accounts.iter().filter(|account| matches!(account.away, None | Some(Away::Delayed)))
    }

    fn weight(&self) -> f64 {
        self.counted().map(|account| account.weight).sum()
    }

    /// V: the average of the vruntimes by weight.
    fn update(&mut self) {
        let weight = self.weight();
        if weight > 0.0 {
            let sum: f64 = self.counted().map(|account| account.weight * account.vruntime).sum();
            self.average = sum / weight;
        }
    }

    /// What a task is owed, in real time.
    fn lag(&self, who: usize) -> f64 {
        let account = &self.accounts[who];
        account.weight * (self.average - account.vruntime)
    }

    fn run(&mut self, who: usize, time: f64) {
        self.accounts[who].vruntime += time / self.accounts[who].weight;
        self.update();
    }

    /// It wakes up. Its lag is what it left with, so it begins as much further from V as it will
    /// move V itself (`place_entity`); it is 0 without PLACE_LAG and in an empty queue. Who has
    /// stayed in the average stays where it is as long as that is after V, and never gains
    /// (DELAY_ZERO).
    fn join(&mut self, who: usize) {
        if self.accounts[who].away.is_none() {
            return;
        }
        let has_stayed = self.accounts[who].away == Some(Away::Delayed);
        if has_stayed && self.lag(who) > 0.0 {
            self.dismiss(who);
        }
        if let Some(Away::With(lag)) = self.accounts[who].away {
            let (weight, own) = (self.weight(), self.accounts[who].weight);
            let lag = if self.rules.place_lag && weight > 0.0 { lag } else { 0.0 };
            let inflated = if lag == 0.0 { 0.0 } else { lag * (weight + own) / weight };
            self.accounts[who].vruntime = self.average - inflated;
        }
        self.accounts[who].away = None;
        self.shift(who);
        // A debtor that has kept its vruntime owes more than a request if others are heavier now.
        let account = &self.accounts[who];
        let too_deep = -self.lag(who) - account.request;
        self.accounts[who].down = if has_stayed { too_deep.max(0.0) } else { 0.0 };
        self.accounts[who].up = 0.0;
    }

    /// Whether a task is eligible.
    fn may_run(&self, who: usize, time_ns: u64) -> Result<(), String> {
        match self.lag(who) < -ERROR {
            true => {
                let (when, lag) = (time_ns as f64 / 1e6, self.lag(who));
                Err(format!("t{who} runs at {when} ms and is owed {lag} ms"))
            }
            false => Ok(()),
        }
    }

    /// A sleeper that would be chosen leaves the average, and owes nothing.
    fn dismiss(&mut self, who: usize) {
        self.accounts[who].away = Some(Away::With(0.0));
        self.shift(who);
    }

    /// The sleepers that could be chosen.
    fn dismissible(&self) -> Vec<usize> {
        let is_so = |who: &usize| {
            self.accounts[*who].away == Some(Away::Delayed) && self.lag(*who) > -ERROR
        };
        (0..self.accounts.len()).filter(is_so).collect()
    }

    /// Nobody can run, so that all sleepers have been chosen.
    fn idle(&mut self) {
        for who in 0..self.accounts.len() {
            if self.accounts[who].away == Some(Away::Delayed) {
                self.dismiss(who);
            }
        }
    }

    fn is_like(&self, other: &Ideal) -> bool {
        self.accounts.iter().zip(&other.accounts).all(|(own, other)| {
            own.away == other.away && (own.vruntime - other.vruntime).abs() < ERROR / 1e3
        })
    }

    /// It sleeps. No lag that is kept is more than a request (`entity_lag`).
    fn leave(&mut self, who: usize) {
        let account = &self.accounts[who];
        let (lag, limit) = (self.average - account.vruntime, account.request / account.weight);
        let is_delayed = self.rules.delay_dequeue && lag < 0.0;
        let kept = Away::With(lag.clamp(-limit, limit));
        self.accounts[who].away = Some(if is_delayed { Away::Delayed } else { kept });
        self.shift(who);
    }

    /// After somebody has come or gone V is another one, and the others' lags with it.
    fn shift(&mut self, but: usize) {
        let before = self.average;
        self.update();
        let moved = self.average - before;
        for (number, account) in self.accounts.iter_mut().enumerate() {
            if number != but {
                account.down += account.weight * (-moved).max(0.0);
                account.up += account.weight * moved.max(0.0);
            }
        }
    }

    /// The bounds of lag. Stoica and Abdel-Wahab's theorem, -r < lag < r_max, is about tasks that
    /// stay; who comes or goes with a lag moves V, by that through the weight of all.
    fn check(&mut self, tick: f64) -> Result<(), String> {
        // As without sleepers: one tick more, because the trial begins inside of the first
        // requests.
        let longest = self.accounts.iter().map(|account| account.request).fold(0.0, f64::max);
        for number in 0..self.accounts.len() {
            let lag = self.lag(number);
            let account = &mut self.accounts[number];
            if account.away.is_some() {
                continue;
            }
            account.down = if lag >= 0.0 { 0.0 } else { account.down };
            account.up = if lag <= 0.0 { 0.0 } else { account.up };
            let least = -account.request - tick - account.down;
            let most = longest + tick + account.up;
            if lag < least - ERROR || lag > most + ERROR {
                return Err(format!("t{number}'s lag is {lag} ms, not {least} … {most}"));
            }
        }
        Ok(())
    }
}

/// The accounts that are possible. When a sleeper is chosen depends on deadlines, and the choice is
/// not seen unless somebody else runs then: so at any moment it may have been chosen, or not yet.
struct Worlds(Vec<Ideal>);

/// More are not followed; of few tasks there are few.
const WORLDS_MAX: usize = 4_096;

impl Worlds {
    fn each(&mut self, change: impl Fn(&mut Ideal)) {
        self.0.iter_mut().for_each(change);
    }

    /// Every sleeper that could have been chosen has been in some of them.
    fn branch(&mut self) {
        let mut todo = std::mem::take(&mut self.0);
        while let Some(world) = todo.pop() {
            assert!(self.0.len() < WORLDS_MAX, "too many possible accounts");
            if self.0.iter().any(|known| known.is_like(&world)) {
                continue;
            }
            for who in world.dismissible() {
                let mut other = world.clone();
                other.dismiss(who);
                todo.push(other);
            }
            self.0.push(world);
        }
    }

    /// Drops those in which something does not hold; an error if it holds in none.
    fn keep(&mut self, holds: impl Fn(&mut Ideal) -> Result<(), String>) -> Result<(), String> {
        let mut why = None;
        self.0.retain_mut(|world| match holds(world) {
            Ok(()) => true,
            Err(error) => {
                why.get_or_insert(error);
                false
            }
        });
        why.filter(|_| self.0.is_empty()).map_or(Ok(()), Err)
    }
}

/// Whether nobody is chosen who is not eligible, and all lags are in their bounds.
fn holds(record: &Record, ideal: Ideal, tick: f64) -> Result<(), String> {
    let trace = record.trace.as_ref().expect("oracles are traced");
    let numbers = numbers(trace);
    let mut worlds = Worlds(vec![ideal]);
    for who in there_from_the_start(trace, &numbers) {
        worlds.each(|ideal| ideal.join(who));
    }
    let (mut running, mut since_ns) = (None, 0);
    for event in &trace.events {
        if let Some(who) = running {
            worlds.each(|ideal| ideal.run(who, (event.time_ns - since_ns) as f64 / 1e6));
        }
        since_ns = event.time_ns;
        worlds.branch();
        match &event.what {
            What::Waking { pid, .. } => {
                numbers.get(pid).into_iter().for_each(|&who| worlds.each(|ideal| ideal.join(who)));
            }
            What::Switch { prev, prev_state, next, .. } => {
                let slept = numbers.get(prev).filter(|_| !prev_state.starts_with('R'));
                slept.into_iter().for_each(|&who| worlds.each(|ideal| ideal.leave(who)));
                running = numbers.get(next).copied();
                let Some(who) = running else {
                    worlds.each(Ideal::idle);
                    continue;
                };
                worlds.branch();
                worlds.keep(|ideal| ideal.may_run(who, event.time_ns))?;
            }
            _ => continue,
        }
        worlds.keep(|ideal| ideal.check(tick))?;
    }
    Ok(())
}

/// Who runs without having been woken: a real-time task, which started the others, has displaced
/// them, or they have not run yet.
fn there_from_the_start(trace: &Trace, numbers: &BTreeMap<u32, usize>) -> Vec<usize> {
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    for event in &trace.events {
        let (pid, runs) = match &event.what {
            What::Waking { pid, .. } => (pid, false),
            What::Switch { next, .. } => (next, true),
            _ => continue,
        };
        if seen.insert(*pid) && runs {
            found.extend(numbers.get(pid));
        }
    }
    found
}

/// The tasks' numbers in the set, by their pids.
fn numbers(trace: &Trace) -> BTreeMap<u32, usize> {
    let own = trace.tasks.iter().filter(|task| !task.group.is_empty());
    own.map(|task| (task.pid, task.comm[1..].parse().expect("a task's number"))).collect()
}

/// Whether all sets of tasks are scheduled by their rules.
fn play(sets: &[(Rules, &[Task])], hz: u32) -> Result<(), String> {
    let workload = |tasks: &[Task]| -> &'static str { Box::leak(task_set(tasks).into_boxed_str()) };
    let run = |&(rules, tasks): &(Rules, &[Task])| Run {
        hz,
        ..Run::new(rules.scheduler, workload(tasks))
    };
    let runs: Vec<Run> = sets.iter().map(run).collect();
    let tick = 1e3 / f64::from(hz);
    sets.iter().zip(&crate::arms::records(&runs)).try_for_each(|((rules, tasks), record)| {
        let held = holds(record, Ideal::new(tasks, *rules, tick), tick);
        held.map_err(|why| format!("{}: {why}", rules.scheduler))
    })
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 48,
        rng_seed: RngSeed::Fixed(1),
        failure_persistence: None,
        // A case takes a while, and a small set is not much easier to read.
        max_shrink_iters: 20,
        ..ProptestConfig::default()
    })]

    /// Stoica and Abdel-Wahab: -r_max < lag < max(r_max, q). Here a request ends at a tick, so it
    /// is as long as the slice and a tick.
    #[test]
    fn lag_of_hogs_is_bounded(
        hogs in prop::collection::vec(task(HOG), 2..7),
        hz in prop_oneof![Just(250), Just(1000)],
    ) {
        let held = play(&[(RULES[0], &hogs[..])], hz);
        prop_assert!(held.is_ok(), "{}", held.unwrap_err());
    }

    #[test]
    fn sleepers_gain_nothing_and_lose_nothing(
        tasks in prop::collection::vec(hog_or_sleeper(), 2..7),
        hz in prop_oneof![Just(250), Just(1000)],
    ) {
        let few = &tasks[..tasks.len().min(FEW)];
        let sets = RULES.map(|rules| (rules, if rules.delay_dequeue { few } else { &tasks }));
        let held = play(&sets, hz);
        prop_assert!(held.is_ok(), "{}", held.unwrap_err());
    }
}
