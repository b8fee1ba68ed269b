// SPDX-License-Identifier: GPL-2.0-only
//! Statistics: records to a comparison. Pure functions: no files, no clocks, and chance only from a
//! printed seed, so that any table can be recomputed years later by somebody else.
//!
//! One statistic is one file with its reference. Of numbers: [`median`], [`outliers`]. Of two
//! samples: [`hodges_lehmann`] with its [`rank_interval`], [`cliffs_delta`], [`rank_sum`],
//! [`equivalence`]; of paired ones [`permutation`] and [`walsh`], of either [`evidence`].
//! Of distributions: [`quantile`], [`order_statistic`], [`shift_function`]. Of series and ramps:
//! [`change_points`](mod@change_points), [`warm_up`], [`knee`](mod@knee). Of doubt: [`bootstrap`],
//! [`interval`], [`holm`], [`family`], [`noise`], [`power`],
//! [`precision`], with the [`distributions`] that they need.
//!
//! [`measures`] says which numbers a record holds, [`compare`] puts all together, [`verdict`] says
//! what may be said; [`apart`] says what tells two contestants apart, [`agreement`] sets two
//! backends side by side, [`across`] many people's answers, [`control`](mod@control) a copy and its
//! original, [`identical`] asks whether two sets of records measured the same, byte for byte.
//! [`leaders`] says who is best in a row, [`ranking`] who is over all cells by
//! [`critical_difference`], [`trade_off`] what throughput costs in latency. [`explain`] says from
//! one record's trace why tasks waited, [`survival`] what a scheduler did in a trial that no policy
//! may do, [`over_time`] how runs went from interval to interval. [`gate`](mod@gate) says whether
//! anything has become worse, [`history`](mod@history) when it has. [`replication`] judges what
//! others have published, [`recommend`](mod@recommend) says which scheduler serves somebody's aims.
//! [`together`](mod@together) makes one set of several stores' records.
//!
//! What is not here: wording for readers, charts, and any exclusion of inconvenient runs.

pub mod across;
pub mod agreement;
pub mod apart;
pub mod bootstrap;
pub mod change_points;
pub mod cliffs_delta;
pub mod compare;
pub mod comparison;
mod complete;
pub mod control;
pub mod critical_difference;
pub mod distributions;
pub mod equivalence;
pub mod evidence;
pub mod explain;
pub mod family;
pub mod gate;
pub mod history;
pub mod hodges_lehmann;
pub mod holm;
pub mod identical;
pub mod interval;
pub mod knee;
pub mod leaders;
pub mod measures;
pub mod median;
pub mod noise;
mod notes;
pub mod order_statistic;
pub mod outliers;
pub mod over_time;
mod paired;
pub mod permutation;
pub mod power;
pub mod precision;
pub mod quantile;
pub mod rank_interval;
pub mod rank_sum;
pub mod ranking;
pub mod recommend;
pub mod replication;
mod samples;
mod shift;
pub mod shift_function;
mod side_by_side;
mod special;
pub mod survival;
pub mod together;
pub mod trade_off;
pub mod verdict;
pub mod walsh;
pub mod warm_up;

pub use agreement::{Agreement, Aspect, Figure, Sign, Tally, Tolerance, Within, agreement};
pub use compare::{Options, compare};
pub use comparison::{
    Cell, Comparison, Entry, Interval, OutcomeCount, PValue, Pairs, Row, Shift, backend_word,
};
pub use control::control;
pub use identical::{Difference, Identity, identical};
pub use leaders::Leaders;
pub use measures::{MeasureKey, Statistic};
pub use recommend::{Aim, Recommendation, Watched, recommend};
pub use samples::clock;
pub use verdict::Verdict;
