// SPDX-License-Identifier: GPL-2.0-only
//! The smallest differences that matter to a decision rule.

/// A claim needs an interval that lies wholly beyond this, in percent of the baseline. Under a
/// virtual clock rates differ in their sixth digit because trials end some nanoseconds apart: that
/// difference is exact, but does not matter to a user.
pub const PERCENT_THAT_MATTERS: f64 = 0.1;

/// An interval wholly within this, in percent of the baseline, contains no difference that matters
/// to a user, even if there is one.
pub const PERCENT_EQUIVALENT: f64 = 1.0;

/// Two medians that are nearer than this, as a part of the larger one, look alike to a user, even
/// if they differ in every block.
pub const NOTICEABLE: f64 = 0.02;
