// SPDX-License-Identifier: GPL-2.0-only
//! What a gallery shows: shared files, and the questions that they answer.

use stats::view::consensus::Question;

/// One shared file.
#[derive(Clone, Debug, Default)]
pub struct Contribution {
    /// Its name in the folder.
    pub file: String,
    /// Who shares it, as they say.
    pub by: String,
    /// What they say about it.
    pub note: String,
    /// The SHA-256 that seals it.
    pub seal: String,
    /// The experiments, with the questions that they ask.
    pub experiments: Vec<(String, String)>,
    /// When they ran, e.g. `2026-01-31`, ascending.
    pub dates: Vec<String>,
    /// How many trials.
    pub trials: usize,
    /// Kernels under test.
    pub kernels: Vec<String>,
    /// Processors, as the kernels under test saw them.
    pub processors: Vec<String>,
    /// Schedulers with the beginning of their source's SHA-256.
    pub schedulers: Vec<(String, String)>,
    /// What was left out, as the file says.
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
    /// Those that could not be taken.
    pub refused: Vec<Refused>,
    /// What they answer.
    pub questions: Vec<Question>,
    /// When and by what the site was made; the caller's words, as reports have no clock.
    pub generated: String,
}
