// SPDX-License-Identifier: GPL-2.0-only
//! The one reader of files and standard input that people and strangers hand to the program.
//!
//! A name can mean anything: a pipe that nobody writes to, a device without an end, a folder, 100
//! GiB. So a file is opened without waiting, must be a regular one, and has a limit by its kind.
//!
//! What is not here: what files mean, and files of the program's own.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

use nix::fcntl::OFlag;

/// A kind of file, and the most bytes that one may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileKind {
    /// What it is called: `a definition`.
    pub noun: &'static str,
    pub most: u64,
}

/// Experiments, workloads, machines, cares, claims, rt-app's files.
pub const DEFINITION: FileKind = FileKind { noun: "a definition", most: 4 << 20 };
pub const TAPES: FileKind = FileKind { noun: "a file of tapes", most: 128 << 20 };
pub const TRACE: FileKind = FileKind { noun: "a trace", most: 2 << 30 };
pub const RESULT: FileKind = FileKind { noun: "a result", most: 64 << 20 };
pub const SHARED: FileKind = FileKind { noun: "a shared file", most: 128 << 20 };
pub const TRIAL: FileKind = FileKind { noun: "a trial", most: 16 << 20 };
/// Trials of a plan with their schedulers' texts.
pub const CHUNK: FileKind = FileKind { noun: "a chunk", most: 1 << 30 };
/// Records of a chunk; one with a trace has megabytes.
pub const RECORDS: FileKind = FileKind { noun: "a file of records", most: 8 << 30 };
/// A program, a library or another file that a guest takes along.
pub const PACKED: FileKind = FileKind { noun: "a guest's file", most: 1 << 30 };
/// A list of files of a source tree.
pub const LIST: FileKind = FileKind { noun: "a list", most: 16 << 20 };

/// Why a file was not read.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    #[error("cannot be read: {0}")]
    System(#[from] io::Error),
    /// It is a folder, a pipe, a device or a socket.
    #[error("is {0}, and not a regular file")]
    Special(&'static str),
    /// It has more bytes than its kind may have.
    #[error("has more than {} MiB, which {} never has", .0.most >> 20, .0.noun)]
    TooLarge(FileKind),
    #[error("has a line of more than {0} bytes")]
    LongLine(usize),
    #[error("is not UTF-8 text (byte {0} is none)")]
    NotText(usize),
}

impl Fault {
    pub fn is_absence(&self) -> bool {
        matches!(self, Fault::System(error) if error.kind() == io::ErrorKind::NotFound)
    }
}

pub fn read(path: &Path, kind: FileKind) -> Result<Vec<u8>, Fault> {
    limited(&mut open(path)?, kind)
}

pub fn text(path: &Path, kind: FileKind) -> Result<String, Fault> {
    as_text(read(path, kind)?)
}

/// The text that comes from standard input or another stream.
pub fn stream_text(stream: &mut impl Read, kind: FileKind) -> Result<String, Fault> {
    as_text(limited(stream, kind)?)
}

/// The first bytes of a file; fewer if it is shorter.
pub fn beginning(path: &Path, bytes: u64) -> Result<Vec<u8>, Fault> {
    let mut start = Vec::new();
    open(path)?.take(bytes).read_to_end(&mut start)?;
    Ok(start)
}

/// A text file line by line, for those that are too long to be held.
pub struct Lines {
    stream: BufReader<io::Take<File>>,
    kind: FileKind,
    longest: usize,
    left: u64,
    line: Vec<u8>,
}

impl Lines {
    /// From a byte of the file on; no line may have more than `longest` bytes.
    pub fn open(path: &Path, kind: FileKind, from: u64, longest: usize) -> Result<Lines, Fault> {
        let mut file = open(path)?;
        file.seek(SeekFrom::Start(from))?;
        let stream = BufReader::with_capacity(1 << 16, file.take(kind.most + 1));
        Ok(Lines { stream, kind, longest, left: kind.most, line: Vec::new() })
    }

    /// The next line, with its end if it has one.
    pub fn next_line(&mut self) -> Result<Option<&[u8]>, Fault> {
        self.line.clear();
        let most = self.longest as u64 + 1;
        let read = (&mut self.stream).take(most).read_until(b'\n', &mut self.line)?;
        let too_large = Fault::TooLarge(self.kind);
        self.left = self.left.checked_sub(read as u64).ok_or(too_large)?;
        if read > self.longest {
            return Err(Fault::LongLine(self.longest));
        }
        Ok((read > 0).then_some(self.line.as_slice()))
    }
}

/// A file that is read in pieces, in any order, because it is too long to be held.
pub struct Pieces {
    file: File,
    /// Bytes of the whole file.
    pub length: u64,
}

impl Pieces {
    pub fn open(path: &Path, kind: FileKind) -> Result<Pieces, Fault> {
        let file = open(path)?;
        let length = file.metadata()?.len();
        if length > kind.most { Err(Fault::TooLarge(kind)) } else { Ok(Pieces { file, length }) }
    }

    /// Bytes from a place on; fewer where the file ends.
    pub fn read(&self, from: u64, bytes: usize) -> Result<Vec<u8>, Fault> {
        let mut file = &self.file;
        file.seek(SeekFrom::Start(from))?;
        let mut piece = Vec::with_capacity(bytes.min(1 << 20));
        file.take(bytes as u64).read_to_end(&mut piece)?;
        Ok(piece)
    }
}

/// Refuses what is there and is no regular file, for libraries that open files themselves. What is
/// not there is theirs to judge.
pub fn refuse_special(path: &Path) -> Result<(), Fault> {
    match std::fs::metadata(path) {
        Ok(facts) => special(facts.file_type()).map_or(Ok(()), |what| Err(Fault::Special(what))),
        Err(_) => Ok(()),
    }
}

/// Opens a regular file. Opening a pipe or a device may wait for ever or do something, so its type
/// is looked at before, and again after: names can change.
fn open(path: &Path) -> Result<File, Fault> {
    refuse_special(path)?;
    let flags = OFlag::O_NONBLOCK | OFlag::O_CLOEXEC | OFlag::O_NOCTTY;
    let file = OpenOptions::new().read(true).custom_flags(flags.bits()).open(path)?;
    match special(file.metadata()?.file_type()) {
        Some(what) => Err(Fault::Special(what)),
        None => Ok(file),
    }
}

fn special(kind: std::fs::FileType) -> Option<&'static str> {
    let kinds = [
        (kind.is_dir(), "a folder"),
        (kind.is_fifo(), "a pipe"),
        (kind.is_char_device() || kind.is_block_device(), "a device"),
        (kind.is_socket(), "a socket"),
    ];
    kinds.into_iter().find(|(is, _)| *is).map(|(_, what)| what)
}

fn limited(stream: &mut impl Read, kind: FileKind) -> Result<Vec<u8>, Fault> {
    let mut bytes = Vec::new();
    stream.take(kind.most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > kind.most { Err(Fault::TooLarge(kind)) } else { Ok(bytes) }
}

fn as_text(bytes: Vec<u8>) -> Result<String, Fault> {
    String::from_utf8(bytes).map_err(|error| Fault::NotText(error.utf8_error().valid_up_to()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn what_has_no_end_is_refused_by_its_name() {
        let folder = tempfile::tempdir().expect("a folder");
        let place = |name: &str| folder.path().join(name);
        nix::unistd::mkfifo(&place("pipe"), nix::sys::stat::Mode::S_IRWXU).expect("a pipe");
        let _socket = UnixListener::bind(place("socket")).expect("a socket");
        std::os::unix::fs::symlink("/dev/zero", place("link")).expect("a link");
        for (path, what) in [
            (place("pipe"), "a pipe"),
            (place("socket"), "a socket"),
            (place("link"), "a device"),
            (folder.path().to_owned(), "a folder"),
        ] {
            let said = read(&path, DEFINITION).expect_err(what).to_string();
            assert_eq!(said, format!("is {what}, and not a regular file"));
        }
    }

    #[test]
    fn sizes_are_limited_by_kind() {
        let small = FileKind { noun: "a word", most: 3 };
        assert_eq!(stream_text(&mut &b"abc"[..], small).expect("three bytes"), "abc");
        let fault = stream_text(&mut io::repeat(b'x'), small).expect_err("too many");
        assert!(matches!(fault, Fault::TooLarge(_)), "{fault}");
        let fault = stream_text(&mut &b"a\xff"[..], small).expect_err("no text");
        assert!(matches!(fault, Fault::NotText(1)), "{fault}");
    }

    #[test]
    fn lines_come_one_by_one_within_both_limits() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a");
        std::fs::write(&path, "one\ntwo\nlast").expect("written");
        let lines = |most, from, longest| {
            let mut lines = Lines::open(&path, FileKind { noun: "a", most }, from, longest)?;
            let mut all = Vec::new();
            while let Some(line) = lines.next_line()? {
                all.push(String::from_utf8_lossy(line).into_owned());
            }
            Ok::<_, Fault>(all)
        };
        assert_eq!(lines(12, 0, 4).expect("lines"), ["one\n", "two\n", "last"]);
        assert_eq!(lines(12, 4, 4).expect("lines"), ["two\n", "last"]);
        assert!(matches!(lines(11, 0, 4), Err(Fault::TooLarge(_))));
        assert!(matches!(lines(12, 0, 3), Err(Fault::LongLine(3))));
        let zero = Path::new("/dev/zero");
        assert!(matches!(Lines::open(zero, TRACE, 0, 9), Err(Fault::Special(_))));
    }

    #[test]
    fn pieces_end_with_the_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a");
        std::fs::write(&path, "abcdef").expect("written");
        let pieces = |most| Pieces::open(&path, FileKind { noun: "a", most });
        let six = pieces(6).expect("a file");
        assert_eq!((six.length, six.read(4, 9).expect("an end")), (6, b"ef".to_vec()));
        assert_eq!(six.read(1, 2).expect("a piece"), b"bc");
        assert!(matches!(pieces(5), Err(Fault::TooLarge(_))));
        assert!(matches!(Pieces::open(folder.path(), TRACE), Err(Fault::Special("a folder"))));
    }

    #[test]
    fn absence_is_told_from_other_faults() {
        let folder = tempfile::tempdir().expect("a folder");
        assert!(read(&folder.path().join("none"), LIST).is_err_and(|fault| fault.is_absence()));
        assert!(read(folder.path(), LIST).is_err_and(|fault| !fault.is_absence()));
        std::fs::write(folder.path().join("a"), "abc").expect("written");
        assert_eq!(beginning(&folder.path().join("a"), 2).expect("two bytes"), b"ab");
    }
}
