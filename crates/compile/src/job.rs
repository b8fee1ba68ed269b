// SPDX-License-Identifier: GPL-2.0-only
//! What one compilation of a scheduler needs: the compiler, our headers, and a folder that has the
//! scheduler's texts and nothing else. The compiler sees no other file of the user's, so what it
//! reads is what the identity covers.

use std::path::{Path, PathBuf};

use crate::{CompileError, Source, clang, listing, refusal, source, toolkit};

pub struct Job<'a> {
    source: &'a Source,
    pub clang: PathBuf,
    pub headers: PathBuf,
    texts: tempfile::TempDir,
    label: String,
}

impl<'a> Job<'a> {
    pub fn new(source: &'a Source) -> Result<Job<'a>, CompileError> {
        let error = |message| CompileError::new(&source.path, message);
        let clang = clang::find().map_err(error)?;
        let headers = toolkit::headers().map_err(|why| {
            error(format!(
                "the scheduler headers cannot be unpacked to {}: {why}; set FAIRGROUND_HOME to a \
                 folder that can be written",
                toolkit::folder().display()
            ))
        })?;
        let texts =
            tempfile::tempdir().map_err(|why| error(format!("no temporary folder: {why}")))?;
        source::write_texts(&source.included, texts.path())?;
        Ok(Job { source, clang, headers, texts, label: source::file_name(source) })
    }

    /// The folder with the texts that the scheduler includes; its own comes through a pipe.
    pub fn texts(&self) -> &Path {
        self.texts.path()
    }

    pub fn text(&self) -> clang::Text<'_> {
        let included = self.source.included.iter().map(|(_, text)| text);
        let mut all = std::iter::once(&self.source.text).chain(included);
        clang::Text {
            label: &self.label,
            path: Path::new(&self.source.path),
            folder: self.texts(),
            text: &self.source.text,
            may_assemble: all.any(|text| listing::may_assemble(text)),
        }
    }

    /// Compares what was read with what the identity covers, see [`refusal::check_read`].
    pub fn check_read(&self, read: &[PathBuf]) -> Result<(), CompileError> {
        refusal::check_read(self.source, &self.headers, self.texts(), read)
    }

    /// A compiler's complaint about the scheduler.
    pub fn error(&self, complaint: clang::Complaint) -> CompileError {
        let named = !complaint.file.is_empty();
        let file = if named { complaint.file } else { self.source.path.clone() };
        let message = refusal::not_found(self.source, Path::new(&file), &complaint.message);
        CompileError {
            line: complaint.line,
            message: message.unwrap_or(complaint.message),
            interrupted: complaint.interrupted,
            unsupported: false,
            file,
        }
    }
}
