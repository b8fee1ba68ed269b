// SPDX-License-Identifier: GPL-2.0-only
//! Files that `import` does not read.

use std::io::Write;

use expect_test::expect;

use crate::common::{Bench, stderr};

/// Files of other kinds are told by what they are, with the command that makes readable ones.
#[test]
fn what_is_not_read_is_named_with_what_helps() {
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packer.write_all(b"version = 6\n").expect("packed");
    let packed = packer.finish().expect("packed");
    let files: [(&[u8], &[&str]); 22] = [
        (b"\x17\x08\x44tracing7\0", &[]),
        (b"PERFILE2\x68\0\0", &["-o", "x.toml"]),
        (&packed, &[]),
        (b"\x28\xb5\x2f\xfd\0\0", &[]),
        (b"\x7fELF\x02\x01\x01", &[]),
        (b"SQLite format 3\0", &[]),
        (b"\xff\xfe{\0", &[]),
        (b"      time    cpu  task name           wait time  sch delay   run time\n", &[]),
        (
            b"  Task   |   Runtime ms  | Switches | Avg delay ms | Max delay ms |\n",
            &["-o", "x.toml"],
        ),
        (b"  *A0           238098.462318 secs A0 => perf:99001\n", &[]),
        (b" Performance counter stats for 'x':\n", &[]),
        (b"# Running 'futex/hash' benchmark:\n", &[]),
        (b"{\"traceEvents\": []}", &[]),
        (b"     usecs               : count     distribution\n", &[]),
        (b"T: 0 (  5) P:80 C:    100 Min:     62 Act:   70 Avg:   70 Max:     150\n", &[]),
        (b"  Time (mean \xc2\xb1 \xcf\x83):  1.0 ms\n", &[]),
        (b"  Time (mean \xc2\xb1 \xcf\x83):  1.0 ms\n", &["--as", "hyperfine"]),
        (b"0.1% Min FPS,1% Min FPS\n", &[]),
        (b"fio-3.33\n  read: IOPS=12\n", &[]),
        (b"swapper 0  17.000001: sched:sched_switch: prev_comm=a\n", &[]),
        (b"swapper 0  17.000001: sched:sched_switch: prev_comm=a\n", &["-o", "x.toml"]),
        (b"\x00\x80\xfe", &[]),
    ];
    let said = |(bytes, more): &(&[u8], &[&str])| {
        let bench = Bench::new();
        std::fs::write(bench.path("result"), bytes).expect("written");
        stderr(&bench.run(&[&["import", "result"], *more].concat()).code(2))
    };
    expect![[r#"
        fairground: result: trace-cmd's own file; import its text: `trace-cmd report -i result > trace.txt`
        fairground: result: perf's own file; import its text: `perf script --ns -i result > trace.txt`
        fairground: result: packed by gzip; unpack it: `zcat result > unpacked`
        fairground: result: packed by zstd; unpack it: `zstd -dc result > unpacked`
        fairground: result: a program, and no result; run it, and import what it prints
        fairground: result: a database; a store needs no import: `fairground compare --store result`
        fairground: result: text in UTF-16; convert it: `iconv -f UTF-16 -t UTF-8 result > result.txt`
        fairground: result: a table of perf sched timehist; it has no events; import those of its perf.data: `perf script --ns > trace.txt`
        fairground: result: a table of perf sched latency; it has no events; import those of its perf.data: `perf script --ns > trace.txt`
        fairground: result: a table of perf sched map; it has no events; import those of its perf.data: `perf script --ns > trace.txt`
        fairground: result: counts of perf stat; no measure here counts them; import what the program itself prints
        fairground: result: a result of perf bench; of its benchmarks only `perf bench sched messaging` and `pipe` are read
        fairground: result: a trace in Chrome's JSON; record it in Perfetto's own form, a .pftrace
        fairground: result: a histogram of BCC or bpftrace; it has no tasks; `fairground record` sees each of them
        fairground: result: a result of another program of rt-tests; cyclictest measures the like: `cyclictest -q -h 1000 --json=result.json`
        fairground: result: what hyperfine shows; import its JSON: `hyperfine --export-json result.json COMMAND`
        fairground: result: what hyperfine shows; import its JSON: `hyperfine --export-json result.json COMMAND`
        fairground: result: MangoHud's summary; import the log beside it, which has a line for each frame
        fairground: result: fio's result; no measure here is about input and output
        fairground: result: its lines lack the task, the CPU or the time; import the text of `perf script --ns -F comm,tid,cpu,time,event,trace`, or of ftrace with its option context-info, a clock that counts time, and without its options raw, hex, bin and verbose
        fairground: result: its lines lack the task, the CPU or the time; import the text of `perf script --ns -F comm,tid,cpu,time,event,trace`, or of ftrace with its option context-info, a clock that counts time, and without its options raw, hex, bin and verbose
        fairground: result: not a text
    "#]].assert_eq(&files.iter().map(said).collect::<String>());
}
