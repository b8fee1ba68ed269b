// SPDX-License-Identifier: GPL-2.0-only
//! Files of strangers who mean harm. Each test has failed once.

mod files;
mod lab;
mod locks;
