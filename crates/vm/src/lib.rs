// SPDX-License-Identifier: GPL-2.0-only
//! The vm backend: kernels, initramfs, boot.
