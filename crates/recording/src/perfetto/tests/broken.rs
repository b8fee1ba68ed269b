// SPDX-License-Identifier: GPL-2.0-only
//! Files that are cut off, damaged, hostile or something else.

use super::*;

/// What is wrong with a file, and where.
fn fault(file: &[u8]) -> (Option<usize>, String) {
    let fault = read(file).expect_err("a fault");
    (fault.offset, fault.message)
}

#[test]
fn a_file_that_is_cut_off_has_a_place() {
    for form in [Form::Long, Form::Compact] {
        let file = trace(SMALL, form);
        let whole = read(&file).expect("a trace");
        let packets: Vec<usize> = Message { bytes: &file, at: 0 }
            .fields()
            .map(|field| field.expect("a packet").at)
            .collect();
        for end in (1..file.len()).filter(|end| !packets.contains(end)) {
            let (at, why) = fault(&file[..end]);
            let begun = packets.iter().rev().find(|packet| **packet < end);
            assert_eq!(at.as_ref(), begun, "{why}");
            assert!(why.contains("cut off"), "{why}");
        }
        let last = *packets.last().expect("packets");
        assert_eq!(read(&file[..last]).expect("a shorter trace").events, whole.events);
    }
}

#[test]
fn no_damage_makes_the_reader_panic() {
    for form in [Form::Long, Form::Compact] {
        let file = trace(SMALL, form);
        let mut refused = 0;
        for place in 0..file.len() {
            for value in [0, 1, 0x7f, 0x80, 0xff, file[place] ^ 1, file[place] ^ 0x10] {
                let mut damaged = file.clone();
                damaged[place] = value;
                if let Err(fault) = read(&damaged) {
                    assert!(fault.offset.is_none_or(|at| at < file.len()), "{fault:?}");
                    refused += 1;
                }
            }
        }
        assert!(refused > file.len(), "{refused} of {} bytes", file.len());
    }
}

#[test]
fn what_is_something_else_is_refused() {
    for file in
        [&b"\x0a\x02\x08"[..], b"\x12\x00", b"\x7fELF\x02\x01", b"\x00", b"\x0b", b"\xff\xff"]
    {
        let (at, why) = fault(file);
        assert_eq!(at, Some(0), "{why}");
        assert!(why.contains("cut off") || why.contains("another one"), "{why}");
    }
    let (at, why) = fault(b"");
    assert_eq!(at, None);
    assert!(why.contains("no sched_switch"), "{why}");
}

/// A trace of one bundle of columns.
fn columns(fill: impl FnOnce(&mut Writer)) -> Vec<u8> {
    bundle(0, |it| _ = it.message(4, fill))
}

/// Columns of one switch with these numbers: time, state, thread, priority, name.
fn one(it: &mut Writer, [at_ns, state, tid, prio, name]: [u64; 5]) {
    it.bytes(5, b"a").numbers(1, [at_ns]).numbers(2, [state]).numbers(3, [tid]);
    it.numbers(4, [prio]).numbers(6, [name]);
}

#[test]
fn columns_that_do_not_fit_are_refused() {
    assert!(read(&columns(|it| one(it, [5, 0, 7, 120, 0]))).is_ok());
    let said = |file: &[u8], what: &str| {
        let (at, why) = fault(file);
        assert!(at.is_some() && why.contains(what), "{at:?} {why}");
    };
    said(&columns(|it| one(it, [5, 0, 7, 120, 1])), "a name that its table does not have");
    said(&columns(|it| one(it, [5, 0, 7, 120, u64::MAX])), "a name that its table does not have");
    said(&columns(|it| one(it, [5, 0, u64::MAX, 120, 0])), "-1 is not a thread's number");
    let twice = |it: &mut Writer| {
        one(it, [u64::MAX, 0, 7, 120, 0]);
        one(it, [1, 0, 7, 120, 0]);
    };
    said(&columns(twice), "beyond 64 bits");
    for field in [1, 2, 3, 4, 6, 7, 8, 10, 11, 12] {
        let uneven = |it: &mut Writer| {
            one(it, [5, 0, 7, 120, 0]);
            it.number(field, 0);
        };
        said(&columns(uneven), "different lengths");
    }
    said(&columns(|it| _ = it.numbers(1, [1]).bytes(2, b"\xff")), "cut off");
}

#[test]
fn numbers_and_names_have_limits() {
    let said = |file: &[u8], what: &str| {
        let (at, why) = fault(file);
        assert!(at.is_some() && why.contains(what), "{at:?} {why}");
    };
    said(&bundle(8192, |_| {}), "CPU 8192");
    said(&packet(|it| _ = it.message(1, |it| _ = it.number(3, 0))), "events of no CPU");
    said(&event(5, u64::MAX, 4, |_| {}), "-1 is not a thread's number");
    said(&event(5, (1 << 22) + 1, 4, |_| {}), "4194305 is not a thread's number");
    said(&event(5, 1, 4, |it| _ = it.bytes(5, &[b'a'; 65])), "has 65 bytes");
    said(&event(5, 1, 4, |it| _ = it.bytes(2, b"7")), "field 2 is not a number");
    let no_time = bundle(0, |it| _ = it.message(2, |it| _ = it.message(4, |_| {})));
    said(&no_time, "without a time");
}

#[test]
fn what_cannot_be_read_is_said() {
    let said = |file: &[u8], at: usize, what: &str| {
        let (found, why) = fault(file);
        assert_eq!(found.map(|found| found >= at), Some(true), "{why}");
        assert!(why.contains(what), "{why}");
    };
    let first = switch(5, 7);
    let clock = bundle(0, |it| _ = it.number(5, 2));
    said(&[&first[..], &clock].concat(), first.len(), "another clock or machine");
    let machine = packet(|it| _ = it.number(98, 1).message(1, |it| _ = it.number(1, 0)));
    said(&[&first[..], &machine].concat(), first.len(), "another clock or machine");
    said(&packet(|it| _ = it.bytes(133, b"(\xb5/\xfd")), 2, "zstd");
    said(&packet(|it| _ = it.bytes(50, b"nothing")), 2, "is damaged");
    let pack = |bytes: &[u8]| {
        let mut packed = ZlibEncoder::new(Vec::new(), Compression::default());
        packed.write_all(bytes).unwrap();
        let packed = packed.finish().unwrap();
        packet(|it| _ = it.bytes(50, &packed))
    };
    said(&pack(&pack(&first)), 2, "packed twice");
    said(&pack(&first[..first.len() - 1]), 2, "in what is packed there");
    let local = bundle(0, |it| {
        it.number(5, 3).message(2, |it| _ = it.number(1, 5).message(4, |it| _ = it.number(6, 7)));
    });
    let untold = read(&local).expect("a trace").untold;
    assert!(untold.iter().any(|why| why.contains("a clock of its own")), "{untold:?}");
}

/// The most memory of this process so far, in KiB.
fn most_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("the kernel's own file");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a line");
    line.trim_end_matches("kB").trim().parse().expect("a number")
}

#[test]
fn a_small_file_cannot_ask_for_much_memory() {
    // 17 MB of zeros in gzip's and in a packet's packing: a column with too many times.
    let zeros = vec![0; (1 << 24) + 1];
    let file = columns(|it| _ = it.bytes(1, &zeros));
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(&file).unwrap();
    let packed = packed.finish().unwrap();
    assert!(packed.len() < 100_000, "{} bytes", packed.len());
    let (at, why) = fault(&packed);
    assert!(at.is_some() && why.contains("more than 16777216 events"), "{why}");
    assert!(most_memory() < 1 << 20, "{} KiB", most_memory());
}
