// SPDX-License-Identifier: GPL-2.0-only
//! The names of a recorded machine's threads. In what leaves they are called t1, t2, …, a thread
//! always the same.

use std::collections::{BTreeMap, BTreeSet};

use model::tape::{self, TapeFault};
use model::{Workload, metric};

use super::words::replaced;

/// What is left out, in words for the owner and for readers.
pub const THREADS: &str =
    "the names of recorded threads, which are called t1, t2, …; --thread-names keeps them";
pub const TASKS: &str = "the names of other tasks; --thread-names keeps them";

/// From this length on, a name is also found inside of words: `worker` in `worker3`.
const INSIDE_MIN: usize = 5;

#[derive(Default)]
pub struct Threads {
    /// From their names to anonymous ones.
    names: BTreeMap<String, String>,
    /// The cells that replay a recording.
    cells: BTreeSet<String>,
}

impl Threads {
    /// Whether the groups of a workload are named after threads.
    pub fn are_of(workload: &Workload) -> bool {
        workload.recording.is_some()
    }

    pub fn learn(&mut self, workload: &Workload) {
        if !Threads::are_of(workload) || !self.cells.insert(workload.cell()) {
            return;
        }
        let totals = workload.totals.iter().map(|total| &total.name);
        for name in workload.tasks.iter().map(|group| &group.name).chain(totals) {
            self.anonymous(name);
        }
    }

    pub fn play(&self, cell: &str) -> bool {
        self.cells.contains(cell)
    }

    pub fn anonymous(&mut self, name: &str) -> String {
        if let Some(known) = self.names.get(name) {
            return known.clone();
        }
        let is_taken = |name: &String| self.names.values().any(|taken| taken == name);
        let mut names = (self.names.len() + 1..).map(|number| format!("t{number}"));
        let anonymous = names.find(|name| !is_taken(name)).expect("numbers do not end");
        self.names.insert(name.into(), anonymous.clone());
        anonymous
    }

    /// A group of a recording; one that no workload has is a thread too.
    pub fn group(&mut self, name: &str) -> String {
        let known = self.text(name);
        let is_fixed = name.is_empty() || [metric::ALL, metric::PROGRAM].contains(&name);
        if known != name || is_fixed { known } else { self.anonymous(name) }
    }

    /// A text in which threads are anonymous.
    pub fn text(&self, text: &str) -> String {
        if let Some(name) = self.names.get(text) {
            return name.clone();
        }
        if [metric::ALL, metric::PROGRAM].contains(&text) {
            return text.into();
        }
        let mut names: Vec<(&String, &String)> = self.names.iter().collect();
        // A name may be part of a longer one.
        names.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
        names.into_iter().fold(text.to_owned(), |text, (name, anonymous)| {
            if name.len() >= INSIDE_MIN {
                text.replace(name.as_str(), anonymous)
            } else {
                replaced(&text, name, anonymous)
            }
        })
    }
}

/// Tapes whose threads have the names of their groups.
///
/// # Errors
/// If the text is no tapes.
pub fn rename_tapes(text: &str, workload: &Workload) -> Result<String, TapeFault> {
    let mut tapes = tape::read(text)?;
    let groups = workload.tasks.iter();
    let names = groups.flat_map(|group| std::iter::repeat_n(&group.name, group.count as usize));
    for (tape, name) in tapes.iter_mut().zip(names) {
        tape.name.clone_from(name);
    }
    Ok(tape::write(&tapes))
}
