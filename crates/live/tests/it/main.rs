// SPDX-License-Identifier: GPL-2.0-only
//! Whole trials on the kernel that runs the tests.

mod examples;
mod stopping;
