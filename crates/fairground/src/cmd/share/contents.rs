// SPDX-License-Identifier: GPL-2.0-only
//! What a shared file tells about this machine and its owner, in lines.

use std::collections::BTreeSet;

use model::{Provenance, Record};
use store::SchedulerSource;
use store::exchange::share::Shared;

/// Everything that will leave this machine, for its owner to look at before it is written.
pub fn lines(shared: &Shared) -> Vec<String> {
    let (trials, sessions) = (shared.records().count(), shared.sessions.len());
    let mut lines = vec![
        "what will leave this machine:".to_owned(),
        format!("  sessions: {sessions}, trials: {trials}, with their numbers and outcomes"),
    ];
    lines.extend(shared.sources.iter().flat_map(files));
    let facts = facts(shared);
    lines.extend((!facts.is_empty()).then(|| format!("  the machine: {}", facts.join("; "))));
    let commands: BTreeSet<&str> =
        shared.sessions.iter().map(|(session, _)| session.command.as_str()).collect();
    lines.extend(commands.into_iter().map(|command| format!("  a command: {command}")));
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

fn facts(shared: &Shared) -> Vec<String> {
    let of = |what: &str, fact: fn(&Provenance) -> &str| {
        let facts: BTreeSet<&str> = shared
            .records()
            .map(|record: &Record| fact(&record.provenance))
            .filter(|fact| !fact.is_empty())
            .collect();
        let facts = facts.into_iter().collect::<Vec<_>>().join(", ");
        (!facts.is_empty()).then(|| format!("{what} {facts}"))
    };
    let kernel_facts: BTreeSet<&str> = shared
        .records()
        .flat_map(|record| record.provenance.kernel_facts.keys())
        .map(String::as_str)
        .collect();
    let names = kernel_facts.into_iter().collect::<Vec<_>>().join(", ");
    let kernel_facts = (!names.is_empty()).then(|| format!("facts of the kernel: {names}"));
    let texts = [
        of("processor", |provenance| &provenance.cpu_model),
        of("kernel", |provenance| &provenance.kernel_release),
        kernel_facts,
    ];
    texts.into_iter().flatten().collect()
}
