// SPDX-License-Identifier: GPL-2.0-only
//! Mutations: what makes a bad file of a good one.

use model::Seed;

/// Words that readers have stumbled over: numbers at the ends of their ranges, quotes, brackets,
/// other names of the same file.
const WORDS: &str = "-0.0 -0 nan NaN inf -inf 1e308 -1e308 1e999 5e-324 0 -1 1 18446744073709551615 \
                     18446744073709551616 9223372036854775807 -9223372036854775808 4294967296 \
                     2147483648 0x7f 0.1.2 1_0 \"\" '' [] {} [[ ]] null true false ../ \
                     /etc/passwd /dev/zero ${cpus} cpus %s%n \\ # = ,";
/// Control sequences and line ends.
const CONTROLS: [&str; 9] =
    ["\u{1b}]52;c;eA==\u{7}", "\u{1b}[2J", "\u{202e}", "\r", "\0", "\u{feff}", "\n", "\n\n[", "\t"];

/// The longest insertion.
const LONG: usize = 100_000;
/// The deepest nesting.
const DEEP: usize = 3_000;

/// A file made of one of the good ones, by one to four changes.
pub fn mutate(good: &[Vec<u8>], random: &mut Seed) -> Vec<u8> {
    let mut bytes = pick(good, random).clone();
    for _ in 0..=random.below(4) {
        change(&mut bytes, good, random);
    }
    bytes
}

fn pick<'a, T>(from: &'a [T], random: &mut Seed) -> &'a T {
    &from[random.below(from.len() as u64) as usize]
}

fn text(random: &mut Seed) -> &'static str {
    let texts: Vec<&str> = WORDS.split(' ').chain(CONTROLS).collect();
    pick::<&str>(&texts, random)
}

/// A place in the bytes, or their end.
fn place(bytes: &[u8], random: &mut Seed) -> usize {
    random.below(bytes.len() as u64 + 1) as usize
}

fn part(bytes: &[u8], longest: u64, random: &mut Seed) -> std::ops::Range<usize> {
    let start = place(bytes, random);
    let length = random.below(longest + 1) as usize;
    start..bytes.len().min(start + length)
}

fn change(bytes: &mut Vec<u8>, good: &[Vec<u8>], random: &mut Seed) {
    match random.below(12) {
        0 => flip(bytes, random),
        1 => drop(bytes.drain(part(bytes, 40, random))),
        2 => bytes.truncate(place(bytes, random)),
        3 => repeat(bytes, random),
        4 => splice(bytes, pick::<Vec<u8>>(good, random), random),
        5 => insert_long(bytes, random),
        6 => insert_deep(bytes, random),
        7 => swap_lines(bytes, random),
        8 => insert(bytes, text(random).as_bytes(), random),
        _ => replace_word(bytes, random),
    }
}

fn flip(bytes: &mut [u8], random: &mut Seed) {
    if !bytes.is_empty() {
        let at = random.below(bytes.len() as u64) as usize;
        bytes[at] ^= 1 << random.below(8);
    }
}

fn insert(bytes: &mut Vec<u8>, what: &[u8], random: &mut Seed) {
    let at = place(bytes, random);
    bytes.splice(at..at, what.iter().copied());
}

/// A part, once more somewhere else.
fn repeat(bytes: &mut Vec<u8>, random: &mut Seed) {
    let copy = bytes[part(bytes, 300, random)].to_vec();
    insert(bytes, &copy, random);
}

/// A part of another good file.
fn splice(bytes: &mut Vec<u8>, other: &[u8], random: &mut Seed) {
    let copy = other[part(other, 2_000, random)].to_vec();
    insert(bytes, &copy, random);
}

fn insert_long(bytes: &mut Vec<u8>, random: &mut Seed) {
    let letter = *pick(b"a0 \n\"[", random);
    insert(bytes, &vec![letter; random.below(LONG as u64) as usize], random);
}

fn insert_deep(bytes: &mut Vec<u8>, random: &mut Seed) {
    let opening = *pick(&["[", "{\"a\":", "[{a=", "(", "<a>"], random);
    insert(bytes, opening.repeat(random.below(DEEP as u64) as usize).as_bytes(), random);
}

fn swap_lines(bytes: &mut Vec<u8>, random: &mut Seed) {
    let mut lines: Vec<Vec<u8>> = bytes.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
    let [one, two] = [(); 2].map(|()| random.below(lines.len() as u64) as usize);
    lines.swap(one, two);
    *bytes = lines.join(&b'\n');
}

/// Replaces a number or a name by a text that readers have stumbled over, or by another word of the
/// file.
fn replace_word(bytes: &mut Vec<u8>, random: &mut Seed) {
    let words = words(bytes);
    if words.is_empty() {
        return;
    }
    let old = pick(&words, random).clone();
    let new = match random.below(3) {
        0 => bytes[pick(&words, random).clone()].to_vec(),
        _ => text(random).as_bytes().to_vec(),
    };
    bytes.splice(old, new);
}

/// Replaces one word of the file.
pub fn replace_word_by(bytes: &mut Vec<u8>, new: &[u8], random: &mut Seed) {
    let words = words(bytes);
    if !words.is_empty() {
        bytes.splice(pick(&words, random).clone(), new.iter().copied());
    }
}

fn words(bytes: &[u8]) -> Vec<std::ops::Range<usize>> {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || b"_.-+".contains(byte);
    let mut words = Vec::new();
    let mut start = None;
    for (at, byte) in bytes.iter().chain([&b' ']).enumerate() {
        match (start, is_part(byte)) {
            (None, true) => start = Some(at),
            (Some(first), false) => {
                words.push(first..at);
                start = None;
            }
            _ => {}
        }
    }
    words
}
