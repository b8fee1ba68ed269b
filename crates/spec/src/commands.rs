// SPDX-License-Identifier: GPL-2.0-only
//! `--command 'make -j8'`: a workload that no file describes.

use std::path::PathBuf;

use model::Backend;
use model::trial::sha256_hex;
use toml::Value;

use crate::SpecError;
use crate::assets::Asset;

/// The time limit of a trial, unless the command line has one: compilations are long.
pub const TIMEOUT_S: u64 = 3_600;
/// A cell's name is shown in tables.
const NAME_LETTERS_MAX: usize = 40;

/// The workload of a command of the shell, as its file would be.
///
/// # Errors
/// There is no command.
pub fn asset(command: &str, prepare: &[String]) -> Result<Asset, SpecError> {
    let label = format!("--command '{command}'");
    if command.trim().is_empty() {
        return Err(SpecError::new(label, "an empty command").hint("write e.g. 'make -j8'"));
    }
    let prepare: Vec<Value> = prepare.iter().map(|command| shell(command)).collect();
    let about = Value::from(format!("the command {command}"));
    let text = format!(
        "about = {about}\nheadline = [\"completion_ns program\"]\n\n[program]\n\
         command = {}\nparser = \"none\"\nprepare = {}\n",
        shell(command),
        Value::from(prepare),
    );
    Ok(Asset { label, stem: name(command), base: PathBuf::new(), text })
}

/// A command runs on the host, whatever an experiment says.
///
/// # Errors
/// Another backend was chosen.
pub fn backends(chosen: &[Backend]) -> Result<Vec<Backend>, SpecError> {
    if chosen.iter().all(|backend| *backend == Backend::Live) {
        return Ok(vec![Backend::Live]);
    }
    let error = SpecError::new("--command", "a command runs on the machine that it is on");
    Err(error.hint("leave --on out, or write --on live"))
}

fn shell(command: &str) -> Value {
    Value::from(["sh", "-c", command].map(Value::from).to_vec())
}

/// Names of cells have no spaces. A long one is cut, and gets what distinguishes it.
fn name(command: &str) -> String {
    let safe = |letter: char| match letter {
        letter if letter.is_alphanumeric() || "_.:-+".contains(letter) => letter,
        _ => '_',
    };
    let whole: String = command.trim().chars().map(safe).collect();
    if whole.chars().count() <= NAME_LETTERS_MAX {
        return whole;
    }
    let begin: String = whole.chars().take(NAME_LETTERS_MAX).collect();
    format!("{begin}-{}", &sha256_hex(command.as_bytes())[..6])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expression::Names;
    use crate::workload;

    #[test]
    fn a_command_is_a_program_of_the_shell() {
        let asset = asset("make -j8 \"a b\" 'c'", &["make clean".into()]).expect("a command");
        let resolved = workload::resolve(&asset, &Names::new(), 1).expect("a workload").workload;
        assert_eq!(resolved.name, "make_-j8__a_b___c_");
        let program = resolved.program.expect("a program");
        assert_eq!(program.command, ["sh", "-c", "make -j8 \"a b\" 'c'"]);
        assert_eq!(program.prepare, [["sh", "-c", "make clean"]]);
        assert_eq!(resolved.headline, ["completion_ns program"]);
    }

    #[test]
    fn long_commands_have_names_of_their_own() {
        let long = |last: &str| name(&format!("{}{last}", "x ".repeat(40)));
        assert_ne!(long("a"), long("b"));
        assert!(long("a").len() < 50, "{}", long("a"));
        assert!(asset("  ", &[]).is_err());
    }
}
