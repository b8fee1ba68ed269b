// SPDX-License-Identifier: GPL-2.0-only
//! Reports: a comparison to a terminal table, Markdown, or one HTML file. Pure functions only.
//!
//! [`units`] writes numbers, [`answer`] turns verdicts into plain sentences, [`best`] says who
//! is best for which load; [`terminal`],
//! [`markdown`] and [`html`] are three ways of showing the same. [`explain`] tells why tasks
//! waited, [`family`] who comes from whom; [`sides`] sets two backends side by side, [`agreement`]
//! says how far they are apart. [`replication`] says what became of others' claims.
//!
//! What is not here: any statistic. A report shows what `stats` found and decides nothing.

pub mod agreement;
pub mod answer;
pub mod best;
pub mod explain;
pub mod family;
pub mod html;
pub mod markdown;
pub mod replication;
pub mod sentence;
pub mod sides;
pub mod terminal;
pub mod units;
