// SPDX-License-Identifier: GPL-2.0-only
//! From a .bpf.c file to a BPF object, at build time and at run time.
