// SPDX-License-Identifier: GPL-2.0-only
//! Statistics by ranks: tests of two samples, estimates of the shift between them, and the
//! correction for many tests.
//!
//! Two independent samples: [`rank_sum`] (test and interval), [`hodges_lehmann`] (estimate).
//! Matched pairs: [`signed_rank`] (test), [`walsh`] (estimate and interval). Many tests: [`holm`].
//! Samples with too many differences for a list: [`selection`].

pub mod hodges_lehmann;
pub mod holm;
pub mod rank_sum;
pub mod selection;
pub mod signed_rank;
pub mod walsh;
