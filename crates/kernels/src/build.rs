// SPDX-License-Identifier: GPL-2.0-only
//! The steps of a build, from a definition or a tree to a kernel that boots.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;

use anyhow::Result;
use model::trial::sha256_hex;
use vm::kernels::{Kernel, Own, add_own};

use crate::definition::{Definition, FUZZ, Package, Patch};
use crate::make::Make;
use crate::source::{Facts, Workshop};
use crate::tree::{self, Change};
use crate::{Event, Hear, config, patches, refused, source, tools};

/// What is built.
#[derive(Clone, Debug)]
pub struct Order {
    /// The kernel's name.
    pub name: String,
    /// What is compiled.
    pub text: Text,
    /// Lines of configuration that must hold.
    pub options: Vec<String>,
    /// The user's fragment: its path and text.
    pub fragment: Option<(PathBuf, String)>,
    /// The scheduler that it is the original of.
    pub original_of: String,
}

/// The source of an order.
#[derive(Clone, Debug)]
pub enum Text {
    /// A package with the patches of a definition, then with a file of the user's.
    Package {
        /// The package.
        package: Package,
        /// Published patches.
        patches: Vec<Patch>,
        /// The user's own.
        files: Vec<PathBuf>,
    },
    /// The user's tree, in which nothing is written.
    Tree(PathBuf),
}

/// Where and with what.
pub struct Site<'a> {
    /// The folder for kernels, sources and patches.
    pub home: &'a Path,
    /// A folder with patches that were downloaded.
    pub downloads: Option<&'a Path>,
    /// How many compilers run at a time.
    pub jobs: usize,
    /// Ends the build when it becomes true.
    pub stop: &'a AtomicBool,
}

impl Order {
    /// The order of a definition.
    pub fn of(definition: &Definition) -> Order {
        Order {
            name: definition.name.clone(),
            text: Text::Package {
                package: definition.source.clone(),
                patches: definition.patches.clone(),
                files: Vec::new(),
            },
            options: definition.options.clone(),
            fragment: None,
            original_of: definition.original_of.clone(),
        }
    }
}

/// Builds a kernel and keeps it among those that boot, under its name.
///
/// # Errors
/// [`crate::Refused`] if a patch does not apply, an option is not taken or the text does not
/// compile; [`crate::Interrupted`]; anything else is the machine's fault: missing programs, a full
/// disk, no mirror.
pub fn build(order: &Order, site: &Site<'_>, hear: &mut Hear<'_>) -> Result<Kernel> {
    tools::check()?;
    if let Some((path, text)) = &order.fragment {
        config::check_fragment(&path.display().to_string(), text)?;
    }
    let (workshop, applied) = open(order, site, hear)?;
    let make = Make::new(&workshop, &order.name, site.jobs, site.stop)?;
    hear(Event::Note("configuring"));
    let fragment = order.fragment.as_ref().map(|(_, text)| text.as_str());
    let config = make.configure(&config::compose(&order.options, fragment))?;
    let own = fragment.unwrap_or_default().lines().filter(|line| line.starts_with("CONFIG_"));
    let demands: Vec<String> =
        if fragment.is_some() { own.map(str::to_owned).collect() } else { order.options.clone() };
    if let Some(blind) = config::verify(&demands, &config)? {
        hear(Event::Note(&blind));
    }
    hear(Event::Note(&format!("compiling {}", order.name)));
    let image = make.image(hear)?;
    let own = Own {
        name: &order.name,
        image: &image,
        config: Some(&workshop.objects().join(".config")),
        source: &workshop.facts.source,
        facts: facts(order, &workshop, &applied, &config)?,
    };
    add_own(site.home, &own)
}

/// The source with its patches, and the SHA-256 of each patch as it was published.
fn open(order: &Order, site: &Site<'_>, hear: &mut Hear<'_>) -> Result<(Workshop, Vec<String>)> {
    match &order.text {
        Text::Tree(tree) => Ok((open_tree(tree, site.home)?, Vec::new())),
        Text::Package { package, patches, files } => {
            let cache = site.home.join("patches");
            let mut texts = Vec::new();
            for patch in patches {
                texts.push(patches::find(patch, site.downloads, &cache, hear)?);
            }
            let own = files.iter().map(|file| patches::read(file)).collect::<Result<Vec<_>>>()?;
            let workshop = source::open(site.home, package, hear)?;
            let changes = changes((patches, &texts), (files, &own), &workshop.source)?;
            tree::prepare(&workshop.folder, &changes)?;
            let hashes = texts.iter().chain(&own).map(|text| sha256_hex(text.as_bytes()));
            Ok((workshop, hashes.collect()))
        }
    }
}

fn changes(
    (patches, texts): (&[Patch], &[String]),
    (files, own): (&[PathBuf], &[String]),
    tree: &Path,
) -> Result<Vec<Change>> {
    let mut changes = Vec::new();
    for (patch, text) in patches.iter().zip(texts) {
        let text = patches::adapted(text, patch, tree)?;
        changes.push(Change { label: patch.address.clone(), text, fuzz: patch.fuzz });
    }
    for (file, text) in files.iter().zip(own) {
        let label = file.display().to_string();
        changes.push(Change { label, text: text.clone(), fuzz: FUZZ });
    }
    Ok(changes)
}

fn open_tree(tree: &Path, home: &Path) -> Result<Workshop> {
    let tree = tree.canonicalize().ok().filter(|tree| tree.join("kernel/sched/core.c").is_file());
    let Some(tree) = tree else {
        return Err(refused(
            "--tree: this folder is no source of a kernel (no kernel/sched/core.c)",
        ));
    };
    let commit = git(&tree, &["rev-parse", "HEAD"]);
    let is_changed = git(&tree, &["status", "--porcelain", "--untracked-files=no"]);
    let content = match (commit, is_changed.as_deref()) {
        (None, _) => "not under git".to_owned(),
        (Some(commit), Some("")) => commit,
        (Some(commit), _) => format!("{commit} and changes"),
    };
    Workshop::of_tree(home, &tree, Facts { source: format!("tree {}", tree.display()), content })
}

fn git(tree: &Path, words: &[&str]) -> Option<String> {
    let output = Command::new("git").arg("-C").arg(tree).args(words).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    output.status.success().then_some(text)
}

/// What each record says about the kernel.
fn facts(
    order: &Order,
    workshop: &Workshop,
    applied: &[String],
    config: &str,
) -> Result<BTreeMap<String, String>> {
    let mut facts = BTreeMap::from([
        ("built_as".to_owned(), order.name.clone()),
        ("source".to_owned(), workshop.facts.content.clone()),
        ("compiler".to_owned(), tools::compiler()?),
        ("config_sha256".to_owned(), sha256_hex(config.as_bytes())),
    ]);
    if !applied.is_empty() {
        facts.insert("patches".to_owned(), applied.join(" "));
    }
    if !order.original_of.is_empty() {
        facts.insert("original_of".to_owned(), order.original_of.clone());
    }
    Ok(facts)
}
