// SPDX-License-Identifier: GPL-2.0-only
//! The script of a job, where node and submitting machine share the campaign's folder.

use std::path::Path;

/// What a job runs.
pub struct Script<'a> {
    /// The campaign's folder.
    pub folder: &'a Path,
    /// This program.
    pub executable: &'a Path,
    /// The chunk of task 0.
    pub first: usize,
    /// Trials at a time; `None`: what the clock allows on a whole node.
    pub jobs: Option<usize>,
}

impl Script<'_> {
    /// The text. A requeued job leaves out what its predecessors have, and writes a file of its
    /// own: on a node that only seemed dead the predecessor may still be writing.
    pub fn text(&self) -> String {
        let jobs = self.jobs.map_or_else(String::new, |jobs| format!("--jobs {jobs} "));
        format!(
            r#"#!/bin/sh
# Written by fairground: one task of this array runs one chunk.
cd {folder} || exit 3
chunk=chunk-$(({first} + SLURM_ARRAY_TASK_ID))
set --
for earlier in "$chunk".*.records.jsonl; do
    if [ -e "$earlier" ]; then set -- "$@" --done "$earlier"; fi
done
exec {executable} trial --offline {jobs}--chunk "$chunk.trials.jsonl" \
    --out "$chunk.${{SLURM_RESTART_COUNT:-0}}.records.jsonl" "$@"
"#,
            folder = quoted(self.folder),
            executable = quoted(self.executable),
            first = self.first,
        )
    }
}

/// A path as one word of the shell.
pub fn quoted(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_single_words() {
        assert_eq!(quoted(Path::new("/a b/it's")), r"'/a b/it'\''s'");
        let script = Script {
            folder: Path::new("/data/it's"),
            executable: Path::new("/bin/fairground"),
            first: 40,
            jobs: Some(1),
        };
        let text = script.text();
        assert!(text.contains(r"cd '/data/it'\''s' || exit 3"), "{text}");
        assert!(text.contains("chunk-$((40 + SLURM_ARRAY_TASK_ID))"), "{text}");
        assert!(text.contains("${SLURM_RESTART_COUNT:-0}"), "{text}");
    }
}
