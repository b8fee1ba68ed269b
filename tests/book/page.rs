// SPDX-License-Identifier: GPL-2.0-only
//! A page's blocks: files that a reader writes, and commands with their output.
//!
//! The opening line of a block says what it is:
//!
//! - `console golden`: the commands run, and their output is compared with the block's;
//! - `console run`: the commands run; their output depends on the host, and no block shows it;
//! - `console parse`: the commands need root, a network or minutes; only their words are checked;
//! - `console golden fails`: as `golden`, and the exit code is not 0;
//! - `c NAME`, `json NAME`, `python NAME`, `toml NAME`: the file NAME, which the commands find in
//!   their folder.

use crate::files;

/// What happens to a block's commands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Class {
    Golden,
    Run,
    Parse,
}

/// One fenced block that a test understands.
pub enum Block {
    /// A file with its name and text.
    File(String, String),
    /// Commands with their output.
    Console { class: Class, fails: bool, line: usize, text: Vec<String> },
    /// Shell lines without output, for a reader to adapt.
    Shell { line: usize, text: Vec<String> },
}

/// A document with commands.
pub struct Page {
    /// Relative to the project's root.
    pub path: String,
    pub text: String,
}

/// Every page whose commands are checked.
pub fn pages() -> Vec<Page> {
    let checked = |path: &str| {
        let of_book = path.starts_with("docs/src/") && path.ends_with(".md");
        of_book || ["README.md", "CONTRIBUTING.md"].contains(&path)
    };
    let pages = files().into_iter().filter(|file| checked(&file.path));
    pages.map(|file| Page { path: file.path, text: file.text }).collect()
}

impl Page {
    /// The page's blocks, in order.
    ///
    /// # Errors
    /// A `console` block without a class.
    pub fn blocks(&self) -> Result<Vec<Block>, String> {
        let mut blocks = Vec::new();
        let mut lines = self.text.lines().enumerate();
        while let Some((index, opening)) = lines.next() {
            let Some(info) = opening.strip_prefix("```") else { continue };
            let inner = lines.by_ref().map(|(_, line)| line.to_owned());
            let text: Vec<String> = inner.take_while(|line| line != "```").collect();
            let line = index + 1;
            let words: Vec<&str> = info.split_whitespace().collect();
            match words.as_slice() {
                ["console", rest @ ..] => blocks.push(Block::Console {
                    class: class(rest)
                        .ok_or_else(|| format!("{}:{line}: say golden, run or parse", self.path))?,
                    fails: rest.contains(&"fails"),
                    line,
                    text,
                }),
                ["c" | "json" | "python" | "toml", name] => {
                    blocks.push(Block::File((*name).to_owned(), text.join("\n") + "\n"));
                }
                ["sh"] => blocks.push(Block::Shell { line, text }),
                _ => {}
            }
        }
        Ok(blocks)
    }
}

fn class(words: &[&str]) -> Option<Class> {
    match *words.first()? {
        "golden" => Some(Class::Golden),
        "run" => Some(Class::Run),
        "parse" => Some(Class::Parse),
        _ => None,
    }
}

/// A command with the lines of output that follow it.
pub struct Command {
    /// Without the `$ `.
    pub words: String,
    /// What the page shows.
    pub output: Vec<String>,
}

/// The commands of a `console` block.
pub fn commands(text: &[String]) -> Vec<Command> {
    let mut commands: Vec<Command> = Vec::new();
    for line in text {
        if let Some(words) = line.strip_prefix("$ ") {
            commands.push(Command { words: words.to_owned(), output: Vec::new() });
        } else if let Some(command) = commands.last_mut() {
            command.output.push(line.clone());
        }
    }
    commands
}
