// SPDX-License-Identifier: GPL-2.0-only
//! Files that the host gave to QEMU (`-fw_cfg`), read from its device.
//!
//! The device belongs to the process of QEMU and not to the guest's memory: a machine that goes on
//! from a saved state reads the files of the new process. The kernel's driver is no substitute: it
//! is a module, and looks only once.

use anyhow::{Result, bail};

use super::port;

/// A number is written here, in one instruction, and the next port gives that item's bytes.
const SELECTOR: u16 = 0x510;
const DATA: u16 = 0x511;
const PORTS: u16 = 2;

/// Items with fixed numbers.
const SIGNATURE: u16 = 0;
const DIRECTORY: u16 = 0x19;

/// An entry: size (4 bytes), number (2), reserved (2), name; big-endian.
const ENTRY: usize = 64;
const NAME: usize = 8;
/// More is no directory.
const ENTRIES_MAX: u32 = 4096;

/// The content of a file.
///
/// # Errors
/// There is no such file, or no such device.
pub fn read(name: &str) -> Result<Vec<u8>> {
    port::with_access(SELECTOR, PORTS, || {
        let mut signature = [0; 4];
        read_item(SIGNATURE, &mut signature);
        if &signature != b"QEMU" {
            bail!("the machine has no fw_cfg device");
        }
        let Some((number, size)) = find(name) else {
            bail!("the host has passed no {name}");
        };
        let mut content = vec![0; size];
        read_item(number, &mut content);
        Ok(content)
    })
}

fn find(name: &str) -> Option<(u16, usize)> {
    let mut count = [0; 4];
    read_item(DIRECTORY, &mut count);
    (0..u32::from_be_bytes(count).min(ENTRIES_MAX)).find_map(|_| {
        let mut entry = [0; ENTRY];
        port::read(DATA, &mut entry);
        parse(&entry, name)
    })
}

fn parse(entry: &[u8; ENTRY], name: &str) -> Option<(u16, usize)> {
    let own = entry[NAME..].split(|byte| *byte == 0).next()?;
    let size = u32::from_be_bytes([entry[0], entry[1], entry[2], entry[3]]) as usize;
    (own == name.as_bytes()).then_some((u16::from_be_bytes([entry[4], entry[5]]), size))
}

fn read_item(number: u16, into: &mut [u8]) {
    port::write_word(SELECTOR, number);
    port::read(DATA, into);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_has_a_name_a_number_and_a_size() {
        let mut entry = [0; ENTRY];
        entry[..6].copy_from_slice(&[0, 0, 1, 2, 0, 0x2e]);
        entry[NAME..NAME + 5].copy_from_slice(b"opt/a");
        assert_eq!(parse(&entry, "opt/a"), Some((0x2e, 258)));
        assert_eq!(parse(&entry, "opt/ab"), None);
        assert_eq!(parse(&entry, "opt"), None);
    }
}
