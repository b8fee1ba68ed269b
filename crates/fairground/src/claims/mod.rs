// SPDX-License-Identifier: GPL-2.0-only
//! What others have published, asked again.

pub mod s4;
