// SPDX-License-Identifier: GPL-2.0-only
//! What this machine can do, and the commands that get what is missing.
//!
//! ```text
//! probes of all crates ─► machine_facts ─► findings (pure) ─► table or JSON
//! ```

pub mod findings;
pub mod machine_facts;

pub use findings::{Finding, findings};
pub use machine_facts::MachineFacts;
