// SPDX-License-Identifier: GPL-2.0-only
//! What Slurm's commands print in the formats that we ask for. The formats are those of all
//! versions, with and without accounting.

use std::collections::{BTreeMap, BTreeSet};

use crate::queue::{Stage, Task, TaskId};

/// The format of `squeue --array`: name, state, reason, nodes, number of the job.
pub const SQUEUE: &str = "%i|%T|%r|%N|%A";

/// The format of `sinfo`: CPUs (allocated, idle, other, all) and nodes, of each partition.
pub const SINFO: &str = "%P|%C|%D";

/// A task with the number that `srun` and `sbcast` know it by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// As any queue describes it.
    pub task: Task,
    /// The number of its job, which each task of an array has for itself.
    pub job: String,
}

/// The lines of `squeue`.
///
/// # Errors
/// The line that has another form.
pub fn squeue(text: &str) -> Result<BTreeMap<TaskId, Line>, String> {
    let mut tasks = BTreeMap::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let fields: Vec<&str> = line.trim().split('|').collect();
        let [id, state, reason, node, job] = fields[..] else {
            return Err(format!("squeue printed a line of another form: {line}"));
        };
        let said = if matches!(reason, "" | "None") { None } else { Some(reason) };
        let words = said.map_or(state.to_owned(), |reason| format!("{state}, {reason}"));
        let task = Task { stage: stage(state, reason), words, node: node.into() };
        tasks.insert(id.to_owned(), Line { task, job: job.into() });
    }
    Ok(tasks)
}

/// A job whose start has failed is put back and held: it would wait for ever.
fn stage(state: &str, reason: &str) -> Stage {
    match state {
        "RUNNING" | "COMPLETING" | "SUSPENDED" | "STOPPED" | "SIGNALING" | "STAGE_OUT"
        | "RESIZING" => Stage::Running,
        "PENDING" if reason.contains("launch failed") => Stage::Ended,
        "PENDING" | "CONFIGURING" | "REQUEUED" | "REQUEUE_FED" | "RESV_DEL_HOLD" => Stage::Waiting,
        _ => Stage::Ended,
    }
}

/// The usable CPUs and the nodes of the partition that `sbatch` uses, from `sinfo`: the default
/// one, which has a star, or else the largest.
pub fn sinfo(text: &str) -> Option<(usize, usize)> {
    let mut found: Vec<(bool, usize, usize)> = Vec::new();
    for line in text.lines() {
        let fields: Vec<&str> = line.trim().split('|').collect();
        let [name, cpus, nodes] = fields[..] else { continue };
        let cpus: Vec<usize> = cpus.split('/').filter_map(|part| part.parse().ok()).collect();
        if let ([allocated, idle, _, _], Ok(nodes)) = (&cpus[..], nodes.parse()) {
            found.push((name.ends_with('*'), allocated + idle, nodes));
        }
    }
    found.into_iter().max().map(|(_, cpus, nodes)| (cpus, nodes))
}

/// The format of `sinfo --Node`: features and CPUs of each node.
pub const NODES: &str = "%f|%c";

/// The CPUs of the nodes of a kind, from `sinfo`: each number once.
pub fn cpus_of(text: &str, kind: &str) -> BTreeSet<u32> {
    let lines = text.lines().filter_map(|line| line.trim().split_once('|'));
    let own = lines.filter(|(features, _)| features.split(',').any(|feature| feature == kind));
    own.filter_map(|(_, cpus)| cpus.parse().ok()).collect()
}

/// `MaxArraySize` in what `scontrol show config` prints.
pub fn max_array_size(text: &str) -> Option<usize> {
    let line = text.lines().find(|line| line.starts_with("MaxArraySize"))?;
    line.split('=').next_back()?.trim().parse().ok()
}

/// The number of the job in what `sbatch --parsable` prints: `17`, or `17;cluster`.
pub fn job_number(text: &str) -> Option<&str> {
    let number = text.trim().split(';').next()?;
    (!number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())).then_some(number)
}

/// The first line of `sacct --parsable2 --noheader --format=State,ExitCode,NodeList`, in words.
pub fn sacct(text: &str) -> Option<String> {
    let fields: Vec<&str> = text.lines().next()?.trim().split('|').collect();
    let [state, exit, nodes] = fields[..] else { return None };
    Some(format!("{state}, exit code {exit}, on {nodes}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Printed by Slurm 22.05: an array, one task of it requeued after its node was lost.
    const PRINTED: &str = "\
1_4|PENDING|Resources||1
1_0|RUNNING|None|n1|2
1_2|COMPLETED|None|n2|4
1_3|PENDING|launch failed requeued held||5
1_5|CANCELLED|None|n1|6
1_6|NODE_FAIL|NodeDown|n2|7
1_7|PENDING|BeginTime||8
";

    #[test]
    fn kinds_have_the_cpus_of_their_nodes() {
        let printed = "epyc,ssd|64\nepyc|32\nsmall|4\nsmall|4\n(null)|2\n";
        assert_eq!(cpus_of(printed, "small"), BTreeSet::from([4]));
        assert_eq!(cpus_of(printed, "epyc"), BTreeSet::from([32, 64]));
        assert_eq!(cpus_of(printed, "ep"), BTreeSet::new());
    }

    #[test]
    fn tasks_are_read() {
        let tasks = squeue(PRINTED).unwrap();
        let stages: Vec<(&str, Stage)> =
            tasks.iter().map(|(id, line)| (id.as_str(), line.task.stage)).collect();
        let expected = [
            ("1_0", Stage::Running),
            ("1_2", Stage::Ended),
            ("1_3", Stage::Ended),
            ("1_4", Stage::Waiting),
            ("1_5", Stage::Ended),
            ("1_6", Stage::Ended),
            ("1_7", Stage::Waiting),
        ];
        assert_eq!(stages, expected);
        assert_eq!(tasks["1_6"].task.words, "NODE_FAIL, NodeDown");
        assert_eq!((tasks["1_0"].task.node.as_str(), tasks["1_0"].job.as_str()), ("n1", "2"));
        assert_eq!(squeue("").unwrap(), BTreeMap::new());
    }

    #[test]
    fn another_form_is_no_silent_absence() {
        let said = squeue("JOBID PARTITION NAME\n").unwrap_err();
        assert_eq!(said, "squeue printed a line of another form: JOBID PARTITION NAME");
    }

    #[test]
    fn the_default_partition_counts() {
        assert_eq!(sinfo("all*|1/3/0/4|2\nbig|0/64/8/72|9\n"), Some((4, 2)));
        assert_eq!(sinfo("small|1/3/0/4|2\nbig|0/64/8/72|9\n"), Some((64, 9)));
        assert_eq!(sinfo("sinfo: error"), None);
    }

    #[test]
    fn other_answers_are_read() {
        let config = "MaxArraySize            = 1001\nMaxBatchRequeue         = 5\n";
        assert_eq!(max_array_size(config), Some(1001));
        assert_eq!(job_number("17;cluster\n"), Some("17"));
        assert_eq!(job_number("sbatch: error"), None);
        let said = sacct("NODE_FAIL|0:0|n2\n").unwrap();
        assert_eq!(said, "NODE_FAIL, exit code 0:0, on n2");
        assert_eq!(sacct(""), None);
    }
}
