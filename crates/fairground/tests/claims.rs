// SPDX-License-Identifier: GPL-2.0-only
//! Published data in `claims/data`, held against the claims that quote it.

#[path = "claims/s4.rs"]
mod s4;
