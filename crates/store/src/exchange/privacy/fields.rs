// SPDX-License-Identifier: GPL-2.0-only
//! Which texts of records and sessions may leave a machine, and what is left of them. A text that
//! has no row here is hidden.

use std::collections::BTreeSet;

use model::text;

use Rule::{About, Arguments, Command, File, Group, Measure, Name, Text, Told, Tree};

/// What is left of a text. All rules also reduce folders, addresses, and names of user and host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    Text,
    /// A name. Two that differ by their folders stay two names.
    Name,
    File,
    /// A call of this program.
    Command,
    /// Arguments of other programs.
    Arguments,
    /// A description: only those that come with Fairground.
    About,
    /// The path of a control group, or a session: each name of it becomes an anonymous one, and the
    /// tree stays.
    Tree,
    /// The name of a group: of a recording an anonymous one.
    Group,
    /// Words among which names of groups stand.
    Told,
    /// A measure with a group behind it.
    Measure,
}

pub struct Kind {
    /// As the list of what leaves calls them.
    pub what: &'static str,
    pub why: &'static str,
    pub rule: Rule,
    /// Their paths in the JSON forms; `#` is a key, `*` what belongs to it. Steps begin anew with
    /// `steps`, however deep they are. The scheduler in `in_simulator` has the paths of the outer
    /// one.
    pub fields: &'static [&'static str],
}

pub const KINDS: &[Kind] = &[
    Kind {
        what: "names of experiments, contestants, workloads and machines",
        why: "tables are made of them",
        rule: Name,
        fields: &[
            "experiment.name",
            "experiment.baseline",
            "experiment.only_on.#",
            "experiment.cells_on.#",
            "experiment.cells_on.*",
            "experiment.not_on_live",
            "experiment.trace",
            "experiment.design.in_use",
            "experiment.design.scatter.machine",
            "experiment.design.scatter.cell",
            "experiment.design.aims.name",
            "experiment.design.aims.decides.cell",
            "experiment.design.aims.keeps.cell",
            "trial.experiment",
            "contestant.name",
            "contestant.scheduler.name",
            "workload.name",
            "machine.name",
        ],
    },
    Kind {
        what: "names of groups",
        why: "numbers belong to them; a recording's threads are called t1, t2, …",
        rule: Group,
        fields: &[
            "workload.task.name",
            "workload.total.name",
            "workload.total.groups",
            "steps.fork.task",
            "steps.suspend",
            "steps.resume",
            "metric.group",
            "histogram.group",
            "trace.tasks.comm",
            "trace.tasks.group",
        ],
    },
    Kind {
        what: "names of control groups and sessions",
        why: "tasks belong to them; they are called c1, c2, …",
        rule: Tree,
        fields: &[
            "workload.group.name",
            "workload.task.group",
            "workload.session.name",
            "workload.task.session",
            "steps.group",
            "workload.program.group",
            "workload.program.session",
            "steps.set_group.name",
            "steps.make_group",
            "steps.remove_group",
        ],
    },
    Kind {
        what: "measures",
        why: "numbers need a name",
        rule: Measure,
        fields: &[
            "workload.headline",
            "experiment.design.scatter.measure",
            "experiment.design.aims.decides.measure",
            "experiment.design.aims.keeps.measure",
            "metric.name",
            "histogram.name",
            "series.name",
        ],
    },
    Kind {
        what: "names of files",
        why: "a scheduler's file, an image, a file of tapes is found by it",
        rule: File,
        fields: &["contestant.kernel", "contestant.scheduler.file", "workload.recording.tapes"],
    },
    Kind {
        what: "a command",
        why: "it repeats the experiment",
        rule: Command,
        fields: &["session.command"],
    },
    Kind {
        what: "questions and aims",
        why: "readers must know what was asked",
        rule: Text,
        fields: &[
            "experiment.question",
            "experiment.design.aims.decides.words",
            "experiment.design.aims.keeps.words",
        ],
    },
    Kind {
        what: "descriptions that come with Fairground",
        why: "they are public; descriptions of your own are left out",
        rule: About,
        fields: &["workload.about", "machine.about"],
    },
    Kind {
        what: "parts of workloads: knobs, parameters, channels, locks, timers",
        why: "a trial is repeated by them",
        rule: Text,
        fields: &[
            "contestant.scheduler.knobs.#",
            "contestant.scheduler.knobs.*",
            "contestant.scheduler.knobs.*.#",
            "contestant.scheduler.knobs.*.*",
            "contestant.scheduler.settings.#",
            "contestant.scheduler.settings.*",
            "contestant.scheduler.settings.*.#",
            "contestant.scheduler.settings.*.*",
            "workload.parameters.#",
            "workload.channel.name",
            "workload.mutex.name",
            "steps.join",
            "steps.lock",
            "steps.unlock",
            "steps.wait.condition",
            "steps.wait.lock",
            "steps.signal",
            "steps.broadcast",
            "steps.sync.condition",
            "steps.sync.lock",
            "steps.barrier",
            "steps.semaphore_post",
            "steps.semaphore_wait",
            "steps.send.channel",
            "steps.receive.channel",
            "steps.timer.name",
        ],
    },
    Kind {
        what: "programs and their arguments",
        why: "a trial is repeated by them",
        rule: Arguments,
        fields: &[
            "contestant.scheduler.command",
            "workload.program.command",
            "workload.program.prepare",
            "workload.program.files",
            "workload.program.needs.#",
            "workload.program.needs.*",
            "workload.program.package",
            "workload.program.sources",
            "workload.program.parser",
        ],
    },
    Kind {
        what: "what made a recording, and what it does not tell",
        why: "a replay is only as good as its recording",
        rule: Text,
        fields: &["workload.recording.source", "workload.recording.untold"],
    },
    Kind {
        what: "processor, kernel, its settings, versions of programs",
        why: "numbers depend on them",
        rule: Text,
        fields: &[
            "provenance.kernel_release",
            "provenance.kernel_version",
            "provenance.kernel_sha256",
            "provenance.kernel_facts.#",
            "provenance.kernel_facts.*",
            "provenance.accelerator",
            "provenance.cpu_model",
            "provenance.programs.#",
            "provenance.programs.*",
        ],
    },
    Kind {
        what: "schedulers that were active before and after",
        why: "they show what was measured",
        rule: Text,
        fields: &[
            "provenance.scheduler_before.sched_ext_state",
            "provenance.scheduler_before.sched_ext_ops",
            "provenance.scheduler_before.fair",
            "provenance.scheduler_after.sched_ext_state",
            "provenance.scheduler_after.sched_ext_ops",
            "provenance.scheduler_after.fair",
        ],
    },
    Kind {
        what: "why trials ended, and why numbers are missing",
        why: "a failure without its reason is no result",
        rule: Told,
        fields: &[
            "outcome.reason",
            "outcome.dump",
            "outcome.text",
            "metric.missing",
            "series.missing",
        ],
    },
    Kind {
        what: "notes",
        why: "they limit what the numbers mean",
        rule: Told,
        fields: &["provenance.notes", "provenance.probes", "provenance.probe_cost.#"],
    },
    Kind {
        what: "what schedulers printed, and what they did and held",
        why: "a scheduler's author reads it",
        rule: Told,
        fields: &[
            "provenance.printed",
            "provenance.variables",
            "provenance.inside.callbacks.name",
            "provenance.inside.variables.name",
            "provenance.inside.maps.name",
            "provenance.inside.maps.kind",
            "provenance.inside.maps.numbers.path",
            "provenance.inside.maps.numbers.top",
            "provenance.inside.told.name",
            "provenance.inside.missing",
        ],
    },
    Kind {
        what: "who contributed it first",
        why: "a contributor has named it",
        rule: Text,
        fields: &["session.origin.by"],
    },
    Kind {
        what: WORDS,
        why: "Fairground's own vocabulary, versions and identities tell nothing",
        rule: Text,
        fields: &[
            "session.plan",
            "session.fairground",
            "session.origin.seal",
            "experiment.backends",
            "experiment.only_on.*",
            "experiment.design.scatter.backend",
            "trial.backend",
            "provenance.inside.variables.part",
            "contestant.scheduler.kind",
            "contestant.scheduler.sha256",
            "contestant.scheduler.policy.class",
            "workload.task.policy.class",
            "workload.mutex.protocol",
            "workload.recording.sha256",
            "steps",
            "steps.policy.class",
            "machine.clock",
            "outcome.kind",
            "provenance.fairground",
            "provenance.boot_id",
            "trace.events.prev_state",
        ],
    },
];

/// The kind that the list of what leaves does not show.
pub const WORDS: &str = "words, versions and identities";

/// The kind of a text, by its place in [`KINDS`]; `None`: it has no row, and does not leave.
pub fn kind_of(path: &str) -> Option<usize> {
    KINDS.iter().position(|kind| kind.fields.contains(&path))
}

/// The longest line of the list of what leaves, in bytes.
const LINE_BYTES: usize = 160;

/// Some of the texts, and how many more there are.
pub fn listed(texts: &BTreeSet<String>) -> String {
    let mut line = String::new();
    for (index, text) in texts.iter().enumerate() {
        let text = text::line(text);
        if index > 0 && line.len() + text.len() > LINE_BYTES {
            return format!("{line}, and {} more", texts.len() - index);
        }
        line += if index > 0 { ", " } else { "" };
        line += &text;
    }
    line
}
