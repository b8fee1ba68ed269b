// SPDX-License-Identifier: GPL-2.0-only
//! The control of a machine from outside: QEMU's own protocol (QMP), and its debugger (gdb's
//! protocol) for the one breakpoint at which the guest stops. Each has a pair of sockets.

use std::fs::File;
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use crate::qemu;

/// The longest wait for one answer, and for a state to be written or read, on a host with too much
/// to do.
const PATIENCE: Duration = Duration::from_secs(60);
const LOOK: Duration = Duration::from_millis(2);
/// How often a wait for an answer looks whether the end is asked for.
const STOP_CHECK: Duration = Duration::from_millis(200);
/// QEMU's own limit is that of a network.
const BYTES_PER_S: u64 = 1 << 40;

pub(crate) struct Control {
    socket: UnixStream,
    lines: BufReader<Answers>,
    debugger: Debugger,
    /// Whether the machine has said that it has stopped.
    has_stopped: bool,
}

pub(crate) struct Ends {
    control: OwnedFd,
    debugger: OwnedFd,
}

impl Ends {
    /// QEMU's arguments. The machine waits for its first command.
    pub fn arguments(&self) -> Vec<String> {
        let socket = |id: &str, end: &OwnedFd| format!("socket,id={id},fd={}", end.as_raw_fd());
        let control = socket("control", &self.control);
        let debugger = socket("debugger", &self.debugger);
        let control = ["-chardev", &control, "-mon", "chardev=control,mode=control"];
        let debugger = ["-chardev", &debugger, "-gdb", "chardev:debugger", "-S"];
        control.into_iter().chain(debugger).map(str::to_owned).collect()
    }

    pub fn descriptors(&self) -> [RawFd; 2] {
        [self.control.as_raw_fd(), self.debugger.as_raw_fd()]
    }
}

impl Control {
    /// The connections; the machine stops when it executes the instruction at `stop_at`.
    pub fn new(stop_at: usize) -> Result<(Control, Ends)> {
        let (socket, theirs) = UnixStream::pair()?;
        let lines = BufReader::new(Answers::new(socket.try_clone()?)?);
        let (debugger, its) = Debugger::new(stop_at)?;
        let control = Control { socket, lines, debugger, has_stopped: false };
        Ok((control, Ends { control: theirs.into(), debugger: its }))
    }

    /// Lets a machine begin that waits for it.
    pub fn begin(&mut self) -> Result<()> {
        self.debugger.command('Z')?;
        self.command("cont", &json!({})).map(drop)
    }

    /// The first words that QEMU expects.
    ///
    /// # Errors
    /// As for all commands: QEMU refuses, says nothing, or is gone.
    pub fn greet(&mut self) -> Result<()> {
        self.command("qmp_capabilities", &json!({})).map(drop)
    }

    /// Waits until the machine has stopped.
    pub fn await_stop(&mut self) -> Result<()> {
        while !self.has_stopped {
            self.message()?;
        }
        Ok(())
    }

    pub fn save(&mut self) -> Result<File> {
        let mut state = File::from(qemu::memory_file(c"fairground-state", b"")?);
        self.command("migrate-set-parameters", &json!({ "max-bandwidth": BYTES_PER_S }))?;
        let place = format!("/proc/{}/fd/{}", std::process::id(), state.as_raw_fd());
        self.command("migrate", &json!({ "uri": format!("exec:cat > {place}") }))?;
        self.poll("query-migrate", |answer| match answer["status"].as_str() {
            Some("completed") => Ok(true),
            Some("failed" | "cancelled") => bail!("QEMU could not save the machine: {answer}"),
            _ => Ok(false),
        })?;
        set_running(&mut state)?;
        state.rewind()?;
        Ok(state)
    }

    pub fn go_on(&mut self) -> Result<()> {
        self.debugger.command('z')?;
        self.command("cont", &json!({})).map(drop)
    }

    fn poll(&mut self, command: &str, is_done: impl Fn(&Value) -> Result<bool>) -> Result<()> {
        let start = Instant::now();
        while !is_done(&self.command(command, &json!({}))?)? {
            if start.elapsed() > PATIENCE {
                bail!("QEMU does not end `{command}`");
            }
            sleep(LOOK);
        }
        Ok(())
    }

    /// Executes a command and returns what it returns.
    fn command(&mut self, name: &str, arguments: &Value) -> Result<Value> {
        let mut line = json!({ "execute": name, "arguments": arguments }).to_string();
        line.push('\n');
        self.socket.write_all(line.as_bytes()).context("QEMU does not listen")?;
        loop {
            let mut message = self.message()?;
            if let Some(error) = message.get("error") {
                bail!("QEMU refuses `{name}`: {}", error["desc"]);
            }
            if let Some(answer) = message.get_mut("return") {
                return Ok(answer.take());
            }
        }
    }

    /// The next message: an answer, or an event.
    fn message(&mut self) -> Result<Value> {
        let mut line = String::new();
        let length = self.lines.read_line(&mut line).context("QEMU does not answer")?;
        if length == 0 {
            bail!("QEMU is gone");
        }
        let message: Value = serde_json::from_str(&line).context("QEMU's answer")?;
        self.has_stopped |= message["event"] == "STOP";
        Ok(message)
    }
}

/// QEMU writes down that a debugger has stopped the machine, and no machine goes on from that. One
/// that runs, does.
fn set_running(state: &mut File) -> Result<()> {
    let length = state.seek(SeekFrom::End(0))?;
    let start = length.saturating_sub(DEVICES_MAX);
    state.seek(SeekFrom::Start(start))?;
    let mut devices = Vec::new();
    state.read_to_end(&mut devices)?;
    let found: Vec<usize> = (0..devices.len().saturating_sub(STOPPED.len()))
        .filter(|at| devices[*at..].starts_with(STOPPED))
        .collect();
    let [at] = found[..] else { bail!("the machine's state does not say why it has stopped") };
    state.seek(SeekFrom::Start(start + at as u64))?;
    state.write_all(RUNNING)?;
    Ok(())
}

/// The devices are the last part of a state, after the memory.
const DEVICES_MAX: u64 = 4 << 20;
/// A device's name with its length, number and version; then, with its length, a text.
const STOPPED: &[u8] = b"\x0bglobalstate\0\0\0\0\0\0\0\x01\0\0\0\x06debug\0\0\0";
const RUNNING: &[u8] = b"\x0bglobalstate\0\0\0\0\0\0\0\x01\0\0\0\x08running\0";

/// What QEMU says, as long as nobody asks for the end.
struct Answers(UnixStream);

impl Answers {
    fn new(socket: UnixStream) -> Result<Answers> {
        socket.set_read_timeout(Some(STOP_CHECK))?;
        Ok(Answers(socket))
    }
}

impl Read for Answers {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let start = Instant::now();
        loop {
            match self.0.read(bytes) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                done => return done,
            }
            if process::stop::is_asked() {
                return Err(io::Error::other("the end was asked for"));
            }
            if start.elapsed() > PATIENCE {
                return Err(ErrorKind::TimedOut.into());
            }
        }
    }
}

struct Debugger {
    socket: Answers,
    address: usize,
}

impl Debugger {
    fn new(address: usize) -> Result<(Debugger, OwnedFd)> {
        let (socket, theirs) = UnixStream::pair()?;
        Ok((Debugger { socket: Answers::new(socket)?, address }, theirs.into()))
    }

    /// Sets (`Z`) or removes (`z`) the breakpoint.
    fn command(&mut self, letter: char) -> Result<()> {
        let command = format!("{letter}0,{:x},1", self.address);
        // The plus says that what was said before has come.
        write!(self.socket.0, "+{}", packet(&command))
            .context("QEMU's debugger does not listen")?;
        self.await_words(&packet("OK"))
    }

    fn await_words(&mut self, words: &str) -> Result<()> {
        let mut heard = Vec::new();
        let mut byte = [0];
        while !heard.ends_with(words.as_bytes()) {
            self.socket.read_exact(&mut byte).context("QEMU's debugger does not answer")?;
            heard.push(byte[0]);
            if heard.len() > ANSWER_MAX {
                bail!("QEMU's debugger refuses: {}", String::from_utf8_lossy(&heard));
            }
        }
        Ok(())
    }
}

/// Longer than a stop's notice and an answer.
const ANSWER_MAX: usize = 200;

/// Words in the form of gdb's protocol.
fn packet(words: &str) -> String {
    let sum = words.bytes().fold(0u8, u8::wrapping_add);
    format!("${words}#{sum:02x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Answers the commands that come with these lines.
    fn pretend(ends: Ends, answers: &'static [&'static str]) {
        let theirs = UnixStream::from(ends.control);
        std::thread::spawn(move || {
            let mut commands = BufReader::new(theirs.try_clone().unwrap()).lines();
            for answer in answers {
                commands.next();
                (&theirs).write_all(answer.as_bytes()).unwrap();
            }
        });
    }

    #[test]
    fn events_are_no_answers() {
        let (mut control, ends) = Control::new(0).unwrap();
        pretend(ends, &["{\"QMP\":{}}\n{\"event\":\"STOP\"}\n{\"return\":{}}\n"]);
        control.greet().unwrap();
        control.await_stop().unwrap();
        assert!(control.greet().is_err());
    }

    #[test]
    fn a_refusal_is_told() {
        let (mut control, ends) = Control::new(0).unwrap();
        const REFUSAL: &str = "{\"error\":{\"class\":\"GenericError\",\"desc\":\"no\"}}\n";
        pretend(ends, &["{\"return\":{}}\n", REFUSAL]);
        control.greet().unwrap();
        let why = control.greet().unwrap_err().to_string();
        assert_eq!(why, "QEMU refuses `qmp_capabilities`: \"no\"");
    }

    #[test]
    fn a_failed_save_is_no_state() {
        let (mut control, ends) = Control::new(0).unwrap();
        const DONE: &str = "{\"return\":{}}\n";
        pretend(ends, &[DONE, DONE, "{\"return\":{\"status\":\"failed\"}}\n"]);
        assert!(control.save().unwrap_err().to_string().starts_with("QEMU could not save"));
    }

    #[test]
    fn a_state_that_runs_is_as_long_as_one_that_has_stopped() {
        let with = |text: &[u8]| [&b"memory"[..], text, &b"\0more"[..]].concat();
        let mut state = tempfile::tempfile().unwrap();
        state.write_all(&with(STOPPED)).unwrap();
        set_running(&mut state).unwrap();
        state.rewind().unwrap();
        let mut changed = Vec::new();
        state.read_to_end(&mut changed).unwrap();
        assert_eq!(changed, with(RUNNING));
        assert!(set_running(&mut state).is_err());
    }

    #[test]
    fn a_breakpoint_is_set_in_gdbs_words() {
        assert_eq!(packet("OK"), "$OK#9a");
        let (mut debugger, theirs) = Debugger::new(0x1000).unwrap();
        let mut theirs = UnixStream::from(theirs);
        theirs.write_all(b"+$T05thread:01;#07+$OK#9a").unwrap();
        debugger.command('Z').unwrap();
        let mut heard = [0; 14];
        theirs.read_exact(&mut heard).unwrap();
        assert_eq!(&heard, b"+$Z0,1000,1#d4");
        drop(theirs);
        assert!(debugger.command('z').is_err());
    }
}
