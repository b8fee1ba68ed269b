// SPDX-License-Identifier: GPL-2.0-only
//! The rules that decide between contestants, on one page.
//!
//! - **[`verdict`]**: Is a contestant better than the baseline in one measure of one cell?
//!   - test: exact rank-sum and signed-rank tests, 95 % interval of the shift.
//!   - correction: Holm over the family.
//!   - margin: 0.1 % to claim, 1 % to be equivalent.
//!   - answers: better, worse, more, less, equivalent, exactly equal, not distinguishable, differs
//!     (few seeds), too few trials, not measured.
//! - **[`leaders`]**: Who is best in one measure of one cell?
//!   - test: exact rank-sum and signed-rank tests against the best median.
//!   - correction: Holm over all that are compared with the best.
//!   - margin: 2 % of the larger median.
//!   - answers: best, behind.
//! - **[`separation`]**: Which measure separates two contestants best?
//!   - test: no overlap of their trials (outermost rank sum).
//!   - correction: Bonferroni over all headline measures of both.
//!   - margin: 2 % of the larger median.
//!   - answers: a measure, none.
//! - **[`gate`]**: Is a contestant worse than in the session before?
//!   - test: virtual clock: sign test by seed; real clock: exact rank-sum test.
//!   - correction: real clock: Holm over the whole gate.
//!   - margin: the user's, in percent.
//!   - answers: worse, better, exactly equal, no change, too few trials, not measured.
//! - **[`replication`]**: Do the records say what somebody has published?
//!   - test: 95 % interval of a shift, a ratio or a median.
//!   - correction: none: each claim is a question of its own.
//!   - margin: the published size.
//!   - answers: reproduced, direction only, not reproduced, not tested, no data,
//!     contradicted.
//! - **[`recommend`]**: Which scheduler serves somebody's aims?
//!   - test: as the verdict, of what decides; 95 % interval, of what must not get worse.
//!   - correction: Holm over all candidates and aims.
//!   - margin: the aim's, in percent and in the measure's unit.
//!   - answers: good, good at a price, slightly better, alike, worse, unknown, failed.
//!
//! All use the same level, 5 % in a family (`holm::ALPHA`), the same least number of trials
//! (`interval::TRIALS_NEEDED`) except replication (four suffice for an interval), and the margins
//! of [`margin`] where the user does not set one.
//!
//! Three sets of answers differ because the questions differ. The gate and the verdict share
//! [`Verdict`]. A [`replication::Reproduction`] compares a direction and a size with
//! published ones, so "worse" has no meaning in it. A [`recommend::Standing`] is the sum of several
//! verdicts, of which one is paid for with another.
//!
//! [`verdict`]: crate::compare::verdict
//! [`leaders`]: crate::compare::leaders
//! [`margin`]: crate::compare::margin

pub mod gate;
pub mod recommend;
pub mod replication;
pub mod separation;
