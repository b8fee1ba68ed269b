// SPDX-License-Identifier: GPL-2.0-only
//! Tasks that would wait for ever or for each other, with the messages.

use expect_test::expect;

use super::{bad, bad_steps};

#[test]
fn locks() {
    bad_steps(
        "{ unlock = \"m\" }",
        expect![[r#"w.toml:4:10: the task does not hold 'm'; add { lock = "m" } before"#]],
    );
    bad_steps(
        "{ lock = \"m\" }",
        expect![[r#"w.toml:4:1: the task 't' ends its steps holding 'm'; add { unlock = "m" }"#]],
    );
    bad_steps(
        "{ lock = \"m\" }, { lock = \"m\" }, { unlock = \"m\" }",
        expect!["w.toml:4:26: the task already holds 'm' and would wait for itself; unlock 'm' first"],
    );
    bad_steps(
        "{ wait = { condition = \"c\", lock = \"m\" } }, { signal = \"c\" }",
        expect![[r#"w.toml:4:10: waiting releases 'm', which the task does not hold; add { lock = "m" } before"#]],
    );
    bad_steps(
        "{ loop = { count = 3, steps = [{ lock = \"m\" }] } }, { unlock = \"m\" }",
        expect!["w.toml:4:10: a round of this loop does not leave 'm' as it found it; lock and unlock inside the loop, or both outside"],
    );
    bad_steps(
        "{ lock = \"m\" }, \"exit\"",
        expect!["w.toml:4:26: the task ends holding 'm'; unlock it before"],
    );
}

#[test]
fn waits() {
    bad_steps(
        "{ lock = \"m\" }, { wait = { condition = \"c\", lock = \"m\" } }, { unlock = \"m\" }",
        expect![[r#"w.toml:4:26: nobody signals the condition 'c'; add a step { signal = "c" } to another task"#]],
    );
    bad_steps(
        "{ suspend = \"\" }",
        expect![[r#"w.toml:4:10: nobody resumes 't'; add a step { resume = "t" } to another task"#]],
    );
    bad_steps(
        "{ semaphore_wait = \"s\" }",
        expect![[r#"w.toml:4:10: nobody posts the semaphore 's'; add a step { semaphore_post = "s" } to another task"#]],
    );
}

#[test]
fn forks() {
    bad_steps(
        "{ fork = { task = \"child\" } }",
        expect!["w.toml:4:10: there is no task 'child' to fork; add a [[task]] with 'template = true'"],
    );
    bad_steps(
        "{ fork = { task = \"t\" } }",
        expect!["w.toml:4:10: 't' starts by itself and cannot be forked; add 'template = true' to the task 't'"],
    );
    bad_steps(
        "\"wait_children\"",
        expect!["w.toml:4:10: the task 't' has no children to wait for; add a fork step before it, or delete it"],
    );
    bad_steps(
        "\"exec\"",
        expect!["w.toml:4:10: only a forked task can exec; put it into a task with 'template = true'"],
    );
    let family = "[[task]]\nname = \"t\"\nrepeat = 1\nsteps = [{ fork = { task = \"c\" } }]\n\
                  [[task]]\nname = \"c\"\ntemplate = true\nsteps = [{ run_us = 1 }]\n";
    bad(
        &family.replace("{ run_us = 1 }", "{ fork = { task = \"c\" } }"),
        expect!["w.toml:4:10: 'c' forks itself without end; let templates fork only others that do not lead back"],
    );
    bad(
        &family.replace("{ task = \"c\" }", "{ task = \"d\" }"),
        expect!["w.toml:4:10: there is no task 'd' to fork; known are 'c'"],
    );
    bad(
        &family.replace("template = true", "template = true\nrepeat = 3"),
        expect!["w.toml:8:1: a forked task plays its steps once; use a loop step instead"],
    );
    bad(
        &family.replace("template = true", "template = true\ncount = 3"),
        expect!["w.toml:8:1: a template has no count; the fork step says how many"],
    );
    bad(
        &family.replace("{ run_us = 1 }", "\"exec\", { run_us = 1 }"),
        expect!["w.toml:8:10: steps after exec are never played; make exec the last step"],
    );
    bad(
        &family.replace("task = \"c\"", "task = \"c\", count = 100001"),
        expect!["w.toml:4:10: 100001 is out of range for forked tasks; write 0 … 100000"],
    );
    bad(
        &family.replace(
            "{ fork = { task = \"c\" } }",
            "{ loop = { count = 1000, steps = [{ fork = { task = \"c\", count = 1000 } }] } }",
        ),
        expect!["w.toml:1:1: a round of 't' forks 1000000 processes; at most 100000: fork fewer, or repeat rounds with wait_children"],
    );
    bad(
        &family.replace("{ fork = { task = \"c\" } }", "{ run_us = 1 }"),
        expect![[r#"w.toml:5:1: nobody forks the template 'c'; add a step { fork = { task = "c" } }, or delete the template"#]],
    );
}

#[test]
fn channels() {
    let talk = "[[channel]]\nname = \"pipe\"\ncount = 2\n\
        [[task]]\nname = \"s\"\ncount = 2\nrepeat = 3\nsteps = [{ send = { channel = \"pipe\", bytes = 1 } }]\n\
        [[task]]\nname = \"r\"\ncount = 2\nrepeat = 3\nsteps = [{ receive = { channel = \"pipe\", bytes = 1 } }]\n";
    bad(
        &talk.replace("channel = \"pipe\"", "channel = \"pip\""),
        expect!["w.toml:8:10: there is no channel 'pip'; did you mean 'pipe'?"],
    );
    bad(
        &talk.replacen("repeat = 3", "repeat = 4", 1),
        expect!["w.toml:1:1: 'pipe': 8 messages sent but 6 received; make repeat × count × fan of both sides agree"],
    );
    bad(
        &talk.replacen("bytes = 1 ", "bytes = 2 ", 1),
        expect!["w.toml:1:1: messages of 'pipe' have different sizes; send and receive the same number of bytes"],
    );
    bad(
        &talk.replacen("bytes = 1 ", "bytes = 1, fan = 3 ", 1),
        expect!["w.toml:8:10: fan 3 does not fit 'pipe', which has 2 members; write 1 … 2"],
    );
    bad(
        &talk.replacen("bytes = 1 ", "bytes = 100000 ", 1),
        expect!["w.toml:8:10: 100000 is out of range for message bytes; write 1 … 65536"],
    );
    bad(
        &talk.replace("receive", "send"),
        expect!["w.toml:1:1: nobody receives from 'pipe'; add a receive step"],
    );
    bad(
        &talk.replace("send", "receive"),
        expect!["w.toml:1:1: nobody sends to 'pipe'; add a send step"],
    );
    bad(
        "[[channel]]\nname = \"pipe\"\ncount = 2\n[[task]]\nname = \"a\"\nrepeat = 1\nsteps = [\"yield\"]\n",
        expect!["w.toml:1:1: nobody uses the channel 'pipe'; add send and receive steps, or delete it"],
    );
    bad(
        &talk.replacen("[[channel]]", "[[channel]]\nname = \"pipe\"\ncount = 1\n[[channel]]", 1),
        expect!["w.toml:5:1: a second channel named 'pipe'; give each channel its own name"],
    );
}
