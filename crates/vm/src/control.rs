// SPDX-License-Identifier: GPL-2.0-only
//! The control of a machine from outside: QEMU's own protocol (QMP), over a pair of sockets.

use std::fs::File;
use std::io::{BufRead, BufReader, Seek, Write};
use std::os::fd::{AsRawFd, OwnedFd};
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
/// QEMU's own limit is that of a network.
const BYTES_PER_S: u64 = 1 << 40;

/// Our end of the connection.
pub(crate) struct Control {
    socket: UnixStream,
    lines: BufReader<UnixStream>,
    /// Whether the machine has said that it has stopped.
    has_stopped: bool,
}

impl Control {
    /// A connection: our end, and QEMU's.
    ///
    /// # Errors
    /// The operating system refuses.
    pub fn pair() -> Result<(Control, OwnedFd)> {
        let (socket, theirs) = UnixStream::pair()?;
        socket.set_read_timeout(Some(PATIENCE))?;
        let lines = BufReader::new(socket.try_clone()?);
        Ok((Control { socket, lines, has_stopped: false }, theirs.into()))
    }

    /// QEMU's arguments for its end.
    pub fn arguments(theirs: &OwnedFd) -> [String; 4] {
        let socket = format!("socket,id=control,fd={}", theirs.as_raw_fd());
        ["-chardev", &socket, "-mon", "chardev=control,mode=control"].map(str::to_owned)
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

    /// The state of the stopped machine, as a file in memory.
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
        state.rewind()?;
        Ok(state)
    }

    /// Lets a machine go on once it has read its state.
    pub fn go_on(&mut self) -> Result<()> {
        self.poll("query-status", |answer| Ok(answer["status"] != "inmigrate"))?;
        // A guest's own panic must not stop it.
        self.command("set-action", &json!({ "panic": "none" }))?;
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Answers the commands that come with these lines.
    fn pretend(theirs: OwnedFd, answers: &'static [&'static str]) {
        let theirs = UnixStream::from(theirs);
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
        let (mut control, theirs) = Control::pair().unwrap();
        pretend(theirs, &["{\"QMP\":{}}\n{\"event\":\"STOP\"}\n{\"return\":{}}\n"]);
        control.greet().unwrap();
        control.await_stop().unwrap();
        assert!(control.greet().is_err());
    }

    #[test]
    fn a_refusal_is_told() {
        let (mut control, theirs) = Control::pair().unwrap();
        const REFUSAL: &str = "{\"error\":{\"class\":\"GenericError\",\"desc\":\"no\"}}\n";
        pretend(theirs, &["{\"return\":{\"status\":\"paused\"}}\n", REFUSAL]);
        let why = control.go_on().unwrap_err().to_string();
        assert_eq!(why, "QEMU refuses `set-action`: \"no\"");
    }

    #[test]
    fn a_failed_save_is_no_state() {
        let (mut control, theirs) = Control::pair().unwrap();
        const DONE: &str = "{\"return\":{}}\n";
        pretend(theirs, &[DONE, DONE, "{\"return\":{\"status\":\"failed\"}}\n"]);
        assert!(control.save().unwrap_err().to_string().starts_with("QEMU could not save"));
    }
}
