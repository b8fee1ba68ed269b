// SPDX-License-Identifier: GPL-2.0-only
//! Reports: a comparison as a terminal table, as Markdown, or as one HTML file. Pure functions
//! only.
//!
//! What several forms of a report share:
//! [`units`] formats numbers, [`sentence`] marks the names in a sentence, `reading` has what all
//! forms read from a comparison, `backends` sets the cells of two backends side by side, `leaders`
//! names the best contestants under each workload, `table` writes one table in each form,
//! [`answer`] states the result in sentences,
//! `advice` states a recommendation, [`agreement`] states how near the simulator is to a kernel,
//! [`explain`] states why tasks waited, [`inside`] shows what a scheduler did and held,
//! [`replication`] states which published findings hold, [`stall`] states where a stalled task was
//! left, and [`switching`] states how to switch to a scheduler.
//!
//! The forms: [`html`] has one module per section of the page (`…_section`), [`terminal`] one per
//! kind of text (`…_text`), [`markdown`], [`effects_markdown`], [`replay_markdown`] and
//! [`advice_markdown`] write tables for documents, [`junit`] writes results as tests.
//!
//! What is not here: any statistic. A report shows what `stats` found and decides nothing.

mod advice;
pub mod advice_markdown;
pub mod agreement;
pub mod answer;
mod backends;
pub mod effects_markdown;
pub mod explain;
pub mod html;
pub mod inside;
pub mod junit;
mod leaders;
pub mod markdown;
mod reading;
pub mod replay_markdown;
pub mod replication;
pub mod sentence;
pub mod separation;
pub mod stall;
pub mod switching;
mod table;
pub mod terminal;
pub mod units;
