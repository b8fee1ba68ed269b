// SPDX-License-Identifier: GPL-2.0-only
//! `--resume` of a plan whose recordings have changed or moved: it would begin anew without a word.

use anyhow::Result;
use model::{Experiment, Recorded, Workload};
use store::{Session, Store};

use crate::exit::bad_input;

/// Refuses to begin anew if the last campaign with a recording of the same name had other tapes, or
/// had them in another file.
pub fn refuse_others(store: &Store, experiment: &Experiment) -> Result<()> {
    let sessions = store.sessions()?;
    let own: Vec<&Session> = sessions.iter().filter(|session| session.origin.is_none()).collect();
    for workload in &experiment.workloads {
        let Some(now) = &workload.recording else { continue };
        let earlier =
            own.iter().rev().find_map(|session| Some((session.id, like(session, workload)?)));
        if let Some((session, then)) = earlier
            && let Some(why) = difference(now, then, session)
        {
            let path = store.path().display();
            return Err(bad_input(format!(
                "--resume: {path}: {why}; bring the file back, or run without --resume to begin a \
                 new campaign"
            )));
        }
    }
    Ok(())
}

/// The recording of a session's workload with the same name and parameters.
fn like<'a>(session: &'a Session, wanted: &Workload) -> Option<&'a Recorded> {
    let same =
        |known: &&Workload| known.name == wanted.name && known.parameters == wanted.parameters;
    session.experiment.workloads.iter().find(same)?.recording.as_ref()
}

fn difference(now: &Recorded, then: &Recorded, session: i64) -> Option<String> {
    let (file, sha256) = (&now.tapes, &now.sha256);
    if then.sha256 != *sha256 {
        return Some(format!(
            "the SHA-256 of {file} is {sha256}, session {session} was planned with {} of {}",
            then.sha256, then.tapes
        ));
    }
    (then.tapes != *file).then(|| {
        format!(
            "session {session} has the tapes {sha256} from the file {}, now they are in {file}, \
             and the identity of a trial has the name of the file",
            then.tapes
        )
    })
}
