// SPDX-License-Identifier: GPL-2.0-only
//! A file of `kernels/` → what is built.

use std::path::Path;

use serde::Deserialize;
use spec::SpecError;
use spec::assets::{self, Asset, Kind};
use spec::source::{Document, Places};

use crate::kernels::image::is_option;
use crate::kernels::is_usable_name;

/// A kernel that can be built by its name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Definition {
    /// The file's stem, and the name of the kernel.
    pub name: String,
    pub about: String,
    /// The unpatched kernel that it is compared with; `None` for a base.
    pub base: Option<String>,
    /// The Debian package of the source: its own, or that of its base.
    #[serde(default)]
    pub source: Package,
    /// The patches, in order.
    #[serde(default, rename = "patch")]
    pub patches: Vec<Patch>,
    /// Changes of this project's own, a unified diff; empty: none.
    #[serde(default)]
    pub changes: String,
    /// Lines of configuration on top of the shared ones, the base's first.
    #[serde(default)]
    pub options: Vec<String>,
    /// Whether it has control groups, autogroup and clamps of utilisation. A variant does not
    /// inherit that.
    #[serde(default)]
    pub groups: bool,
    /// The file of `schedulers/` that it is the original of, with knobs: `bore version=50906`.
    pub original_of: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Package {
    /// `linux-source-6.12`.
    pub package: String,
    pub suite: String,
}

/// A patch as its author published it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Patch {
    pub address: String,
    /// SHA-256 of the file, hexadecimal.
    pub sha256: String,
    /// How many lines around a change may differ.
    #[serde(default = "usual_fuzz")]
    pub fuzz: u32,
    /// Beginnings of the paths that are patched; empty: all.
    #[serde(default)]
    pub only: Vec<String>,
    /// What is replaced in its text before it is applied, because the source differs from the one
    /// that it was written for.
    #[serde(default)]
    pub replace: Vec<Replacement>,
}

/// A replacement in the text of a patch.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Replacement {
    /// Every occurrence of this…
    pub old: String,
    /// … becomes this.
    pub new: String,
    /// It is made only if this file of the source…
    pub file: String,
    /// … contains this text.
    pub has: String,
}

/// How many lines around a change `patch` ignores unless a definition says otherwise.
pub const FUZZ: u32 = 3;

fn usual_fuzz() -> u32 {
    FUZZ
}

/// The names of all definitions, sorted.
pub fn names() -> Vec<String> {
    assets::names(Kind::Kernel)
}

/// Reads a definition by name or path.
///
/// # Errors
/// There is no such file, or it is wrong; the message has file and line.
pub fn read(name: &str) -> Result<Definition, SpecError> {
    of_asset(&assets::find(Kind::Kernel, name, Path::new(""))?)
}

fn of_asset(asset: &Asset) -> Result<Definition, SpecError> {
    let mut document = Document::parse(&asset.label, &asset.text)?;
    document.set_name(&asset.stem)?;
    let mut definition: Definition = document.read()?;
    let places = &document.places;
    check(&definition, places)?;
    let has_source = definition.source != Package::default();
    let Some(base) = &definition.base else {
        let hint = "add `base = \"base-6.12\"`, or a source";
        let lacking = || places.error("about", "no base and no source").hint(hint);
        return if has_source { Ok(definition) } else { Err(lacking()) };
    };
    let base = read_base(base, places)?;
    if has_source {
        let hint = "delete the source: it is that of the base";
        return Err(places.error("source", "a source and a base").hint(hint));
    }
    definition.source = base.source;
    definition.options.splice(..0, base.options);
    Ok(definition)
}

fn read_base(name: &str, places: &Places) -> Result<Definition, SpecError> {
    let asset = assets::find(Kind::Kernel, name, Path::new("")).map_err(|error| {
        places.error("base", format!("unknown base '{name}'")).maybe_hint(error.hint)
    })?;
    let base = of_asset(&asset)?;
    if base.base.is_some() {
        let hint = "name the base of that one";
        return Err(places.error("base", format!("'{name}' is no base itself")).hint(hint));
    }
    Ok(base)
}

fn check(definition: &Definition, places: &Places) -> Result<(), SpecError> {
    if !is_usable_name(&definition.name) {
        let message = format!("'{}' cannot be a kernel's name", definition.name);
        let hint = "name the file with small letters, digits, `.`, `_` and `-`, a letter first";
        return Err(places.error("about", message).hint(hint));
    }
    for (at, option) in definition.options.iter().enumerate() {
        if !is_option(option) {
            let message = format!("'{option}' is no line of a kernel's configuration");
            let hint = "write CONFIG_NAME=y, =n, =NUMBER or =\"text\"";
            return Err(places.error(&format!("options[{at}]"), message).hint(hint));
        }
    }
    for (at, patch) in definition.patches.iter().enumerate() {
        let is_hash = patch.sha256.len() == 64 && patch.sha256.bytes().all(is_small_hex);
        if !is_hash {
            let message = format!("'{}' is no SHA-256", patch.sha256);
            let hint = "write the 64 digits that `sha256sum FILE` prints";
            return Err(places.error(&format!("patch[{at}].sha256"), message).hint(hint));
        }
        if !patch.address.starts_with("https://") {
            let message = format!("'{}' is no address", patch.address);
            let hint = "write one that begins with https://";
            return Err(places.error(&format!("patch[{at}].address"), message).hint(hint));
        }
    }
    Ok(())
}

fn is_small_hex(byte: u8) -> bool {
    byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<Definition, SpecError> {
        let label = "mine.toml".to_owned();
        let asset = Asset { label, stem: "mine".into(), base: "".into(), text: text.into() };
        of_asset(&asset)
    }

    #[test]
    fn every_definition_of_the_tree_is_right() {
        for name in names() {
            let definition = read(&name).unwrap();
            assert_eq!(definition.base.is_some(), !definition.patches.is_empty(), "{name}");
        }
    }

    /// Any kernel with patches will do.
    fn any_variant() -> Definition {
        let mut all = names().into_iter().map(|name| read(&name).unwrap());
        all.find(|definition| definition.base.is_some()).expect("there is a variant")
    }

    #[test]
    fn a_variant_has_its_bases_source_and_options() {
        let variant = any_variant();
        let base = read(variant.base.as_deref().unwrap()).unwrap();
        assert_eq!(variant.source, base.source);
        assert!(variant.options.starts_with(&base.options));
        assert!(variant.options.len() > base.options.len());
    }

    #[test]
    fn mistakes_have_their_line() {
        let message = |text: &str| parsed(text).unwrap_err().to_string();
        let start = "about = 'x'\noriginal_of = 'fifo'\n";
        let base = "base = 'base-6.12'\n";
        assert!(message(start).starts_with("mine.toml:1:1: no base and no source"));
        let unknown = message(&format!("{start}base = 'base-6.13'\n"));
        assert!(unknown.starts_with("mine.toml:3:1: unknown base 'base-6.13'; did you mean"));
        let name = any_variant().name;
        let variant = message(&format!("{start}base = '{name}'\n"));
        let said = format!("mine.toml:3:1: '{name}' is no base itself");
        assert!(variant.starts_with(&said), "{variant}");
        let option = message(&format!("{start}{base}options = ['SCHED_BORE=y']\n"));
        assert!(option.starts_with("mine.toml:4:12: 'SCHED_BORE=y' is no line"), "{option}");
        let patch = "[[patch]]\naddress = 'https://a/b'\nsha256 = 'ABC'\n";
        let hash = message(&format!("{start}{base}{patch}"));
        assert!(hash.starts_with("mine.toml:6:1: 'ABC' is no SHA-256"), "{hash}");
        let field = message(&format!("{start}{base}patches = []\n"));
        assert!(field.starts_with("mine.toml:4:1: unknown field 'patches'"), "{field}");
    }
}
