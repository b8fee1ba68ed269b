// SPDX-License-Identifier: GPL-2.0-only
//! Numbers of one sample and the mathematical functions that they need.
//!
//! [`median`](mod@median), with deviations and outliers, and [`quantile`](mod@quantile), with its
//! order statistics, describe a sample. [`interval`] gives confidence intervals.
//! [`distributions`] has the distribution functions.

pub mod distributions;
pub mod interval;
pub mod median;
pub mod quantile;
