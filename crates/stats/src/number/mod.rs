// SPDX-License-Identifier: GPL-2.0-only
//! Numbers of one sample and the mathematical functions that they need.
//!
//! The median with deviations and outliers, and [`quantile`](mod@quantile), with its
//! order statistics describe a sample. [`interval`] gives confidence intervals.
//! [`distributions`] has the distribution functions.

pub mod distributions;
pub mod interval;
pub mod quantile;
