// SPDX-License-Identifier: GPL-2.0-only
//! The sessions of a workload, and the order in which tasks start.

use crate::play::control_groups::NAME_BYTES_MAX;
use crate::play::{Refusal, Script};
use crate::{Step, TaskSession, Workload};

/// The most sessions of a workload.
pub const SESSIONS_MAX: usize = 63;

/// Checks the tables, and which tasks name them.
pub(super) fn check(workload: &Workload) -> Result<(), Refusal> {
    let sessions = &workload.sessions;
    if sessions.len() > SESSIONS_MAX {
        let message = format!("{} sessions are too many", sessions.len());
        let hint = format!("at most {SESSIONS_MAX}");
        return Err(Refusal::new(message, hint).inside("session"));
    }
    for (index, session) in sessions.iter().enumerate() {
        let inside = |refusal: Refusal| refusal.inside(format_args!("session[{index}]"));
        check_one(session).map_err(inside)?;
        if sessions[..index].iter().any(|other| other.name == session.name) {
            let message = format!("a second session named '{}'", session.name);
            let refusal = Refusal::new(message, "give each session its own name");
            return Err(inside(refusal.inside("name")));
        }
    }
    check_tasks(workload)
}

fn check_one(session: &TaskSession) -> Result<(), Refusal> {
    let name = session.name.as_str();
    let allowed = |letter: char| letter.is_ascii_alphanumeric() || "_-.".contains(letter);
    let is_name = name.starts_with(|first: char| first.is_ascii_alphanumeric());
    if !is_name || !name.chars().all(allowed) {
        let message = format!("'{}' cannot be a session's name", name.escape_debug());
        let hint = "use letters, digits and _ - . in names; a letter or digit first";
        return Err(Refusal::new(message, hint).inside("name"));
    }
    if name.len() > NAME_BYTES_MAX {
        let message = format!("a name of {} bytes is too long", name.len());
        let hint = format!("write at most {NAME_BYTES_MAX}");
        return Err(Refusal::new(message, hint).inside("name"));
    }
    if !(-20..=19).contains(&session.nice) {
        let message = format!("{} is no nice value", session.nice);
        return Err(Refusal::new(message, "write -20 … 19").inside("nice"));
    }
    Ok(())
}

fn check_tasks(workload: &Workload) -> Result<(), Refusal> {
    for (index, task) in workload.tasks.iter().enumerate() {
        let refuse = |message: &str, hint: &str| {
            let path = format!("task[{index}].session");
            Err(Refusal { path, ..Refusal::new(message, hint) })
        };
        if task.template && !task.session.is_empty() {
            return refuse("forked tasks are in the session of their parent", "leave it out");
        }
        let mut others = workload.tasks[..index].iter();
        let plays_tapes = |steps: &[Step]| steps == [Step::Tape];
        let is_apart = |session: &str| session != task.session;
        if plays_tapes(&task.steps)
            && others.any(|other| plays_tapes(&other.steps) && is_apart(&other.session))
        {
            let hint = "name one session for all of them, or none";
            return refuse("the tasks of a recording make each other: one session", hint);
        }
    }
    Ok(())
}

/// The number of a session; none for an empty name.
pub(super) fn number(workload: &Workload, name: &str) -> Result<Option<usize>, Refusal> {
    let sessions = &workload.sessions;
    let found = sessions.iter().position(|session| session.name == name);
    if found.is_some() || name.is_empty() {
        return Ok(found);
    }
    let known = sessions.iter().map(|session| session.name.as_str());
    Err(Refusal::unknown("session", name, known).inside("session"))
}

/// The number of the session that the program starts in.
pub(super) fn of_program(workload: &Workload) -> Result<Option<usize>, Refusal> {
    let name = workload.program.as_ref().map_or("", |program| &program.session);
    number(workload, name).map_err(|refusal| refusal.inside("program"))
}

impl Script {
    /// Those who start tasks: first the player itself, for those of no session, then each session.
    pub fn starters(&self) -> impl Iterator<Item = Option<usize>> + use<> {
        std::iter::once(None).chain((0..self.sessions.len()).map(Some))
    }

    /// The tasks that one of them starts, in order: group and number. Those that tapes make are not
    /// among them.
    pub fn started_by(&self, starter: Option<usize>) -> impl Iterator<Item = (usize, u32)> + '_ {
        let groups = self.groups.iter().enumerate();
        let own = groups.filter(move |(_, group)| group.session == starter);
        let places = own.flat_map(|(group, plan)| {
            (0..plan.starts_ns.len() as u32).map(move |number| (group, number))
        });
        places.filter(|&(group, number)| !self.is_made(group, number))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::play::Setting;
    use crate::{Policy, Seed};

    fn script(workload: serde_json::Value) -> Result<Script, Refusal> {
        let setting = Setting { policy: Policy::default(), seed: Seed(1), cpus: 1 };
        Script::new(&serde_json::from_value(workload).unwrap(), setting)
    }

    #[test]
    fn tasks_start_session_by_session() {
        let task = |name: &str, session: &str| {
            json!({"name": name, "count": 2, "session": session,
                   "steps": ["yield"]})
        };
        let script = script(json!({"name": "w", "duration_us": 5,
            "session": [{"name": "a"}, {"name": "b", "nice": 5}],
            "task": [task("late", "b"), task("first", ""), task("next", "a"), task("last", "b")]}))
        .unwrap();
        let order: Vec<(usize, u32)> =
            script.starters().flat_map(|starter| script.started_by(starter)).collect();
        assert_eq!(order, [(1, 0), (1, 1), (2, 0), (2, 1), (0, 0), (0, 1), (3, 0), (3, 1)]);
        assert_eq!(script.sessions[1].nice, 5);
    }
}
