// SPDX-License-Identifier: GPL-2.0-only
//! The recordings that records play: their tapes, as far as somebody has them, and what these show.

use std::fs::Permissions;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use model::play::{self, Refusal};
use model::tape_text::TapeText;
use model::{Step, Trial, Workload};
use recording::event::Recording;
use recording::groups::{self, Graph};
use recording::workload::{self, Choice, Empty, Files};
use store::SchedulerSource;

use crate::exit::bad_input;
use crate::{command_line, output};

/// The tapes of a trial, from the texts of a store or from the file that was played; `None` if
/// neither has them.
pub fn tapes(kept: &[SchedulerSource], trial: &mut Trial, store: &Path) -> Option<TapeText> {
    let sha256 = trial.workload.recording.as_ref()?.sha256.clone();
    match kept.iter().find(|source| source.sha256 == sha256) {
        Some(source) => {
            let text = source.files.iter().map(|(_, text)| text.as_str()).collect();
            Some(TapeText { sha256, text })
        }
        None => {
            fetch(trial, store).ok()?;
            TapeText::of([&*trial.workload]).into_iter().next()
        }
    }
}

/// Reads the file that was played. Its path counts from where it was played: here, or else where
/// the store is.
pub fn fetch(trial: &mut Trial, store: &Path) -> Result<(), spec::SpecError> {
    if let Some(recorded) = &mut trial.workload.recording {
        let beside = store.with_file_name(&recorded.tapes);
        if !Path::new(&recorded.tapes).exists() && beside.exists() {
            recorded.tapes = beside.display().to_string();
        }
    }
    spec::workload::fetch(std::slice::from_mut(trial))
}

/// What the tapes of a workload show, which are at hand.
pub fn graph_of(workload: &Workload) -> Result<Graph, Refusal> {
    let tapes = play::tapes::tapes(workload)?;
    let players = workload.tasks.iter().filter(|group| group.steps == [Step::Tape]);
    let groups: Vec<(String, u32)> =
        players.map(|group| (group.name.clone(), group.count)).collect();
    Ok(groups::of(&tapes, &groups))
}

/// The file for the tapes of a workload's file: beside it, with another ending.
pub fn tapes_file(workload: &Path) -> PathBuf {
    workload.with_extension("tapes")
}

/// What a workload's file and its tapes contain, where the first one will be `file`.
///
/// # Errors
/// No task is left, or the recording is too long.
pub fn files(recording: &Recording, choice: &Choice, file: &Path) -> Result<Files, Empty> {
    workload::files(recording, choice, &tapes_name(file))
}

pub fn tapes_name(file: &Path) -> String {
    tapes_file(file).file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Refuses, before anything is read or recorded, a name under which no new workload can be written,
/// a device such as `/dev/stdout` above all.
pub fn refuse(workload: &Path) -> Result<()> {
    if workload.extension().is_none_or(|ending| ending != "toml") {
        return Err(bad_input(format!(
            "-o {}: a recording becomes a workload; name it {}",
            workload.display(),
            workload.with_extension("toml").display()
        )));
    }
    for file in [workload, &tapes_file(workload)] {
        let shown = file.display();
        if let Err(fault) = spec::files::refuse_special(file) {
            return Err(bad_input(format!("-o {shown}: {fault}; name a new file")));
        }
        if file.symlink_metadata().is_ok() {
            return Err(bad_input(format!(
                "-o {shown}: is there already; delete it, or name another file"
            )));
        }
        tempfile::tempfile_in(folder(file)).map_err(|error| {
            bad_input(format!("{shown}: cannot be written ({error}); name another file with -o"))
        })?;
    }
    Ok(())
}

fn folder(file: &Path) -> &Path {
    file.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Writes a workload's file. The tapes are there before it names them.
pub fn write(files: &Files, file: &Path) -> Result<()> {
    write_new(files.tapes.as_bytes(), &tapes_file(file))?;
    write_new(files.workload.as_bytes(), file)
}

/// Writes the file in one step: one of that name is never half of a recording. What came there
/// meanwhile is not replaced.
fn write_new(text: &[u8], file: &Path) -> Result<()> {
    let written = || -> std::io::Result<()> {
        // Readable for others, as far as the umask says: root records, users read.
        let mut fresh = tempfile::Builder::new()
            .permissions(Permissions::from_mode(0o666))
            .tempfile_in(folder(file))?;
        fresh.write_all(text)?;
        fresh.persist_noclobber(file)?;
        Ok(())
    };
    written().with_context(|| {
        format!("{}: cannot be written; name another file with -o", file.display())
    })
}

/// Says what the user can do with a workload's file that was recorded on `cpus` CPUs.
pub fn tell_next_steps(file: &Path, cpus: u32) {
    let path = file.display().to_string();
    let path = if path.contains('/') { path } else { format!("./{path}") };
    let path = command_line::quoted(&path);
    output::tell(format_args!("to see it: fairground list workloads {path}"));
    let machine = if cpus > 1 { format!("--machine counted_{cpus} ") } else { String::new() };
    output::tell(format_args!(
        "to play it: fairground run --workload {path} {machine}--scheduler vtime --scheduler eevdf"
    ));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exit;

    #[test]
    fn what_is_there_is_not_replaced() {
        let folder = tempfile::tempdir().expect("a folder");
        let (file, link) = (folder.path().join("load.toml"), folder.path().join("link.toml"));
        let refused = |file: &Path| {
            let refused = refuse(file).expect_err("no new workload");
            assert_eq!(exit::code(&refused), exit::BAD_INPUT);
            refused.to_string()
        };
        refuse(&file).expect("a new file");
        std::os::unix::fs::symlink(&file, &link).expect("a link");
        assert!(refused(&link).contains("is there already"));
        std::fs::write(&file, "mine").expect("a file");
        assert!(refused(&file).contains("is there already"));
        std::fs::create_dir(folder.path().join("a.toml")).expect("a folder");
        assert!(refused(&folder.path().join("a.toml")).contains("is a folder"));
        assert!(refused(Path::new("/dev/null")).contains("name it /dev/null.toml"));
        std::os::unix::fs::symlink("/dev/null", folder.path().join("b.toml")).expect("a link");
        assert!(refused(&folder.path().join("b.toml")).contains("is a device"));
    }

    #[test]
    fn a_file_is_written_whole() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("load.tapes");
        write_new(b"text", &file).expect("it is written");
        assert_eq!(std::fs::read_dir(folder.path()).expect("the folder").count(), 1);
        write_new(b"other", &file).expect_err("it is there");
        assert_eq!(std::fs::read(&file).expect("a file"), b"text");
        let refused = write_new(b"text", &folder.path().join("no/such/folder")).expect_err("none");
        assert!(refused.to_string().contains("name another file with -o"), "{refused}");
    }
}
