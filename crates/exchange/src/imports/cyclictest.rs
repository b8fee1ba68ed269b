// SPDX-License-Identifier: GPL-2.0-only
//! `cyclictest --json`. Values from its `-h` on are counted there but not in the histogram.

use serde_json::Value;

use super::{Fault, Run, text};

/// Whether a text looks like it.
pub fn is(text: &str) -> bool {
    text.contains("\"num_threads\"") && text.contains("\"thread\"")
}

/// See the module.
pub fn read(content: &str) -> Result<Vec<Run>, Fault> {
    // After the document the text form of the same may follow.
    let mut documents = serde_json::Deserializer::from_str(content).into_iter::<Value>();
    let document = documents.next().ok_or("there is no JSON")??;
    let reported = parsers::cyclictest::parse_cut(content)?;
    let mut run = Run::of("cyclictest", "how late does a timer wake a task?");
    run.headline = vec!["timer_lateness_ns.p99 program".into()];
    run.reported(&reported);
    run.kernel = text(&document, "/sysinfo/release").into();
    run.programs.extend(reported.version.map(|version| ("cyclictest".to_owned(), version)));
    let command = ["/cmdline", "/cmdline:"].map(|key| text(&document, key));
    let command = command.into_iter().find(|command| !command.is_empty());
    run.notes.extend(command.map(|command| format!("its command: {command}")));
    if command.is_none_or(|command| !command.contains("--policy=other")) {
        run.notes
            .push("its threads may be SCHED_FIFO: the command does not say --policy=other".into());
    }
    Ok(vec![run])
}
