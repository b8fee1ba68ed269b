// SPDX-License-Identifier: GPL-2.0-only
//! rt-app files that are refused, with their messages.

use expect_test::{Expect, expect};

use super::{json, refused};

#[track_caller]
fn bad(text: &str, message: Expect) {
    refused(json(text), &message);
}

/// A task with these events that loops three times.
#[track_caller]
fn bad_events(events: &str, message: Expect) {
    bad(&format!("{{\"tasks\": {{\"t\": {{\"loop\": 3,\n  {events}}}}}}}"), message);
}

#[test]
fn syntax() {
    bad("", expect!["w.json:1:1: the file is empty"]);
    bad("[]", expect!["w.json:1:1: the file must be an object: {…}"]);
    bad("{\"tasks\": {\"t\": {\"suspend\": \"a\", \"suspend\",\n \"yield\", \"run\": 5}}}",
        expect![[r#"w.json:2:9: not JSON: Expected colon after the string or word in object property; a key needs a value, e.g. "yield": """#]]);
    bad("{\"tasks\": {\"t\": {\"run\": 5}}", expect!["w.json:1:1: not JSON: Unterminated object"]);
    bad("{\"global\": {}}", expect![[r#"w.json:1:1: 'tasks' is missing; name the tasks: {"tasks": {"thread0": {…}}}"#]]);
}

#[test]
fn duplicate_keys() {
    bad_events("\"run\": 5,\n  \"loop\": 5", expect!["w.json:3:3: duplicate key 'loop' (first on line 1); keep one: only tasks, phases and events may repeat"]);
    bad("{\"global\": {\"duration\": 1,\n \"duration\": 2}, \"tasks\": {\"a\": {\"run\": 2}}}",
        expect!["w.json:2:2: duplicate key 'duration' (first on line 1); keep one: only tasks, phases and events may repeat"]);
    bad_events("\"timer\": {\"ref\": \"unique\", \"period\": 5, \"ref\": \"unique\"}",
        expect!["w.json:2:43: duplicate key 'ref' (first on line 2); keep one: only tasks, phases and events may repeat"]);
    bad_events("\"phases\": {\"a\": {\"cpus\": [0], \"cpus\": [1], \"run\": 5}}",
        expect!["w.json:2:33: duplicate key 'cpus' (first on line 2); keep one: only tasks, phases and events may repeat"]);
}

#[test]
fn unknown_keys() {
    bad_events("\"rnu\": 5", expect!["w.json:2:3: unknown key 'rnu'; did you mean 'run'?"]);
    bad_events("\"slep\": 5", expect!["w.json:2:3: unknown key 'slep'; did you mean 'sleep'?"]);
    bad_events("\"exec\": 5", expect![[r#"w.json:2:3: unknown key 'exec'; it is from rt-app before 1.0: write events, such as "run" and "timer""#]]);
    bad_events("\"run\": 5, \"instances\": 3", expect!["w.json:2:13: unknown key 'instances'; did you mean 'instance'?"]);
    bad("{\"global\": {\"durration\": 3}, \"tasks\": {}}", expect!["w.json:1:13: unknown key 'durration'; did you mean 'duration'?"]);
    bad("{\"task\": {}}", expect![[r#"w.json:1:1: 'tasks' is missing; name the tasks: {"tasks": {"thread0": {…}}}"#]]);
    bad_events("\"timer\": {\"ref\": \"unique\", \"period\": 5, \"mod\": \"absolute\"}", expect!["w.json:2:43: unknown key 'mod'; did you mean 'mode'?"]);
    bad("{\"resources\": {\"m\": {\"type\": \"mutx\"}}, \"tasks\": {}}", expect!["w.json:1:30: unknown resource type 'mutx'; did you mean 'mutex'?"]);
}

#[test]
fn what_nothing_here_has() {
    bad_events("\"run\": 5,\n  \"taskgroup\": \"/a/..\"", expect!["w.json:3:16: 'a/..' cannot be a group's name; use letters, digits and _ - . in names, and / between them; a letter or digit first"]);
    bad_events("\"util_min\": 1025, \"run\": 5", expect!["w.json:2:15: 1025 is out of range for 'util_min'; write 0 … 1024, or -1 for none"]);
    bad("{\"global\": {\"io_device\": \"/dev/sda\"}, \"tasks\": {\"t\": {\"iorun\": 1}}}",
        expect![[r#"w.json:1:26: 'iorun' does not write to the device '/dev/sda'; write "/dev/null", or a file's name for a file of each task's own"#]]);
    bad("{\"global\": {\"mem_buffer_size\": 0}, \"tasks\": {\"t\": {\"loop\": 1,\n \"mem\": 1}}}", expect!["w.json:2:2: 0 is out of range for buffer bytes; write 1 … 1073741824"]);
}

#[test]
fn memory_runs_and_renamed_keys() {
    bad_events("\"memrun\": 1000", expect![[r#"w.json:2:13: 'memrun' must be an object: {…}; write {"type": "write", "size": 4194304, "count": 1000}"#]]);
    bad_events("\"memrun\": {\"type\": \"chase\", \"size\": 4096, \"count\": 9}", expect![[r#"w.json:2:22: 'memrun' does not chase pointers here; write "run": µs with the CPU time that it takes, or a type read or write"#]]);
    bad_events("\"memrun\": {\"type\": \"write\", \"size\": 4096}", expect![[r#"w.json:2:13: the memrun has no 'count'; write {"type": "write", "size": 4194304, "count": 1000}"#]]);
    bad_events("\"memrun\": {\"type\": \"wrote\", \"size\": 4096, \"count\": 9}", expect!["w.json:2:22: unknown memrun type 'wrote'; write 'read' or 'write'"]);
    bad_events("\"memrun\": {\"type\": \"write\", \"size\": 4096, \"count\": 9, \"cuont\": 9}", expect!["w.json:2:57: unknown key 'cuont'; did you mean 'count'?"]);
    bad_events("\"membind_nodes\": [0], \"run\": 5", expect!["w.json:2:3: unknown key 'membind_nodes'; write 'nodes_membind', as rt-app calls it"]);
    bad("{\"resources\": 1, \"threads\": {\"t1\": {\"exec\": 5000, \"period\": 10000}}}", expect![[r#"w.json:1:18: 'threads' is from rt-app before 1.0; write "tasks" with events, such as {"tasks": {"t1": {"run": 5000, "timer": {"ref": "unique", "period": 10000}}}}"#]]);
    bad_events("\"sleep\": -1", expect!["w.json:2:12: 'sleep' cannot be negative; write 0 or more"]);
    bad_events("\"util_max\": -2, \"run\": 5", expect!["w.json:2:15: -2 is out of range for 'util_max'; write 0 … 1024, or -1 for none"]);
    bad_events("\"util_min\": 512, \"util_max\": 256, \"run\": 5", expect!["w.json:1:12: the lower clamp 512 is above the upper one, 256; write min and max in order"]);
}

#[test]
fn values() {
    bad_events("\"run\": \"5\"", expect!["w.json:2:10: 'run' must be a whole number"]);
    bad_events("\"run\": -5", expect!["w.json:2:10: 'run' cannot be negative; write µs, or -1 to run without end"]);
    bad_events("\"run\": 1.5", expect!["w.json:2:10: 'run' must be a whole number"]);
    bad_events("\"lock\": 5", expect!["w.json:2:11: 'lock' must be a string"]);
    bad_events("\"instance\": -1, \"run\": 5", expect!["w.json:2:15: 'instance' cannot be negative"]);
    bad_events("\"cpus\": [0, 7], \"run\": 5", expect!["w.json:1:12: there is no CPU 7; the machine's CPUs are 0 … 1"]);
    bad_events("\"cpus\": 0, \"run\": 5", expect!["w.json:2:11: 'cpus' must be a list of numbers: [0, 1]"]);
    bad_events("\"policy\": \"SCHED_FIF\", \"run\": 5", expect!["w.json:2:13: unknown policy 'SCHED_FIF'; did you mean 'SCHED_FIFO' or 'SCHED_RR'?"]);
    bad_events("\"policy\": \"SCHED_FIFO\", \"priority\": 100, \"run\": 5", expect!["w.json:2:13: 'fifo' needs a priority from 1 to 98; write e.g. priority = 50; 98 wins"]);
    bad_events("\"priority\": -21, \"run\": 5", expect!["w.json:2:15: nice -21 is out of range; write -20 (most) … 19 (least)"]);
    bad_events("\"policy\": \"SCHED_DEADLINE\", \"run\": 5", expect!["w.json:2:13: runtime 0, deadline 0, period 0 µs are impossible; write 2 ≤ runtime_us ≤ deadline_us ≤ period_us"]);
    bad_events("\"timer\": {\"ref\": \"unique\"}", expect![[r#"w.json:2:12: the timer has no 'period'; write {"ref": "unique", "period": 10000}"#]]);
    bad_events("\"timer\": {\"ref\": \"unique\", \"period\": 5, \"mode\": \"abs\"}", expect!["w.json:2:51: unknown timer mode 'abs'; write 'absolute' or 'relative'"]);
    bad_events("\"wait\": {\"ref\": \"c\"}", expect![[r#"w.json:2:11: 'wait' has no 'mutex'; write "wait": {"ref": "condition", "mutex": "mutex"}"#]]);
    bad_events("\"wait\": \"c\"", expect!["w.json:2:11: 'wait' must be an object: {…}"]);
    bad("{\"global\": {\"duration\": 99999999999999999}, \"tasks\": {\"t\": {\"run\": 1}}}", expect!["w.json:1:25: a duration of 99999999999999999 s; write seconds, or -1"]);
    bad_events("\"cpus\": [], \"run\": 5", expect!["w.json:2:11: an empty list of CPUs; name at least one CPU, or delete it for all"]);
    bad_events("\"mem\": -1", expect!["w.json:2:10: 'mem' cannot be negative; write 0 or more"]);
    bad_events("\"nodes_membind\": 0, \"run\": 1", expect!["w.json:2:20: 'nodes_membind' must be a list of numbers: [0, 1]"]);
    bad_events("\"cpus\": [1]", expect![[r#"w.json:1:17: there are no events; write e.g. "run": 1000"#]]);
}

#[test]
fn meaning() {
    bad("{\"tasks\": {}}", expect!["w.json: the workload has neither tasks nor a program; add a [[task]] table"]);
    bad_events("\"run\": 5,\n  \"unlock\": \"m\"", expect![[r#"w.json:3:3: the task does not hold 'm'; add { lock = "m" } before"#]]);
    bad_events("\"run\": 5,\n  \"suspend\": \"\"", expect![[r#"w.json:3:3: nobody resumes 't'; add a step { resume = "t" } to another task"#]]);
    bad_events("\"phases\": {\"a\": {\"loop\": 2, \"run\": 5,\n  \"lock\": \"m\"}}",
        expect!["w.json:2:14: a round of this loop does not leave 'm' as it found it; lock and unlock inside the loop, or both outside"]);
    bad_events("\"fork\": \"child\"", expect!["w.json:2:3: there is no task 'child' to fork; known are 't'"]);
    // The places of a template's steps are those of the file, too.
    bad("{\"tasks\": {\"p\": {\"loop\": 1, \"fork\": \"c\"},\n \"c\": {\"instance\": 0, \"delay\": 5, \"run\": 1,\n \"unlock\": \"m\"}}}",
        expect![[r#"w.json:3:2: the task does not hold 'm'; add { lock = "m" } before"#]]);
    bad("{\"tasks\": {\"c\": {\"loop\": 1, \"barrier\": \"b\"},\n \"p\": {\"loop\": 1, \"fork\": \"c\"}}}",
        expect!["w.json:1:29: a forked task cannot wait at a barrier: how many will come is not known; put it into a task that starts by itself"]);
}

#[test]
fn too_many_task_groups_are_refused_where_the_tasks_are() {
    let task = |number| format!("\"t{number}\": {{\"taskgroup\": \"/g{number}\", \"run\": 1}}");
    let tasks: Vec<String> = (0..64).map(task).collect();
    bad(&format!("{{\n\"tasks\": {{{}}}}}", tasks.join(",\n")),
        expect!["w.json:2:10: 64 groups are too many; at most 63 together, parents included"]);
}
