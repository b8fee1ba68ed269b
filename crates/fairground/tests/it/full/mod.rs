// SPDX-License-Identifier: GPL-2.0-only
//! What only `make test-all` runs: it takes minutes, or needs what few machines have.

mod emulator;
mod fuzz;
mod kernel_build;
mod packages;
mod replays;
mod slurm;
mod soak;
mod vm;
