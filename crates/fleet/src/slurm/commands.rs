// SPDX-License-Identifier: GPL-2.0-only
//! What Slurm's commands print.

use std::collections::BTreeMap;
use std::io;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::refuse;

/// The format of `squeue --array`: name, state, reason, nodes.
pub const SQUEUE_FORMAT: &str = "--format=%i|%T|%r|%N";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskState {
    pub has_ended: bool,
    /// Slurm's own words, and the node if there is one.
    pub words: String,
}

pub fn output(program: &str, arguments: &[&str]) -> Result<String> {
    let mut command = Command::new(program);
    // Formats that the user has set for themselves would change what is printed.
    for name in ["SQUEUE_FORMAT", "SQUEUE_FORMAT2", "SQUEUE_STATES", "SINFO_FORMAT", "SACCT_FORMAT"]
    {
        command.env_remove(name);
    }
    let output = match command.args(arguments).stdin(Stdio::null()).output() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(refuse(format!(
                "{program} is not installed; to get it: {}",
                process::packages::install("slurm-client")
            )));
        }
        output => output.with_context(|| format!("cannot run {program}"))?,
    };
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let said = said.lines().find(|line| !line.trim().is_empty()).unwrap_or("it says nothing");
        bail!("{program}: {}", said.trim_start_matches(&format!("{program}: ")));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

pub fn parse_squeue(text: &str) -> Result<BTreeMap<String, TaskState>> {
    let mut tasks = BTreeMap::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let fields: Vec<&str> = line.trim().split('|').collect();
        let [id, state, reason, node] = fields[..] else {
            bail!("squeue printed a line of another form: {line}");
        };
        let reason = Some(reason).filter(|reason| !matches!(*reason, "" | "None"));
        let mut words = reason.map_or(state.to_owned(), |reason| format!("{state}, {reason}"));
        if !node.is_empty() {
            words += &format!(" on {node}");
        }
        let has_ended = has_ended(state, reason.unwrap_or_default());
        tasks.insert(id.to_owned(), TaskState { has_ended, words });
    }
    Ok(tasks)
}

/// Whether a task will not run again by itself. One whose start has failed is put back and held: it
/// would wait for ever.
fn has_ended(state: &str, reason: &str) -> bool {
    const ALIVE: [&str; 12] = [
        "PENDING",
        "CONFIGURING",
        "REQUEUED",
        "REQUEUE_FED",
        "RESV_DEL_HOLD",
        "RUNNING",
        "COMPLETING",
        "SUSPENDED",
        "STOPPED",
        "SIGNALING",
        "STAGE_OUT",
        "RESIZING",
    ];
    !ALIVE.contains(&state) || (state == "PENDING" && reason.contains("launch failed"))
}

/// The number of the job in what `sbatch --parsable` prints: `17`, or `17;cluster`.
pub fn job_number(text: &str) -> Option<&str> {
    let number = text.trim().split(';').next()?;
    (!number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())).then_some(number)
}

/// The first line of `sacct --parsable2 --noheader --format=State,ExitCode,NodeList`, in words.
pub fn parse_sacct(text: &str) -> Option<String> {
    let fields: Vec<&str> = text.lines().next()?.trim().split('|').collect();
    let [state, exit, nodes] = fields[..] else { return None };
    Some(format!("{state}, exit code {exit}, on {nodes}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Printed by Slurm 22.05: an array, one task of it requeued after its node was lost.
    const PRINTED: &str = "\
1_4|PENDING|Resources|
1_0|RUNNING|None|n1
1_2|COMPLETED|None|n2
1_3|PENDING|launch failed requeued held|
1_5|CANCELLED|None|n1
1_6|NODE_FAIL|NodeDown|n2
1_7|PENDING|BeginTime|
";

    #[test]
    fn tasks_are_read() {
        let tasks = parse_squeue(PRINTED).unwrap();
        let alive = tasks.iter().filter(|(_, task)| !task.has_ended).map(|(id, _)| id.as_str());
        assert_eq!(alive.collect::<Vec<_>>(), ["1_0", "1_4", "1_7"]);
        assert_eq!(tasks["1_6"].words, "NODE_FAIL, NodeDown on n2");
        assert_eq!(tasks["1_4"].words, "PENDING, Resources");
        let refusal = parse_squeue("JOBID PARTITION NAME\n").unwrap_err().to_string();
        assert_eq!(refusal, "squeue printed a line of another form: JOBID PARTITION NAME");
    }

    #[test]
    fn other_answers_are_read() {
        assert_eq!(job_number("17;cluster\n"), Some("17"));
        assert_eq!(job_number("sbatch: error"), None);
        let words = parse_sacct("NODE_FAIL|0:0|n2\n").unwrap();
        assert_eq!(words, "NODE_FAIL, exit code 0:0, on n2");
        assert_eq!(parse_sacct(""), None);
    }
}
