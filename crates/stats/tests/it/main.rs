// SPDX-License-Identifier: GPL-2.0-only
//! Records in, answers out; and what statistics promise.

mod common;
mod compare;
mod error_rates;
mod experiments;
mod gate;
mod known_answers;
mod recommend;
mod replication;
mod verdicts;
mod views;
