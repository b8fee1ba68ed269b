// SPDX-License-Identifier: GPL-2.0-only
//! The steps of a build, from a definition or a tree to a kernel that boots.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;

use anyhow::Result;
use model::trial::sha256_hex;

use crate::kernels::build::definition::{Definition, FUZZ};
use crate::kernels::build::source::{Pristine, SourceFacts, Workshop};
use crate::kernels::build::tools::Make;
use crate::kernels::build::tree::{self, Change};
use crate::kernels::build::{
    BuildEvent, OnBuildEvent, build_config, patches, refused, source, tools,
};
use crate::kernels::image::settings;
use crate::kernels::{Kernel, Own, add_own, find};

#[derive(Clone, Debug)]
pub struct Order {
    pub name: String,
    pub text: Text,
    /// Whether the kernel has control groups.
    pub groups: bool,
    /// The user's fragment of configuration: its path and text.
    pub fragment: Option<(PathBuf, String)>,
}

/// The source of an order.
#[derive(Clone, Debug)]
pub enum Text {
    /// A package with the patches and changes of a definition.
    Original(Definition),
    /// The package of a definition with the user's own patches.
    OnBase(Definition, Vec<PathBuf>),
    /// The user's tree, in which nothing is written.
    Tree(PathBuf),
}

impl Order {
    fn definition(&self) -> Option<&Definition> {
        match &self.text {
            Text::Original(definition) | Text::OnBase(definition, _) => Some(definition),
            Text::Tree(_) => None,
        }
    }

    /// A definition's lines of configuration.
    fn options(&self) -> &[String] {
        self.definition().map_or(&[], |definition| &definition.options)
    }
}

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

/// Builds a kernel and keeps it among those that boot, under its name.
///
/// # Errors
/// [`Refused`](super::Refused) if a patch does not apply, an option is not taken or the text does
/// not compile; [`Interrupted`](super::Interrupted); anything else is the machine's fault: missing
/// programs, a full disk, no mirror.
pub fn build(order: &Order, site: &Site<'_>, hear: &mut OnBuildEvent<'_>) -> Result<Kernel> {
    check(order)?;
    tools::check(&tools::KERNEL)?;
    let opened = open(order, site, hear)?;
    let fragment = order.fragment.as_ref().map(|(_, text)| text.as_str());
    let wanted = build_config::compose(order.options(), order.groups, fragment);
    let mut facts = facts(order, &opened, &wanted)?;
    if let Some(kernel) = built_before(order, site.home, &facts) {
        hear(BuildEvent::Note(&format!("{} is built already, from the same", order.name)));
        return Ok(kernel);
    }
    let workshop = &opened.workshop;
    if order.definition().is_some() {
        facts.insert("source_tree_sha256".to_owned(), prepare(&opened, hear)?);
    }
    let make = Make::new(workshop, &order.name, site.jobs, site.stop)?;
    hear(BuildEvent::Note("configuring"));
    let config = make.configure(&wanted)?;
    for loss in build_config::verify(&demands(order), &wanted, &config)? {
        hear(BuildEvent::Note(&loss));
    }
    let lost = build_config::lost(wanted.lines(), &settings(&config));
    if !lost.is_empty() {
        hear(BuildEvent::Note(&format!("without effect in this source: {}", lost.join(", "))));
    }
    hear(BuildEvent::Note(&format!("compiling {}", order.name)));
    let image = make.image(hear)?;
    facts.insert("config_sha256".to_owned(), sha256_hex(config.as_bytes()));
    let own = Own {
        name: &order.name,
        image: &image,
        config: Some(&workshop.objects().join(".config")),
        source: &workshop.facts.source,
        facts,
    };
    add_own(site.home, &own)
}

/// Makes the source what was unpacked, with the changes, and compares it with that. Returns the
/// SHA-256 of what was unpacked.
fn prepare(opened: &Opened, hear: &mut OnBuildEvent<'_>) -> Result<String> {
    let folder = &opened.workshop.folder;
    if !Pristine::is_noted(folder) {
        tree::prepare(folder, &[], None)?;
        hear(BuildEvent::Note("noting what the source is before anything changes it"));
    }
    let pristine = Pristine::open(folder)?;
    hear(BuildEvent::Note("comparing the source with what was unpacked"));
    for guessed in tree::prepare(folder, &opened.changes, Some(&pristine))? {
        hear(BuildEvent::Note(&format!(
            "the lines around a change differ, look where it is: {guessed}"
        )));
    }
    Ok(pristine.sha256)
}

/// Refuses what the user got wrong, before programs are missed that take an installation.
fn check(order: &Order) -> Result<()> {
    if let Some((path, text)) = &order.fragment {
        build_config::check_fragment(&path.display().to_string(), text)?;
    }
    match &order.text {
        Text::Tree(tree) => source_of_kernel(tree).map(drop),
        Text::OnBase(_, files) => files.iter().try_for_each(|file| patches::read(file).map(drop)),
        Text::Original(_) => Ok(()),
    }
}

/// The lines of configuration that the tree must take.
fn demands(order: &Order) -> Vec<String> {
    let Some((_, own)) = &order.fragment else {
        let of_groups = build_config::of_groups(order.groups).map(str::to_owned);
        return of_groups.chain(order.options().iter().cloned()).collect();
    };
    own.lines().filter(|line| line.starts_with("CONFIG_")).map(str::to_owned).collect()
}

/// The kernel of this name, if it was made of the same source, patches and configuration by the
/// same compiler. Nobody knows what a user's tree contains, so `make` looks at it each time.
fn built_before(order: &Order, home: &Path, wanted: &BTreeMap<String, String>) -> Option<Kernel> {
    order.definition()?;
    let kernel = find(home, &order.name).ok().filter(|kernel| kernel.is_named)?;
    wanted.iter().all(|(name, value)| kernel.facts.get(name) == Some(value)).then_some(kernel)
}

/// What is compiled, before it is.
struct Opened {
    workshop: Workshop,
    /// What is applied to the source.
    changes: Vec<Change>,
    /// The SHA-256 of each patch as it was published.
    patches: Vec<String>,
}

/// The source and its patches, which are not applied yet.
fn open(order: &Order, site: &Site<'_>, hear: &mut OnBuildEvent<'_>) -> Result<Opened> {
    let (definition, files) = match &order.text {
        Text::Tree(tree) => {
            let workshop = open_tree(tree, site.home)?;
            return Ok(Opened { workshop, changes: Vec::new(), patches: Vec::new() });
        }
        Text::Original(definition) => (definition, &[][..]),
        Text::OnBase(definition, files) => (definition, &files[..]),
    };
    let cache = site.home.join("patches");
    let mut published = Vec::new();
    for patch in &definition.patches {
        published.push((patch, patches::find(patch, site.downloads, &cache, hear)?));
    }
    let mut own = Vec::new();
    if !definition.changes.is_empty() {
        own.push((format!("the changes of {}", order.name), definition.changes.clone()));
    }
    for file in files {
        own.push((file.display().to_string(), patches::read(file)?));
    }
    let texts = published.iter().map(|(_, text)| text).chain(own.iter().map(|(_, text)| text));
    let hashes = texts.map(|text| sha256_hex(text.as_bytes())).collect();
    let workshop = source::open(site.home, &definition.source, hear)?;
    let mut changes = Vec::new();
    for (patch, text) in published {
        let text = patches::adapted(&text, patch, &workshop.source)?;
        changes.push(Change { label: patch.address.clone(), text, fuzz: patch.fuzz });
    }
    changes.extend(own.into_iter().map(|(label, text)| Change { label, text, fuzz: FUZZ }));
    Ok(Opened { patches: hashes, workshop, changes })
}

/// The whole path of a tree, if it has a kernel's source.
fn source_of_kernel(tree: &Path) -> Result<PathBuf> {
    let whole = tree.canonicalize().ok().filter(|tree| tree.join("kernel/sched/core.c").is_file());
    whole.ok_or_else(|| {
        let tree = tree.display();
        refused(format!("--tree {tree}: is no source of a kernel (no kernel/sched/core.c)"))
    })
}

fn open_tree(tree: &Path, home: &Path) -> Result<Workshop> {
    let tree = source_of_kernel(tree)?;
    let commit = git(&tree, &["rev-parse", "HEAD"]);
    let is_changed = git(&tree, &["status", "--porcelain", "--untracked-files=no"]);
    let content = match (commit, is_changed.as_deref()) {
        (None, _) => "not under git".to_owned(),
        (Some(commit), Some("")) => commit,
        (Some(commit), _) => format!("{commit} and changes"),
    };
    Workshop::of_tree(
        home,
        &tree,
        SourceFacts { source: format!("tree {}", tree.display()), content },
    )
}

fn git(tree: &Path, words: &[&str]) -> Option<String> {
    let output = Command::new("git").arg("-C").arg(tree).args(words).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    output.status.success().then_some(text)
}

/// What each record says about the kernel; `wanted` is the configuration that was asked for.
fn facts(order: &Order, opened: &Opened, wanted: &str) -> Result<BTreeMap<String, String>> {
    let mut facts = BTreeMap::from([
        ("built_as".to_owned(), order.name.clone()),
        ("source".to_owned(), opened.workshop.facts.content.clone()),
        ("compiler".to_owned(), tools::compiler()?),
        ("wanted_config_sha256".to_owned(), sha256_hex(wanted.as_bytes())),
    ]);
    if !opened.patches.is_empty() {
        facts.insert("patches".to_owned(), opened.patches.join(" "));
        // What a definition takes of them, and replaces in them.
        let applied: Vec<&str> = opened.changes.iter().map(|change| change.text.as_str()).collect();
        facts.insert("applied_sha256".to_owned(), sha256_hex(applied.concat().as_bytes()));
    }
    if let Text::Original(definition) = &order.text
        && !definition.original_of.is_empty()
    {
        facts.insert("original_of".to_owned(), definition.original_of.clone());
    }
    Ok(facts)
}
