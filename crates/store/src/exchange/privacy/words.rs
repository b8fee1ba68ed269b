// SPDX-License-Identifier: GPL-2.0-only
//! Texts without private words: folders, addresses of people, names of user and host.

use std::process::Command;

use nix::unistd::{Uid, gethostname};

/// What stands in place of folders. Readers see that something was there.
const FOLDERS: &str = "…";

/// The replacement of a name. It also occurs in commands, so it has no meaning to a shell.
const HIDDEN: &str = "hidden";

/// What ends a path, besides spaces.
const DELIMITERS: &str = "'\"`;:,()<>|[]{}=";

/// The most words without a `/` between two parts of one path, whose folders' names have spaces.
const GAP_WORDS: usize = 3;

/// Folders that are the same on every system.
const SYSTEM: [&str; 9] = ["proc", "sys", "dev", "bin", "sbin", "lib", "lib64", "boot", "objects"];

/// The same below `/usr`.
const SYSTEM_USR: [&str; 7] = ["bin", "sbin", "lib", "lib64", "libexec", "share", "include"];

/// What stands behind the `/` of a rate.
const UNITS: [&str; 9] = ["s", "ms", "us", "µs", "ns", "min", "h", "CPU", "boots"];

/// Threads of the kernel whose names are followed by `/` and a CPU.
const KERNEL_THREADS: [&str; 8] =
    ["swapper", "kworker", "migration", "cpuhp", "ksoftirqd", "rcuop", "rcuog", "rcuos"];

/// Common names, which identify nobody and have other meanings.
const COMMON: [&str; 18] = [
    "root",
    "user",
    "host",
    "localhost",
    "debian",
    "ubuntu",
    "fedora",
    "fairground",
    "runner",
    "home",
    "run",
    "sim",
    "live",
    "all",
    "dev",
    "sys",
    "cpu",
    "test",
];

/// The shortest name that is removed; shorter ones occur by accident.
const NAME_MIN: usize = 3;

/// The words that identify the owner of a machine, or of a path.
#[derive(Clone, Debug, Default)]
pub struct Owner {
    names: Vec<String>,
    /// Folders with a `/` at their end, as commands and trials name them.
    folders: Vec<String>,
}

impl Owner {
    pub fn here() -> Owner {
        let host = gethostname().unwrap_or_default().to_string_lossy().into_owned();
        let short = host.split('.').next().unwrap_or_default().to_owned();
        let users = ["USER", "LOGNAME", "SUDO_USER"].map(std::env::var).into_iter().flatten();
        // A static program cannot ask the system's own C library where accounts are.
        let account = Command::new("getent").args(["passwd", &Uid::current().to_string()]).output();
        let account = account.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
        let gecos = account.ok().and_then(|line| line.split(':').nth(4).map(str::to_owned));
        let person = gecos.map(|gecos| gecos.split(',').next().unwrap_or_default().to_owned());
        let home = std::env::var("HOME").unwrap_or_default();
        let home = home.rsplit('/').next().unwrap_or_default().to_owned();
        Owner::from_names([host, short, home].into_iter().chain(users).chain(person))
    }

    /// From these names, without common ones.
    pub fn from_names(names: impl IntoIterator<Item = String>) -> Owner {
        let tells = |name: &String| {
            name.len() >= NAME_MIN && !COMMON.contains(&name.to_lowercase().as_str())
        };
        Owner { names: longest_first(names.into_iter().filter(tells)), folders: Vec::new() }
    }

    /// Knows the folder of a path from now on. Only so is a folder recognised in a text whose name
    /// begins with several words.
    pub fn learn(&mut self, path: &str) {
        let Some((folder, _)) = path.rsplit_once('/') else { return };
        let bare = folder.trim_start_matches(['.', '/', '~']);
        if !bare.is_empty() && !is_system(path) {
            let folders = [format!("{folder}/"), format!("{bare}/")];
            self.folders = longest_first(self.folders.drain(..).chain(folders));
        }
    }

    /// A text without private folders and names.
    pub fn text(&self, text: &str) -> String {
        let mut text = text.to_owned();
        if text.contains('/') {
            for folder in &self.folders {
                text = without_folder(&text, folder);
            }
            text = without_paths(&text);
        }
        if text.contains('@') {
            text = without_addresses(&text);
        }
        for name in &self.names {
            text = replaced(&text, name, HIDDEN);
        }
        text
    }

    /// A path of which only the file's name is left.
    pub fn file(&self, path: &str) -> String {
        self.text(path.trim_end_matches('/').rsplit('/').next().unwrap_or_default())
    }

    /// A command as `shell::quoted` writes it, with files' names instead of paths.
    pub fn command(&self, command: &str) -> String {
        let words = words_of_shell(command);
        let word = |word: String| super::super::shell::quoted(&self.argument(&word));
        words.into_iter().map(word).collect::<Vec<_>>().join(" ")
    }

    /// An argument of a command. One with a `/` names a file, and knobs or parameters may follow
    /// its name. A last part that looks like no file may be a folder.
    pub fn argument(&self, argument: &str) -> String {
        let Some((before, name)) = argument.rsplit_once('/') else { return self.text(argument) };
        if is_system(argument) || is_usual(argument) {
            return self.text(argument);
        }
        let name = if is_file(name) { name } else { HIDDEN };
        let (option, _) = before.split_once('=').unwrap_or_default();
        let option = if option.starts_with("--") { format!("{option}=") } else { String::new() };
        self.text(&format!("{option}{name}"))
    }
}

fn longest_first(names: impl Iterator<Item = String>) -> Vec<String> {
    let mut names: Vec<String> = names.collect();
    names.sort_by_key(|name| (std::cmp::Reverse(name.len()), name.clone()));
    names.dedup();
    names
}

/// A text whose paths are reduced to the names of files; system folders stay.
fn without_paths(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let (mut rest, mut opened) = (text, None);
    while !rest.is_empty() {
        let ends = |c: char| DELIMITERS.contains(c) || c.is_control();
        let (part, after) = rest.split_at(rest.find(ends).unwrap_or(rest.len()));
        let closes = after.chars().next();
        // Between quotes is one path, whatever spaces it has; the number of a line may follow it.
        let behind = after.trim_start_matches(|c: char| c == ':' || c.is_ascii_digit());
        let is_quote = opened.is_some_and(|c: char| "'\"`".contains(c));
        // So is `(FILE:LINE)`, as reasons name a place.
        let is_place = opened == Some('(') && behind.starts_with(')') && after.starts_with(':');
        let quoted = is_place || is_quote && behind.chars().next() == opened;
        clean += &if quoted { of_words(&[part]) } else { of_words(&words(part)) };
        let Some(delimiter) = closes else { break };
        clean.push(delimiter);
        opened = Some(delimiter);
        rest = &after[delimiter.len_utf8()..];
    }
    clean
}

fn words(part: &str) -> Vec<&str> {
    part.split(' ').collect()
}

/// The words of one part of a text, cleaned. Two path-like words that are near each other are one
/// path with spaces.
fn of_words(words: &[&str]) -> String {
    let mut clean: Vec<String> = Vec::new();
    let mut at = 0;
    while at < words.len() {
        if !is_path(words[at]) {
            clean.push(words[at].to_owned());
            at += 1;
            continue;
        }
        let mut end = at;
        let near = |end: usize| {
            let last = (end + 1 + GAP_WORDS).min(words.len() - 1);
            (end + 1..=last).find(|&next| is_path(words[next]))
        };
        while let Some(next) = near(end) {
            end = next;
        }
        let name = words[end].rsplit('/').next().unwrap_or_default();
        let name = if is_file(name) { format!("/{name}") } else { String::new() };
        clean.push(format!("{FOLDERS}{name}"));
        at = end + 1;
    }
    clean.join(" ")
}

/// Whether a word has folders that are somebody's.
fn is_path(word: &str) -> bool {
    let reduced = word.strip_prefix(FOLDERS).unwrap_or(word);
    let is_reduced = reduced.len() < word.len() && reduced.matches('/').count() < 2;
    word.contains('/')
        && word.chars().any(char::is_alphanumeric)
        && !is_reduced
        && !is_system(word)
        && !is_usual(word)
}

fn is_system(path: &str) -> bool {
    let mut folders = path.split('/');
    let is_root = folders.next() == Some("");
    let (first, second) = (folders.next().unwrap_or_default(), folders.next().unwrap_or_default());
    let is_known = SYSTEM.contains(&first) || first == "usr" && SYSTEM_USR.contains(&second);
    is_root && is_known && !path.contains("/..")
}

/// Whether a `/` means something else: a rate, a ratio, an abbreviation, an offset in the kernel's
/// code, a thread of the kernel.
fn is_usual(word: &str) -> bool {
    let Some((left, right)) = word.split_once('/') else { return false };
    let few = |part: &str| (1..=2).contains(&part.chars().count());
    let number = |part: &str| {
        !part.is_empty() && part.chars().all(|c| c.is_ascii_digit() || ".%".contains(c))
    };
    let unit = right.trim_end_matches(['.', '!', '?']);
    let of_cpu =
        |part: &str| part.trim_start_matches('u').starts_with(|c: char| c.is_ascii_digit());
    !right.contains('/')
        && (UNITS.contains(&unit)
            || few(left) && few(unit)
            || number(left) && number(right)
            || left.contains("+0x") && right.starts_with("0x")
            || KERNEL_THREADS.contains(&left) && of_cpu(right))
}

/// Whether the last part of a path looks like a file: it has an ending.
fn is_file(name: &str) -> bool {
    let (stem, ending) = name.split_once('.').unwrap_or_default();
    !stem.is_empty() && ending.starts_with(|c: char| c.is_alphanumeric())
}

/// A text without a folder, where its name begins as a word.
fn without_folder(text: &str, folder: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(folder) {
        let (before, found) = rest.split_at(at);
        let last = before.chars().next_back().or_else(|| clean.chars().next_back());
        clean += before;
        rest = &found[folder.len()..];
        if last.is_some_and(|c| c.is_alphanumeric() || "/._-".contains(c)) {
            clean += folder;
        }
    }
    clean + rest
}

/// A text without addresses: `ada@laptop`.
fn without_addresses(text: &str) -> String {
    let is_part = |c: char| c.is_alphanumeric() || "._+-".contains(c);
    let mut clean = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('@') {
        let (before, after) = (&rest[..at], &rest[at + 1..]);
        let person = before.trim_end_matches(is_part);
        let behind = after.trim_start_matches(is_part);
        if person.len() < before.len() && behind.len() < after.len() {
            clean += &format!("{person}{HIDDEN}@{HIDDEN}");
        } else {
            clean += &rest[..rest.len() - behind.len()];
        }
        rest = behind;
    }
    clean + rest
}

/// A text with another name where a name occurs as a word.
pub fn replaced(text: &str, name: &str, by: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(name) {
        let (before, found) = rest.split_at(at);
        let after = &found[name.len()..];
        let is_word = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric());
        let last = before.chars().next_back().or_else(|| clean.chars().next_back());
        clean += before;
        clean += if is_word(last) && is_word(after.chars().next()) { by } else { name };
        rest = after;
    }
    clean + rest
}

/// The words of a command that `shell::quoted` has written.
pub fn words_of_shell(command: &str) -> Vec<String> {
    let (mut words, mut quoted) = (vec![String::new()], false);
    let mut characters = command.chars();
    while let Some(character) = characters.next() {
        let word = words.last_mut().expect("there is one from the start");
        match character {
            '\'' => quoted = !quoted,
            '\\' if !quoted => word.extend(characters.next()),
            ' ' if !quoted => words.push(String::new()),
            other => word.push(other),
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clean(text: &str) -> String {
        Owner::default().text(text)
    }

    #[test]
    fn private_folders_go_and_the_systems_stay() {
        for (text, left) in [
            ("read /home/ada/x/mine.bpf.c:3", "read …/mine.bpf.c:3"),
            ("(clientacme/private/x.bpf.c:4)", "(…/x.bpf.c:4)"),
            ("null (client acme/secret dir/my own.bpf.c:4)", "null (…/my own.bpf.c:4)"),
            (
                "imported from ../clientacme/schbench.json; which",
                "imported from …/schbench.json; which",
            ),
            // Words before the last of a path may be the name of a folder.
            ("./secret/x.toml and ../secret", "…"),
            ("'/tmp/work/a b'", "'…'"),
            ("'../client acme/a b.c:3'", "'…/a b.c:3'"),
            ("at /home/ada/my own/two words/x y.c:3", "at … y.c:3"),
            ("~/secret/a.toml", "…/a.toml"),
            ("/home/ada/secret/", "…"),
            ("file:///srv/acme/x.db, PATH=/usr/bin:/home/ada/bin", "file:…/x.db, PATH=/usr/bin:…"),
            (
                "no /sys/kernel/sched_ext, /usr/bin/env here",
                "no /sys/kernel/sched_ext, /usr/bin/env here",
            ),
            ("/usr/../home/ada/x", "…"),
            ("7/8 of A/A, 3 M/s, 12 switches/s", "7/8 of A/A, 3 M/s, 12 switches/s"),
            (
                "do_idle+0x1f4/0x270 swapper/0 kworker/u8:2",
                "do_idle+0x1f4/0x270 swapper/0 kworker/u8:2",
            ),
            ("/", "/"),
        ] {
            assert_eq!(clean(text), left);
            assert_eq!(clean(left), left, "once is enough");
        }
    }

    #[test]
    fn folders_that_commands_name_are_known_in_texts() {
        let mut owner = Owner::default();
        owner.learn("../client acme/secret dir/my own.bpf.c");
        let text = "null pointer (client acme/secret dir/my own.bpf.c:4)";
        assert_eq!(owner.text(text), "null pointer (my own.bpf.c:4)");
        assert_eq!(owner.text("../client acme/secret dir/x"), "x");
        owner.learn("a/x.c");
        assert_eq!(owner.text("data/s"), "data/s");
    }

    #[test]
    fn commands_keep_the_names_of_files() {
        for (said, left) in [
            (
                "fairground run /home/ada/x.toml --store ../../b.db --scheduler 'a/m.bpf.c k=1'",
                "fairground run x.toml --store b.db --scheduler 'm.bpf.c k=1'",
            ),
            (
                "fairground run --scheduler 'client secret/my own boom.bpf.c' --store=../acme/b.db",
                "fairground run --scheduler 'my own boom.bpf.c' --store=b.db",
            ),
            (r"fairground import 'it'\''s/acme' /usr/bin/x", "fairground import hidden /usr/bin/x"),
        ] {
            let command = Owner::default().command(said);
            assert_eq!(command, left);
            assert!(super::super::super::shell::is_plain_command(&command));
        }
    }

    #[test]
    fn names_go_where_they_are_words() {
        let owner = Owner::from_names(["ada-laptop".into(), "lovelace".into(), "root".into()]);
        let text = "lovelace@ada-laptop: lovelaces root lovelace, i5 CPU @ 1.6 GHz";
        assert_eq!(owner.text(text), "hidden@hidden: lovelaces root hidden, i5 CPU @ 1.6 GHz");
        assert_eq!(owner.text("#1 (joe@build.acme) SMP"), "#1 (hidden@hidden) SMP");
    }
}
