// SPDX-License-Identifier: GPL-2.0-only
//! From records to numbers: which numbers a record holds ([`measures`]), the samples of a cell by
//! measure and contestant (`columns`), matched pairs (`pairing`), records of several processors
//! ([`processor`]), and several stores' records as one set ([`merge`](mod@merge)).

pub(crate) mod columns;
pub mod measures;
pub mod merge;
pub(crate) mod pairing;
pub mod processor;
