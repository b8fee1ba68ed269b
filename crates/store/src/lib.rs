// SPDX-License-Identifier: GPL-2.0-only
//! The store: records in SQLite, and nothing else knows SQL.
