// SPDX-License-Identifier: GPL-2.0-only
//! Statistics: records to a comparison. Pure functions: no files, no clocks, and chance only from a
//! printed seed, so that any table can be recomputed years later by somebody else.
//!
//! One statistic is one file with its reference: [`median`], [`hodges_lehmann`], [`bootstrap`],
//! [`interval`], [`quantile`]. [`measures`] says which numbers a record holds, [`compare`] puts all
//! together, [`identical`] asks whether two sets of records measured the same, byte for byte.
//!
//! What is not here: wording for readers, charts, and any exclusion of inconvenient runs.

pub mod bootstrap;
pub mod compare;
pub mod comparison;
pub mod hodges_lehmann;
pub mod identical;
pub mod interval;
pub mod measures;
pub mod median;
mod notes;
pub mod quantile;
mod samples;
pub mod verdict;

pub use compare::{Options, compare};
pub use comparison::{
    Cell, Comparison, Entry, Interval, OutcomeCount, Pairs, Row, Shift, backend_word,
};
pub use identical::{Difference, Identity, identical};
pub use measures::{MeasureKey, Statistic};
pub use verdict::Verdict;
