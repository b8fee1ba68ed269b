// SPDX-License-Identifier: GPL-2.0-only
//! The outside of a shared file: gzip, and a first line that names the version and the content.

use std::io::{BufRead, BufReader, Read, Write};

use anyhow::Result;
use flate2::Compression;
use flate2::bufread::GzDecoder;
use flate2::write::GzEncoder;
use serde::{Deserialize, Serialize};

/// The version of the format that this program writes, and the newest that it reads.
pub const VERSION: u32 = 1;

/// The most bytes of text that a file may unpack to: about a hundred thousand trials.
pub const BODY_MAX: u64 = 512 << 20;

/// The most bytes that one packed byte may stand for, beyond [`FREE`]; records come to 10 to 20.
const RATIO_MAX: u64 = 100;

/// What every file may unpack to.
const FREE: u64 = 1 << 20;

const SEAL_MAX: u64 = 1 << 10;

const GZIP: [u8; 2] = [0x1f, 0x8b];

/// The first line.
#[derive(Serialize, Deserialize)]
struct Seal {
    fairground_share: u32,
    /// SHA-256 of everything below this line, hexadecimal.
    sha256: String,
    bytes: u64,
}

pub struct Sealed {
    /// The content's SHA-256, hexadecimal.
    pub sha256: String,
    pub body: String,
}

/// The packed bytes that surely hold the seal's first key.
pub const BEGINNING: u64 = 4 << 10;

/// Whether bytes are the beginning of a shared file, and not of another one that gzip has packed.
pub fn is_sealed(start: &[u8]) -> bool {
    const KEY: &[u8] = b"{\"fairground_share\"";
    let mut key = [0; KEY.len()];
    GzDecoder::new(start).read_exact(&mut key).is_ok() && key == KEY
}

fn is_packed(start: &[u8]) -> bool {
    start.starts_with(&GZIP)
}

/// Seals and packs a text; without a date, so that the same text gives the same bytes.
pub fn pack(body: &str) -> Result<Vec<u8>> {
    let seal = Seal {
        fairground_share: VERSION,
        sha256: model::trial::sha256_hex(body.as_bytes()),
        bytes: body.len() as u64,
    };
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    writeln!(encoder, "{}", serde_json::to_string(&seal)?)?;
    encoder.write_all(body.as_bytes())?;
    Ok(encoder.finish()?)
}

/// Unpacks a sealed text, and never more than the seal says or [`BODY_MAX`].
///
/// # Errors
/// If it is something else, truncated, too large, of a newer version, or changed.
pub fn unpack(bytes: &[u8]) -> Result<Sealed, String> {
    if !is_packed(bytes) {
        return Err("not a shared file: `fairground share` makes them".into());
    }
    let mut packed = BufReader::new(GzDecoder::new(bytes));
    let seal = seal(&mut packed)?;
    let most = (bytes.len() as u64 * RATIO_MAX).max(FREE);
    if seal.bytes > most {
        let (size, would) = (bytes.len(), seal.bytes);
        return Err(format!(
            "its {size} bytes would unpack to {would}; more than {RATIO_MAX} for one are refused"
        ));
    }
    let mut body = Vec::new();
    let read = packed.by_ref().take(seal.bytes + 1).read_to_end(&mut body);
    read.map_err(|error| broken(&error))?;
    if body.len() as u64 != seal.bytes {
        let more = if body.len() as u64 > seal.bytes { "more" } else { "less" };
        return Err(format!("its content is {more} than the {} bytes sealed", seal.bytes));
    }
    // The decoder checks its own sum at the end only.
    let rest = packed.read(&mut [0]).map_err(|error| broken(&error))?;
    if rest > 0 || !packed.into_inner().into_inner().is_empty() {
        return Err("something stands behind its end".into());
    }
    let sha256 = model::trial::sha256_hex(&body);
    if sha256 != seal.sha256 {
        let (is, was) = (&sha256[..12], seal.sha256.get(..12).unwrap_or(&seal.sha256));
        return Err(format!("the seal is broken: its content is {is}…, sealed was {was}…"));
    }
    let body = String::from_utf8(body).map_err(|_| "its content is not text".to_owned())?;
    Ok(Sealed { sha256, body })
}

fn seal(packed: &mut impl BufRead) -> Result<Seal, String> {
    let mut line = Vec::new();
    let read = packed.take(SEAL_MAX).read_until(b'\n', &mut line);
    read.map_err(|error| broken(&error))?;
    let foreign = || "not a shared file: its first line is no seal".to_owned();
    // A newer version may say more, so its number is looked at before anything else.
    let said: serde_json::Value = serde_json::from_slice(&line).map_err(|_| foreign())?;
    let version = said.get("fairground_share").and_then(serde_json::Value::as_u64);
    match version.ok_or_else(foreign)? {
        version if version > u64::from(VERSION) => {
            return Err(format!(
                "its format is version {version}, this program reads up to {VERSION}; use a newer \
                 fairground"
            ));
        }
        0 => return Err(foreign()),
        _ => {}
    }
    let seal: Seal = serde_json::from_value(said).map_err(|_| foreign())?;
    if seal.bytes > BODY_MAX {
        let most = BODY_MAX >> 20;
        return Err(format!("it would unpack to {} bytes; {most} MiB is the most", seal.bytes));
    }
    Ok(seal)
}

fn broken(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::UnexpectedEof => "it is cut off".into(),
        _ => format!("it is damaged ({error})"),
    }
}
