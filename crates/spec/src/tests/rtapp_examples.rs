// SPDX-License-Identifier: GPL-2.0-only
//! rt-app's own examples, as its Debian package installs them.

use std::fs;
use std::path::{Path, PathBuf};

use expect_test::expect;

use super::asset;
use crate::expression::Names;
use crate::workload;

const FOLDER: &str = "/usr/share/doc/rt-app/examples";

#[test]
fn rtapps_own_examples_are_accepted_or_refused_with_a_reason() {
    let mut files = Vec::new();
    collect(Path::new(FOLDER), &mut files);
    if files.is_empty() {
        eprintln!("skipped: rt-app is not installed (apt install rt-app)");
        return;
    }
    files.sort();
    let lines: Vec<String> = files.iter().map(|file| verdict(file)).collect();
    expect![[r#"
        browser-long.json:11:6: duplicate key 'run' (first on line 9); number them: 'run0', 'run1', …, or rt-app keeps one in silence
        browser-short.json:11:6: duplicate key 'run' (first on line 9); number them: 'run0', 'run1', …, or rt-app keeps one in silence
        cpufreq_governor_efficiency/calibration.json: ok, 1 tasks
        cpufreq_governor_efficiency/dvfs.json: ok, 1 tasks
        merge/global.json:1:1: 'tasks' is missing; name the tasks: {"tasks": {"thread0": {…}}}
        merge/resources.json:1:1: 'tasks' is missing; name the tasks: {"tasks": {"thread0": {…}}}
        merge/thread0.json:4:10: unknown key 'exec'; known are 'run', 'runtime', 'sleep', 'timer', 'lock', 'unlock', 'wait', 'signal', 'broad', 'sync', 'barrier', 'suspend', 'resume', 'sem_post', 'sem_wait', 'yield', 'fork', 'instance', 'loop', 'delay', 'policy', 'priority', 'dl-runtime', 'dl-deadline', 'dl-period', 'cpus', 'phases'
        merge/thread1.json:4:10: unknown key 'exec'; known are 'run', 'runtime', 'sleep', 'timer', 'lock', 'unlock', 'wait', 'signal', 'broad', 'sync', 'barrier', 'suspend', 'resume', 'sem_post', 'sem_wait', 'yield', 'fork', 'instance', 'loop', 'delay', 'policy', 'priority', 'dl-runtime', 'dl-deadline', 'dl-period', 'cpus', 'phases'
        merge/thread2.json:4:10: unknown key 'exec'; known are 'run', 'runtime', 'sleep', 'timer', 'lock', 'unlock', 'wait', 'signal', 'broad', 'sync', 'barrier', 'suspend', 'resume', 'sem_post', 'sem_wait', 'yield', 'fork', 'instance', 'loop', 'delay', 'policy', 'priority', 'dl-runtime', 'dl-deadline', 'dl-period', 'cpus', 'phases'
        merge/thread3.json:4:10: unknown key 'exec'; known are 'run', 'runtime', 'sleep', 'timer', 'lock', 'unlock', 'wait', 'signal', 'broad', 'sync', 'barrier', 'suspend', 'resume', 'sem_post', 'sem_wait', 'yield', 'fork', 'instance', 'loop', 'delay', 'policy', 'priority', 'dl-runtime', 'dl-deadline', 'dl-period', 'cpus', 'phases'
        mp3-long.json:24:4: duplicate key 'run' (first on line 22); number them: 'run0', 'run1', …, or rt-app keeps one in silence
        mp3-short.json:24:4: duplicate key 'run' (first on line 22); number them: 'run0', 'run1', …, or rt-app keeps one in silence
        spreading-tasks.json:38:33: duplicate key 'heavy1' (first on line 28); number them: 'heavy1_0', 'heavy1_1', …, or rt-app keeps one in silence
        template.json: ok, 1 tasks
        tutorial/example1.json: ok, 1 tasks
        tutorial/example2.json: ok, 1 tasks
        tutorial/example3.json: ok, 1 tasks
        tutorial/example4.json: the workload never ends; add 'duration_us = …' (rt-app: "duration" in "global"), or 'repeat = …' to a task
        tutorial/example5.json:23:6: duplicate key 'run' (first on line 21); number them: 'run0', 'run1', …, or rt-app keeps one in silence
        tutorial/example6.json:11:4: the event 'mem' is not supported; supported are 'run', 'runtime', 'sleep', 'timer', 'lock', 'unlock', 'wait', 'signal', 'broad', 'sync', 'barrier', 'suspend', 'resume', 'sem_post', 'sem_wait', 'yield', 'fork'
        tutorial/example7.json: ok, 2 tasks
        tutorial/example8.json: ok, 1 tasks
        video-long.json:6:13: not JSON: Expected colon after the string or word in object property; a key needs a value, e.g. "suspend": ""
        video-short.json:6:13: not JSON: Expected colon after the string or word in object property; a key needs a value, e.g. "suspend": ""
    "#]].assert_eq(&(lines.join("\n") + "\n"));
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|ending| ending == "json") {
            files.push(path);
        }
    }
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
