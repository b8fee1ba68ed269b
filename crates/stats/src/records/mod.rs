// SPDX-License-Identifier: GPL-2.0-only
//! From records to numbers: the numbers of a record ([`measures`]), the samples of a cell by
//! measure and contestant (`columns`), matched pairs (`pairing`), records of several processors
//! ([`processor`]), and several stores' records as one set ([`merge`](mod@merge)).

pub(crate) mod columns;
pub mod measures;
pub mod merge;
pub(crate) mod pairing;
pub mod processor;
