// SPDX-License-Identifier: GPL-2.0-only
//! The number of blocks that an experiment needs: before it starts ([`power`]) and while it is
//! running ([`precision`]).

pub mod power;
pub mod precision;
