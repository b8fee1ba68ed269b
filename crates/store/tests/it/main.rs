// SPDX-License-Identifier: GPL-2.0-only
//! What a store promises.

mod damage;
mod sample;
mod store;
