// SPDX-License-Identifier: GPL-2.0-only
//! The program that somebody uses meanwhile: started once, as the user who called sudo, with
//! MangoHud around it.

use std::ffi::{CString, OsString};
use std::io;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result};
use live::facts::is_root;
use nix::unistd::{Gid, Uid, User, getgrouplist, setgid, setgroups, setuid};
use tempfile::TempDir;
use vm::installed;

use crate::exit::bad_input;

const MANGOHUD: &str = "mangohud";
/// The variables by which MangoHud is told to write logs.
const CONFIG: &str = "MANGOHUD_CONFIG";
/// A line for each frame from the first second on, without an end.
const LOGGING: &str = "autostart_log=1,log_interval=0,log_duration=0";

/// Where the logs of frames come from.
pub enum Frames {
    /// The program writes them itself.
    Own(PathBuf),
    /// MangoHud writes them into a folder that is gone afterwards.
    MangoHud(TempDir),
}

pub struct Game {
    child: Child,
}

impl Frames {
    /// # Errors
    /// MangoHud is not installed, and no log is named; or the log is an old one.
    pub fn find(own: Option<&Path>) -> Result<Frames> {
        if let Some(own) = own {
            if own.is_file() {
                return Err(bad_input(format!(
                    "--frames {0}: is there already; remove it, or name the log that the program \
                     will write",
                    own.display()
                )));
            }
            return Ok(Frames::Own(own.to_owned()));
        }
        if installed::find(MANGOHUD).is_none() {
            let install = process::packages::install(MANGOHUD);
            return Err(bad_input(format!(
                "MangoHud, which logs frames, is not installed; to get it: {install} (0.6.9 or \
                 later); or name by --frames the log that the program writes in its format"
            )));
        }
        let folder = tempfile::tempdir().context("no temporary folder for the logs of frames")?;
        if let Some(user) = player()? {
            let (user, group) = (user.uid.as_raw(), user.gid.as_raw());
            chown(folder.path(), Some(user), Some(group)).context("the folder of the logs")?;
        }
        Ok(Frames::MangoHud(folder))
    }

    pub fn place(&self) -> &Path {
        match self {
            Frames::Own(place) => place,
            Frames::MangoHud(folder) => folder.path(),
        }
    }

    /// What is said when no frame comes.
    pub fn why_none(&self) -> String {
        let place = self.place().display();
        match self {
            Frames::Own(_) => format!(
                "{place}: no frame is in it; the program must write a line for each frame at once, \
                 as MangoHud does with MANGOHUD=1 {CONFIG}=output_folder=FOLDER,{LOGGING}"
            ),
            Frames::MangoHud(_) => format!(
                "MangoHud has logged no frame: it needs version 0.6.9, a program that draws with \
                 Vulkan or OpenGL, and a display that is not hidden (no_display). A program that \
                 another starts, which runs already, gets no {CONFIG}: give it MANGOHUD=1 \
                 {CONFIG}=output_folder=FOLDER,{LOGGING} there, and name the folder by --frames"
            ),
        }
    }

    /// The command, and how MangoHud is told to log.
    fn command(&self, words: &[OsString]) -> Command {
        let Frames::MangoHud(folder) = self else {
            let mut command = Command::new(&words[0]);
            command.args(&words[1..]);
            return command;
        };
        let mut command = Command::new(MANGOHUD);
        let before = std::env::var(CONFIG).unwrap_or_else(|_| "read_cfg".into());
        let folder = folder.path().display();
        let config = format!("{before},output_folder={folder},{LOGGING}");
        command.args(words).env("MANGOHUD", "1").env(CONFIG, config);
        command
    }
}

impl Game {
    /// Starts it in a process group of its own, which Ctrl-C does not reach.
    pub fn start(words: &[OsString], frames: &Frames) -> Result<Game> {
        let mut command = frames.command(words);
        // What it prints is no answer.
        command.stdin(Stdio::null()).stdout(io::stderr()).process_group(0);
        if let Some(user) = player()? {
            become_user(&mut command, &user)?;
        }
        let child = command.spawn().map_err(|error| {
            bad_input(format!("{}: cannot be run: {error}", words[0].to_string_lossy()))
        })?;
        Ok(Game { child })
    }

    /// The number of its process group.
    pub fn group(&self) -> u32 {
        self.child.id()
    }

    pub fn has_ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }
}

/// The user that called sudo. A game does not run as root, which has no display.
fn player() -> Result<Option<User>> {
    let called = std::env::var("SUDO_UID").ok().and_then(|uid| uid.parse().ok());
    let Some(uid) = called.filter(|uid| is_root() && *uid != 0) else { return Ok(None) };
    User::from_uid(Uid::from_raw(uid)).context("the user that called sudo")
}

fn become_user(command: &mut Command, user: &User) -> Result<()> {
    let name = CString::new(user.name.as_str())?;
    let groups = getgrouplist(&name, user.gid).context("the groups of the user")?;
    let (uid, gid): (Uid, Gid) = (user.uid, user.gid);
    command.env("HOME", &user.dir).env("USER", &user.name).env("LOGNAME", &user.name);
    let runtime = format!("/run/user/{uid}");
    if Path::new(&runtime).is_dir() {
        command.env("XDG_RUNTIME_DIR", runtime);
    }
    let become_it = move || {
        setgroups(&groups)?;
        setgid(gid)?;
        Ok(setuid(uid)?)
    };
    // SAFETY: three system calls, and memory that is there.
    unsafe { command.pre_exec(become_it) };
    Ok(())
}
