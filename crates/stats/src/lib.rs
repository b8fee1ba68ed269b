// SPDX-License-Identifier: GPL-2.0-only
//! Statistics: records to a comparison. Pure functions: no files, no clocks, and chance only from a
//! printed seed, so that any table can be recomputed years later by somebody else.
//!
//! One statistic is one file with its reference: [`median`], [`hodges_lehmann`], [`bootstrap`],
//! [`interval`], [`quantile`]. [`measures`] says which numbers a record holds, [`compare`] puts all
//! together; [`apart`] says what tells two contestants apart, [`agreement`] sets two backends side
//! by side, [`control`](mod@control) a copy and its original, [`identical`] asks whether two sets
//! of records measured the same, byte for byte.
//! [`explain`] says from one record's trace why tasks waited, [`survival`] what a scheduler did in
//! a trial that no policy may do.
//!
//! What is not here: wording for readers, charts, and any exclusion of inconvenient runs.

pub mod agreement;
pub mod apart;
pub mod bootstrap;
pub mod compare;
pub mod comparison;
pub mod control;
pub mod explain;
pub mod hodges_lehmann;
pub mod identical;
pub mod interval;
pub mod measures;
pub mod median;
mod notes;
pub mod quantile;
mod samples;
pub mod survival;
pub mod verdict;

pub use agreement::{Agreement, Aspect, Figure, Sign, Tally, Tolerance, Within, agreement};
pub use compare::{Options, compare};
pub use comparison::{
    Cell, Comparison, Entry, Interval, OutcomeCount, Pairs, Row, Shift, backend_word,
};
pub use control::control;
pub use identical::{Difference, Identity, identical};
pub use measures::{MeasureKey, Statistic};
pub use verdict::Verdict;
