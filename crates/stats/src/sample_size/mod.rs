// SPDX-License-Identifier: GPL-2.0-only
//! How many blocks an experiment needs: before it starts ([`power`]) and while it trials
//! ([`precision`]).

pub mod power;
pub mod precision;
