// SPDX-License-Identifier: GPL-2.0-only
//! `fairground explain`: of a trial that runs now, of one in a store, and what it says when there
//! is nothing to explain.

use expect_test::expect;
use model::Costs;

use crate::common::{Bench, stderr, stdout};

/// Two hogs on one CPU, while the other one idles most of the time.
const BOUND: &str = "# SPDX-License-Identifier: GPL-2.0-only
about = \"bound hogs and a sleeper\"
duration_us = 40000

[[task]]
name = \"hog\"
count = 2
affinity = [0]
steps = [{ run_us = 1000 }]

[[task]]
name = \"sleeper\"
steps = [{ run_us = 500 }, { sleep_us = 5000 }]
";

fn bench() -> Bench {
    let bench = Bench::new();
    // Only the tasks' own work takes time, so that no calibration changes what is expected here.
    bench.write_machine("free.toml", 2, &Costs::FREE);
    bench.write("bound.toml", BOUND);
    bench
}

fn now(bench: &Bench, more: &[&str]) -> String {
    let load = ["--workload", "./bound.toml", "--machine", "./free.toml"];
    let words = [&["explain", "--scheduler", "rr slice_us=4000"], &load[..], more].concat();
    stdout(&bench.run(&words).success())
}

#[test]
fn a_trial_that_runs_now() {
    let shown = now(&bench(), &[]);
    // The first line holds the trial's identity, which other schedulers' texts would change.
    let (title, rest) = shown.split_once('\n').expect("several lines");
    assert!(title.starts_with("rr slice_us=4000 in bound on free (sim), trial "), "{title}");
    // How tasks are started and ended decides about a switch more or less.
    let (facts, rest) = rest.split_once("\n\n").expect("several parts");
    assert!(facts.starts_with("40.0 ms on 2 CPUs, 2"), "{facts}");
    expect![[r#"
        Where the time went
                                  tasks        running        waiting       sleeping        blocked  longest wait
          hog                         2 40.0 ms 50.0 % 40.0 ms 50.0 %              –              –       4.47 ms
          sleeper                     1 4.00 ms 10.0 %              – 36.0 ms 90.0 %              –             –
          others                      1              –              – 40.0 ms  100 %              –             –
          task by task
          hog/1                       1 19.5 ms 48.8 % 20.5 ms 51.2 %              –              –       4.47 ms
          hog/0                       1 20.5 ms 51.2 % 19.5 ms 48.8 %              –              –       4.00 ms

        What ran instead of waiting tasks
          hog waited 10 times, 40.0 ms in all; meanwhile its CPU ran hog 100 %.

        The longest waits
          4.47 ms: hog/1
          It was woken at 0.000 ms on CPU 0, and was put into queue 0 behind 1 other. It may only use CPU 0. Meanwhile
            CPU 0 ran hog/0 for 4.47 ms (until its slice ended). CPU 0 took it from queue 0 and ran it at 4.470 ms, for
            at most 4.00 ms.
          4.00 ms: hog/0
          It lost CPU 0 to hog/1 at 4.470 ms, because its slice was used up, and was put into queue 0 as its first. It
            may only use CPU 0. Meanwhile CPU 0 ran hog/1 for 4.00 ms (until its slice ended). CPU 0 took it from queue
            0 and ran it at 8.470 ms, for at most 4.00 ms.
          4.00 ms: hog/1
          It lost CPU 0 to hog/0 at 8.470 ms, because its slice was used up, and was put into queue 0 as its first. It
            may only use CPU 0. Meanwhile CPU 0 ran hog/0 for 4.00 ms (until its slice ended). CPU 0 took it from queue
            0 and ran it at 12.470 ms, for at most 4.00 ms.

        Idle while work waited
          No CPU ever idled while a task waited that could have used it.

        Timeline
          What had the CPU longest in each 500 µs: a hog, b sleeper, * others, . idle.
          CPU 0    aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
          CPU 1    b..........b..........b..........b..........b..........b..........b..........b..
                   0.000 ms                                                               40.000 ms
          The longest wait, one sign per 60.5 µs: # runs, - waits, · sleeps.
          hog/1                   --------------------------------------------------------------------------######
          hog/0                   ##########################################################################------
                                  0.000 ms                                                                4.842 ms

        Its callbacks
                                       calls per second  mean time share of CPUs
          select_cpu                       8        200       0 ns         0.0 %
          enqueue                         11        275       0 ns         0.0 %
          dispatch                        18        450       0 ns         0.0 %
          A call takes what the machine's [costs] say, not what the code takes.

        Its queues
                           put in depth median  p99  max wait median     p99     max depth over time
          queue 0              11            1    1    2     4.00 ms 4.47 ms 4.47 ms ████████████████████████
          local, CPU 0         10            0    0    1        0 ns    0 ns    0 ns
          local, CPU 1          8            0    0    1        0 ns    0 ns    0 ns

        Its variables over time
                                       first       last        min     median        max over time
          may_have_work[]                  0          1          0          1          1 ▁███████████████████████

        Its variables at the end
          may_have_work = 128 values: 0 … 0 … 1, not 0: 1
          nr_cpus = 2
    "#]].assert_eq(rest);
}

#[test]
fn the_numbers_of_the_json_form_add_up() {
    let shown = now(&bench(), &["--format", "json"]);
    let json: serde_json::Value = serde_json::from_str(&shown).expect("JSON");
    assert_eq!(json["backend"], "sim");
    let tasks = json["explanation"]["tasks"].as_array().expect("tasks");
    let ns = |task: &serde_json::Value, key: &str| task[key].as_u64().expect("a number");
    for task in tasks {
        let states = ["running_ns", "waiting_ns", "sleeping_ns", "blocked_ns"];
        let sum: u64 = states.iter().map(|state| ns(task, state)).sum();
        assert_eq!(sum, ns(task, "lifetime_ns"), "{task}");
        let instead = task["instead_ns"].as_object().expect("sums").values();
        let instead: u64 = instead.map(|sum| sum.as_u64().expect("a number")).sum();
        assert_eq!(instead + ns(task, "cpu_idle_ns"), ns(task, "waiting_ns"), "{task}");
    }
    assert_eq!(tasks.iter().filter(|task| task["group"] == "hog").count(), 2);
}

#[test]
fn a_trial_of_a_store_by_the_beginning_of_its_identity() {
    let bench = bench();
    bench
        .line(
            "run --on sim --scheduler fifo --workload ./bound.toml --blocks 2 --exploratory \
             --machine ./free.toml --trace",
        )
        .success();
    let records = bench.records("fairground.db");
    let traced = records.iter().find(|record| record.trial.trace).expect("one is traced");
    let id = traced.trial.id();
    let shown = stdout(&bench.run(&["explain", &id[..6]]).success());
    assert!(shown.contains(&format!("trial {id}")), "{shown}");

    let refusal = |arguments: &[&str]| stderr(&bench.run(arguments).code(2)).replace(&id, "ID");
    expect![[r#"
        fairground: fairground.db: has no trial `zzz`; traced are
          ID  fifo in bound on free (sim)
    "#]]
    .assert_eq(&refusal(&["explain", "zzz"]));
    expect![[r#"
        fairground: fairground.db: say which trial; traced are
          ID  fifo in bound on free (sim)
    "#]]
    .assert_eq(&refusal(&["explain"]));
    let bare = records.iter().find(|record| !record.trial.trace).expect("one is not");
    let said = refusal(&["explain", &bare.trial.id()]);
    assert!(said.contains("has no trace; traced are\n  ID  fifo in bound"), "{said}");
}

#[test]
fn what_a_scheduler_printed_and_where_it_left_a_task() {
    let bench = Bench::new();
    let own = "#include <scx/common.bpf.h>\nchar _license[] SEC(\"license\") = \"GPL\";\n\
               void BPF_STRUCT_OPS(own_enqueue, struct task_struct *p, u64 flags)\n{\n\
               \tbpf_printk(\"task %d\", p->pid);\n\tKEEP\n}\n\
               s32 BPF_STRUCT_OPS_SLEEPABLE(own_init)\n{\n\
               \treturn scx_bpf_create_dsq(7, -1);\n}\n\
               SCX_OPS_DEFINE(own_ops, .enqueue = (void *)own_enqueue,\n\
               \t.init = (void *)own_init, .name = \"own\");\n";
    let places =
        [("", "with the scheduler"), ("scx_bpf_dsq_insert(p, 7, 1000000, flags);", "dsq=0x7")];
    for (keep, place) in places {
        bench.write("own.bpf.c", &own.replace("KEEP", keep));
        let words = ["explain", "--scheduler", "./own.bpf.c", "--workload", "messaging"];
        let said = stdout(&bench.run(&words).code(1));
        let titles = ["When it was ejected\n", "bpf_printk\n  task "];
        assert!(titles.iter().all(|title| said.contains(title)), "{said}");
        let line = said.lines().find(|line| line.contains(" waits ")).expect("a task that waits");
        assert!(line.contains(place), "{line}");
    }
}

/// Two tasks that only compute, each in a group of its own.
fn rivals(web: &str, hog: &str) -> String {
    let task = |name, group| {
        format!("[[task]]\nname = {name:?}\ngroup = {group:?}\nsteps = [{{ run_us = 1000 }}]\n")
    };
    format!(
        "# SPDX-License-Identifier: GPL-2.0-only\nabout = \"two groups\"\nduration_us = 500000\n\
         [[group]]\nname = \"web\"\n{web}\n[[group]]\nname = \"hog\"\n{hog}\n{}{}",
        task("server", "web"),
        task("compiler", "hog")
    )
}

#[test]
fn a_group_that_had_used_its_quota_or_its_share() {
    let bench = bench();
    bench.write("quota.toml", &rivals("quota_us = 50000\nweight = 1000", ""));
    // Both groups also ran for a moment during the wait: that is no small share.
    let steps = "count = 2\nsteps = [{ run_us = 3000 }, { sleep_us = 1000 }]";
    let busy = rivals("quota_us = 20000", "").replacen("steps = [{ run_us = 1000 }]", steps, 1);
    bench.write("busy.toml", &busy);
    bench.write("share.toml", &rivals("weight = 10", ""));
    bench.write_machine("one.toml", 1, &Costs::FREE);
    let told = |scheduler: &str, load: &str| {
        let words = ["explain", "--scheduler", scheduler, "--workload", load];
        let rest = ["--machine", "./one.toml", "--task", "server", "--worst", "1"];
        let shown = stdout(&bench.run(&[&words[..], &rest].concat()).success());
        shown.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let quota = "server/0 Its group `web` had used its quota of 50.0 ms in 100 ms, and none of \
                 its tasks ran for ";
    let share = "server/0 Its group `web` had used its share, 9.1 % (weight 10 of 110): it had ";
    for scheduler in ["eevdf", "cfs"] {
        for (load, sentence) in [("./quota.toml", quota), ("./share.toml", share)] {
            let shown = told(scheduler, load);
            assert!(shown.contains(sentence), "{scheduler}, {load}: {shown}");
        }
        let shown = told(scheduler, "./busy.toml");
        assert!(shown.contains("had used its quota of 20.0 ms in 100 ms"), "{scheduler}: {shown}");
    }
    assert!(!told("rr", "./quota.toml").contains("group"), "it disregards groups");
}
