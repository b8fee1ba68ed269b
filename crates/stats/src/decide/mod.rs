// SPDX-License-Identifier: GPL-2.0-only
//! The rules that decide between contestants. The head of each module names its test, its
//! correction for many comparisons and its margin.
//!
//! | rule | question |
//! |---|---|
//! | [`verdict`](crate::compare::verdict) | Is a contestant better in one measure of a cell? |
//! | [`leaders`](crate::compare::leaders) | Who is best in one measure of one cell? |
//! | [`separation`] | Which measure separates two contestants best? |
//! | [`gate`] | Is a contestant worse than in the session before? |
//! | [`replication`] | Do the records say what somebody has published? |
//! | [`recommend`] | Which scheduler serves somebody's aims? |
//!
//! All use the same level, 5 % in a family (`rank_sum::ALPHA`), the same least number of trials
//! (`interval::TRIALS_NEEDED`) except replication (four suffice for an interval), and the margins
//! of [`MARGIN_PERCENT`](crate::compare::verdict::MARGIN_PERCENT) where the user does not set one.
//!
//! The gate and the verdict share [`Verdict`](crate::Verdict). A [`replication::Reproduction`]
//! compares a direction and a size with published ones, so "worse" has no meaning in it. A
//! [`recommend::Standing`] combines several verdicts: a gain in one measure may cost a loss
//! in another.

pub mod gate;
pub mod recommend;
pub mod replication;
pub mod separation;
