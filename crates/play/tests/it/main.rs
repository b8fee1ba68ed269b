// SPDX-License-Identifier: GPL-2.0-only
//! A workload means the same to every backend.

mod one_meaning;
