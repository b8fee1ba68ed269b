// SPDX-License-Identifier: GPL-2.0-only
//! Values that JSON leaves out because they are usual, for `serde`'s attributes.

pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

pub(crate) fn yes() -> bool {
    true
}

pub(crate) fn is_true(value: &bool) -> bool {
    *value
}

pub(crate) fn usual<const USUAL: u32>() -> u32 {
    USUAL
}

pub(crate) fn is_usual<const USUAL: u32>(value: &u32) -> bool {
    *value == USUAL
}
