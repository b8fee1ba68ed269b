// SPDX-License-Identifier: GPL-2.0-only
//! Statistics by ranks: tests of two samples, estimates of the shift between them, and the
//! correction for many tests.
//!
//! Two independent samples: [`rank_sum`] (test and interval), [`hodges_lehmann`] (estimate).
//! Matched pairs: the signed-rank test beside the latter, and Walsh averages (estimate and
//! interval) in [`selection`], which also has samples with too many differences for a list.

pub mod hodges_lehmann;
pub mod rank_sum;
pub mod selection;
