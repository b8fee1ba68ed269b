// SPDX-License-Identifier: GPL-2.0-only
//! The kernel's random numbers under a virtual clock: addresses of programs, seeds of hash maps.
//!
//! Every boot goes on from the same state of the kernel, with the same random numbers in store.
//! Boots are to differ as they do on a real machine, and a boot that is repeated must not. So they
//! follow from the orders.

use std::fs::File;
use std::os::fd::AsRawFd;

use anyhow::{Context, Result};
use sha2::{Digest, Sha256};

const DEVICE: &str = "/dev/urandom";
/// `RNDADDENTROPY` and `RNDRESEEDCRNG` of the kernel's `linux/random.h`.
const ADD_ENTROPY: libc::Ioctl = 0x4008_5203_u32 as libc::Ioctl;
const RESEED: libc::Ioctl = 0x5207;

/// The kernel's `struct rand_pool_info` with room for a hash.
#[repr(C)]
struct Entropy {
    bits: libc::c_int,
    bytes: libc::c_int,
    seed: [u8; 32],
}

/// Makes the kernel's random numbers follow from these bytes too.
///
/// # Errors
/// The kernel refuses.
pub fn follow_from(bytes: &[u8]) -> Result<()> {
    let seed: [u8; 32] = Sha256::digest(bytes).into();
    let entropy = Entropy { bits: 256, bytes: 32, seed };
    let device = File::options().write(true).open(DEVICE).context(DEVICE)?;
    // SAFETY: the first request reads a struct that lives here and has this form; the second one
    // has no argument.
    let refused = unsafe {
        libc::ioctl(device.as_raw_fd(), ADD_ENTROPY, &entropy) != 0
            || libc::ioctl(device.as_raw_fd(), RESEED) != 0
    };
    match refused {
        true => Err(std::io::Error::last_os_error()).context("the kernel's random numbers"),
        false => Ok(()),
    }
}
