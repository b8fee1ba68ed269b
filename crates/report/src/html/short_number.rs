// SPDX-License-Identifier: GPL-2.0-only
//! Numbers as the page embeds them.

use serde::{Serialize, Serializer};

/// A number with five significant digits, without a needless fraction.
#[derive(Clone, Copy)]
pub(super) struct Short(pub f64);

impl Serialize for Short {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let rounded: f64 = format!("{:.4e}", self.0).parse().unwrap_or(self.0);
        match rounded {
            whole if whole.fract() == 0.0 && whole.abs() < 9e15 => {
                serializer.serialize_i64(whole as i64)
            }
            fraction => serializer.serialize_f64(fraction),
        }
    }
}
