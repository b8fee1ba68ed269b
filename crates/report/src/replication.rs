// SPDX-License-Identifier: GPL-2.0-only
//! Verdicts on published findings, as text for a terminal and as Markdown; the page is
//! [`html::replication_page`](crate::html::replication_page).
//!
//! What is not here: any decision. `stats::decide::replication` decides.

mod claims_markdown;
mod claims_text;
mod judged;
mod phrases;
mod published_numbers;
mod verdict_counts;

pub use claims_markdown::markdown;
pub use claims_text::text;
pub use judged::{Judged, OTHERS_ASKED, Replication, Tested};
pub(crate) use phrases::{
    amount, consequence, expected, found, kernels, measured_on, published, reasons,
};
pub(crate) use published_numbers::{PublishedRow, columns, rows};
pub(crate) use verdict_counts::VerdictCounts;
pub use verdict_counts::sentence;
