// SPDX-License-Identifier: GPL-2.0-only
//! The verbs in groups, for people who read the help.

use clap::Command;

use crate::output;

/// What to try first.
pub const EXAMPLES: &str = "\
Examples:
  fairground recommend                             which scheduler suits you
  fairground run quick                             race schedulers, simulated and on real kernels
  fairground run quick --scheduler ./mine.bpf.c    add your own to the race
";

/// The headings and their verbs. Every verb that help shows is in one group.
pub const GROUPS: [(&str, &[&str]); 5] = [
    ("Ask", &["recommend", "run", "load", "record"]),
    ("Read", &["list", "compare", "report", "explain", "history"]),
    ("Exchange", &["import", "share", "export"]),
    ("Trust", &["check", "doctor", "fidelity", "soak", "replicate"]),
    ("Plumbing", &["plan", "trial", "kernel"]),
];

/// The verbs with what they do, one a line, below the headings of their groups.
pub fn table(command: &Command) -> String {
    let row = |name: &&str| {
        let verb = command.find_subcommand(name);
        let about = verb.and_then(Command::get_about).map(ToString::to_string);
        vec![format!("  {name}"), about.unwrap_or_default()]
    };
    let rows: Vec<Vec<String>> =
        GROUPS.iter().flat_map(|(_, verbs)| verbs.iter().map(row)).collect();
    let lines = output::table(&rows);
    let mut lines = lines.lines();
    let mut text = String::new();
    for (heading, verbs) in GROUPS {
        text += &format!("{heading}:\n");
        for line in lines.by_ref().take(verbs.len()) {
            text += &format!("{line}\n");
        }
    }
    text
}

/// `--help` with the groups instead of one long list.
pub fn help_template(command: &Command) -> String {
    format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{}\nOptions:\n{{options}}\n\n\
         {EXAMPLES}\n",
        table(command)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cmd;

    #[test]
    fn every_verb_that_is_shown_is_in_one_group() {
        let mut grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, verbs)| verbs.to_vec()).collect();
        grouped.sort_unstable();
        let command = cmd::command();
        let shown = command.get_subcommands().filter(|verb| !verb.is_hide_set());
        let mut shown: Vec<&str> = shown.map(Command::get_name).collect();
        shown.sort_unstable();
        assert_eq!(grouped, shown);
    }
}
