// SPDX-License-Identifier: GPL-2.0-only
//! Workload files that are refused, with their messages: mistakes in them, and tasks that would
//! wait for ever or for each other.

use expect_test::expect;

use super::{bad, bad_steps, toml};

#[test]
fn syntax() {
    bad("duration_us = ", expect!["w.toml:1:15: string values must be quoted, expected literal string"]);
    bad("duration_us = 1\nduration_us = 2\n", expect!["w.toml:2:1: duplicate key"]);
    bad("[[task]]\nname = \"a\nsteps = []\n", expect![[r#"w.toml:2:10: invalid basic string, expected `"`"#]]);
}

#[test]
fn fields() {
    bad_steps("{ rnu_us = 5 }", expect!["w.toml:4:12: unknown step 'rnu_us'; did you mean 'run_us'?"]);
    bad("duration_su = 5\n", expect!["w.toml:1:1: unknown field 'duration_su'; did you mean 'duration_us'?"]);
    bad("[[task]]\nname = \"a\"\ncuont = 3\nsteps = [{ run_us = 1 }]\n", expect!["w.toml:3:1: unknown field 'cuont'; did you mean 'count'?"]);
    bad("[[task]]\nsteps = [{ run_us = 1 }]\n", expect!["w.toml:1:1: the field 'name' is missing; add 'name = …'"]);
    bad("[[task]]\nname = \"a\"\ncount = \"three\"\nsteps = [{ run_us = 1 }]\n", expect![[r#"w.toml:3:9: unexpected string "three"; write a whole number from 0 to 4294967295"#]]);
    bad("[[task]]\nname = \"a\"\ncount = -1\nsteps = [{ run_us = 1 }]\n", expect!["w.toml:3:9: unexpected integer '-1'; write a whole number from 0 to 4294967295"]);
    bad("[[task]]\nname = \"a\"\npolicy = { class = \"fif\" }\nsteps = [{ run_us = 1 }]\n", expect!["w.toml:3:20: unknown value 'fif'; did you mean 'fifo'?"]);
    bad("name = \"other\"\n", expect!["w.toml:1:1: unexpected field 'name'; delete the line: the file's name is the name, 'w'"]);
    bad_steps("{ run_us = 1.5 }", expect!["w.toml:4:21: unexpected floating point '1.5'; write a whole number, 0 or more"]);
    bad_steps("\"yeild\"", expect!["w.toml:4:10: unknown step 'yeild'; did you mean 'yield'?"]);
    bad_steps("{ timer = { period_us = 5, skipp = true } }", expect!["w.toml:4:37: unknown field 'skipp'; did you mean 'skip'?"]);
    bad_steps("{ timer = { skip = true } }", expect!["w.toml:4:20: the field 'period_us' is missing; add 'period_us = …'"]);
}

#[test]
fn timers() {
    let timer = |number: u32| format!("{{ timer = {{ period_us = 5, name = \"{number}\" }} }}");
    let nine: Vec<String> = (1..=9).map(timer).collect();
    let eight = nine[..8].join(", ");
    assert!(toml(&format!("[[task]]\nname = \"t\"\nrepeat = 1\nsteps = [{eight}]\n")).is_ok());
    bad_steps(&nine.join(", "), expect!["w.toml:4:354: a task cannot have more than 8 timers; give the others to a second task"]);
}

#[test]
fn spans() {
    bad_steps("{ within = { us = 5, steps = [] } }", expect!["w.toml:4:10: a span without steps; write its steps or delete it"]);
    bad_steps("{ within = { us = 0, steps = [{ run_us = 1 }] } }", expect!["w.toml:4:10: 0 is out of range for a span's limit in µs; write 1 … 86400000000"]);
    bad_steps("{ within = { us = 5, steps = [{ lock = \"a\" }] } }", expect![[r#"w.toml:4:1: the task 't' ends its steps holding 'a'; add { unlock = "a" }"#]]);
    bad_steps("{ within = { us = 5, steps = [{ fork = { task = \"x\" } }] } }", expect!["w.toml:4:40: there is no task 'x' to fork; add a [[task]] with 'template = true'"]);
    bad(
        "[[task]]\nname = \"a\"\nrepeat = 1\nsteps = [{ fork = { task = \"b\" } }]\n\
         [[task]]\nname = \"b\"\ntemplate = true\n\
         steps = [{ within = { us = 5, steps = [{ run_us = 1 }] } }]\n",
        expect!["w.toml:8:10: the end of a forked task's span cannot be seen; put it into the task that forks, around the fork and wait_children"],
    );
}

#[test]
fn expressions() {
    bad("duration_us = \"= hgos * 3\"\n[parameters]\nhogs = 3\n", expect!["w.toml:1:18: unknown parameter 'hgos' in '= hgos * 3'; did you mean 'hogs'?"]);
    bad("duration_us = \"= 1 / (cpus - 2)\"\n", expect!["w.toml:1:20: division by zero in '= 1 / (cpus - 2)'"]);
    bad("duration_us = \"= 9223372036854775807 * cpus\"\n", expect!["w.toml:1:38: 9223372036854775807 * 2 is too large for a 64-bit number in '= 9223372036854775807 * cpus'"]);
    bad("duration_us = \"= (1 + 2\"\n", expect!["w.toml:1:18: this parenthesis is never closed in '= (1 + 2'"]);
    bad("[parameters]\nhogs = 3\n[[task]]\nname = \"a\"\ncount = \"= 1 - hogs\"\nsteps = [{ run_us = 1 }]\n",
        expect!["w.toml:5:9: '= 1 - hogs' is -2 with cpus=2, hogs=3; write a whole number from 0 to 4294967295"]);
    bad("[parameters]\ncpus = 3\n", expect!["w.toml:2:1: 'cpus' cannot be a parameter; 'cpus' is the machine's CPU count; choose another name"]);
    bad("[parameters]\nhogs = \"= more\"\n", expect!["w.toml:2:11: unknown parameter 'more' in '= more'; known are 'cpus'"]);
    bad("[parameters]\nhogs = \"three\"\n", expect![[r#"w.toml:2:8: unexpected string "three"; write a whole number"#]]);
    bad("[parameters]\nmy-hogs = 1\n", expect!["w.toml:2:1: 'my-hogs' cannot be a parameter; use letters, digits and _, and begin with a letter"]);
}

#[test]
fn columns_behind_an_expression_are_those_of_the_file() {
    bad("[[task]]\nname = \"é\"\nrepeat = 1\nsteps = [{ run_us = \"= 1000 * cpus\" }, { lokc = \"a\" }]\n", expect!["w.toml:4:42: unknown step 'lokc'; did you mean 'lock' or 'loop'?"]);
}

#[test]
fn tasks() {
    bad("about = \"nothing\"\n", expect!["w.toml: the workload has neither tasks nor a program; add a [[task]] table"]);
    bad("[[task]]\nname = \"a\"\nsteps = []\n", expect!["w.toml:1:1: the task 'a' has no steps; write e.g. steps = [{ run_us = 1000 }]"]);
    let task = "[[task]]\nname = \"a\"\nrepeat = 1\nsteps = [{ run_us = 1 }]\n";
    bad(&format!("{task}{task}"), expect!["w.toml:6:1: a second task named 'a'; give each group its own name"]);
    bad(&task.replace("\"a\"", "\"a_task_with_a_long_name\""), expect!["w.toml:2:1: 'a_task_with_a_long_name' is 23 bytes long; the kernel keeps 15: shorten it"]);
    bad(&task.replace("\"a\"", "\"all\""), expect!["w.toml:2:1: 'all' cannot be a task's name; 'all' and 'program' have a meaning in metrics; choose another"]);
    bad(&task.replace("\"a\"", "\"two words\""), expect!["w.toml:2:1: 'two words' cannot be a task's name; use letters, digits and _ . : - +, no spaces"]);
    bad(&task.replace("repeat = 1", "repeat = 1\ncount = 100001"), expect!["w.toml:4:1: 100001 tasks are too many; at most 100000 together"]);
    bad(&task.replace("repeat = 1", "repeat = 0"), expect!["w.toml:3:1: the number of rounds is out of range; write 1 … 1000000000, or leave it out to play until the end"]);
    bad(&task.replace("repeat = 1", "repeat = 1\naffinity = [0, 2]"), expect!["w.toml:4:1: there is no CPU 2; the machine's CPUs are 0 … 1"]);
    bad(&task.replace("repeat = 1", "repeat = 1\naffinity = [1, 1]"), expect!["w.toml:4:1: CPU 1 is named twice; name each CPU once"]);
    bad(&task.replace("repeat = 1", "repeat = 1\npolicy = { class = \"rr\" }"), expect!["w.toml:4:1: 'rr' needs a priority from 1 to 98; write e.g. priority = 50; 98 wins"]);
    bad(&task.replace("repeat = 1", "repeat = 1\npolicy = { priority = 5 }"), expect!["w.toml:4:1: 'other' has no priority; priority is for 'fifo' and 'rr'"]);
    bad(&task.replace("run_us = 1", "run_us = 86400000001"), expect!["w.toml:4:10: 86400000001 is out of range for time in µs; write 0 … 86400000000"]);
}

#[test]
fn steps_out_of_range() {
    bad_steps("{ nice = 20 }", expect!["w.toml:4:10: nice 20 is out of range; write -20 (most) … 19 (least)"]);
    bad_steps("{ affinity = [] }", expect!["w.toml:4:10: an empty list of CPUs; name at least one CPU"]);
    bad_steps("{ timer = { period_us = 0 } }", expect!["w.toml:4:10: a timer's period cannot be 0; write its period_us"]);
    bad_steps("{ loop = { count = 2, steps = [] } }", expect!["w.toml:4:10: a loop without steps; write its steps or delete it"]);
    bad_steps("{ lock = \"\" }", expect!["w.toml:4:10: an empty name; name the lock, condition, barrier, semaphore or task"]);
    bad_steps("{ write_file = { bytes = 0 } }", expect!["w.toml:4:10: 0 is out of range for file bytes; write 1 … 1073741824"]);
    bad_steps("{ read_file = { bytes = 0 } }", expect!["w.toml:4:10: 0 is out of range for file bytes; write 1 … 1073741824"]);
    bad_steps("{ write_memory = { bytes = 0 } }", expect!["w.toml:4:10: 0 is out of range for bytes; write 1 … 1073741824"]);
    bad_steps("{ write_null = { bytes = 1, buffer = 0 } }", expect!["w.toml:4:10: 0 is out of range for buffer bytes; write 1 … 1073741824"]);
}

#[test]
fn endings() {
    bad("[[task]]\nname = \"a\"\nsteps = [{ run_us = 1 }]\n",
        expect![[r#"w.toml: the workload never ends; add 'duration_us = …' (rt-app: "duration" in "global"), or 'repeat = …' to a task"#]]);
    bad("duration_us = 0\n[[task]]\nname = \"a\"\nsteps = [{ run_us = 1 }]\n", expect!["w.toml:1:1: a workload cannot last 0 µs; write a duration in µs"]);
    bad("reloads = 2\n[[task]]\nname = \"a\"\nrepeat = 1\nsteps = [{ run_us = 1 }]\n",
        expect!["w.toml:1:1: reloads without a duration; write duration_us = …: they are spread evenly over it"]);
    bad("duration_us = 9\n[[task]]\nname = \"a\"\nsteps = [{ resume = \"b\" }, { run_us = 0 }]\n",
        expect!["w.toml:2:1: the task 'a' repeats steps that take no time; add a step that runs or blocks, e.g. { sleep_us = 1000 }, or 'repeat = 1'"]);
    bad("[[task]]\nname = \"a\"\ncount = 0\nrepeat = 1\nsteps = [{ run_us = 1 }]\n",
        expect![[r#"w.toml: the workload never ends; add 'duration_us = …' (rt-app: "duration" in "global"), or 'repeat = …' to a task"#]]);
}

#[test]
fn headlines() {
    let with = |headline: &str| {
        format!(
            "headline = [\"{headline}\"]\n[[task]]\nname = \"waker\"\nrepeat = 1\nsteps = [{{ run_us = 1 }}]\n"
        )
    };
    bad(&with("wakeup_latency.p99 waker"), expect!["w.toml:1:13: unknown measure 'wakeup_latency'; did you mean 'wakeup_latency_ns'?"]);
    bad(&with("wakeup_latency_ns waker"), expect!["w.toml:1:13: 'wakeup_latency_ns' is a distribution; write 'wakeup_latency_ns.p99 waker'"]);
    bad(&with("wakeup_latency_ns.p98 waker"), expect!["w.toml:1:13: unknown statistic 'p98'; did you mean 'p90' or 'p99' or 'p50'?"]);
    bad(&with("completion_ns.p99 waker"), expect!["w.toml:1:13: 'completion_ns' is one number, not a distribution; write 'completion_ns waker'"]);
    bad(&with("completion_ns wakre"), expect!["w.toml:1:13: unknown task group 'wakre'; did you mean 'waker'?"]);
    bad(&with("completion_ns"), expect!["w.toml:1:13: 'completion_ns' is not a headline; write a measure and a task group, e.g. 'completion_ns all'"]);
}

#[test]
fn programs() {
    bad("[program]\ncommand = []\nparser = \"none\"\n", expect![[r#"w.toml:2:1: an empty command; write ["program", "argument"]"#]]);
    bad("[program]\ncommand = [\"cat\"]\nparser = \"none\"\nprepare = [[\"true\"], []]\n", expect![[r#"w.toml:4:1: an empty command; write [["program", "argument"]]"#]]);
    bad("[program]\ncommand = [\"cat\"]\nparser = \"none\"\nscratch = true\nsources = \"x\"\n",
        expect!["w.toml:5:1: a program cannot work in an empty folder and in a source tree; write one of them"]);
    bad("[program]\ncommand = [\"hackbench\"]\nparser = \"hackbensh\"\n", expect!["w.toml:3:1: unknown parser 'hackbensh'; did you mean 'hackbench'?"]);
    bad("[program]\ncommand = [\"hackbench\"]\n", expect!["w.toml:1:1: the field 'parser' is missing; add 'parser = …'"]);
}

#[test]
fn totals() {
    let with = |total: &str| {
        let group = |name| format!("[[task]]\nname = \"{name}\"\nsteps = [{{ run_us = 1 }}]\n");
        format!("duration_us = 9\n{}{}[[total]]\n{total}\n", group("a1"), group("a2"))
    };
    bad(&with("name = \"a1\"\ngroups = [\"a1\", \"a2\"]"), expect!["w.toml:9:1: there is a 'a1' already; choose another name"]);
    bad(&with("name = \"all\"\ngroups = [\"a1\", \"a2\"]"), expect!["w.toml:9:1: there is a 'all' already; choose another name"]);
    bad(&with("name = \"a\"\ngroups = [\"a1\", \"a3\"]"), expect!["w.toml:10:17: unknown task group 'a3'; did you mean 'a1' or 'a2'?"]);
    bad(&with("name = \"a\"\ngroups = [\"a1\", \"a1\"]"), expect!["w.toml:10:17: 'a1' is named twice; delete one of them"]);
    bad(&with("name = \"a\"\ngroups = [\"a1\"]"), expect!["w.toml:10:1: 'a' is no total; name two task groups or more"]);
}

#[test]
fn locks() {
    bad_steps("{ unlock = \"m\" }", expect![[r#"w.toml:4:10: the task does not hold 'm'; add { lock = "m" } before"#]]);
    bad_steps("{ lock = \"m\" }", expect![[r#"w.toml:4:1: the task 't' ends its steps holding 'm'; add { unlock = "m" }"#]]);
    bad_steps("{ lock = \"m\" }, { lock = \"m\" }, { unlock = \"m\" }", expect!["w.toml:4:26: the task already holds 'm' and would wait for itself; unlock 'm' first"]);
    bad_steps("{ wait = { condition = \"c\", lock = \"m\" } }, { signal = \"c\" }",
        expect![[r#"w.toml:4:10: waiting releases 'm', which the task does not hold; add { lock = "m" } before"#]]);
    bad_steps("{ loop = { count = 3, steps = [{ lock = \"m\" }] } }, { unlock = \"m\" }",
        expect!["w.toml:4:10: a round of this loop does not leave 'm' as it found it; lock and unlock inside the loop, or both outside"]);
    bad_steps("{ lock = \"m\" }, \"exit\"", expect!["w.toml:4:26: the task ends holding 'm'; unlock it before"]);
}

#[test]
fn waits() {
    bad_steps("{ lock = \"m\" }, { wait = { condition = \"c\", lock = \"m\" } }, { unlock = \"m\" }",
        expect![[r#"w.toml:4:26: nobody signals the condition 'c'; add a step { signal = "c" } to another task"#]]);
    bad_steps("{ suspend = \"\" }", expect![[r#"w.toml:4:10: nobody resumes 't'; add a step { resume = "t" } to another task"#]]);
    bad_steps("{ semaphore_wait = \"s\" }", expect![[r#"w.toml:4:10: nobody posts the semaphore 's'; add a step { semaphore_post = "s" } to another task"#]]);
}

#[test]
fn forks() {
    bad_steps("{ fork = { task = \"child\" } }", expect!["w.toml:4:10: there is no task 'child' to fork; add a [[task]] with 'template = true'"]);
    bad_steps("{ fork = { task = \"t\" } }", expect!["w.toml:4:10: 't' starts by itself and cannot be forked; add 'template = true' to the task 't'"]);
    bad_steps("\"wait_children\"", expect!["w.toml:4:10: the task 't' has no children to wait for; add a fork step before it, or delete it"]);
    bad_steps("\"exec\"", expect!["w.toml:4:10: only a forked task can exec; put it into a task with 'template = true'"]);
    let family = "[[task]]\nname = \"t\"\nrepeat = 1\nsteps = [{ fork = { task = \"c\" } }]\n\
                  [[task]]\nname = \"c\"\ntemplate = true\nsteps = [{ run_us = 1 }]\n";
    bad(&family.replace("{ run_us = 1 }", "{ fork = { task = \"c\" } }"), expect!["w.toml:4:10: 'c' forks itself without end; let templates fork only others that do not lead back"]);
    bad(&family.replace("{ task = \"c\" }", "{ task = \"d\" }"), expect!["w.toml:4:10: there is no task 'd' to fork; known are 'c'"]);
    bad(&family.replace("template = true", "template = true\nrepeat = 3"), expect!["w.toml:8:1: a forked task plays its steps once; use a loop step instead"]);
    bad(&family.replace("template = true", "template = true\ncount = 3"), expect!["w.toml:8:1: a template has no count; the fork step says how many"]);
    bad(&family.replace("{ run_us = 1 }", "\"exec\", { run_us = 1 }"), expect!["w.toml:8:10: steps after exec are never played; make exec the last step"]);
    bad(&family.replace("task = \"c\"", "task = \"c\", count = 100001"), expect!["w.toml:4:10: 100001 is out of range for forked tasks; write 0 … 100000"]);
    bad(
        &family.replace(
            "{ fork = { task = \"c\" } }",
            "{ loop = { count = 1000, steps = [{ fork = { task = \"c\", count = 1000 } }] } }",
        ),
        expect!["w.toml:1:1: a round of 't' forks 1000000 processes; at most 100000: fork fewer, or repeat rounds with wait_children"],
    );
    bad(&family.replace("{ fork = { task = \"c\" } }", "{ run_us = 1 }"),
        expect![[r#"w.toml:5:1: nobody forks the template 'c'; add a step { fork = { task = "c" } }, or delete the template"#]]);
}

#[test]
fn channels() {
    let talk = "[[channel]]\nname = \"pipe\"\ncount = 2\n\
        [[task]]\nname = \"s\"\ncount = 2\nrepeat = 3\nsteps = [{ send = { channel = \"pipe\", bytes = 1 } }]\n\
        [[task]]\nname = \"r\"\ncount = 2\nrepeat = 3\nsteps = [{ receive = { channel = \"pipe\", bytes = 1 } }]\n";
    bad(&talk.replace("channel = \"pipe\"", "channel = \"pip\""), expect!["w.toml:8:10: there is no channel 'pip'; did you mean 'pipe'?"]);
    bad(&talk.replacen("repeat = 3", "repeat = 4", 1), expect!["w.toml:1:1: 'pipe': 8 messages sent but 6 received; make repeat × count × fan of both sides agree"]);
    bad(&talk.replacen("bytes = 1 ", "bytes = 2 ", 1), expect!["w.toml:1:1: messages of 'pipe' have different sizes; send and receive the same number of bytes"]);
    bad(&talk.replacen("bytes = 1 ", "bytes = 1, fan = 3 ", 1), expect!["w.toml:8:10: fan 3 does not fit 'pipe', which has 2 members; write 1 … 2"]);
    bad(&talk.replacen("bytes = 1 ", "bytes = 100000 ", 1), expect!["w.toml:8:10: 100000 is out of range for message bytes; write 1 … 65536"]);
    bad(&talk.replace("receive", "send"), expect!["w.toml:1:1: nobody receives from 'pipe'; add a receive step"]);
    bad(&talk.replace("send", "receive"), expect!["w.toml:1:1: nobody sends to 'pipe'; add a send step"]);
    bad("[[channel]]\nname = \"pipe\"\ncount = 2\n[[task]]\nname = \"a\"\nrepeat = 1\nsteps = [\"yield\"]\n",
        expect!["w.toml:1:1: nobody uses the channel 'pipe'; add send and receive steps, or delete it"]);
    bad(&talk.replacen("[[channel]]", "[[channel]]\nname = \"pipe\"\ncount = 1\n[[channel]]", 1), expect!["w.toml:5:1: a second channel named 'pipe'; give each channel its own name"]);
}

#[test]
fn interrupts() {
    let table = |lines: &str| {
        format!("duration_us = 1000\n[[interrupt]]\n{lines}\n[[task]]\nname = \"t\"\nsteps = [{{ run_us = 1 }}]\n")
    };
    bad(&table("every_us = 5\nlength_us = 1"), expect!["w.toml:3:1: 5 is out of range for time between interrupts in µs; write 10 … 86400000000"]);
    bad(&table("every_us = 500\nlength_us = 0"), expect!["w.toml:4:1: 0 is out of range for an interrupt's length in µs; write 1 … 10000"]);
    bad(&table("every_us = 500\nlength_us = 460"), expect!["w.toml:2:1: the interrupts of CPU 0 take 92 % of it; leave time for tasks: 90 % at most"]);
    assert!(toml(&table("every_us = 100\nlength_us = 90")).is_ok());
    bad(&table("every_us = 100\nlength_us = 60\n[[interrupt]]\nevery_us = 100\nlength_us = 31\ncpus = [1]"), expect!["w.toml:5:1: the interrupts of CPU 1 take 91 % of it; leave time for tasks: 90 % at most"]);
    bad(&table("every_us = 500\nlength_us = 50\ncpus = [0, 4000]"), expect!["w.toml:5:1: there is no CPU 4000; the machine's CPUs are 0 … 1"]);
    bad(&table("every_us = 500\nlengths_us = 50"), expect!["w.toml:4:1: unknown field 'lengths_us'; did you mean 'length_us'?"]);
}

#[test]
fn mutexes() {
    let table = |lines: &str| {
        format!("{lines}[[task]]\nname = \"t\"\nrepeat = 1\nsteps = [{{ lock = \"mm\" }}, {{ run_us = 1 }}, {{ unlock = \"mm\" }}]\n")
    };
    let one = "[[mutex]]\nname = \"mm\"\nprotocol = \"inherit\"\n";
    assert!(toml(&table(one)).is_ok());
    bad(&table(&one.replace("inherit", "inherits")), expect!["w.toml:3:12: unknown value 'inherits'; did you mean 'inherit'?"]);
    bad(&table(&one.repeat(2)), expect!["w.toml:5:1: a second mutex named 'mm'; write its protocol in one [[mutex]]"]);
    bad(&table(&one.replace("mm", "mn")), expect!["w.toml:2:1: no step takes the mutex 'mn'; did you mean 'mm'?"]);
    bad(&table(&one.replace("mm", "other")), expect!["w.toml:2:1: no step takes the mutex 'other'; known are 'mm'"]);
    bad(&table(&one.replace("name = \"mm\"\n", "")), expect!["w.toml:1:1: the field 'name' is missing; add 'name = …'"]);
}

#[test]
fn ceilings() {
    let task = |lines: &str, steps: &str| {
        format!("[[mutex]]\nname = \"m\"\n{lines}\n[[task]]\nname = \"t\"\npolicy = {{ class = \"fifo\", priority = 20 }}\n{steps}")
    };
    let locked = "repeat = 2\nsteps = [{ lock = \"m\" }, { run_us = 1 }, { unlock = \"m\" }]\n";
    let table = |lines: &str| task(lines, locked);
    let ceiling = "protocol = \"ceiling\"\nceiling = 20";
    assert!(toml(&table(ceiling)).is_ok());
    bad(&table("protocol = \"ceiling\""), expect!["w.toml:3:1: the ceiling of 'm' is missing; write 'ceiling = …', the highest priority of the tasks that take it"]);
    bad(&table("protocol = \"ceiling\"\nceiling = 99"), expect!["w.toml:4:1: 99 is out of range for a ceiling; write 1 … 98"]);
    bad(&table("ceiling = 20"), expect![[r#"w.toml:3:1: the protocol of 'm' has no ceiling; write protocol = "ceiling", or leave the ceiling out"#]]);
    bad(&table(&ceiling.replace("20", "19")), expect!["w.toml:9:10: the task's priority 20 is above the ceiling 19 of 'm' (EINVAL); write the highest priority of the tasks that take it as its ceiling"]);
    bad(&table(ceiling).replace("class = \"fifo\", priority = 20", "class = \"other\""), expect!["w.toml:9:10: a task of the class 'other' cannot take 'm': the C library refuses mutexes with a ceiling to all but real-time tasks (EINVAL); give the task a policy 'fifo' or 'rr', or the mutex the protocol 'inherit'"]);
    let steps = |steps: &str| {
        let steps = steps.replace("UNLOCK", "{ unlock = \"m\" }");
        let steps = steps.replace("LOCK", "{ lock = \"m\" }, { run_us = 1 }");
        task(ceiling, &format!("repeat = 2\nsteps = [{steps}]\n"))
    };
    let to = |priority: u32| format!("{{ policy = {{ class = \"rr\", priority = {priority} }} }}");
    assert!(toml(&steps(&format!("LOCK, {}, UNLOCK, {}", to(5), "{ policy = { class = \"fifo\", priority = 20 } }"))).is_ok());
    bad(&steps(&format!("LOCK, UNLOCK, {}", to(5))), expect!["w.toml:9:1: a round of these steps, which take a mutex with a ceiling, changes the policy; end the round with a step { policy = … } that restores the first one"]);
    bad(&steps(&format!("{}, {{ loop = {{ count = 2, steps = [LOCK, UNLOCK, {}] }} }}", to(5), to(6))), expect!["w.toml:9:55: a round of these steps, which take a mutex with a ceiling, changes the policy; end the round with a step { policy = … } that restores the first one"]);
    bad(&steps("LOCK, { policy = { class = \"other\" } }, UNLOCK"), expect!["w.toml:9:42: the task cannot become 'other' while it holds a mutex with a ceiling; unlock it before"]);
}

#[test]
fn joins() {
    let joined = "[[task]]\nname = \"work\"\nrepeat = 2\nsteps = [{ run_us = 1 }]\n";
    let join = |lines: &str, step: &str| {
        format!("{joined}[[task]]\nname = \"main\"\n{lines}\nsteps = [{step}]\n")
    };
    let step = "{ join = \"work\" }";
    let once = join("repeat = 1", step);
    assert!(toml(&once).is_ok());
    assert!(toml(&once.replace("repeat = 2\nsteps = [{ run_us = 1 }]", "steps = [\"exit\"]")).is_ok());
    bad(&join("repeat = 1", "{ join = \"works\" }"), expect!["w.toml:8:10: there is no task 'works'; there are work, main"]);
    bad(&join("repeat = 1", "{ join = \"main\" }"), expect!["w.toml:8:10: 'main' and 'main' would wait for each other's end; let one of them end without a join"]);
    bad(&join("repeat = 1", &format!("{step}, {step}")), expect!["w.toml:8:29: the tasks 'work' are joined twice; a thread is joined once: write one step 'join'"]);
    bad(&join("repeat = 2", step), expect!["w.toml:8:10: a thread is joined once, and this step would be played more often; write it outside loops, in a task with repeat = 1 and without a count"]);
    bad(&join("repeat = 1\ncount = 2", step), expect!["w.toml:9:10: a thread is joined once, and this step would be played more often; write it outside loops, in a task with repeat = 1 and without a count"]);
    bad(&join("repeat = 1", &format!("{{ loop = {{ count = 2, steps = [{step}] }} }}")), expect!["w.toml:8:41: a thread is joined once, and this step would be played more often; write it outside loops, in a task with repeat = 1 and without a count"]);
    bad(&once.replace("repeat = 2\n", ""), expect!["w.toml:7:10: the tasks 'work' never end; add 'repeat = …' to the task 'work'"]);
    bad(&once.replace("repeat = 2\n", "template = true\n").replace(step, "{ fork = { task = \"work\" } }, { join = \"work\" }"), expect!["w.toml:8:40: 'work' is a template; write wait_children in the task that forks it"]);
    bad(&once.replace("repeat = 2\nsteps = [{ run_us = 1 }]", "repeat = 1\nsteps = [{ join = \"main\" }]"), expect!["w.toml:8:10: 'main' and 'work' would wait for each other's end; let one of them end without a join"]);
}

#[test]
fn clamps() {
    let file = |group: &str, task: &str, step: &str| {
        format!("[[group]]\nname = \"g\"\nuclamp = {group}\n[[task]]\nname = \"t\"\nrepeat = 1\nuclamp = {task}\nsteps = [{{ run_us = 1 }}, {{ uclamp = {step} }}]\n")
    };
    let some = "{ min = 0, max = 1024 }";
    assert!(toml(&file(some, "{ min = 5 }", "{ max = 5 }")).is_ok());
    bad(&file("{ min = 1025 }", some, some), expect!["w.toml:3:12: 1025 is out of range for a clamp; write 0 … 1024"]);
    bad(&file(some, "{ min = 6, max = 5 }", some), expect!["w.toml:7:1: the lower clamp 6 is above the upper one, 5; write min and max in order"]);
    bad(&file(some, some, "{ max = 2000 }"), expect!["w.toml:8:26: 2000 is out of range for a clamp; write 0 … 1024"]);
    bad(&file(some, some, "{ least = 2 }"), expect!["w.toml:8:39: unknown field 'least'; known are 'min', 'max'"]);
    bad(&file("50", some, some), expect!["w.toml:3:10: unexpected integer '50'; write a table: { … = … }"]);
}

#[test]
fn sessions() {
    let session = |lines: &str, task: &str| {
        format!("duration_us = 1000\n[[session]]\n{lines}\n[[task]]\nname = \"t\"\n{task}\nsteps = [{{ run_us = 1 }}]\n")
    };
    bad(&session("name = \"a\"", "session = \"b\""), expect!["w.toml:6:1: there is no session 'b'; there are a"]);
    let forks = "[[task]]\nname = \"p\"\nsteps = [{ fork = { task = \"t\" } }, \"wait_children\"]\n";
    bad(&(session("name = \"a\"", "template = true\nsession = \"a\"") + forks), expect!["w.toml:7:1: forked tasks are in the session of their parent; leave it out"]);
    bad(&session("name = \"\"", ""), expect!["w.toml:3:1: '' cannot be a session's name; use letters, digits and _ - . in names; a letter or digit first"]);
    bad(&session("name = \"a/b\"", ""), expect!["w.toml:3:1: 'a/b' cannot be a session's name; use letters, digits and _ - . in names; a letter or digit first"]);
    bad(&session("name = \"a\"\n[[session]]\nname = \"a\"", ""), expect!["w.toml:5:1: a second session named 'a'; give each session its own name"]);
    bad(&session("name = \"a\"\nnice = 20", ""), expect!["w.toml:4:1: 20 is no nice value; write -20 … 19"]);
    bad(&session(&(0..64).map(|number| format!("name = \"s{number}\"\n")).collect::<Vec<_>>().join("[[session]]\n"), ""), expect!["w.toml:2:3: 64 sessions are too many; at most 63"]);
    bad("duration_us = 1000\n[program]\ncommand = [\"true\"]\nparser = \"none\"\nsession = \"a\"\n", expect!["w.toml:5:1: there is no session 'a'; add a [[session]] with name = \"a\""]);
}

#[test]
fn control_groups() {
    let group = |lines: &str| {
        format!(
            "[[group]]\nname = \"a\"\n{lines}\n[[task]]\nname = \"t\"\ngroup = \"a\"\n\
             steps = [{{ run_us = 1 }}]\n"
        )
    };
    let named = |name: &str| group("").replace("name = \"a\"", &format!("name = \"{name}\""));
    bad(&named("b"), expect!["w.toml:6:1: there is no group 'a'; there are b"]);
    bad(&named("a/../b"), expect!["w.toml:2:1: 'a/../b' cannot be a group's name; use letters, digits and _ - . in names, and / between them; a letter or digit first"]);
    bad(&named("a b"), expect!["w.toml:2:1: 'a b' cannot be a group's name; use letters, digits and _ - . in names, and / between them; a letter or digit first"]);
    bad(&named("/a"), expect!["w.toml:2:1: '/a' cannot be a group's name; use letters, digits and _ - . in names, and / between them; a letter or digit first"]);
    bad(&named("cpu.max"), expect!["w.toml:2:1: 'cpu.max' is a name of the kernel's; choose one that does not begin like a file of the kernel"]);
    bad(&named(&"a/".repeat(100)[..199]), expect!["w.toml:2:1: the group is too deep; write at most 8 names"]);
    bad(&named("\\u001b[31m"), expect![[r#"w.toml:2:1: '\u{1b}[31m' cannot be a group's name; use letters, digits and _ - . in names, and / between them; a letter or digit first"#]]);
    bad(&group("weight = 0"), expect!["w.toml:3:1: 0 is out of range for weight; write 1 … 10000"]);
    bad(&group("weight = 100\nidle = true"), expect!["w.toml:1:1: a group has one of 'weight', 'nice' and 'idle'; write the one that counts"]);
    bad(&group("nice = 20"), expect!["w.toml:3:1: 20 is no nice value; write -20 … 19"]);
    bad(&group("quota_us = 0"), expect!["w.toml:3:1: 0 is out of range for quota_us; write 1000 … 86400000000"]);
    bad(&group("quota_us = 5000\nperiod_us = 2000000"), expect!["w.toml:4:1: 2000000 is out of range for period_us; write 1000 … 1000000"]);
    bad(&group("period_us = 10000"), expect!["w.toml:3:1: 'period_us' without a quota; add 'quota_us = …'"]);
    bad(&group("quota_us = 5000\nburst_us = 6000"), expect!["w.toml:4:1: 6000 is out of range for burst_us; write 0 … 5000"]);
    bad(&group("cpus = [7]"), expect!["w.toml:3:1: there is no CPU 7; the machine's CPUs are 0 … 1"]);
    bad(&group("cpu_weight = 5"), expect!["w.toml:3:1: unknown field 'cpu_weight'; did you mean 'weight'?"]);
    bad(&format!("{}[[group]]\nname = \"a\"\n", group("")), expect!["w.toml:9:1: a second group named 'a'; write all of its settings in one [[group]]"]);
    bad(&format!("{}[[group]]\nname = \"a/b\"\ncpus = [1]\n", group("cpus = [0]")), expect!["w.toml:10:1: CPU 1 is none of the parent's; a group's CPUs are some of its parent's"]);
    bad(&group("cpus = [0]").replace("steps", "affinity = [1]\nsteps"), expect!["w.toml:7:1: no CPU of the task is one of the group 'a'; name CPUs that both have"]);
    bad(&group("").replace("{ run_us = 1 }", "{ group = \"x\" }, { run_us = 1 }"), expect!["w.toml:7:10: there is no group 'x'; there are a"]);
    let change = "{ set_group = { name = \"a\", weight = 20000 } }, { run_us = 1 }";
    bad(&group("").replace("{ run_us = 1 }", change), expect!["w.toml:7:10: 20000 is out of range for weight; write 1 … 10000"]);
    let steps = |steps: &str| group("").replace("{ run_us = 1 }", steps);
    bad(&steps("{ make_group = \"a\" }, { run_us = 1 }"), expect!["w.toml:7:10: the group 'a' is there from the beginning; add 'absent = true' to its table: steps make and remove such groups"]);
    bad(&steps("{ remove_group = \"b\" }, { run_us = 1 }"), expect!["w.toml:7:10: there is no group 'b'; there are a"]);
    bad(&steps("{ set_group = { name = \"a\", absent = true } }, { run_us = 1 }"), expect!["w.toml:7:10: a change cannot make a group absent; write it in the group's table, and the step remove_group here"]);
    bad(&group("absent = true"), expect!["w.toml:6:1: the group 'a' is not there at the beginning; start elsewhere, and enter it by { group = … } after make_group"]);
    bad(&format!("{}[[group]]\nname = \"b\"\nabsent = true\n[[group]]\nname = \"b/c\"\n", group("")), expect!["w.toml:11:1: 'b/c' is there from the beginning, and 'b' is not; add 'absent = true' to it, too"]);
    bad("[program]\ncommand = [\"true\"]\nparser = \"none\"\ngroup = \"a\"\n", expect![[r#"w.toml:4:1: there is no group 'a'; add a [[group]] with name = "a""#]]);
    let many: String = (0..10_000).map(|n| format!("[[group]]\nname = \"g{n}\"\n")).collect();
    bad(&format!("{many}{}", group("")), expect!["w.toml:1:3: 10001 groups are too many; at most 63 together, parents included"]);
}
