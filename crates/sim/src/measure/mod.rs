// SPDX-License-Identifier: GPL-2.0-only
//! What is measured: every number as [`model::metric::MEASURES`] defines it.

pub(crate) mod decisions;
pub(crate) mod metrics;
pub(crate) mod recorder;
