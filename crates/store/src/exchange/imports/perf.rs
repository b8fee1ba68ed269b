// SPDX-License-Identifier: GPL-2.0-only
//! What `perf bench sched messaging` prints; each block of a log is a trial.

use super::{Fault, ImportedTrial, line_of};

/// The line with which each trial begins.
const BEGIN: &str = "# Running 'sched/messaging' benchmark:";

/// Whether a text looks like it.
pub fn is(text: &str) -> bool {
    text.contains(BEGIN)
}

/// See the module.
pub fn read(content: &str) -> Result<Vec<ImportedTrial>, Fault> {
    let starts: Vec<usize> = content.match_indices(BEGIN).map(|(at, _)| at).collect();
    let ends = starts.iter().skip(1).copied().chain([content.len()]);
    let blocks = starts.iter().zip(ends);
    blocks.map(|(&start, end)| block(content, start, &content[start..end])).collect()
}

fn block(content: &str, start: usize, text: &str) -> Result<ImportedTrial, Fault> {
    let line = line_of(content, start);
    let reported =
        model::parsers::parse("perf-bench-sched", text, "").map_err(|why| Fault::at(line, why))?;
    let mut imported =
        ImportedTrial::new("perf_messaging", "perf bench sched messaging: groups that chat");
    imported.headline = vec!["completion_ns program".into()];
    imported.reported(&reported);
    // `# 20 groups == 800 threads run`
    let groups = text.lines().find_map(|line| line.strip_prefix("# ")?.split_once(" groups == "));
    let groups = groups.and_then(|(groups, _)| groups.parse().ok());
    imported.parameters.extend(groups.map(|groups| ("groups".to_owned(), groups)));
    Ok(imported)
}
