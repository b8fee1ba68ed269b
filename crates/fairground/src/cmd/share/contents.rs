// SPDX-License-Identifier: GPL-2.0-only
//! What a shared file tells about this machine and its owner, in lines.

use store::SchedulerSource;
use store::exchange::privacy::Cleaner;
use store::exchange::share::Shared;

/// Everything that will leave this machine, for its owner to look at before it is written.
pub fn lines(shared: &Shared, cleaner: &Cleaner) -> Vec<String> {
    let (trials, sessions) = (shared.records().count(), shared.sessions.len());
    let mut lines = vec![
        "what will leave this machine:".to_owned(),
        format!("  sessions: {sessions}, trials: {trials}, with their numbers, dates and outcomes"),
    ];
    lines.extend(shared.sources.iter().flat_map(files));
    lines.extend(cleaner.leaving().into_iter().map(|line| format!("  {line}")));
    if shared.records().any(|record| record.trace.is_some()) {
        lines.push("  traces: when each task ran, slept and was woken".into());
    }
    let about = &shared.about;
    let said = [("your name", &about.by), ("your note", &about.note)];
    let said = said.into_iter().filter(|(_, text)| !text.is_empty());
    lines.extend(said.map(|(what, text)| format!("  {what}: {text}")));
    lines.extend(about.left_out.iter().map(|what| format!("left out: {what}")));
    lines
}

fn files(source: &SchedulerSource) -> Vec<String> {
    let file = |(name, text): &(String, String)| {
        format!("  a text of {}: {name}, {} bytes", source.name, text.len())
    };
    source.files.iter().map(file).collect()
}
