// SPDX-License-Identifier: GPL-2.0-only
//! Oracles of pds, from Project C for Linux 5.9 to 7.1 and PDS-mq 0.99o, whose arithmetic of slices
//! and slots has been simulated exactly.

use crate::look::{
    after_sleep_us, alternate, near, part_is, printed_each, share, share_is, turn_us, turns_last,
    within,
};
use crate::oracle::{Oracle, Run, everywhere, simulated};

const SLOTS_OF_4_MS: &str = "pds era=51500";
const PDS_MQ: &str = "pds era=50400";
const SKIP_LIST: &str = "pds era=50900";
const FACTS: &str = "../../tests/oracles/facts/pds_facts.bpf.c";

fn turns() -> Vec<Oracle> {
    vec![
        everywhere(
            "pds 1",
            "two hogs of nice 0 alternate every 4.194 ms",
            vec![Run::new("pds", "hogs")],
            |records| {
                alternate(&records[0])?;
                turns_last(&records[0], 4194)
            },
        ),
        everywhere(
            "pds 2",
            "7.1: nice 0 and 5 share 3 : 1, 0 and 19 17 : 1",
            vec![Run::new("pds", "hogs b=5"), Run::new("pds", "hogs b=19")],
            |records| {
                share_is(&records[0], 3.0, 1.0)?;
                share_is(&records[1], 17.0, 1.0)
            },
        ),
        simulated(
            "pds 2, more",
            "7.1: nice 0 and 1, or 2, share alike: their slots are the same, or the next; 0 and \
             10 share 9 : 1, -20 and 0 19 : 1",
            vec![
                Run::new("pds", "hogs b=1"),
                Run::new("pds", "hogs b=2"),
                Run::new("pds", "hogs b=10"),
                Run::new("pds", "hogs a=-20"),
                Run::new("pds nice_deadlines=false", "hogs b=10"),
            ],
            |records| {
                share_is(&records[0], 1.0, 1.0)?;
                share_is(&records[1], 1.0, 1.0)?;
                share_is(&records[2], 9.0, 1.0)?;
                share_is(&records[3], 19.0, 1.0)?;
                share_is(&records[4], 1.0, 1.0)
            },
        ),
    ]
}

fn versions() -> Vec<Oracle> {
    vec![
        simulated(
            "pds 3",
            "5.15 to 6.1: nice 0 and 1 share alike, 0 and 2 2 : 1, 0 and 5 5 : 1, 0 and 10 10 : \
             1, 0 and 19 19 : 1, -20 and 0 20 : 1",
            vec![
                Run::new(SLOTS_OF_4_MS, "hogs b=1"),
                Run::new(SLOTS_OF_4_MS, "hogs b=2"),
                Run::new(SLOTS_OF_4_MS, "hogs b=5"),
                Run::new(SLOTS_OF_4_MS, "hogs b=10"),
                Run::new(SLOTS_OF_4_MS, "hogs b=19"),
                Run::new(SLOTS_OF_4_MS, "hogs a=-20"),
            ],
            |records| {
                let wanted = [1.0, 2.0, 5.0, 10.0, 19.0, 20.0];
                records.iter().zip(wanted).try_for_each(|(record, a)| share_is(record, a, 1.0))
            },
        ),
        simulated(
            "pds 4",
            "PDS-mq: nice 0 and 1 share 2 : 1 (their deadlines differ by hardly more than a \
             slice), 0 and 5 7 : 1, 0 and 10 17 : 1, 0 and 19 52 : 1, -20 and 0 9 : 1",
            vec![
                Run::new(PDS_MQ, "hogs b=1"),
                Run::new(PDS_MQ, "hogs b=5"),
                Run::new(PDS_MQ, "hogs b=10"),
                Run::new(PDS_MQ, "hogs b=19"),
                Run::new(PDS_MQ, "hogs a=-20"),
            ],
            |records| {
                let wanted = [2.0, 7.0, 17.0, 52.0, 9.0];
                records.iter().zip(wanted).try_for_each(|(record, a)| share_is(record, a, 1.0))
            },
        ),
        simulated(
            "pds 5",
            "5.9 and 5.10: nice 0 and 1 share alike, 0 and 5 5 : 1, 0 and 10 12 : 1, 0 and 19 37 \
             : 1, -20 and 0 7 : 1 (by hardly more than six slices)",
            vec![
                Run::new(SKIP_LIST, "hogs b=1"),
                Run::new(SKIP_LIST, "hogs b=5"),
                Run::new(SKIP_LIST, "hogs b=10"),
                Run::new(SKIP_LIST, "hogs b=19"),
                Run::new(SKIP_LIST, "hogs a=-20"),
            ],
            |records| {
                let wanted = [1.0, 5.0, 12.0, 37.0, 7.0];
                records.iter().zip(wanted).try_for_each(|(record, a)| share_is(record, a, 1.0))
            },
        ),
    ]
}

fn crowds() -> Oracle {
    simulated(
        "pds 6",
        "7.1: nice fades in a crowd: beside 10, 20, 40, 100 hogs of nice 0 one of nice 19 has \
         0.37, 0.54, 0.70, 0.85 of what one of them has",
        vec![
            Run::new("pds", "crowd count=10 nice=19"),
            Run::new("pds", "crowd count=20 nice=19"),
            Run::new("pds", "crowd count=40 nice=19 us=40000000"),
            Run::new("pds", "crowd count=100 nice=19 us=50000000"),
        ],
        |records| {
            let wanted = [(10.0, 0.37), (20.0, 0.54), (40.0, 0.70), (100.0, 0.85)];
            records.iter().zip(wanted).try_for_each(|(record, (n, part))| part_is(record, n, part))
        },
    )
}

fn facts() -> Oracle {
    simulated(
        "pds 7 to 10",
        "7.1: at edge 1000 nice -20, -10, 0, 10, 19 stand at 12, 17, 22, 27, 31 after a refill; \
         nice 0 has slot 1022, whose position is 0 from edge 1022 on; of A with slot 1005 and B \
         with 1003 and, at edge 1010, C with 990 the order is B A C; who comes from another CPU \
         with slot 1100 has 1031",
        vec![Run::new(FACTS, "short")],
        |records| {
            printed_each(
                records,
                &[&[
                    ("position of nice -20", 12),
                    ("position of nice -10", 17),
                    ("position of nice 0", 22),
                    ("position of nice 10", 27),
                    ("position of nice 19", 31),
                    ("slot of nice 0", 1022),
                    ("position at 1022", 0),
                    ("position at 1040", 0),
                    ("slot 1100 at 1000", 1031),
                    ("B is before A", 1),
                    ("A is before C", 1),
                ]],
            )
        },
    )
}

fn yields() -> Oracle {
    everywhere(
        "pds yield",
        "a task that yields gives its slice away, so that after each ms of it the other has \
         4.194; of yield_type 0 it does not",
        vec![Run::new("pds", "yielder"), Run::new("pds yield_type=0", "yielder")],
        |records| {
            near("the yielder's share", share(&records[0], "a"), 1.0 / 5.194, 0.02)?;
            near("who does not", share(&records[1], "a"), 0.5, 0.02)
        },
    )
}

fn shares_of_a_fork() -> Oracle {
    simulated(
        "pds fork",
        "also a real-time parent halves its slice with each child: the children's first turns \
         last 2.097 and 1.049 ms",
        vec![Run::new("pds", "pds.siblings")],
        |records| {
            within("the first, µs", turn_us(&records[0], "first", 0)?, 2090, 2105)?;
            within("the second, µs", turn_us(&records[0], "second", 0)?, 1040, 1060)
        },
    )
}

fn sleepers() -> Oracle {
    simulated(
        "pds sleeper's slice",
        "a task that goes to sleep with 0.04 ms of its slice left wakes up with a whole one",
        vec![Run::new("pds", "sleeps_after us=5198")],
        |records| within("its turn, µs", after_sleep_us(&records[0])?, 4190, 4200),
    )
}

pub fn oracles() -> Vec<Oracle> {
    [turns(), versions(), vec![crowds(), facts(), yields(), sleepers(), shares_of_a_fork()]]
        .concat()
}
