// SPDX-License-Identifier: GPL-2.0-only
//! Hogs that take turns, for the schedulers whose turns end exactly.

use model::Record;

use crate::look::{near, share, stints, turn_of};

/// Two hogs, `a` and `b`, of these nice values, for 3 s or so many µs.
macro_rules! hogs {
    ($first:literal, $second:literal) => {
        crate::slices::hogs!($first, $second, "3000000")
    };
    ($first:literal, $second:literal, $us:literal) => {
        concat!(
            "duration_us = ",
            $us,
            "\n[[task]]\nname = \"a\"\nsteps = [{ run_us = 100000 }]\n",
            "policy = { class = \"other\", nice = ",
            $first,
            " }\n[[task]]\nname = \"b\"\nsteps = [{ run_us = 100000 }]\n",
            "policy = { class = \"other\", nice = ",
            $second,
            " }\n"
        )
    };
}
pub(crate) use hogs;

/// So many hogs `a` of nice 0 and one, `b`, of another nice value, for so many µs.
macro_rules! crowd {
    ($count:literal, $nice:literal, $us:literal) => {
        concat!(
            "duration_us = ",
            $us,
            "\n[[task]]\nname = \"a\"\ncount = ",
            $count,
            "\nsteps = [{ run_us = 100000 }]\n",
            "[[task]]\nname = \"b\"\nsteps = [{ run_us = 100000 }]\n",
            "policy = { class = \"other\", nice = ",
            $nice,
            " }\n"
        )
    };
}
pub(crate) use crowd;

/// `a` and `b` share a CPU like this, to a turn per trial and what the kernel's threads take.
pub fn share_is(record: &Record, a: f64, b: f64) -> Result<(), String> {
    near(&format!("the share of {a} : {b}"), share(record, "a"), a / (a + b), 0.006)
}

/// What `b` has had for what each of so many `a` has had.
pub fn part_is(record: &Record, a: f64, wanted: f64) -> Result<(), String> {
    let own = share(record, "b");
    near(&format!("b's part of {a}"), own * a / (1.0 - own), wanted, 0.06 * wanted)
}

/// Turns last so many µs, but for a few: the first, the last, and those that threads of the kernel
/// have cut.
pub fn turns_last(record: &Record, us: u64) -> Result<(), String> {
    let stints = stints(record);
    let length = |stint: &crate::look::Stint| (stint.to_ns - stint.from_ns) / 1000;
    let other: Vec<u64> = stints.iter().map(length).filter(|it| it.abs_diff(us) > 150).collect();
    match stints.len() >= 20 && other.len() * 10 <= stints.len() {
        true => Ok(()),
        false => Err(format!("of {} turns these do not last {us} µs: {other:?}", stints.len())),
    }
}

/// Two take turns: hardly ever does one have two in a row.
pub fn alternate(record: &Record) -> Result<(), String> {
    let stints = stints(record);
    let again = stints.windows(2).filter(|pair| pair[0].who == pair[1].who).count();
    match stints.len() >= 20 && again * 10 <= stints.len() {
        true => Ok(()),
        false => Err(format!("{again} of {} turns follow one of the same task", stints.len())),
    }
}

/// A task that runs for so long, sleeps, and then computes beside a hog that has come meanwhile.
macro_rules! sleeps_after {
    ($us:literal, $class:literal) => {
        concat!(
            "duration_us = 100000\n",
            "[[task]]\nname = \"hog\"\ndelay_us = 10000\nsteps = [{ run_us = 100000 }]\n",
            "[[task]]\nname = \"sleeper\"\nrepeat = 1\npolicy = { class = \"",
            $class,
            "\" }\nsteps = [{ run_us = ",
            $us,
            " }, { sleep_us = 30000 }, { run_us = 100000 }]\n"
        )
    };
}
pub(crate) use sleeps_after;

/// The length of a turn, of those that last half a millisecond.
pub fn turn_us(record: &Record, who: &str, number: usize) -> Result<u64, String> {
    let turn = turn_of(record, who, number)?;
    Ok((turn.to_ns - turn.from_ns) / 1000)
}

/// The length of the sleeper's first turn after its sleep.
pub fn after_sleep_us(record: &Record) -> Result<u64, String> {
    let mut own = stints(record).into_iter().filter(|it| it.who == "sleeper");
    let turn = own.find(|it| it.from_ns > 20_000_000).ok_or("the sleeper never wakes up")?;
    Ok((turn.to_ns - turn.from_ns) / 1000)
}
