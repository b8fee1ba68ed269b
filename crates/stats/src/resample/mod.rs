// SPDX-License-Identifier: GPL-2.0-only
//! Resampling: the cluster [`bootstrap`], and medians of many resamples at a time.

pub(crate) mod batched_medians;
pub mod bootstrap;
