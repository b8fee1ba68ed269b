// SPDX-License-Identifier: GPL-2.0-only
//! The program as its users meet it.

mod action;
mod chunks;
mod claims;
mod cli;
mod common;
mod design;
mod doctor;
mod emulator;
mod explain;
mod fidelity;
mod fuzz;
mod gallery;
mod gate;
mod guest;
mod help;
mod history;
mod hostile;
mod import;
mod kernel_build;
mod live;
mod look_alikes;
mod packages;
mod recommend;
mod record;
mod replay;
mod replays;
mod replicate;
mod rtapp;
mod share;
mod sim;
mod slurm;
mod soak;
mod starvation;
mod stores;
mod vm;
