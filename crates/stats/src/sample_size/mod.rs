// SPDX-License-Identifier: GPL-2.0-only
//! The number of blocks that an experiment needs, before it starts and while it is running.

pub mod power;
