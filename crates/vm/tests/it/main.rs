// SPDX-License-Identifier: GPL-2.0-only
//! Real kernels, booted with the guest of this crate.

mod boot;
