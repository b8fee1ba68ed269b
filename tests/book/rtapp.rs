// SPDX-License-Identifier: GPL-2.0-only
//! The chapter on rt-app lists rt-app's own examples, as Debian's package installs them.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use spec::assets::Asset;
use spec::workload;

use testing::need;
use testing::rtapp_examples::{self, FOLDER};

use crate::project;

#[test]
fn the_chapter_on_rtapp_lists_its_examples() {
    testing::beyond_cargo_test!("needs rt-app");
    let mut files = need!(rtapp_examples::files());
    files.retain(|file| !file.starts_with(format!("{FOLDER}/merge")));
    let mut table =
        String::from("| file | groups | lasts | what is noted |\n|---|---:|---:|---|\n");
    for file in &files {
        table += &row(file);
    }
    project::expect_generated("docs/src/reference/rt-app.md", "examples", "--test book", &table);
}

fn row(file: &Path) -> String {
    let label = file.strip_prefix(FOLDER).expect("it is there").display().to_string();
    let text = fs::read_to_string(file).expect("a file");
    let stem = file.file_stem().expect("a name").to_string_lossy().into_owned();
    let asset = Asset { label: label.clone(), stem, base: PathBuf::new(), text };
    let resolved = workload::resolve(&asset, &Default::default(), 4)
        .unwrap_or_else(|error| panic!("it is refused: {error}"));
    let seconds = resolved.workload.duration_us.map(|us| format!("{} s", us / 1_000_000));
    let lasts = seconds.unwrap_or_else(|| "until its tasks have ended".into());
    let notes = resolved.notes.iter().map(|note| note.trim_start_matches(&label));
    let notes = notes.map(|note| note.trim_start_matches(": ")).collect::<Vec<_>>().join("; ");
    let mut row = String::new();
    writeln!(row, "| `{label}` | {} | {lasts} | {notes} |", resolved.workload.tasks.len())
        .expect("a string takes text");
    row
}
