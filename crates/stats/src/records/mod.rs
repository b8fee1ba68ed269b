// SPDX-License-Identifier: GPL-2.0-only
//! From records to numbers: the numbers of a record, and the samples of a cell by measure and
//! contestant ([`columns`](mod@columns)), matched pairs (`pairing`), and records of several
//! processors and stores as one set ([`merge`](mod@merge)).

pub mod columns;
pub mod merge;
pub(crate) mod pairing;
