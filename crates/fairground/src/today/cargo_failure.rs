// SPDX-License-Identifier: GPL-2.0-only
//! Why `cargo install` has ended badly: a version that there is not, what cargo lacks to begin, or
//! a crate that does not compile.

use std::fs;
use std::path::Path;

use anyhow::anyhow;
use spec::files::FileKind;
use vm::kernels::build::Refused;
use vm::kernels::build::tools::Needs;

use super::cargo_install::Order;
use crate::exit::bad_input;

const LOG: FileKind = FileKind { noun: "a log of cargo", most: 64 << 20 };

/// Why cargo has ended badly, from its log: a crate that does not compile, a version that there is
/// not, or what cargo lacks to begin.
pub fn failure(order: &Order<'_>, log: &Path, has_compiled: bool) -> anyhow::Error {
    let said = spec::files::text(log, LOG).unwrap_or_default();
    let is_text = |line: &&str| !line.starts_with('{');
    let said: String = said.lines().filter(is_text).flat_map(|line| [line, "\n"]).collect();
    let _ = fs::write(log, &said);
    let (program, place) = (order.program(), log.display());
    if has_compiled && said.contains("signal: 9, SIGKILL") {
        return anyhow!(
            "{program}: a compiler was killed, most likely for want of memory; write --jobs 1"
        );
    }
    if has_compiled {
        let (why, hint) = (complaint(&said), package(order.needs(), &said));
        return Refused(format!(
            "{program} does not compile: {why}{hint}; all of it is in {place}"
        ))
        .into();
    }
    let why = beginning(&said);
    if order.offline {
        return anyhow!(
            "{program} is not among what cargo has downloaded; run it without --offline ({why})"
        );
    }
    // No message of cargo's has a code for it.
    if said.contains(&format!("error: could not find `{}` in registry", order.name)) {
        return bad_input(no_version(order));
    }
    anyhow!(
        "cargo cannot begin to build {program}: {why}; without a network, --offline builds what \
         cargo has downloaded before"
    )
}

fn no_version(order: &Order<'_>) -> String {
    let (name, version) = (order.name, order.version);
    match super::known_version(name) {
        Some(known) if known != version => format!(
            "there is no version {version} of {name}; write {name}@{known}, which Fairground knows"
        ),
        _ => format!("cargo's registry has no {name} {version}: build it from its own tree"),
    }
}

/// The first line that says why a crate does not compile; of a crate's own build program, what it
/// said itself.
fn complaint(said: &str) -> String {
    let mut lines = said.lines().map(str::trim);
    let first = lines.find(|line| line.starts_with("error")).unwrap_or("cargo says nothing");
    let Some((_, who)) = first.split_once("failed to run custom build command for ") else {
        return first.to_owned();
    };
    let own = |line: &&str| line.contains("error: ") && !line.starts_with("error: failed to comp");
    let lines: Vec<&str> = lines.collect();
    let panicked = || lines.iter().skip_while(|line| !line.contains(" panicked at ")).nth(1);
    let why = lines.iter().find(|line| own(line)).or_else(panicked).unwrap_or(&first);
    format!("{}: {why}", who.trim_matches('`'))
}

/// The package of a header or a library that the compiler has not found.
fn package(needs: &Needs, said: &str) -> String {
    let libclang = [("libclang", "libclang-dev")];
    let is_unfound = |line: &str, name: &str| {
        line.contains(name)
            && ["not found", "No such file", "nable to find"].iter().any(|word| line.contains(word))
    };
    let mut known = needs.headers.iter().chain(&libclang);
    let found = known.find(|(name, _)| said.lines().any(|line| is_unfound(line, name)));
    let remedy = |package| format!("; to get it: {}", process::packages::install(package));
    found.map_or_else(String::new, |(_, package)| remedy(package))
}

/// What kept cargo from compiling: its error, and the last cause of that.
fn beginning(said: &str) -> String {
    let mut lines = said.lines().map(str::trim).filter(|line| !line.is_empty());
    let error = lines.find_map(|line| line.strip_prefix("error: ")).unwrap_or("it says nothing");
    let mut after_cause = lines.skip_while(|line| *line != "Caused by:").collect::<Vec<_>>();
    after_cause.retain(|line| *line != "Caused by:");
    after_cause.last().map_or(error.to_owned(), |cause| format!("{error}: {cause}"))
}
