// SPDX-License-Identifier: GPL-2.0-only
//! From records to numbers: the numbers of a record, and the samples of a cell by measure and
//! contestant ([`columns`](mod@columns)), matched pairs (`pairing`), and records of several
//! processors and stores as one set ([`merge`](mod@merge)); programs that several compilers made of
//! one text ([`objects`]).

pub mod columns;
pub mod merge;
pub mod objects;
pub(crate) mod pairing;
