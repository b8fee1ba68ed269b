// SPDX-License-Identifier: GPL-2.0-only
//! What one compilation of a scheduler needs: the compiler, our headers, and a folder that has the
//! scheduler's texts and nothing else. The compiler sees no other file of the user's, so what it
//! reads is what the identity covers.

use std::path::{Path, PathBuf};

use crate::identity::folder_of;
use crate::{CompileError, Source, clang, complaint, listing, refusal, source, texts, toolkit};

/// What a scheduler is compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum For {
    Kernels,
    Simulator,
}

pub struct Job<'a> {
    source: &'a Source,
    pub clang: PathBuf,
    pub headers: PathBuf,
    root: tempfile::TempDir,
    /// Where the scheduler's own folder is below the root.
    folder: PathBuf,
    /// Its own folders of headers.
    folders: Vec<PathBuf>,
    definitions: Vec<String>,
    /// The sources: what objects call them, their path for messages, and their texts.
    units: Vec<(String, PathBuf, String)>,
    may_assemble: bool,
}

impl<'a> Job<'a> {
    pub fn new(source: &'a Source, wanted: For) -> Result<Job<'a>, CompileError> {
        let error = |message| CompileError::new(&source.path, message);
        // Its version is asked for by running it, and that ends when somebody asks for the end.
        let clang = clang::find()
            .map_err(|why| CompileError { interrupted: process::stop::is_asked(), ..error(why) })?;
        let headers = toolkit::headers().map_err(|why| {
            error(format!(
                "the scheduler headers cannot be unpacked to {}: {why}; set FAIRGROUND_HOME to a \
                 folder that can be written",
                toolkit::folder().display()
            ))
        })?;
        let root =
            tempfile::tempdir().map_err(|why| error(format!("no temporary folder: {why}")))?;
        let all = texts::of(source, &headers, wanted);
        let folder = source::write_texts(&all[1..], root.path())?;
        let shown = source::folder(source);
        let place = |name: &str| {
            if name == source.file { PathBuf::from(&source.path) } else { shown.join(name) }
        };
        let is_unit = |name: &String| *name == source.file || source.others.contains(name);
        let units = all.iter().filter(|(name, _)| is_unit(name));
        let units = units.map(|(name, text)| (name.clone(), place(name), text.clone())).collect();
        Ok(Job {
            source,
            clang,
            headers,
            folders: source.folders.iter().map(|name| folder.join(name)).collect(),
            folder,
            root,
            definitions: texts::definitions(source),
            units,
            may_assemble: source.texts().any(listing::may_assemble),
        })
    }

    /// From now on with constants of the kernel as numbers.
    pub fn with_constants(&mut self) {
        self.definitions.push(texts::CONSTANTS.to_owned());
    }

    /// The scheduler's own folder, with the texts that it includes; its sources come through a
    /// pipe.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    pub fn units(&self) -> Vec<clang::Text<'_>> {
        let unit = |(label, path, text): &'_ (String, PathBuf, String)| clang::Text {
            beside: self.folder.join(folder_of(label)),
            label: label.clone(),
            path: path.clone(),
            text: text.clone(),
            root: self.root.path(),
            folder: &self.folder,
            folders: &self.folders,
            definitions: &self.definitions,
            may_assemble: self.may_assemble,
        };
        self.units.iter().map(unit).collect()
    }

    /// Compares what was read with what the identity covers, see [`refusal::check_read`].
    pub fn check_read(&self, read: &[PathBuf]) -> Result<(), CompileError> {
        refusal::check_read(self.source, &self.headers, self.root.path(), read)
    }

    /// A compiler's complaint about the scheduler.
    pub fn error(&self, complaint: complaint::Complaint) -> CompileError {
        let named = !complaint.file.is_empty();
        let file = if named { complaint.file } else { self.source.path.clone() };
        let message = refusal::not_found(self.source, &complaint.message);
        CompileError {
            line: complaint.line,
            message: message.unwrap_or(complaint.message),
            interrupted: complaint.interrupted,
            unsupported: false,
            file,
        }
    }
}
