// SPDX-License-Identifier: GPL-2.0-only
//! A folder with a copy of the program, and scripts that root runs in a guest.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::Bench;

/// What every script begins with: `has FILE WORDS` ends it with the file's text unless it has them.
pub const WORDS: &str = r#"
export FAIRGROUND_HOME=/tmp/home NO_COLOR=1
fail() { echo "$1:"; tr '\n' '~' < "$2"; exit 1; }
has() { case "$(cat "$1")" in *"$2"*) ;; *) fail "no '$2' in $1" "$1" ;; esac; }
state() { cat /sys/kernel/sched_ext/state; }
"#;

/// A folder that exists in a guest, too, whose /tmp begins empty; with a copy of the program, which
/// must not be called as the guest's own first process is.
pub struct Folder(tempfile::TempDir);

impl Folder {
    pub fn new() -> Folder {
        let folder = Folder(tempfile::tempdir_in("/var/tmp").expect("a folder"));
        folder.copy(Path::new(env!("CARGO_BIN_EXE_fairground")), "held");
        folder
    }

    pub fn copy(&self, program: &Path, name: &str) -> String {
        // A process of its own copies: a child that another test forks meanwhile would inherit the
        // descriptor open for writing, and the copy could not be executed (ETXTBSY).
        let copied = Command::new("cp").arg(program).arg(self.path(name)).status();
        assert!(copied.expect("cp runs").success(), "a copy of the program");
        self.path(name).display().to_string()
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn write(&self, name: &str, text: &str) -> String {
        fs::write(self.path(name), text).expect("a file");
        self.path(name).display().to_string()
    }

    /// Runs `ask.sh` as root in a guest before a trial of nothing. If it ends badly, so does the
    /// trial, and says what the script said last.
    pub fn ask(&self, script: &str, files: &[&str], programs: &[&str]) {
        let machine = "about = \"r\"\ncpus = 1\nmemory_mib = 1024\nclock = \"virtual\"\n";
        self.ask_on("kernel:7", machine, script, files, programs);
    }

    /// The same on a kernel and a machine.
    pub fn ask_on(
        &self,
        kernel: &str,
        machine: &str,
        script: &str,
        files: &[&str],
        programs: &[&str],
    ) {
        let bench = Bench::new();
        bench.write("roomy.toml", machine);
        let script = self.write("ask.sh", &format!("{WORDS}{script}"));
        let held = self.path("held").display().to_string();
        let usual = ["sh", "/bin/sh", "cat", "tr", "sleep", &held];
        let needs = usual.iter().chain(programs).map(|name| format!("\"{name}\" = \"\""));
        let files = files.iter().copied().chain([&script[..]]).map(|file| format!("\"{file}\""));
        let text = format!(
            "about = \"a\"\n[program]\ncommand = [\"sleep\", \"0\"]\nparser = \"none\"\n\
             prepare = [[\"sh\", \"{script}\"]]\nneeds = {{ {} }}\nfiles = [{}]\n",
            needs.collect::<Vec<_>>().join(", "),
            files.collect::<Vec<_>>().join(", "),
        );
        bench.write("ask.toml", &text);
        let trial = ["run", "--on", "vm", "--machine", "roomy.toml", "--scheduler", kernel];
        let rest = ["--blocks", "1", "--no-probes", "--timeout", "300", "--offline"];
        let load = ["--workload", "ask.toml", "--exploratory"];
        let ended = bench.run(&[&trial[..], &rest, &load].concat());
        let outcome = bench.records("fairground.db").remove(0).outcome;
        assert!(outcome.is_ok(), "{}", outcome.reason().replace('~', "\n"));
        ended.success();
    }
}
