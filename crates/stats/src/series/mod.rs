// SPDX-License-Identifier: GPL-2.0-only
//! Statistics of ordered numbers: a measure's values in time, or over the steps of a ramp.

pub mod change_points;
pub mod over_time;
