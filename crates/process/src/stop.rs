// SPDX-License-Identifier: GPL-2.0-only
//! A request to end, which whatever waits for another process looks at.

use std::io::{self, Read};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::{self, JoinHandle};
use std::time::Duration;

static STOP: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// The longest time between two looks.
const LOOK: Duration = Duration::from_millis(20);

/// From now on, the end is asked for when the flag becomes true. The first flag counts.
pub fn at(flag: Arc<AtomicBool>) {
    let _ = STOP.set(flag);
}

pub fn is_asked() -> bool {
    STOP.get().is_some_and(|flag| flag.load(Ordering::Relaxed))
}

/// Ctrl-C in a terminal ends what was started too, maybe before this program knows of it.
pub fn is_asked_soon() -> bool {
    thread::sleep(LOOK);
    is_asked()
}

/// Runs a program to its end, as [`Command::output`] does, or until the end is asked for.
///
/// # Errors
/// It cannot be run; [`io::ErrorKind::Interrupted`]: it was killed.
pub fn output(command: &mut Command) -> io::Result<Output> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = crate::spawn(command)?;
    let (stdout, stderr) = (child.stdout.take().map(reader), child.stderr.take().map(reader));
    let mut pause = Duration::from_millis(1);
    let status = loop {
        if let Some(status) = child.try_wait()? {
            if !status.success() && is_asked_soon() {
                return Err(io::ErrorKind::Interrupted.into());
            }
            break status;
        }
        if is_asked() {
            // What it has started may hold the pipes, so nobody waits for the readers.
            return Err(end(&mut child));
        }
        thread::sleep(pause);
        pause = (pause * 2).min(LOOK);
    };
    let all = |reader: Option<JoinHandle<Vec<u8>>>| reader.and_then(|all| all.join().ok());
    let (stdout, stderr) = (all(stdout).unwrap_or_default(), all(stderr).unwrap_or_default());
    Ok(Output { status, stdout, stderr })
}

fn reader(mut from: impl Read + Send + 'static) -> JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut all = Vec::new();
        let _ = from.read_to_end(&mut all);
        all
    })
}

fn end(child: &mut Child) -> io::Error {
    let ended = child.kill().and_then(|()| child.wait());
    ended.err().unwrap_or_else(|| io::ErrorKind::Interrupted.into())
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    #[test]
    fn a_program_ends_by_itself_or_when_the_end_is_asked_for() {
        let _turn = crate::tests::turn();
        let done = output(Command::new("sh").args(["-c", "echo a; echo b >&2; exit 3"]));
        let done = done.expect("a shell");
        let said = (done.status.code(), &done.stdout[..], &done.stderr[..]);
        assert_eq!(said, (Some(3), &b"a\n"[..], &b"b\n"[..]));
        let flag = Arc::new(AtomicBool::new(false));
        at(flag.clone());
        let (began, asks) = (Instant::now(), flag.clone());
        let asking = thread::spawn(move || {
            thread::sleep(Duration::from_millis(200));
            asks.store(true, Ordering::Relaxed);
        });
        // A child of it keeps the pipes open.
        let ended = output(Command::new("sh").args(["-c", "sleep 30; true"]));
        assert_eq!(ended.expect_err("it was ended").kind(), io::ErrorKind::Interrupted);
        assert!(began.elapsed() < Duration::from_secs(20));
        asking.join().expect("the thread");
        let failed = output(Command::new("sh").args(["-c", "exit 3"]));
        assert_eq!(failed.expect_err("it was ended").kind(), io::ErrorKind::Interrupted);
        flag.store(false, Ordering::Relaxed);
    }
}
