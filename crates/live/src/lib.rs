// SPDX-License-Identifier: GPL-2.0-only
//! The live backend: loads schedulers, plays workloads with real threads, probes the kernel.
