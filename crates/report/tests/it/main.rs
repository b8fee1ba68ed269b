// SPDX-License-Identifier: GPL-2.0-only
//! What readers see: pages as text and in a real browser, the terminal, Markdown.
//!
//! One program, so that a test which waits for a browser does not keep the others waiting.

mod browser;
mod html;
mod reading;
mod recommend;
mod sight;
mod terminal;
