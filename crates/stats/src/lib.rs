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
//! a trial that no policy may do. [`leaders`] says who is best in a row by [`rank_test`],
//! [`ranking`] who is over all cells by [`critical_difference`], [`trade_off`] what throughput
//! costs in latency.
//!
//! What is not here: wording for readers, charts, and any exclusion of inconvenient runs.

pub mod agreement;
pub mod apart;
pub mod bootstrap;
pub mod compare;
pub mod comparison;
mod complete;
pub mod control;
pub mod critical_difference;
pub mod explain;
pub mod hodges_lehmann;
pub mod identical;
pub mod interval;
pub mod leaders;
pub mod measures;
pub mod median;
mod notes;
pub mod quantile;
pub mod rank_test;
pub mod ranking;
mod samples;
mod special;
pub mod survival;
pub mod trade_off;
pub mod verdict;

pub use agreement::{Agreement, Aspect, Figure, Sign, Tally, Tolerance, Within, agreement};
pub use compare::{Options, compare};
pub use comparison::{
    Cell, Comparison, Entry, Interval, OutcomeCount, Pairs, Row, Shift, backend_word,
};
pub use control::control;
pub use identical::{Difference, Identity, identical};
pub use leaders::Leaders;
pub use measures::{MeasureKey, Statistic};
pub use verdict::Verdict;
