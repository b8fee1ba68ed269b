// SPDX-License-Identifier: GPL-2.0-only
//! Statistics: records to a comparison. Pure functions: no files, no clocks, and chance only from a
//! printed seed, so that anybody can recompute any table years later.
//!
//! | folder | contents |
//! |---|---|
//! | [`number`] | median, quantiles, outliers, intervals, distribution functions |
//! | [`rank`] | rank tests and estimates, Holm's correction |
//! | [`resample`] | the cluster bootstrap |
//! | [`series`] | change points, bands over time |
//! | [`records`] | the numbers of a record, columns, matched pairs, merged stores |
//! | [`mod@compare`] | contestants against a baseline: shifts, p values, families, noise floor |
//! | [`decide`] | the rules that decide between contestants |
//! | [`sample_size`] | how many blocks an experiment needs |
//! | [`view`] | agreement of backends, history, trade-offs, survival |
//! | [`explain`] | why tasks waited, from one record's trace |
//! | [`replay`] | whether the replay of a real program tells the truth, from traces of both |
//!
//! One statistic is one file with the reference of its formula.
//!
//! What is not here: wording for readers, charts, and any exclusion of extreme trials.

pub mod compare;
pub mod decide;
pub mod explain;
pub mod number;
pub mod replay;
pub mod resample;
pub mod sample_size;
pub mod series;

/// Statistics by ranks: tests of two samples, estimates of the shift between them, and the
/// correction for many tests.
///
/// Two independent samples: [`rank_sum`](rank::rank_sum) (test and interval),
/// [`hodges_lehmann`](rank::hodges_lehmann) (estimate). Matched pairs: the signed-rank test beside
/// the latter, and Walsh averages (estimate and interval) in [`selection`](rank::selection), which
/// also has samples with too many differences for a list.
pub mod rank {
    pub mod hodges_lehmann;
    pub mod rank_sum;
    pub mod selection;
}

/// From records to numbers: the numbers of a record, and the samples of a cell by measure and
/// contestant, matched pairs, and records of several processors and stores as one set.
pub mod records {
    pub mod columns;
    pub mod merge;
    pub(crate) mod pairing;
}

/// Views of records and of comparisons. None of them makes a claim of its own about a contestant.
pub mod view {
    pub mod agreement;
    pub mod consensus;
    pub mod effect;
    pub mod history;
    pub mod identical;
    pub mod survival;
    pub mod trade_off;
}

pub use compare::comparison::{Cell, Comparison, Entry, OutcomeCount, Row};
pub use compare::evidence::PValue;
pub use compare::leaders::Leaders;
pub use compare::shift::Shift;
pub use compare::verdict::Verdict;
pub use compare::{Options, compare};
pub use decide::recommend::{Recommendation, recommend};
pub use model::{Aim, MeasureKey, Statistic, Watched};
pub use number::interval::Interval;
pub use records::columns::{USUAL_MAX, headlines, usual};
pub use records::pairing::SeedCounts;
pub use view::agreement::{
    Agreement, Aspect, Figure, Sign, Tally, Tolerance, Within, agreement, counterparts,
};
pub use view::effect::{EffectPair, effects};
pub use view::identical::{Difference, Identity, identical};
