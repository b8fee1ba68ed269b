// SPDX-License-Identifier: GPL-2.0-only
//! `fairground kernel build NAME`: an original, its base, or a kernel of your own.

use std::env;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use vm::kernels::build::definition;
use vm::kernels::build::steps::{Order, Site, Text};

use super::print;
use crate::execution::interrupt;
use crate::execution::locations::data_folder;
use crate::exit::bad_input;
use crate::measure::at_least_one;
use crate::{build_progress, output};

#[derive(clap::Args)]
pub struct Args {
    /// A definition's name or file; without one, a list of them
    #[arg(value_name = "KERNEL")]
    definition: Option<String>,
    /// A patch of your own on a base, `-p1`; can be repeated. `make` runs what it changes, with
    /// your rights
    #[arg(long, value_name = "FILE", requires = "base", conflicts_with = "definition")]
    patch: Vec<PathBuf>,
    /// The definition that your patches are applied to
    #[arg(long, value_name = "KERNEL", conflicts_with_all = ["definition", "tree"])]
    base: Option<String>,
    /// Your own source; nothing is written in it, and the next build compiles only what has
    /// changed. `make` runs its Makefiles and scripts, with your rights
    #[arg(long, value_name = "FOLDER", conflicts_with = "definition")]
    tree: Option<PathBuf>,
    /// Options to add to the configuration
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Add control groups, autogroup and clamps of utilisation to the configuration
    #[arg(long)]
    groups: bool,
    /// The name of your kernel; needed with --base, --tree, --config or --groups
    #[arg(long)]
    name: Option<String>,
    /// A folder with patches that were downloaded before; $FAIRGROUND_DOWNLOADS without it
    #[arg(long, value_name = "FOLDER")]
    downloads: Option<PathBuf>,
    /// Compilers at a time; all CPUs without it
    #[arg(long, value_name = "N", value_parser = at_least_one())]
    jobs: Option<usize>,
}

/// Builds a kernel, or lists what can be built.
pub fn run(args: Args) -> Result<ExitCode> {
    let Some(order) = order(&args)? else {
        output::print(&listed()?)?;
        return Ok(ExitCode::SUCCESS);
    };
    let (home, stop) = (data_folder()?, interrupt::flag()?);
    let from_environment = env::var_os("FAIRGROUND_DOWNLOADS").filter(|value| !value.is_empty());
    let downloads = args.downloads.or_else(|| from_environment.map(PathBuf::from));
    let site = Site {
        home: &home,
        downloads: downloads.as_deref(),
        jobs: build_progress::jobs(args.jobs),
        stop: &stop,
    };
    let kernel =
        build_progress::watch(|hear| vm::kernels::build::steps::build(&order, &site, hear))?;
    print(&[kernel])?;
    Ok(ExitCode::SUCCESS)
}

impl Args {
    /// Whether the configuration is not the definition's own.
    fn is_changed(&self) -> bool {
        self.config.is_some() || self.groups
    }
}

/// What the options ask for; `None`: nothing, so a list.
fn order(args: &Args) -> Result<Option<Order>> {
    let mut order = match (&args.definition, &args.base, &args.tree) {
        (Some(name), _, _) => ordered(Text::Original(definition::read(name)?)),
        (None, Some(base), _) => ordered(Text::OnBase(definition::read(base)?, args.patch.clone())),
        (None, None, Some(tree)) => ordered(Text::Tree(tree.clone())),
        (None, None, None) if args.is_changed() || args.name.is_some() => {
            return Err(bad_input("name what to build: a definition, or --base or --tree"));
        }
        (None, None, None) => return Ok(None),
    };
    match &args.name {
        Some(name) => order.name = checked(name)?,
        None if args.definition.is_some() && !args.is_changed() => {}
        None => return Err(bad_input("a kernel of your own needs a name: add --name mine")),
    }
    order.groups |= args.groups;
    if let Some(file) = &args.config {
        let text = spec::files::text(file, spec::files::DEFINITION)
            .map_err(|fault| bad_input(format!("{}: {fault}", file.display())))?;
        order.fragment = Some((file.clone(), text));
    }
    Ok(Some(order))
}

/// An original has its definition's name; another kernel gets its own.
fn ordered(text: Text) -> Order {
    let (name, groups) = match &text {
        Text::Original(definition) => (definition.name.clone(), definition.groups),
        Text::OnBase(base, _) => (String::new(), base.groups),
        Text::Tree(_) => (String::new(), false),
    };
    Order { name, text, groups, fragment: None }
}

/// A name that is nobody else's.
pub fn checked(name: &str) -> Result<String> {
    if !vm::kernels::is_usable_name(name) {
        return Err(bad_input(format!(
            "--name {name}: write small letters, digits, `.`, `_` and `-`, with a letter first"
        )));
    }
    if definition::names().iter().any(|known| known == name) {
        return Err(bad_input(format!("--name {name}: this is the name of a definition")));
    }
    Ok(name.to_owned())
}

fn listed() -> Result<String> {
    let mut rows = Vec::new();
    for name in definition::names() {
        let definition = definition::read(&name)?;
        rows.push(vec![definition.name, definition.original_of, definition.about]);
    }
    Ok(output::table(&rows))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_definitions_and_versions_are_refused() {
        assert!(checked("mine").is_ok());
        let message = |name: &str| checked(name).unwrap_err().to_string();
        assert_eq!(message("base-6.12"), "--name base-6.12: this is the name of a definition");
        assert!(message("6.12").contains("a letter first"));
    }
}
