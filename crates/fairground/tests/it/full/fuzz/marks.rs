// SPDX-License-Identifier: GPL-2.0-only
//! Private words in whatever place of a file: none is in what is written for others afterwards.

use std::io::Read;

use flate2::read::GzDecoder;
use model::Seed;

use super::mutate;

/// Folders, a person and a host, as files name them.
const PLANTED: [&str; 3] =
    ["/home/planteduser/Zfold/f.c", "../Zfold/f.c", "planteduser@zhost.acme"];
/// What must not be found of these.
const MARKS: [&str; 3] = ["planteduser", "Zfold", "zhost"];
/// The doors by which a store's records leave, after a file was imported there.
pub const DOORS: [(&str, &str); 3] = [
    ("share --store imported.db --session all --traces -o left.fairground", "left.fairground"),
    ("report --store imported.db --session all -o left.html", "left.html"),
    ("export json --store imported.db --session all -o left.json", "left.json"),
];

pub fn plant(bytes: &mut Vec<u8>, random: &mut Seed) {
    let mark = PLANTED[random.below(PLANTED.len() as u64) as usize];
    mutate::replace_word_by(bytes, mark.as_bytes(), random);
}

/// # Errors
/// Something is found of what was planted.
pub fn look_for(file: &[u8]) -> Result<(), String> {
    let mut text = Vec::new();
    if GzDecoder::new(file).read_to_end(&mut text).is_err() {
        text = file.to_vec();
    }
    let text = String::from_utf8_lossy(&text);
    let found = MARKS.iter().find_map(|mark| text.find(mark));
    found.map_or(Ok(()), |at| {
        let from = text.floor_char_boundary(at.saturating_sub(80));
        let to = text.floor_char_boundary((at + 60).min(text.len()));
        Err(format!("what leaves has {:?}", &text[from..to]))
    })
}
