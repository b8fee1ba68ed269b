// SPDX-License-Identifier: GPL-2.0-only
//! rt-app's own examples, as its Debian package installs them.

use std::fs;
use std::path::Path;

use expect_test::expect;

use super::asset;
use crate::expression::Names;
use crate::workload;
use testing::need;
use testing::rtapp_examples::{self, FOLDER};

#[test]
fn rtapps_own_examples_are_accepted_or_refused_with_a_reason() {
    testing::beyond_cargo_test!("needs rt-app");
    let files = need!(rtapp_examples::files());
    let lines: Vec<String> = files.iter().map(|file| verdict(file)).collect();
    expect![[r#"
        browser-long.json: ok, 9 tasks
        browser-short.json: ok, 9 tasks
        cpufreq_governor_efficiency/calibration.json: ok, 1 tasks
        cpufreq_governor_efficiency/dvfs.json: ok, 1 tasks
        merge/global.json:1:1: 'tasks' is missing; name the tasks: {"tasks": {"thread0": {…}}}
        merge/resources.json:1:1: 'tasks' is missing; name the tasks: {"tasks": {"thread0": {…}}}
        merge/thread0.json:4:10: unknown key 'exec'; it is from rt-app before 1.0: write events, such as "run" and "timer"
        merge/thread1.json:4:10: unknown key 'exec'; it is from rt-app before 1.0: write events, such as "run" and "timer"
        merge/thread2.json:4:10: unknown key 'exec'; it is from rt-app before 1.0: write events, such as "run" and "timer"
        merge/thread3.json:4:10: unknown key 'exec'; it is from rt-app before 1.0: write events, such as "run" and "timer"
        mp3-long.json: ok, 5 tasks
        mp3-short.json: ok, 5 tasks
        spreading-tasks.json: ok, 2 tasks
        template.json: ok, 1 tasks
        tutorial/example1.json: ok, 1 tasks
        tutorial/example2.json: ok, 1 tasks
        tutorial/example3.json: ok, 1 tasks
        tutorial/example4.json: ok, 2 tasks
        tutorial/example5.json: ok, 2 tasks
        tutorial/example6.json: ok, 1 tasks
        tutorial/example7.json: ok, 2 tasks
        tutorial/example8.json: ok, 1 tasks
        video-long.json: ok, 17 tasks
        video-short.json: ok, 17 tasks
    "#]].assert_eq(&(lines.join("\n") + "\n"));
}

/// `file: ok (tasks)` or the error.
fn verdict(file: &Path) -> String {
    let label = file.strip_prefix(FOLDER).unwrap().display().to_string();
    let text = fs::read_to_string(file).unwrap();
    match workload::resolve(&asset(&label, &text), &Names::new(), 4) {
        Ok(resolved) => format!("{label}: ok, {} tasks", resolved.workload.tasks.len()),
        Err(error) => error.to_string(),
    }
}
