// SPDX-License-Identifier: GPL-2.0-only
//! What a guest is told when it is ready: its boot's identity, its trials, and their schedulers.
//!
//! They are not in the guest's file system, so that all boots of a kernel on a machine are the same
//! until then, and one saved state serves them all.

use std::io::Read;

use anyhow::{Context, Result, ensure};
use flate2::Compression;
use flate2::read::{ZlibDecoder, ZlibEncoder};
use model::Trial;
use serde::{Deserialize, Serialize};

/// The name under which QEMU passes them on (`-fw_cfg name=…`).
pub const NAME: &str = "opt/fairground/orders";

#[derive(Clone, Debug, PartialEq)]
pub struct Orders {
    /// The boot's identity, where the guest must not draw one itself (virtual clock).
    pub boot_id: Option<String>,
    /// The trials, in the order in which they run.
    pub trials: Vec<Trial>,
    /// Compiled schedulers: absolute path in the guest, and content.
    pub objects: Vec<(String, Vec<u8>)>,
}

/// What precedes the contents of the objects.
#[derive(Serialize, Deserialize)]
struct Head {
    boot_id: Option<String>,
    trials: Vec<Trial>,
    /// Path and length.
    objects: Vec<(String, usize)>,
}

const LENGTH: usize = 4;

impl Orders {
    /// As bytes: packed, because the guest reads them byte by byte.
    pub fn encode(&self) -> Result<Vec<u8>> {
        let objects = self.objects.iter().map(|(path, content)| (path.clone(), content.len()));
        let head = serde_json::to_vec(&Head {
            boot_id: self.boot_id.clone(),
            trials: self.trials.clone(),
            objects: objects.collect(),
        })?;
        let mut bytes = u32::try_from(head.len())?.to_le_bytes().to_vec();
        bytes.extend(head);
        self.objects.iter().for_each(|(_, content)| bytes.extend(content));
        let mut packed = Vec::new();
        ZlibEncoder::new(bytes.as_slice(), Compression::default()).read_to_end(&mut packed)?;
        Ok(packed)
    }

    /// Reads what [`encode`](Self::encode) wrote.
    pub fn decode(packed: &[u8]) -> Result<Orders> {
        let mut bytes = Vec::new();
        ZlibDecoder::new(packed).read_to_end(&mut bytes).context("the orders are damaged")?;
        let (length, rest) = bytes.split_at_checked(LENGTH).context("the orders are too short")?;
        let length = u32::from_le_bytes([length[0], length[1], length[2], length[3]]) as usize;
        let (head, mut rest) = rest.split_at_checked(length).context("the orders are too short")?;
        let head: Head = serde_json::from_slice(head).context("the orders are not understood")?;
        let mut objects = Vec::new();
        for (path, length) in head.objects {
            let (content, others) = rest.split_at_checked(length).context("an object is cut")?;
            objects.push((path, content.to_vec()));
            rest = others;
        }
        ensure!(rest.is_empty(), "the orders have {} bytes too many", rest.len());
        Ok(Orders { boot_id: head.boot_id, trials: head.trials, objects })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn orders() -> Orders {
        let objects = [("/objects/a", &b"one"[..]), ("/objects/b", b""), ("/objects/c", b"three")];
        Orders {
            boot_id: Some("virtual-3".into()),
            trials: Vec::new(),
            objects: objects.map(|(path, content)| (path.into(), content.to_vec())).to_vec(),
        }
    }

    #[test]
    fn orders_come_back() {
        assert_eq!(Orders::decode(&orders().encode().unwrap()).unwrap(), orders());
    }

    #[test]
    fn damaged_orders_are_refused() {
        let packed = orders().encode().unwrap();
        for length in 0..packed.len() {
            assert!(Orders::decode(&packed[..length]).is_err(), "{length} bytes passed");
        }
    }
}
