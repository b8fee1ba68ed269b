// SPDX-License-Identifier: GPL-2.0-only
//! Contestants, as experiment files and as the command line write them.

use std::path::Path;

use model::{Contestant, Knobs, Policy, SchedulerChoice};
use serde::Deserialize;

use super::source::Places;
use super::{Host, SpecError, knobs, mentions, policy, settings, today};

/// The newest kernel series in the package mirror; sched_ext schedulers need it.
const NEWEST: &str = "7";
/// The option that the user wrote, for messages.
pub const OPTION: &str = "--scheduler";

/// How the name of a scheduler's file ends.
pub const ENDING: &str = ".bpf.c";

/// A `[[scheduler]]` table.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    pub name: Option<String>,
    pub kernel: Option<String>,
    pub file: Option<String>,
    program: Option<Vec<String>>,
    policy: Option<Policy>,
    #[serde(default)]
    knobs: Knobs,
}

/// The contestant that a table describes; `path` is the table's, paths in it are relative to
/// `base`.
pub fn from_entry(
    entry: Entry,
    path: &str,
    places: &Places,
    base: &Path,
    host: &Host,
) -> Result<Contestant, SpecError> {
    let Entry { name, kernel, file, program, policy, knobs } = entry;
    let kinds = [file.is_some(), program.is_some(), policy.is_some()];
    if kinds.iter().filter(|kind| **kind).count() > 1 {
        let hint = "write one of file, program and policy, or none for the kernel's own";
        return Err(places.error(path, "more than one kind of scheduler").hint(hint));
    }
    if file.is_none() && !knobs.is_empty() {
        let hint = "knobs are set in a file's scheduler: add file = \"…\"";
        return Err(places.error(&format!("{path}.knobs"), "knobs without a file").hint(hint));
    }
    if let Some(file) = file {
        let (own, sha256) = (host.resolve)(&file, base)
            .map_err(|error| places.error(&format!("{path}.file"), error).hint(mentions::HINT))?;
        knobs::check(&own, &sha256, &knobs, host).map_err(|fault| {
            let path = format!("{path}.knobs.{}", fault.knob);
            places.error(&path, fault.message).maybe_hint(fault.hint)
        })?;
        let settings = settings_of(&file, &own, &sha256, base, host)?;
        let scheduler = SchedulerChoice::File { file, sha256, knobs, settings };
        return Ok(contestant(name.unwrap_or(own), kernel, scheduler));
    }
    if let Some(command) = program {
        let Some(first) = command.first().filter(|first| !first.is_empty()) else {
            let error = places.error(&format!("{path}.program"), "an empty command");
            return Err(error.hint("write [\"scx_bpfland\"], with its arguments"));
        };
        let own = first.clone();
        return Ok(contestant(name.unwrap_or(own), kernel, program_of(command, host)?));
    }
    if let Some(policy) = policy {
        policy::check(&policy).map_err(|(message, hint)| {
            places.error(&format!("{path}.policy"), message).maybe_hint(hint)
        })?;
        let own = policy::class_name(policy.class).to_owned();
        let scheduler = SchedulerChoice::Policy { policy };
        return Ok(contestant(name.unwrap_or(own), kernel, scheduler));
    }
    from_kernel(name, kernel, path, places)
}

/// A program, which is a file in the simulator if it is a scheduler of today.
fn program_of(command: Vec<String>, host: &Host) -> Result<SchedulerChoice, SpecError> {
    let mut command = command;
    let program = command.first().and_then(|program| today::named(program));
    if let Some((name, version)) = program {
        let (kept, needed) = (today::program(name, version, host), today::arguments(name)?);
        if command.len() == 1 {
            command.extend(needed);
        }
        command[0] = kept;
    }
    let in_simulator = today::in_simulator(&command, host)?;
    Ok(SchedulerChoice::Program { command, in_simulator })
}

/// What the side file of a scheduler's file sets; `own` is the scheduler's name.
fn settings_of(
    file: &str,
    own: &str,
    sha256: &str,
    base: &Path,
    host: &Host,
) -> Result<Knobs, SpecError> {
    if !is_path(file) {
        return Ok(Knobs::new());
    }
    let path = base.join(file);
    let Some(found) = settings::beside(&path)? else {
        return Ok(match settings::of_crate(&path)? {
            Some(found) => found.of_another_version(file, sha256, host),
            None => settings::without_side_file(own, sha256, host),
        });
    };
    found.check(own, sha256, host)?;
    Ok(found.values)
}

/// Whether a scheduler is named by a path.
fn is_path(file: &str) -> bool {
    file.contains('/') || file.ends_with(ENDING)
}

fn from_kernel(
    name: Option<String>,
    kernel: Option<String>,
    path: &str,
    places: &Places,
) -> Result<Contestant, SpecError> {
    match (name, &kernel) {
        (None, None) => {
            let hint = "write kernel = \"6.12\", file = \"vtime\", program = […] or policy = {…}";
            Err(places.error(path, "an empty scheduler").hint(hint))
        }
        (Some(name), None) => {
            let hint = format!(
                "add file = \"{name}\" for a scheduler's file, or kernel = \"{NEWEST}\" for a \
                 kernel's own"
            );
            Err(places.error(path, format!("'{name}' does not say what it is")).hint(hint))
        }
        (name, Some(series)) => {
            let own = kernel_name(series);
            Ok(contestant(name.unwrap_or(own), kernel, SchedulerChoice::Kernel))
        }
    }
}

fn contestant(name: String, kernel: Option<String>, scheduler: SchedulerChoice) -> Contestant {
    let kernel = Some(kernel.unwrap_or_else(|| NEWEST.into()));
    Contestant { name, kernel, scheduler, stands_for_kernel: false }
}

/// The name of a kernel's own scheduler: `cfs-6.1`, `eevdf-6.12`. EEVDF replaced CFS in 6.6.
pub fn kernel_name(kernel: &str) -> String {
    if kernel.contains('/') {
        let stem = Path::new(kernel).file_name().unwrap_or_default().to_string_lossy();
        return format!("kernel-{stem}");
    }
    let mut numbers = kernel.split('.').map(|word| word.parse::<u32>().ok());
    match (numbers.next().flatten(), numbers.next().flatten()) {
        (Some(major), minor) if (major, minor.unwrap_or(u32::MAX)) < (6, 6) => {
            format!("cfs-{kernel}")
        }
        (Some(_), _) => format!("eevdf-{kernel}"),
        (None, _) => format!("kernel-{kernel}"),
    }
}

/// The contestant that a `--scheduler` option describes; see [`super::Overrides::schedulers`].
pub fn from_option(text: &str, host: &Host) -> Result<Contestant, SpecError> {
    let (text, kernel) = split_kernel(text);
    let fail = |message: String| SpecError::new(format!("{OPTION} {text}"), message);
    if let Some(series) = text.strip_prefix("kernel:") {
        if series.is_empty() {
            return Err(fail("which kernel?".into()).hint("write e.g. kernel:6.12"));
        }
        let name = kernel_name(series);
        return Ok(contestant(name, Some(series.into()), SchedulerChoice::Kernel));
    }
    if let Some(words) = text.strip_prefix("policy:") {
        let policy =
            policy::parse(words).map_err(|(message, hint)| fail(message).maybe_hint(hint))?;
        let name = words.replace(':', "-");
        return Ok(contestant(name, kernel, SchedulerChoice::Policy { policy }));
    }
    if let Some(words) = text.strip_prefix("program:") {
        let command: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
        if command.is_empty() {
            return Err(fail("which program?".into()).hint("write e.g. program:scx_bpfland"));
        }
        let name = command.join(" ");
        return Ok(contestant(name, kernel, program_of(command, host)?));
    }
    if today::named(text.trim()).is_some() {
        return Ok(contestant(
            text.trim().into(),
            kernel,
            program_of(vec![text.trim().into()], host)?,
        ));
    }
    from_file_option(text, kernel, host)
}

/// `NAME` or `FILE.bpf.c`, with knobs.
fn from_file_option(
    text: &str,
    kernel: Option<String>,
    host: &Host,
) -> Result<Contestant, SpecError> {
    let fail = |message: String| SpecError::new(format!("{OPTION} {text}"), message);
    let (file, knobs) = split_file(text.trim());
    if file.is_empty() {
        let hint = "write a scheduler's name, FILE.bpf.c, program:…, kernel:… or policy:…";
        return Err(fail("an empty scheduler".into()).hint(hint));
    }
    let wrong = |fault: knobs::Fault| fail(fault.message).maybe_hint(fault.hint);
    let knobs = knobs::parse(knobs).map_err(wrong)?;
    let (name, sha256) = (host.resolve)(file, Path::new("")).map_err(fail)?;
    knobs::check(&name, &sha256, &knobs, host).map_err(wrong)?;
    let settings = settings_of(file, &name, &sha256, Path::new(""), host)?;
    let name = text.replacen(file, &name, 1);
    let scheduler = SchedulerChoice::File { file: file.into(), sha256, knobs, settings };
    Ok(contestant(name, kernel, scheduler))
}

/// A scheduler and its knobs. A file's path may have spaces: it ends with the ending.
pub fn split_file(text: &str) -> (&str, &str) {
    let ends = text.match_indices(ENDING).map(|(at, _)| at + ENDING.len());
    let mut ends = ends.filter(|end| text[*end..].is_empty() || text[*end..].starts_with(' '));
    match ends.next() {
        Some(end) => text.split_at(end),
        None => text.split_at(text.find(char::is_whitespace).unwrap_or(text.len())),
    }
}

/// `vtime@6.12` → `vtime` on 6.12. What ends in `.c` is a path, `@` and all.
pub fn split_kernel(text: &str) -> (&str, Option<String>) {
    match text.rsplit_once('@') {
        Some((rest, kernel))
            if !kernel.is_empty()
                && !kernel.contains(['/', ' '])
                && !kernel.ends_with(".c")
                && !today::is_part_of_name(rest, kernel) =>
        {
            (rest, Some(kernel.to_owned()))
        }
        _ => (text, None),
    }
}

/// The value of `--scheduler` that means this contestant; `None` for a claimed scheduler and for
/// a policy that no option can write. In the simulator an option names no kernel.
pub fn option(contestant: &Contestant, simulated: bool) -> Option<String> {
    let kernel = contestant.kernel.as_deref().unwrap_or_default();
    let scheduler = match &contestant.scheduler {
        SchedulerChoice::Kernel => return Some(format!("kernel:{kernel}")),
        SchedulerChoice::Policy { policy } => format!("policy:{}", policy::written(policy)?),
        SchedulerChoice::Program { command, .. } => format!("program:{}", command.join(" ")),
        SchedulerChoice::Claimed { .. } => return None,
        SchedulerChoice::File { file, knobs, .. } => {
            let knobs = knobs.iter().map(|(name, value)| format!(" {name}={value}"));
            format!("{file}{}", knobs.collect::<String>())
        }
    };
    let no_kernel = simulated || kernel.is_empty();
    Some(if no_kernel { scheduler } else { format!("{scheduler}@{kernel}") })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolve(file: &str, _: &Path) -> Result<(String, String), String> {
        match file {
            "vtime" | "./mine@home.bpf.c" | "/a b/my own.bpf.c" => {
                Ok((file.into(), "vtime".into()))
            }
            _ => Err(format!("no scheduler '{file}'; did you mean 'vtime'?")),
        }
    }

    fn option(text: &str) -> Result<Contestant, SpecError> {
        from_option(text, &crate::tests::host_with(&resolve))
    }

    #[test]
    fn every_form_of_the_option() {
        let plain = option("vtime").unwrap();
        assert_eq!((plain.name.as_str(), plain.kernel.as_deref()), ("vtime", Some("7")));
        let knobs = option("vtime slice_us=3000@6.12").unwrap();
        assert_eq!(knobs.name, "vtime slice_us=3000");
        assert_eq!(knobs.kernel.as_deref(), Some("6.12"));
        let SchedulerChoice::File { knobs, .. } = knobs.scheduler else { panic!("a file") };
        assert_eq!(knobs["slice_us"], model::KnobValue::Int(3000));
        let program = option("program:scx_bpfland -s 5000").unwrap();
        let command = ["scx_bpfland", "-s", "5000"].map(String::from).to_vec();
        let in_simulator = None;
        assert_eq!(program.scheduler, SchedulerChoice::Program { command, in_simulator });
        let today = option("scx_bpfland@1.1.4@6.12").unwrap();
        assert_eq!(
            (today.name.as_str(), today.kernel.as_deref()),
            ("scx_bpfland@1.1.4", Some("6.12"))
        );
        assert_eq!(option("policy:rr:50").unwrap().name, "rr-50");
        assert_eq!(option("./mine@home.bpf.c").unwrap().kernel.as_deref(), Some("7"));
        let spaced = option("/a b/my own.bpf.c slice_us=3@6.12").unwrap().scheduler;
        let SchedulerChoice::File { file, knobs, .. } = spaced else { panic!("a file") };
        assert_eq!((file.as_str(), knobs.len()), ("/a b/my own.bpf.c", 1));
    }

    #[test]
    fn kernels_are_named_after_their_scheduler() {
        assert_eq!(option("kernel:6.1").unwrap().name, "cfs-6.1");
        assert_eq!(option("kernel:6.12").unwrap().name, "eevdf-6.12");
        assert_eq!(option("kernel:7").unwrap().name, "eevdf-7");
        assert_eq!(kernel_name("5.15"), "cfs-5.15");
        assert_eq!(kernel_name("./bzImage"), "kernel-bzImage");
        assert_eq!(kernel_name("mine"), "kernel-mine");
    }
}
