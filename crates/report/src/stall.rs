// SPDX-License-Identifier: GPL-2.0-only
//! Where a scheduler has left a task that stalled, from what the kernel (`scx_dump_task`) or the
//! simulator dumped.

use model::Outcome;

/// How the kernel names built-in queues.
const BUILTIN: u64 = 1 << 63;
const GLOBAL: u64 = BUILTIN | 1;
/// What the simulator adds to the number of a queue.
pub const NEVER_TAKEN: &str = "nothing was ever taken from it";

/// Where the stalled task was left; `None` if none has stalled, or the dump does not tell.
pub fn where_left(outcome: &Outcome) -> Option<String> {
    let Outcome::Ejected { reason, dump } = outcome else { return None };
    let (_, stalled) = reason.split_once("runnable task stall (")?;
    let (name, _) = stalled.split_once(" failed to run")?;
    let mut lines = dump.lines().skip_while(|line| !line.contains(name));
    let own = lines.next()?;
    let place = match own.split_once(" ms, ") {
        Some((_, place)) => place,
        None => lines.take(3).find_map(|line| Some(line.split_once("dsq_id=")?.1))?,
    };
    Some(format!("{name} was left {}", words(place)?))
}

/// `with the scheduler, …` and `dsq=0x7, …` of the simulator; `(n/a)` and `0x7` of the kernel.
fn words(place: &str) -> Option<String> {
    if place.starts_with("with the scheduler") || place.starts_with("(n/a)") {
        return Some("in no queue: no callback has inserted it into one".into());
    }
    let number = place.strip_prefix("dsq=").unwrap_or(place).strip_prefix("0x")?;
    let digits = number.split(|letter: char| !letter.is_ascii_hexdigit()).next()?;
    let id = u64::from_str_radix(digits, 16).ok()?;
    Some(match id {
        GLOBAL => "in the global queue: the CPUs that may run it were never free for it".into(),
        id if id & BUILTIN != 0 => "in a CPU's local queue, behind tasks that ran instead".into(),
        id if place.contains(NEVER_TAKEN) => {
            format!("in queue {id}, from which no callback has ever taken a task")
        }
        id => format!("in queue {id}, from which no callback has taken it"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left(dump: &str) -> Option<String> {
        let reason = "runnable task stall (hog[12] failed to run for 30.016s)".into();
        where_left(&Outcome::Ejected { reason, dump: dump.into() })
    }

    #[test]
    fn a_stalled_task_has_a_place() {
        let simulator = |place: &str| {
            left(&format!(
                "CPU 0: curr=idle\n  a[1] waits 3 ms, dsq=0x1, slice=0 us\n  \
                 hog[12] waits 30016 ms, {place}, slice=20 us vtime=0"
            ))
        };
        let no_queue = "hog[12] was left in no queue: no callback has inserted it into one";
        assert_eq!(simulator("with the scheduler").as_deref(), Some(no_queue));
        let never = "hog[12] was left in queue 7, from which no callback has ever taken a task";
        assert_eq!(simulator(&format!("dsq=0x7 ({NEVER_TAKEN})")).as_deref(), Some(never));
        let kernel = |id: &str| {
            left(&format!(
                "CPU states\n\n  R hog[12] -30016ms\n      scx_state/flags=3/0x9 dsq_flags=0x0 \
                 ops_state/qseq=2/39\n      sticky/holding_cpu=-1/-1 dsq_id={id}\n"
            ))
        };
        assert_eq!(kernel("(n/a)").as_deref(), Some(no_queue));
        let queue = "hog[12] was left in queue 16, from which no callback has taken it";
        assert_eq!(kernel("0x10").as_deref(), Some(queue));
        assert!(kernel("0x8000000000000002").unwrap().ends_with("behind tasks that ran instead"));
        assert_eq!(left("another[3] waits"), None);
        assert_eq!(where_left(&Outcome::Ok), None);
    }
}
