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
    bad(
        "{\"tasks\": {\"t\": {\"suspend\", \"run\": 5}}}",
        expect![[r#"w.json:1:27: not JSON: Expected colon after the string or word in object property; a key needs a value, e.g. "suspend": """#]],
    );
    bad("{\"tasks\": {\"t\": {\"run\": 5}}", expect!["w.json:1:1: not JSON: Unterminated object"]);
    bad(
        "{\"global\": {}}",
        expect![[r#"w.json:1:1: 'tasks' is missing; name the tasks: {"tasks": {"thread0": {…}}}"#]],
    );
}

#[test]
fn duplicate_keys() {
    bad_events(
        "\"run\": 5,\n  \"sleep\": 5,\n  \"run\": 5",
        expect!["w.json:4:3: duplicate key 'run' (first on line 2); number them: 'run0', 'run1', …, or rt-app keeps one in silence"],
    );
    bad(
        "{\"tasks\": {\"a\": {\"run\": 1},\n \"a\": {\"run\": 2}}}",
        expect!["w.json:2:2: duplicate key 'a' (first on line 1); number them: 'a0', 'a1', …, or rt-app keeps one in silence"],
    );
}

#[test]
fn unknown_keys() {
    bad_events("\"rnu\": 5", expect!["w.json:2:3: unknown key 'rnu'; did you mean 'run'?"]);
    bad_events("\"runner\": 5", expect!["w.json:2:3: unknown key 'runner'; did you mean 'run'?"]);
    bad_events(
        "\"run\": 5, \"instances\": 3",
        expect!["w.json:2:13: unknown key 'instances'; did you mean 'instance'?"],
    );
    bad(
        "{\"global\": {\"durration\": 3}, \"tasks\": {}}",
        expect!["w.json:1:13: unknown key 'durration'; did you mean 'duration'?"],
    );
    bad(
        "{\"task\": {}}",
        expect![[r#"w.json:1:1: 'tasks' is missing; name the tasks: {"tasks": {"thread0": {…}}}"#]],
    );
    bad_events(
        "\"timer\": {\"ref\": \"unique\", \"period\": 5, \"mod\": \"absolute\"}",
        expect!["w.json:2:43: unknown key 'mod'; did you mean 'mode'?"],
    );
    bad(
        "{\"resources\": {\"m\": {\"type\": \"mutx\"}}, \"tasks\": {}}",
        expect!["w.json:1:30: unknown resource type 'mutx'; did you mean 'mutex'?"],
    );
}

#[test]
fn events_that_are_not_played() {
    bad_events(
        "\"mem\": 5",
        expect!["w.json:2:3: the event 'mem' is not supported; supported are 'run', 'runtime', 'sleep', 'timer', 'lock', 'unlock', 'wait', 'signal', 'broad', 'sync', 'barrier', 'suspend', 'resume', 'sem_post', 'sem_wait', 'yield', 'fork'"],
    );
    bad_events(
        "\"iorun0\": 5",
        expect!["w.json:2:3: the event 'iorun' is not supported; supported are 'run', 'runtime', 'sleep', 'timer', 'lock', 'unlock', 'wait', 'signal', 'broad', 'sync', 'barrier', 'suspend', 'resume', 'sem_post', 'sem_wait', 'yield', 'fork'"],
    );
    bad_events(
        "\"memrun\": 5",
        expect!["w.json:2:3: the event 'memrun' is not supported; supported are 'run', 'runtime', 'sleep', 'timer', 'lock', 'unlock', 'wait', 'signal', 'broad', 'sync', 'barrier', 'suspend', 'resume', 'sem_post', 'sem_wait', 'yield', 'fork'"],
    );
    bad_events(
        "\"taskgroup\": \"/a\", \"run\": 5",
        expect!["w.json:2:3: 'taskgroup' is not supported; delete it, if the comparison is fair without it"],
    );
    bad(
        "{\"global\": {\"pi_enabled\": true, \"duration\": 1}, \"tasks\": {\"t\": {\"run\": 1}}}",
        expect!["w.json:1:27: 'pi_enabled' is not supported; set it to false: mutexes have no priority inheritance here"],
    );
}

#[test]
fn values() {
    bad_events("\"run\": \"5\"", expect!["w.json:2:10: 'run' must be a whole number"]);
    bad_events("\"run\": -5", expect!["w.json:2:10: 'run' cannot be negative"]);
    bad_events("\"run\": 1.5", expect!["w.json:2:10: 'run' must be a whole number"]);
    bad_events("\"lock\": 5", expect!["w.json:2:11: 'lock' must be a string"]);
    bad_events(
        "\"instance\": -1, \"run\": 5",
        expect!["w.json:2:15: 'instance' cannot be negative"],
    );
    bad_events(
        "\"cpus\": [0, 7], \"run\": 5",
        expect!["w.json:1:12: there is no CPU 7; the machine's CPUs are 0 … 1"],
    );
    bad_events(
        "\"cpus\": 0, \"run\": 5",
        expect!["w.json:2:11: 'cpus' must be a list of CPUs: [0, 1]"],
    );
    bad_events(
        "\"policy\": \"SCHED_FIF\", \"run\": 5",
        expect!["w.json:2:13: unknown policy 'SCHED_FIF'; did you mean 'SCHED_FIFO' or 'SCHED_RR'?"],
    );
    bad_events(
        "\"policy\": \"SCHED_FIFO\", \"priority\": 100, \"run\": 5",
        expect!["w.json:2:13: 'fifo' needs a priority from 1 to 98; write e.g. priority = 50; 98 wins"],
    );
    bad_events(
        "\"priority\": -21, \"run\": 5",
        expect!["w.json:2:15: nice -21 is out of range; write -20 (most) … 19 (least)"],
    );
    bad_events(
        "\"policy\": \"SCHED_DEADLINE\", \"run\": 5",
        expect!["w.json:2:13: runtime 0, deadline 0, period 0 µs are impossible; write 2 ≤ runtime_us ≤ deadline_us ≤ period_us"],
    );
    bad_events(
        "\"timer\": {\"ref\": \"unique\"}",
        expect![[r#"w.json:2:12: the timer has no 'period'; write {"ref": "unique", "period": 10000}"#]],
    );
    bad_events(
        "\"timer\": {\"ref\": \"unique\", \"period\": 5, \"mode\": \"abs\"}",
        expect!["w.json:2:51: unknown timer mode 'abs'; write 'absolute' or 'relative'"],
    );
    bad_events(
        "\"wait\": {\"ref\": \"c\"}",
        expect![[r#"w.json:2:11: 'wait' has no 'mutex'; write "wait": {"ref": "condition", "mutex": "mutex"}"#]],
    );
    bad_events("\"wait\": \"c\"", expect!["w.json:2:11: 'wait' must be an object: {…}"]);
    bad(
        "{\"global\": {\"duration\": -2}, \"tasks\": {\"t\": {\"run\": 1}}}",
        expect!["w.json:1:25: a duration of -2 s; write seconds, or -1"],
    );
}

#[test]
fn meaning() {
    bad(
        "{\"tasks\": {\"t\": {\"run\": 1}}}",
        expect![[r#"w.json: the workload never ends; add 'duration_us = …' (rt-app: "duration" in "global"), or 'repeat = …' to a task"#]],
    );
    bad(
        "{\"tasks\": {}}",
        expect!["w.json: the workload has neither tasks nor a program; add a [[task]] table"],
    );
    bad_events(
        "\"run\": 5,\n  \"unlock\": \"m\"",
        expect![[r#"w.json:3:3: the task does not hold 'm'; add { lock = "m" } before"#]],
    );
    bad_events(
        "\"run\": 5,\n  \"suspend\": \"\"",
        expect![[r#"w.json:3:3: nobody resumes 't'; add a step { resume = "t" } to another task"#]],
    );
    bad_events(
        "\"phases\": {\"a\": {\"loop\": 2, \"run\": 5,\n  \"lock\": \"m\"}}",
        expect!["w.json:2:14: a round of this loop does not leave 'm' as it found it; lock and unlock inside the loop, or both outside"],
    );
    bad_events(
        "\"phases\": {\"a\": {\"loop\": -1, \"run\": 5}, \"b\": {\"run\": 5}}",
        expect![[r#"w.json:2:14: the phases after an endless one never come; let only the last phase have "loop": -1"#]],
    );
    bad_events(
        "\"instance\": 2, \"timer\": {\"ref\": \"tick\", \"period\": 5}",
        expect!["w.json:2:35: the timer 'tick' is shared with its instances, which is not supported; name it 'unique_tick': one per thread"],
    );
    bad_events(
        "\"fork\": \"child\"",
        expect!["w.json:2:3: there is no task 'child' to fork; add a [[task]] with 'template = true'"],
    );
    bad(
        "{\"tasks\": {\"a_name_of_16_byt1\": {\"loop\": 1, \"run\": 1},\n \"a_name_of_16_byt2\": {\"run\": 1}}}",
        expect!["w.json:2:2: a second task named 'a_name_of_16_by'; give each group its own name"],
    );
}
