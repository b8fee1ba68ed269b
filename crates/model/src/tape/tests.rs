// SPDX-License-Identifier: GPL-2.0-only
use super::*;

fn fault(text: &str) -> String {
    read(text).expect_err(text).to_string()
}

#[test]
fn what_is_written_is_read() {
    let ops = vec![
        TapeOp::Run(1200),
        TapeOp::Post(1, Stream::NONE, Reader::Asleep),
        TapeOp::Wait(1, Stream::NONE),
        TapeOp::Wait(1, Stream(3)),
        TapeOp::Receive(1, Stream(2), Reader::Asleep),
        TapeOp::Receive(1, Stream(2), Reader::Awake),
        TapeOp::Room(1, Stream(4)),
        TapeOp::Spin(1, 5),
        TapeOp::Post(1, Stream(7), Reader::Asleep),
        TapeOp::Post(1, Stream(7), Reader::Awake),
        TapeOp::Fork(1),
        TapeOp::Until(TIME_NS_MAX),
        TapeOp::Sleep(0),
        TapeOp::Nice(-20),
        TapeOp::Yield,
        TapeOp::Again(0),
    ];
    let long = vec![TapeOp::Run(123_456_789); 100];
    let tapes = [
        Tape { tid: 7, name: "a game".into(), ops, line: 1 },
        Tape { tid: 8, name: String::new(), ops: long, line: 3 },
    ];
    let text = write(&tapes);
    let first = "r1200 p1 w1 w1.3 m1.2 t1.2 b1.4 l1.5 p1.7 d1.7 f1 u86400000000000 s0 n-20 y a";
    assert!(text.starts_with(&format!("task 7 a game\n{first}\ntask 8 \n")), "{text}");
    assert!(text.lines().all(|line| line.len() <= LINE_BYTES + 20), "{text}");
    assert_eq!(read(&text).unwrap(), tapes);
    let counted: usize = tapes.iter().flat_map(|tape| &tape.ops).map(|op| op.text_bytes()).sum();
    let streams = ".3.2.2.4.5.7.7".len();
    assert_eq!(counted + streams + "-".len() + "task 7 a game\ntask 8 \n".len(), text.len());
}

#[test]
fn a_name_stays_in_its_line() {
    let tape = Tape { name: "a\nr5".into(), ..Tape::default() };
    assert_eq!(write(&[tape]), "task 0 a?r5\n");
}

#[test]
fn what_is_no_tape_is_refused_with_its_line() {
    assert_eq!(fault("\nr5"), "line 2: no tape has begun; write 'task TID NAME'");
    assert_eq!(fault("task x y"), "line 1: 'x' is no thread's number; write 'task TID NAME'");
    let op = "is no operation; write r, w, m, t, b, p, d, f, u, s or n and a number, l and two as \
              in l5.700, or y or a alone; w, m, t, b, p and d may have a stream, as in p5.1";
    let broken = [
        "r", "5", "v1", "x5", "r-1", "é5", "r5p1", "y1", "u1.1", "p0.0", "p0.x", "f0.1", "l0",
        "l0.0",
    ];
    for word in broken.into_iter().chain(["r99999999999999999999"]) {
        assert_eq!(fault(&format!("task 1 a\nr1\n{word}")), format!("line 3: '{word}' {op}"));
    }
    for word in ["n20", "n-21", "n", "nice", "n0.1"] {
        let nice = format!("line 2: '{word}' is no nice value; write n-20 … n19");
        assert_eq!(fault(&format!("task 1 a\n{word}")), nice);
    }
    assert!(fault("task 1 a\nr86400000000001").contains("longer than a day"));
    assert!(fault("task 1 a\np99999999999").contains("there is no such tape"));
    let tape = "another one of the tapes 0 … 0";
    assert_eq!(fault("task 1 a\np1"), format!("line 1: tape 0 names tape 1; write {tape}"));
    assert_eq!(fault("task 1 a\nw0"), format!("line 1: tape 0 names tape 0; write {tape}"));
}
