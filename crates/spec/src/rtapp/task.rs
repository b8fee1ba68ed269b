// SPDX-License-Identifier: GPL-2.0-only
//! rt-app's tasks and phases.

use jsonc_parser::ast::Value;
use model::{Policy, PolicyClass, Step, TaskGroup};

use super::Global;
use super::event::{self, Events};
use super::json::Fields;
use crate::SpecError;
use crate::check::{ENDLESS, NAME_BYTES_MAX};
use crate::near::advice;
use crate::policy;
use crate::source::Places;

/// rt-app's names of the policies.
const CLASSES: [(&str, PolicyClass); 6] = [
    ("SCHED_OTHER", PolicyClass::Other),
    ("SCHED_BATCH", PolicyClass::Batch),
    ("SCHED_IDLE", PolicyClass::Idle),
    ("SCHED_FIFO", PolicyClass::Fifo),
    ("SCHED_RR", PolicyClass::Rr),
    ("SCHED_DEADLINE", PolicyClass::Deadline),
];
/// The keys of a task object besides events.
const TASK_KEYS: [&str; 10] = [
    "instance",
    "loop",
    "delay",
    "policy",
    "priority",
    "dl-runtime",
    "dl-deadline",
    "dl-period",
    "cpus",
    "phases",
];
/// The keys of a phase object besides events.
const PHASE_KEYS: [&str; 7] =
    ["loop", "policy", "priority", "dl-runtime", "dl-deadline", "dl-period", "cpus"];
/// Keys of rt-app that are not supported.
const UNSUPPORTED: [&str; 5] =
    ["taskgroup", "util_min", "util_max", "nodes_membind", "numa_membind"];
/// The default policy that rt-app gives to tasks of the other classes.
const DEFAULT_PRIORITY: i64 = 10;

/// A task's place in the file.
struct Context<'a> {
    global: &'a Global,
    cpus: u32,
    path: String,
    places: &'a mut Places,
    shared_timers: Vec<(String, usize)>,
}

/// Reads every task.
pub fn tasks(
    mut fields: Fields,
    global: &Global,
    cpus: u32,
    places: &mut Places,
    notes: &mut Vec<String>,
) -> Result<Vec<TaskGroup>, SpecError> {
    let mut groups = Vec::new();
    let mut timers: Vec<(String, String)> = Vec::new();
    while let Some(((name, at), value)) = fields.next() {
        let path = format!("task[{}]", groups.len());
        places.insert(path.clone(), at);
        let mut context = Context { global, cpus, path, places, shared_timers: Vec::new() };
        let mut group = task(name, fields.inner(value, "a task")?, &mut context)?;
        for (timer, at) in std::mem::take(&mut context.shared_timers) {
            not_shared(&fields, (&timer, at), name, &group, &timers)?;
            timers.push((timer, name.to_owned()));
        }
        group.name = short(name);
        if group.name != name {
            notes.push(format!(
                "{}: task '{name}' is shortened to '{}'",
                fields.file(),
                group.name
            ));
        }
        groups.push(group);
    }
    shorten_forks(&mut groups);
    Ok(groups)
}

/// The bytes that the kernel keeps of a name.
fn short(name: &str) -> String {
    let mut end = name.len().min(NAME_BYTES_MAX);
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    name[..end].to_owned()
}

/// Forks name tasks, whose names may have been shortened.
fn shorten_forks(groups: &mut [TaskGroup]) {
    fn shorten(steps: &mut [Step]) {
        for step in steps {
            match step {
                Step::Fork { task, .. } => *task = short(task),
                Step::Loop { steps, .. } => shorten(steps),
                _ => {}
            }
        }
    }
    groups.iter_mut().for_each(|group| shorten(&mut group.steps));
}

/// Refuses a timer that several threads share: any of them would move it, which no backend can do.
fn not_shared(
    fields: &Fields,
    (timer, at): (&str, usize),
    task: &str,
    group: &TaskGroup,
    others: &[(String, String)],
) -> Result<(), SpecError> {
    let other = others.iter().find(|(other, user)| other == timer && user != task);
    if group.count <= 1 && other.is_none() {
        return Ok(());
    }
    let with = other.map_or("its instances".into(), |(_, task)| format!("the task '{task}'"));
    let message = format!("the timer '{timer}' is shared with {with}, which is not supported");
    Err(fields.error_at(at, message).hint(format!("name it 'unique_{timer}': one per thread")))
}

fn task(name: &str, mut fields: Fields, context: &mut Context) -> Result<TaskGroup, SpecError> {
    let instances = fields.unsigned("instance")?.unwrap_or(1);
    let delay_us = fields.unsigned("delay")?.unwrap_or(0);
    let mut repeat = rounds_of(fields.integer("loop")?.map_or(-1, |(rounds, _)| rounds));
    let policy = policy(&mut fields, context.global.policy)?;
    let affinity = cpus(&mut fields)?.unwrap_or_default();
    unsupported(&fields)?;
    let mut phases = match fields.take("phases") {
        Some(phases) => {
            let phases = all_phases(name, fields.inner(phases, "'phases'")?, context)?;
            fields.finish(&TASK_KEYS)?;
            phases
        }
        None => vec![Phase::of_events(name, fields, &TASK_KEYS, context)?],
    };
    // A sole endless phase is the same as an endless task.
    if let [Phase { rounds: rounds @ None, .. }] = &mut phases[..] {
        (*rounds, repeat) = (Some(1), None);
    }
    let group = TaskGroup {
        name: name.to_owned(),
        count: u32::try_from(instances).unwrap_or(u32::MAX),
        repeat,
        delay_us,
        jitter_us: 0,
        policy,
        steps: assemble(phases, policy, &affinity, context),
        affinity,
        template: false,
    };
    Ok(if instances == 0 { as_template(group) } else { group })
}

/// `instance` 0 makes a template: what repeats becomes a loop, what delays becomes a sleep.
fn as_template(group: TaskGroup) -> TaskGroup {
    let mut steps = match group.repeat {
        Some(1) => group.steps,
        rounds => vec![Step::Loop { count: rounds.unwrap_or(ENDLESS), steps: group.steps }],
    };
    if group.delay_us > 0 {
        steps.insert(0, Step::SleepUs(group.delay_us));
    }
    TaskGroup { count: 1, repeat: None, delay_us: 0, template: true, steps, ..group }
}

/// A negative number means: without end.
fn rounds_of(rounds: i64) -> Option<u64> {
    u64::try_from(rounds).ok()
}

/// A phase, before it becomes steps.
struct Phase {
    at: usize,
    rounds: Option<u64>,
    policy: Option<Policy>,
    cpus: Option<Vec<u32>>,
    steps: Vec<Step>,
    /// Where each step is written.
    places: Vec<usize>,
}

impl Phase {
    /// The events that are left of an object.
    fn of_events(
        task: &str,
        mut fields: Fields,
        known: &[&str],
        context: &mut Context,
    ) -> Result<Phase, SpecError> {
        let mut events = Events::new(task);
        while let Some((key, value)) = fields.next() {
            event::read(&fields, key, value, known, &mut events)?;
        }
        context.shared_timers.extend(events.shared_timers);
        let (steps, places) = (events.steps, events.places);
        Ok(Phase { at: fields.start(), rounds: Some(1), policy: None, cpus: None, steps, places })
    }
}

fn all_phases(
    task: &str,
    mut fields: Fields,
    context: &mut Context,
) -> Result<Vec<Phase>, SpecError> {
    let mut phases = Vec::new();
    while let Some(((_, at), value)) = fields.next() {
        let phase = phase(task, fields.inner(value, "a phase")?, context)?;
        if phase.rounds.is_none() && !fields.keys().is_empty() {
            let hint = "let only the last phase have \"loop\": -1";
            return Err(fields
                .error_at(at, "the phases after an endless one never come")
                .hint(hint));
        }
        phases.push(Phase { at, ..phase });
    }
    Ok(phases)
}

fn phase(task: &str, mut fields: Fields, context: &mut Context) -> Result<Phase, SpecError> {
    let rounds = fields.integer("loop")?.map_or(Some(1), |(rounds, _)| rounds_of(rounds));
    let policy = policy(&mut fields, PolicyClass::Other)?;
    let cpus = cpus(&mut fields)?;
    unsupported(&fields)?;
    let phase = Phase::of_events(task, fields, &PHASE_KEYS, context)?;
    Ok(Phase { rounds, policy, cpus, ..phase })
}

/// The phases as one list of steps, each noted with its place. If one phase differs from its task
/// in policy or CPUs, every phase sets them: rounds begin again at the first.
fn assemble(
    phases: Vec<Phase>,
    policy: Option<Policy>,
    affinity: &[u32],
    context: &mut Context,
) -> Vec<Step> {
    let policies = phases.iter().any(|phase| phase.policy.is_some());
    let cpus = phases.iter().any(|phase| phase.cpus.is_some());
    let all_cpus: Vec<u32> = (0..context.cpus).collect();
    let usual = if affinity.is_empty() { &all_cpus } else { affinity };
    let path = format!("{}.steps", context.path);
    let mut steps = Vec::new();
    for phase in phases {
        if policies {
            context.places.insert(format!("{path}[{}]", steps.len()), phase.at);
            steps.push(Step::Policy(phase.policy.or(policy).unwrap_or_default()));
        }
        if cpus {
            context.places.insert(format!("{path}[{}]", steps.len()), phase.at);
            steps.push(Step::Affinity(phase.cpus.clone().unwrap_or_else(|| usual.to_vec())));
        }
        place(&phase, &path, steps.len(), context.places);
        match phase.rounds {
            Some(1) => steps.extend(phase.steps),
            rounds => {
                steps.push(Step::Loop { count: rounds.unwrap_or(ENDLESS), steps: phase.steps })
            }
        }
    }
    steps
}

fn place(phase: &Phase, path: &str, first: usize, places: &mut Places) {
    for (index, at) in phase.places.iter().enumerate() {
        if phase.rounds == Some(1) {
            places.insert(format!("{path}[{}]", first + index), *at);
        } else {
            places.insert(format!("{path}[{first}]"), phase.at);
            places.insert(format!("{path}[{first}].loop.steps[{index}]"), *at);
        }
    }
}

/// The class with a name of rt-app's.
pub fn class(fields: &Fields, name: &str, at: usize) -> Result<PolicyClass, SpecError> {
    let found = CLASSES.iter().find(|(known, _)| *known == name).map(|(_, class)| *class);
    found.ok_or_else(|| {
        let hint = advice(name, CLASSES.map(|(name, _)| name));
        fields.error_at(at, format!("unknown policy '{name}'")).maybe_hint(hint)
    })
}

/// The policy of a task or phase; `None` if the file leaves it to the contestant.
fn policy(fields: &mut Fields, default: PolicyClass) -> Result<Option<Policy>, SpecError> {
    let start = fields.start();
    let named = match fields.text("policy")? {
        Some((name, at)) => Some((class(fields, name, at)?, at)),
        None => None,
    };
    let priority = fields.integer("priority")?;
    let runtime = fields.unsigned("dl-runtime")?;
    let deadline = fields.unsigned("dl-deadline")?;
    let period = fields.unsigned("dl-period")?;
    let at = named.map(|(_, at)| at).or(priority.map(|(_, at)| at)).unwrap_or(start);
    let class = named.map_or(default, |(class, _)| class);
    let says_nothing = named.is_none() && priority.is_none() && runtime.is_none();
    if says_nothing && class == PolicyClass::Other {
        return Ok(None);
    }
    let mut policy = Policy { class, ..Policy::default() };
    let number = priority.map(|(number, _)| number);
    match class {
        PolicyClass::Other | PolicyClass::Batch => policy.nice = small(number.unwrap_or(0)),
        PolicyClass::Fifo | PolicyClass::Rr => {
            policy.priority = small(number.unwrap_or(DEFAULT_PRIORITY));
        }
        PolicyClass::Idle | PolicyClass::Deadline => {}
    }
    policy.runtime_us = runtime.unwrap_or(0);
    policy.period_us = period.unwrap_or(policy.runtime_us);
    policy.deadline_us = deadline.unwrap_or(policy.period_us);
    policy::check(&policy)
        .map_err(|(message, hint)| fields.error_at(at, message).maybe_hint(hint))?;
    Ok(Some(policy))
}

/// Converts a number; one that does not fit becomes a value that the policy's check refuses.
fn small<T: TryFrom<i64> + From<u16>>(number: i64) -> T {
    T::try_from(number).unwrap_or_else(|_| T::from(u16::MAX))
}

fn cpus(fields: &mut Fields) -> Result<Option<Vec<u32>>, SpecError> {
    let value: Option<&Value> = fields.take("cpus");
    value.map(|value| fields.as_cpus(value, "cpus")).transpose()
}

fn unsupported(fields: &Fields) -> Result<(), SpecError> {
    let keys = fields.keys();
    match UNSUPPORTED.iter().find(|key| keys.contains(*key)) {
        None => Ok(()),
        Some(key) => {
            let message = format!("'{key}' is not supported");
            let hint = "delete it, if the comparison is fair without it";
            Err(fields.error_at(fields.place(key), message).hint(hint))
        }
    }
}
