// SPDX-License-Identifier: GPL-2.0-only
//! The amount of detail in a page. A page above the size limit is made again with less, and says
//! what is missing.

/// The amount of embedded data.
#[derive(Clone, Copy)]
pub struct DetailLevel {
    /// Whether every measure keeps its single trials, or only the headline ones.
    pub all_trials: bool,
    /// Whether every distribution is drawn, or only those of headline measures.
    pub all_distributions: bool,
    pub shifts: bool,
    /// Slices and waits of all timelines together.
    pub slices: usize,
    pub intervals: usize,
    /// Whether their numbers can be saved.
    pub interval_numbers: bool,
    /// Whether there are tables of the measures that no workload names first.
    pub other_measures: bool,
    /// Cells with tables and pictures over time, including the first one shown.
    pub cells: usize,
    /// Kinds of failure that are listed.
    pub failures: usize,
    pub dumps: usize,
    pub dump: usize,
    /// What the page says about missing detail in its charts.
    pub cut: &'static str,
}

/// Nothing is left out.
const ALL: DetailLevel = DetailLevel {
    all_trials: true,
    all_distributions: true,
    shifts: true,
    slices: 20_000,
    intervals: 60,
    interval_numbers: true,
    other_measures: true,
    cells: usize::MAX,
    failures: usize::MAX,
    dumps: usize::MAX,
    dump: usize::MAX,
    cut: "",
};

const HEADLINE_RUNS: DetailLevel = DetailLevel {
    all_trials: false,
    intervals: 40,
    dumps: 3,
    cut: "There is much data: single trials are shown for headline measures only.",
    ..ALL
};

const HEADLINE_CHARTS: DetailLevel = DetailLevel {
    all_distributions: false,
    slices: 10_000,
    intervals: 30,
    interval_numbers: false,
    dumps: 1,
    cut: "There is much data: single trials and distributions are shown for headline measures \
        only.",
    ..HEADLINE_RUNS
};

const COARSE: DetailLevel = DetailLevel {
    shifts: false,
    slices: 2_000,
    intervals: 20,
    other_measures: false,
    dump: 4_000,
    cut: "There is very much data: single trials and distributions are shown for headline measures \
          only, with fewer points; there are no shift functions.",
    ..HEADLINE_CHARTS
};

const FEW_CELLS: DetailLevel = DetailLevel { cells: 40, failures: 400, dump: 1_000, ..COARSE };

const LEAST: DetailLevel = DetailLevel { cells: 8, failures: 50, ..FEW_CELLS };

/// From everything to the least.
pub const DETAILS: [DetailLevel; 6] =
    [ALL, HEADLINE_RUNS, HEADLINE_CHARTS, COARSE, FEW_CELLS, LEAST];

/// Which items of an ordered list are shown: the first ones, and `always`.
pub fn shows(place: usize, always: usize, most: usize) -> bool {
    place == always || place < most.saturating_sub(usize::from(always >= most))
}
