// SPDX-License-Identifier: GPL-2.0-only
//! The content of a gallery: shared files, and the questions that they answer.

use stats::view::consensus::Question;

/// One shared file.
#[derive(Clone, Debug, Default)]
pub struct Contribution {
    /// Its name in the folder.
    pub file: String,
    /// The contributor's name, as given.
    pub by: String,
    /// The contributor's note.
    pub note: String,
    /// The SHA-256 that seals it.
    pub seal: String,
    /// The experiments with their questions.
    pub experiments: Vec<(String, String)>,
    /// Their dates, e.g. `2026-01-31`, ascending.
    pub dates: Vec<String>,
    /// The number of trials.
    pub trials: usize,
    /// Kernels under test.
    pub kernels: Vec<String>,
    /// Processors, as the kernels under test report them.
    pub processors: Vec<String>,
    /// Schedulers with the beginning of their source's SHA-256.
    pub schedulers: Vec<(String, String)>,
    /// What the file says it leaves out.
    pub left_out: Vec<String>,
}

/// A file that is not shown, and why.
#[derive(Clone, Debug)]
pub struct Refused {
    /// Its name in the folder.
    pub file: String,
    /// The reason.
    pub why: String,
}

/// Everything that the site shows.
#[derive(Clone, Debug, Default)]
pub struct Gallery {
    /// The files, in the order of their names.
    pub contributions: Vec<Contribution>,
    /// The refused files.
    pub refused: Vec<Refused>,
    /// The questions.
    pub questions: Vec<Question>,
    /// When and by which program the site was made; from the caller, because reports have no clock.
    pub generated: String,
}
