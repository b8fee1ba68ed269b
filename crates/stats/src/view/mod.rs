// SPDX-License-Identifier: GPL-2.0-only
//! Views of records and of comparisons. None of them makes a claim of its own about a contestant.

pub mod agreement;
pub mod consensus;
pub mod effect;
pub mod history;
pub mod identical;
pub mod survival;
pub mod trade_off;
