// SPDX-License-Identifier: GPL-2.0-only
//! Numbers of one sample and the mathematical functions that they need.
//!
//! [`median`], [`quantile`] and [`outliers`] describe a sample. [`order_statistic`] and
//! [`interval`] give confidence intervals. [`distributions`] has the distribution functions.

pub mod distributions;
pub mod interval;
pub mod median;
pub mod order_statistic;
pub mod outliers;
pub mod quantile;
