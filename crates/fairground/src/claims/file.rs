// SPDX-License-Identifier: GPL-2.0-only
//! A claim's file → [`model::Claim`].

use std::path::Path;

use model::Claim;

use super::consistency;
use spec::SpecError;
use spec::assets::{self, Asset, Kind};
use spec::source::Document;

/// Reads a claim by name or path. Its expectations name their cells and machines in full then.
///
/// # Errors
/// Everything that is wrong with the file or with what it refers to.
pub fn read(name: &str) -> Result<Claim, SpecError> {
    read_asset(&assets::find(Kind::Claim, name, Path::new(""))?)
}

/// Reads a claim's file.
///
/// # Errors
/// As for [`read`].
pub fn read_asset(asset: &Asset) -> Result<Claim, SpecError> {
    let mut document = Document::parse(&asset.label, &asset.text)?;
    document.set_name(&asset.stem)?;
    let mut claim: Claim = document.read()?;
    consistency::claim(&mut claim, &document.places, &asset.base)?;
    Ok(claim)
}
