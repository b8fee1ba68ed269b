// SPDX-License-Identifier: GPL-2.0-only
//! A local git tree: its commits, and their files in a private folder. The user's checkout, index
//! and references are never written.

use std::io;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, anyhow};
use model::text;
use process::stop;
use tempfile::TempDir;

use crate::exit::{Interrupted, bad_input};

/// Without what a configuration starts or shares when files are written.
const QUIET: [&str; 3] =
    ["core.hooksPath=/dev/null", "core.fsmonitor=false", "core.splitIndex=false"];

/// The settings that name programs through which files go. A tree can be a stranger's, with its
/// configuration.
const FILTERS: &str = r"^filter\..*\.(clean|smudge|process|required)$";
/// An empty variable: what those settings become.
const EMPTY: &str = "FAIRGROUND_EMPTY";

/// Variables that would point git to other files.
const ELSEWHERE: [&str; 4] = ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX"];

/// A repository, and a folder that has the files of one commit at a time.
pub struct Tree {
    git_dir: PathBuf,
    /// The folder that the user has named, relative to the tree; empty for the whole.
    below: PathBuf,
    private: TempDir,
    /// Words for git that switch filters off.
    unfiltered: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commit {
    pub hash: String,
    /// Its short hash and its subject.
    pub title: String,
}

/// What git has answered, or why it refuses.
type Answer = Result<String, String>;

impl Tree {
    /// Finds the repository that a folder belongs to.
    pub fn open(folder: &Path) -> Result<Tree> {
        let at = |words: &[&str]| answer(git().arg("-C").arg(folder).args(words));
        let ask = |what: &str| {
            at(&["rev-parse", what])?.map_err(|said| {
                let folder = folder.display();
                bad_input(format!("--tree {folder}: no git tree; name a clone's folder ({said})"))
            })
        };
        let git_dir = ask("--absolute-git-dir")?.into();
        let below = ask("--show-prefix")?.into();
        let is_checked_out = ask("--is-inside-work-tree")? == "true";
        let filters = at(&["config", "--null", "--name-only", "--get-regexp", FILTERS])?;
        let filters = filters.unwrap_or_default();
        let keys = filters.split('\0').filter(|key| !key.is_empty());
        let unfiltered = keys.map(|key| format!("--config-env={key}={EMPTY}")).collect();
        let private = tempfile::tempdir().context("no temporary folder for a commit's files")?;
        let tree = Tree { git_dir, below, private, unfiltered };
        if is_checked_out {
            let words = ["status", "--porcelain", "--untracked-files=no", "--ignore-submodules"];
            let mut command = git();
            command.arg("-C").arg(folder).args(&tree.unfiltered).args(words);
            let changes = answer(&mut command)?.map_err(|said| anyhow!("git status: {said}"))?;
            refuse(folder, &changes)?;
        }
        Ok(tree)
    }

    /// The path in the tree of a file below the folder that the user has named.
    pub fn place(&self, file: &str) -> Result<String> {
        let is_below = |part| matches!(part, Component::Normal(_) | Component::CurDir);
        if !Path::new(file).components().all(is_below) {
            return Err(bad_input(format!(
                "--file {file}: write its path as it is below the folder of --tree"
            )));
        }
        let path = self.below.join(file);
        let names = path.components().filter(|part| matches!(part, Component::Normal(_)));
        Ok(names.collect::<PathBuf>().display().to_string())
    }

    /// The commit that a user names.
    pub fn commit(&self, option: &str, revision: &str) -> Result<Commit> {
        let named = format!("{revision}^{{commit}}");
        let found = self.ask(&["rev-parse", "--verify", "--quiet", "--end-of-options", &named])?;
        let hash = found.map_err(|_| {
            bad_input(format!(
                "{option} {revision}: the tree has no such revision; write a commit, a tag or a \
                 branch that it has"
            ))
        })?;
        self.titled(&hash)
    }

    /// The commit with its subject.
    pub fn titled(&self, hash: &str) -> Result<Commit> {
        let words = ["show", "--no-patch", "--no-show-signature", "--format=%h %s", hash];
        let title = self.ask(&words)?.map_err(|said| anyhow!("git show: {said}"))?;
        Ok(Commit { hash: hash.to_owned(), title: text::line(&title) })
    }

    /// Whether a commit has a file or a folder of this path.
    pub fn has(&self, commit: &Commit, path: &str) -> Result<bool> {
        Ok(self.ask(&["cat-file", "-e", &format!("{}:{path}", commit.hash)])?.is_ok())
    }

    /// Whether the second commit contains the first.
    pub fn contains(&self, first: &Commit, second: &Commit) -> Result<bool> {
        Ok(self.ask(&["merge-base", "--is-ancestor", &first.hash, &second.hash])?.is_ok())
    }

    /// The commits that can be the first bad one: `bad` contains them, and no good one does. First
    /// come those that halve the others best; `bad` is among them.
    pub fn suspects(&self, good: &[String], bad: &str) -> Result<Vec<String>> {
        let mut words = vec!["rev-list", "--bisect-all", bad, "--not"];
        words.extend(good.iter().map(String::as_str));
        let listed = self.ask(&words)?.map_err(|said| anyhow!("git rev-list: {said}"))?;
        let hash = |line: &str| line.split(' ').next().map(str::to_owned);
        Ok(listed.lines().filter_map(hash).collect())
    }

    /// Where [`Tree::materialise`] writes.
    pub fn folder(&self) -> PathBuf {
        self.private.path().join("tree")
    }

    /// Makes the private folder's files those of a commit. Only those are written that differ from
    /// the commit before.
    pub fn materialise(&self, commit: &Commit) -> Result<()> {
        let folder = self.folder();
        std::fs::create_dir_all(&folder).context("no temporary folder for a commit's files")?;
        let mut command = self.git(&["read-tree", "--reset", "-u", &commit.hash]);
        command.env("GIT_WORK_TREE", &folder);
        command.env("GIT_INDEX_FILE", self.private.path().join("index"));
        let done = answer(&mut command)?;
        done.map(drop)
            .map_err(|said| anyhow!("{}: git cannot write its files: {said}", commit.title))
    }

    fn git(&self, words: &[&str]) -> Command {
        let mut command = git();
        command.arg("--git-dir").arg(&self.git_dir).args(&self.unfiltered).args(words);
        command
    }

    fn ask(&self, words: &[&str]) -> Result<Answer> {
        answer(&mut self.git(words))
    }
}

/// Changes that no commit has would not be measured.
fn refuse(folder: &Path, changes: &str) -> Result<()> {
    let Some(first) = changes.lines().next() else { return Ok(()) };
    let (folder, count) = (folder.display(), changes.lines().count());
    let first = first.get(3..).unwrap_or_else(|| first.trim());
    let files =
        if count == 1 { first.to_owned() } else { format!("{first} and {} more", count - 1) };
    Err(bad_input(format!(
        "--tree {folder}: {files} changed since the last commit, and only commits are measured; \
         `git commit` or `git stash` first"
    )))
}

/// Git without hooks, and without a lock in the repository.
fn git() -> Command {
    let mut command = Command::new("git");
    command.arg("--no-optional-locks").env("LC_ALL", "C").env("GIT_NO_LAZY_FETCH", "1");
    // Objects that a clone lacks would be fetched by a program that its configuration names.
    command.env(EMPTY, "").env("GIT_ALLOW_PROTOCOL", "none");
    for setting in QUIET {
        command.args(["-c", setting]);
    }
    for variable in ELSEWHERE {
        command.env_remove(variable);
    }
    command
}

/// Runs git to its end.
///
/// # Errors
/// It cannot be run, or the user has ended it.
fn answer(command: &mut Command) -> Result<Answer> {
    let output = stop::output(command).map_err(|error| match error.kind() {
        io::ErrorKind::Interrupted => Interrupted.into(),
        io::ErrorKind::NotFound => {
            let remedy = process::packages::install("git");
            bad_input(format!("git is not installed; to get it: {remedy}"))
        }
        _ => anyhow::Error::new(error).context("git cannot be run"),
    })?;
    if output.status.success() {
        return Ok(Ok(String::from_utf8_lossy(&output.stdout).trim_end().to_owned()));
    }
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let first = said.lines().next().unwrap_or("git gives no reason");
    Ok(Err(first.trim_start_matches("fatal: ").to_owned()))
}
