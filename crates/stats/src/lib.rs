// SPDX-License-Identifier: GPL-2.0-only
//! Statistics: records to a comparison, pure functions only.
