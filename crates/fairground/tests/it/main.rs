// SPDX-License-Identifier: GPL-2.0-only
//! The program as its users meet it.

mod ab;
mod action;
mod bisect;
mod chunks;
mod cli;
mod common;
mod design;
mod doctor;
mod doors;
mod explain;
mod explain_file;
mod fidelity;
mod full;
mod gallery;
mod guest;
mod history;
mod hostile;
mod import;
mod inside;
mod interrupts;
mod live;
mod one_meaning;
mod privacy;
mod quick_turns;
mod races;
mod recommend;
mod record;
mod replay;
mod replicate;
mod rtapp;
mod share;
mod sim;
mod stores;
mod terminals;
mod today;
