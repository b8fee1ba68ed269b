// SPDX-License-Identifier: GPL-2.0-only
//! What the compiler of schedulers promises.

mod builtin;
mod files;
mod forked;
mod sealed;
mod warnings;
