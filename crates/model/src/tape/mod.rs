// SPDX-License-Identifier: GPL-2.0-only
//! Tapes: what each task of a recording did, as text that people can read.
//!
//! ```text
//! task 4711 game
//! r1200 p1 w1 u16666667 r900 s25000
//! task 4712 game:audio
//! w0 r300 p0
//! ```
//!
//! A line `task` begins a tape, with the thread's number and name at the time of the recording. Its
//! operations follow, separated by spaces or line ends. Tapes are numbered from 0 in order of the
//! text.

use std::fmt::{self, Write};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// The longest time of an operation, nanoseconds: one day.
pub const TIME_NS_MAX: u64 = 86_400_000_000_000;
/// The most operations of all tapes together.
pub const OPS_MAX: usize = 32_000_000;
/// The length in bytes after which a tape continues on a new line.
const LINE_BYTES: usize = 96;

/// Where a workload's tapes are: a file of their own. A trial names it by content, as it names a
/// scheduler; the text travels beside it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recorded {
    /// What made the recording, with its version.
    pub source: String,
    /// CPUs of the machine that was recorded.
    pub cpus: u32,
    /// The length of the recording.
    pub length_us: u64,
    /// Events that the tracer could not keep.
    #[serde(default)]
    pub lost_events: u64,
    /// What the recording does not tell and what the replay leaves out, a sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub untold: Vec<String>,
    /// The file with the tapes, by its path from the workload's file; in a trial, as it was found.
    pub tapes: String,
    /// SHA-256 of that file, hexadecimal.
    pub sha256: String,
    /// The text, where it is at hand.
    #[serde(skip)]
    pub text: TapesText,
}

/// The text of tapes, shared by all trials of a workload; `None` where only its identity is known.
#[derive(Clone, Debug, Default)]
pub struct TapesText(pub Option<Arc<str>>);

/// The SHA-256 beside it tells texts apart.
impl PartialEq for TapesText {
    fn eq(&self, _: &TapesText) -> bool {
        true
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tape {
    /// The thread's number when it was recorded.
    pub tid: u32,
    pub name: String,
    /// What it did, in order.
    pub ops: Vec<TapeOp>,
    /// The line of the text that it begins in, from 1.
    pub line: usize,
}

/// Why a text is no tapes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {message}")]
pub struct TapeFault {
    /// The line of the text, from 1.
    pub line: usize,
    /// What is wrong, and what to write instead.
    pub message: String,
}

impl TapeFault {
    fn new(line: usize, message: impl Into<String>) -> TapeFault {
        TapeFault { line, message: message.into() }
    }
}

/// Reads the text of tapes.
///
/// # Errors
/// The first line that is none.
pub fn read(text: &str) -> Result<Vec<Tape>, TapeFault> {
    let mut tapes: Vec<Tape> = Vec::new();
    let mut ops = 0;
    for (index, line) in text.lines().enumerate() {
        let number = index + 1;
        if let Some(head) = line.strip_prefix("task ") {
            tapes.push(begin(head, number)?);
            continue;
        }
        match tapes.last_mut() {
            Some(tape) => {
                for word in line.split_ascii_whitespace() {
                    tape.ops.push(op(word).map_err(|why| TapeFault::new(number, why))?);
                    ops += 1;
                }
            }
            None if line.trim().is_empty() => {}
            None => return Err(TapeFault::new(number, "no tape has begun; write 'task TID NAME'")),
        }
        if ops > OPS_MAX {
            return Err(TapeFault::new(number, format!("more than {OPS_MAX} operations")));
        }
    }
    check_names(&tapes)?;
    Ok(tapes)
}

fn begin(head: &str, line: usize) -> Result<Tape, TapeFault> {
    let (tid, name) = head.split_once(' ').unwrap_or((head, ""));
    let tid = tid.parse().map_err(|_| {
        TapeFault::new(line, format!("'{tid}' is no thread's number; write 'task TID NAME'"))
    })?;
    Ok(Tape { tid, name: name.to_owned(), ops: Vec::new(), line })
}

fn op(word: &str) -> Result<TapeOp, String> {
    let unknown = || {
        format!(
            "'{word}' is no operation; write r, w, m, t, b, p, d, f, u, s or n and a number, l and \
             two as in l5.700, or y or a alone; w, m, t, b, p and d may have a stream, as in p5.1"
        )
    };
    match word {
        "y" => return Ok(TapeOp::Yield),
        "a" => return Ok(TapeOp::Again(0)),
        _ => {}
    }
    if let Some(nice) = word.strip_prefix('n') {
        let nice = nice.parse().ok().filter(|nice| (-20..=19).contains(nice)).map(TapeOp::Nice);
        return nice.ok_or_else(|| format!("'{word}' is no nice value; write n-20 … n19"));
    }
    let (kind, rest) = word.split_at_checked(1).ok_or_else(unknown)?;
    let (number, stream) = match rest.split_once('.') {
        Some((number, stream)) if "wmtbpdl".contains(kind) => {
            let stream = stream.parse().ok().filter(|stream| *stream > 0);
            (number, stream.map(Stream).ok_or_else(unknown)?)
        }
        None if kind == "l" => return Err(unknown()),
        _ => (rest, Stream::NONE),
    };
    let value: u64 = number.parse().map_err(|_| unknown())?;
    let tape = || u32::try_from(value).map_err(|_| format!("'{word}': there is no such tape"));
    let time = || match value {
        0..=TIME_NS_MAX => Ok(value),
        _ => Err(format!("'{word}' is longer than a day; write at most {TIME_NS_MAX} ns")),
    };
    Ok(match kind {
        "r" => TapeOp::Run(time()?),
        "w" => TapeOp::Wait(tape()?, stream),
        "m" => TapeOp::Receive(tape()?, stream, Reader::Asleep),
        "t" => TapeOp::Receive(tape()?, stream, Reader::Awake),
        "b" => TapeOp::Room(tape()?, stream),
        "l" => TapeOp::Spin(tape()?, stream.0),
        "p" => TapeOp::Post(tape()?, stream, Reader::Asleep),
        "d" => TapeOp::Post(tape()?, stream, Reader::Awake),
        "f" => TapeOp::Fork(tape()?),
        "u" => TapeOp::Until(time()?),
        "s" => TapeOp::Sleep(time()?),
        _ => return Err(unknown()),
    })
}

/// An operation names another tape, which must be there.
fn check_names(tapes: &[Tape]) -> Result<(), TapeFault> {
    for (own, tape) in tapes.iter().enumerate() {
        for op in &tape.ops {
            let Some(other) = op.other() else { continue };
            if other as usize >= tapes.len() || other as usize == own {
                let last = tapes.len() - 1;
                let message = format!(
                    "tape {own} names tape {other}; write another one of the tapes 0 … {last}"
                );
                return Err(TapeFault::new(tape.line, message));
            }
        }
    }
    Ok(())
}

/// The text of tapes; [`read`] gives the same operations.
pub fn write(tapes: &[Tape]) -> String {
    let mut text = String::new();
    for tape in tapes {
        let _ = write!(text, "task {} {}", tape.tid, one_line(&tape.name));
        let mut line = LINE_BYTES;
        for op in &tape.ops {
            let start = text.len();
            text.push(if line >= LINE_BYTES { '\n' } else { ' ' });
            line = if line >= LINE_BYTES { 0 } else { line };
            let _ = match *op {
                TapeOp::Run(ns) => write!(text, "r{ns}"),
                TapeOp::Wait(tape, stream) => write!(text, "w{tape}{stream}"),
                TapeOp::Receive(tape, stream, Reader::Asleep) => write!(text, "m{tape}{stream}"),
                TapeOp::Receive(tape, stream, Reader::Awake) => write!(text, "t{tape}{stream}"),
                TapeOp::Room(tape, stream) => write!(text, "b{tape}{stream}"),
                TapeOp::Spin(tape, look_ns) => write!(text, "l{tape}.{look_ns}"),
                TapeOp::Post(tape, stream, Reader::Asleep) => write!(text, "p{tape}{stream}"),
                TapeOp::Post(tape, stream, Reader::Awake) => write!(text, "d{tape}{stream}"),
                TapeOp::Fork(tape) => write!(text, "f{tape}"),
                TapeOp::Until(ns) => write!(text, "u{ns}"),
                TapeOp::Sleep(ns) => write!(text, "s{ns}"),
                TapeOp::Nice(nice) => write!(text, "n{nice}"),
                TapeOp::Yield => write!(text, "y"),
                TapeOp::Again(_) => write!(text, "a"),
            };
            line += text.len() - start;
        }
        text.push('\n');
    }
    text
}

/// A name that does not end its line.
fn one_line(name: &str) -> String {
    name.chars().map(|letter| if letter.is_control() { '?' } else { letter }).collect()
}

#[cfg(test)]
mod tests;

/// One operation of a tape. Times are nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TapeOp {
    /// `r`: use so much CPU time.
    Run(u64),
    /// `s`: sleep for so long, because a device has to answer.
    Sleep(u64),
    /// `u`: sleep until so long after the start, because the task has set a timer.
    Until(u64),
    /// `w`: wait until the task of this tape has posted once more; with a stream, until any task
    /// has sent something there.
    Wait(u32, Stream),
    /// `m`: the same, but asleep in a pipe, a socket or for a child's end. The task that wakes it
    /// there tells the scheduler that it may soon sleep itself (`WF_SYNC`), other than with a
    /// futex. `t`: it was there already in the recording.
    Receive(u32, Stream, Reader),
    /// `b`: go on if the stream has room, which its reader, the task of this tape, has made once
    /// more. The stream's number is among those of the task that waits.
    Room(u32, Stream),
    /// `l`: look for what the task of this tape does, and yield (`sched_yield`), computing for so
    /// long between two yields, until that task has posted once more.
    Spin(u32, u32),
    /// `p`: wake the task of this tape, also by a message. `d`: send it a message for which it did
    /// not sleep in the recording.
    Post(u32, Stream, Reader),
    /// `f`: make the task of this tape, whose first operation waits for that.
    Fork(u32),
    /// `n`: have this nice value from now on.
    Nice(i32),
    /// `y`: let others run (`sched_yield`).
    Yield,
    /// `a`, at the end: begin the tape again, until the trial is over, but for what the task does
    /// once: it makes no tasks, and waits for none that does not begin again. While it is played,
    /// the operation to go on with; see [`crate::play::tapes`].
    Again(u32),
}

/// What the reader of a message did in the recording before it took it. If it slept, the recorded
/// times contain that: the sender's a wake-up, the reader's a sleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reader {
    Asleep,
    Awake,
}

/// A pipe or socket that one task reads, by its number among those of this task; written behind
/// the tape's number, as in `p5.1`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Stream(pub u32);

/// The key of a semaphore: a waker and a sleeper, or a stream and its reader. Only one task waits
/// for it, so that it goes on in the same order under every scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SemaphoreKey {
    /// The tape that posts; `None`: any.
    pub from: Option<u32>,
    pub to: u32,
    pub stream: Stream,
}

impl Stream {
    /// The task waits for another task, not for a message; or several tasks read the stream, and
    /// each waits for the sender of the recording, because one could take what another one needs.
    pub const NONE: Stream = Stream(0);
}

impl fmt::Display for Stream {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Stream::NONE { Ok(()) } else { write!(out, ".{}", self.0) }
    }
}

impl SemaphoreKey {
    fn new(from: u32, to: u32, stream: Stream) -> SemaphoreKey {
        SemaphoreKey { from: (stream == Stream::NONE).then_some(from), to, stream }
    }
}

impl TapeOp {
    pub fn other(mut self) -> Option<u32> {
        self.other_mut().copied()
    }

    pub fn other_mut(&mut self) -> Option<&mut u32> {
        match self {
            TapeOp::Wait(other, _)
            | TapeOp::Receive(other, ..)
            | TapeOp::Room(other, _)
            | TapeOp::Spin(other, _)
            | TapeOp::Post(other, ..)
            | TapeOp::Fork(other) => Some(other),
            _ => None,
        }
    }

    /// The tape whose task ended this wait in the recording.
    pub fn waker(self) -> Option<u32> {
        self.other().filter(|_| !matches!(self, TapeOp::Post(..) | TapeOp::Fork(_)))
    }

    /// What this operation of the tape `own` waits for.
    pub fn waits_for(self, own: u32) -> Option<SemaphoreKey> {
        match self {
            TapeOp::Wait(from, stream)
            | TapeOp::Receive(from, stream, _)
            | TapeOp::Room(from, stream) => Some(SemaphoreKey::new(from, own, stream)),
            TapeOp::Spin(from, _) => Some(SemaphoreKey::new(from, own, Stream::NONE)),
            _ => None,
        }
    }

    /// What this operation of the tape `own` lets go on.
    pub fn posts_to(self, own: u32) -> Option<SemaphoreKey> {
        match self {
            TapeOp::Post(to, stream, _) => Some(SemaphoreKey::new(own, to, stream)),
            TapeOp::Fork(to) => Some(SemaphoreKey::new(own, to, Stream::NONE)),
            _ => None,
        }
    }

    /// How many bytes it has in a file, with the space before it and without its stream.
    pub fn text_bytes(self) -> usize {
        let number = match self {
            TapeOp::Run(ns) | TapeOp::Sleep(ns) | TapeOp::Until(ns) => ns,
            TapeOp::Nice(nice) => nice.unsigned_abs().into(),
            TapeOp::Yield | TapeOp::Again(_) => return 2,
            _ => self.other().unwrap_or_default().into(),
        };
        3 + number.checked_ilog10().unwrap_or_default() as usize
    }

    /// Whether it sleeps, unless what it waits for is there already.
    pub fn may_sleep(self) -> bool {
        let is_timer = matches!(self, TapeOp::Until(_) | TapeOp::Sleep(_));
        is_timer || matches!(self, TapeOp::Wait(..) | TapeOp::Receive(..))
    }
}
