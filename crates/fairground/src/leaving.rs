// SPDX-License-Identifier: GPL-2.0-only
//! What the owner of records lets leave this machine, as options of all verbs that write files for
//! others.

use anyhow::Result;
use store::Session;
use store::exchange::privacy::{Choice, Cleaner, Owner};

use crate::output;

#[derive(clap::Args, Clone, Copy, Debug, Default)]
pub struct LeavingOptions {
    /// Keep folders, host and user names, your descriptions, the kernel's command line, boots'
    /// identities, and what a live kernel printed and dumped
    #[arg(long)]
    pub with_host: bool,
    /// Keep the names of a recording's threads, which are called t1, t2, … otherwise, and in live
    /// traces those of other tasks
    #[arg(long)]
    pub thread_names: bool,
}

impl LeavingOptions {
    /// For files that the owner reads beside the store: trials are found there by their identity.
    pub fn cleaner<'a>(self, sessions: impl Iterator<Item = &'a Session>) -> Cleaner {
        let choice = Choice {
            host: self.with_host,
            thread_names: self.thread_names,
            live_traces: true,
            own_identities: true,
        };
        Cleaner::new(choice, Owner::here(), sessions)
    }
}

/// Says what was left out of what is written now, and what became of names that only their folders
/// told apart.
pub fn tell(cleaner: &Cleaner) {
    cleaner.left_out().for_each(|what| output::tell(format_args!("left out: {what}")));
    let names: Vec<String> =
        cleaner.told_apart().map(|(name, now)| format!("{name} is '{now}'")).collect();
    if !names.is_empty() {
        output::tell(format_args!("in it, {}", names.join(", ")));
    }
}

/// Cleans sessions and their records.
pub fn clean(
    cleaner: &mut Cleaner,
    sessions: &mut [Session],
    records: &mut [model::Record],
) -> Result<()> {
    sessions.iter_mut().try_for_each(|session| cleaner.session(session))?;
    records.iter_mut().try_for_each(|record| cleaner.record(record))
}
