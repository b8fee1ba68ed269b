// SPDX-License-Identifier: GPL-2.0-only
//! `cyclictest --json`. Values from its `-h` on are counted there but not in the histogram.

use serde_json::Value;

use super::{Fault, ImportedTrial, text};

/// Whether a text looks like it.
pub fn is(text: &str) -> bool {
    text.contains("\"num_threads\"") && text.contains("\"thread\"")
}

/// See the module.
pub fn read(content: &str) -> Result<Vec<ImportedTrial>, Fault> {
    // After the document the text form of the same may follow.
    let mut documents = serde_json::Deserializer::from_str(content).into_iter::<Value>();
    let document = documents.next().ok_or("there is no JSON")??;
    let reported = model::parsers::cyclictest::parse_cut(content)?;
    let mut imported = ImportedTrial::new("cyclictest", "how late does a timer wake a task?");
    imported.headline = vec!["timer_lateness_ns.p99 program".into()];
    imported.reported(&reported);
    imported.kernel = text(&document, "/sysinfo/release").into();
    imported.programs.extend(reported.version.map(|version| ("cyclictest".to_owned(), version)));
    let command = ["/cmdline", "/cmdline:"].map(|key| text(&document, key));
    let command = command.into_iter().find(|command| !command.is_empty());
    imported.notes.extend(command.map(|command| format!("its command: {command}")));
    if command.is_none_or(|command| !command.contains("--policy=other")) {
        imported
            .notes
            .push("its threads may be SCHED_FIFO: the command does not say --policy=other".into());
    }
    Ok(vec![imported])
}
