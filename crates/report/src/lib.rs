// SPDX-License-Identifier: GPL-2.0-only
//! Reports: a comparison to a terminal table or one HTML file, pure functions only.
