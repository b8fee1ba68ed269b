// SPDX-License-Identifier: GPL-2.0-only
//! What the compiler of schedulers promises.

mod files;
mod objects;
mod sealed;
mod stranger;
