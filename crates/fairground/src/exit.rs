// SPDX-License-Identifier: GPL-2.0-only
//! Exit codes, and which error means which.
//!
//! | code | meaning |
//! |---|---|
//! | 0 | fine |
//! | 1 | a scheduler or a workload misbehaved, or two stores differ |
//! | 2 | bad input; no trial ran |
//! | 3 | the lab itself failed: a kernel, a disk, this program |
//! | 4 | nothing misbehaved, but a backend cannot run some of the trials |
//! | 130 | interrupted; `--resume` continues |

use std::io;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Error;
use model::{Outcome, Record};

use crate::execution::interrupt;
use crate::output::{Closed, tell};

/// A scheduler or a workload misbehaved, or two stores differ.
pub const MISBEHAVED: u8 = 1;
/// Bad input; no trial ran.
pub const BAD_INPUT: u8 = 2;
/// The lab itself failed: what ran was fine, or nothing could run.
pub const LAB_FAILED: u8 = 3;
/// Nothing misbehaved, but some trials are `unsupported`: the record says what is missing.
pub const UNSUPPORTED: u8 = 4;
/// Interrupted by the user; `--resume` continues.
pub const INTERRUPTED: u8 = interrupt::EXIT_CODE;

/// Bad input: the message names what was given and what to write instead.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct BadInput(String);

pub fn bad_input(message: impl Into<String>) -> Error {
    BadInput(message.into()).into()
}

/// Trials were ended by Ctrl-C before their answer was there.
#[derive(Debug, thiserror::Error)]
#[error("interrupted")]
pub struct Interrupted;

/// What became of a file that was to be written: bad input if the user named one that cannot be.
pub fn unwritable(path: &Path, error: io::Error) -> Error {
    use io::ErrorKind::{
        AlreadyExists, IsADirectory, NotADirectory, NotFound, PermissionDenied, ReadOnlyFilesystem,
    };
    let message = format!("{}: cannot be written; name another with -o: {error}", path.display());
    match error.kind() {
        NotFound | NotADirectory | IsADirectory | PermissionDenied | ReadOnlyFilesystem
        | AlreadyExists => bad_input(message),
        _ => Error::new(error).context(message),
    }
}

/// The exit code of a verb whose trials have left these records: [`MISBEHAVED`] unless all are ok,
/// or else [`UNSUPPORTED`].
pub fn of_records(records: &[Record]) -> ExitCode {
    let mut bad =
        records.iter().map(|record| &record.outcome).filter(|bad| !bad.is_ok()).peekable();
    if bad.peek().is_none() {
        ExitCode::SUCCESS
    } else if bad.all(|outcome| matches!(outcome, Outcome::Unsupported { .. })) {
        ExitCode::from(UNSUPPORTED)
    } else {
        ExitCode::from(MISBEHAVED)
    }
}

pub fn interrupted() -> ExitCode {
    ExitCode::from(INTERRUPTED)
}

/// Prints an error for a person and returns the exit code that belongs to it.
pub fn report(error: &Error) -> ExitCode {
    let code = code(error);
    if let Some(error) = error.chain().find(|error| is_interrupted(*error)) {
        // What it was about to do is of no interest.
        tell(format_args!("fairground: {error}"));
    } else if code != 0 {
        let limit = if error.chain().any(is_file_limit) { BEYOND_LIMIT } else { "" };
        tell(format_args!("fairground: {error:#}{limit}"));
    }
    ExitCode::from(code)
}

pub fn code(error: &Error) -> u8 {
    if error.chain().any(is_closed_output) {
        return 0;
    }
    if error.chain().any(is_interrupted) {
        return INTERRUPTED;
    }
    if error.chain().any(is_bad_input) { BAD_INPUT } else { LAB_FAILED }
}

/// The compiler, or the build of a kernel, was ended by Ctrl-C.
fn is_interrupted(error: &(dyn std::error::Error + 'static)) -> bool {
    error.is::<vm::kernels::build::Interrupted>()
        || error.is::<Interrupted>()
        || error.downcast_ref::<compile::CompileError>().is_some_and(|error| error.interrupted)
}

fn is_bad_input(error: &(dyn std::error::Error + 'static)) -> bool {
    error.is::<BadInput>()
        || error.is::<spec::SpecError>()
        || error.is::<store::exchange::Refused>()
        || error.is::<fleet::Refused>()
        || error.is::<vm::kernels::build::Refused>()
        || error.is::<compile::CompileError>()
        || error.downcast_ref::<store::StoreError>().is_some_and(is_wrong_file)
}

/// Whether the user named the wrong file, as opposed to a disk that is full.
fn is_wrong_file(error: &store::StoreError) -> bool {
    use store::StoreError::{
        Broken, Endless, Missing, NotAStore, OtherVersion, Strange, Unwritable,
    };
    let wrong = matches!(error, Missing { .. } | OtherVersion { .. } | NotAStore { .. });
    let strange = matches!(error, Strange { .. } | Endless { .. });
    wrong || strange || matches!(error, Unwritable { .. } | Broken { .. })
}

/// What is said of a file that may not grow.
const BEYOND_LIMIT: &str = "; no file may grow beyond the limit that `ulimit -f` shows";

fn is_file_limit(error: &(dyn std::error::Error + 'static)) -> bool {
    let io = error.downcast_ref::<io::Error>();
    io.is_some_and(|error| error.kind() == io::ErrorKind::FileTooLarge)
}

/// The reader of our output has closed it, like `head`; that is no error.
fn is_closed_output(error: &(dyn std::error::Error + 'static)) -> bool {
    let inner = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
    inner.is_some_and(|inner| inner.is::<Closed>())
}

/// Replaces the panic message by one short line: a panic is a mistake of this program, and its
/// backtrace does not help users.
pub fn hook_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(|l| format!(" ({}:{})", l.file(), l.line()));
        let what = panic.payload_as_str().unwrap_or("unknown");
        let place = place.unwrap_or_default();
        tell(format_args!("fairground: internal error, please report it: {what}{place}"));
    }));
}
