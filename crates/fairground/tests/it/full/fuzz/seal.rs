// SPDX-License-Identifier: GPL-2.0-only
//! The seal of shared files, so that mutations get behind it.

use std::io::{Read, Write};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;

/// What is under a good file's seal.
pub fn open(packed: &[u8]) -> Vec<u8> {
    let mut text = Vec::new();
    GzDecoder::new(packed).read_to_end(&mut text).expect("a shared file");
    let line = text.iter().position(|byte| *byte == b'\n').expect("a seal");
    text.split_off(line + 1)
}

/// Any bytes with a seal that fits.
pub fn seal(body: &[u8]) -> Vec<u8> {
    let sha256 = model::trial::sha256_hex(body);
    let seal = serde_json::json!({ "fairground_share": 1, "sha256": sha256, "bytes": body.len() });
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    writeln!(encoder, "{seal}").expect("memory");
    encoder.write_all(body).expect("memory");
    encoder.finish().expect("memory")
}
