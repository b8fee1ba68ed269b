// SPDX-License-Identifier: GPL-2.0-only
//! The nouns of Fairground: plain data, units in names and types, no I/O.
//!
//! ```text
//! Experiment ──► Trial ──► Record ──► (stats) Comparison
//! ```
//!
//! Read in this order: [`experiment`] asks a question, [`contestant`] (with its [`knob`]s of some
//! [`value_type`], whose [`values`] are shown, filled from [`cpu_facts`] by [`words`] or an
//! [`expression`], and the [`refusal`] of a machine), [`workload`] (with its other [`tables`]) and
//! [`machine`] say what is compared, under which workload, on which machine;
//! [`trial`] is one answerable question as a value; [`record`] is its answer, made of [`metric`]s
//! (each with its [`measure_key`]), [`histogram`]s, [`series`] and a [`trace`], beside the
//! [`inside`] of a scheduler. [`seed`] is the only source of chance. [`claim`] is a published
//! finding with its tests, [`Aim`] what a user wants. [`tape`] is what the tasks of a recording
//! did, [`tape_text`] the same on its way to others. [`play`] is what a workload means, defined
//! once for all backends; [`parsers`] read what real programs print, and [`ReadFault`] says why a
//! file of theirs is wrong. [`text`] makes strangers' words safe for a terminal.
//!
//! What is not here: files, clocks, threads, SQL, HTML.

pub mod backend;
pub mod check;
pub mod claim;
pub mod contestant;
pub mod cpu_facts;
pub mod experiment;
pub mod expression;
pub mod histogram;
pub mod inside;
pub mod knob;
pub mod machine;
pub mod measure_key;
pub mod metric;
pub mod parsers;
pub mod play;
pub mod record;
pub mod refusal;
pub mod seed;
pub mod series;
pub mod shared;
pub mod tables;
pub mod tape;
pub mod tape_text;
pub mod text;
pub mod trace;
pub mod trial;
pub mod value_type;
pub mod values;
pub mod words;
pub mod workload;

pub use backend::Backend;
pub use check::{LARGEST_NUMBER, SMALLEST_NUMBER};
pub use claim::{Claim, Expectation};
pub use contestant::{Contestant, Policy, PolicyClass, SchedulerChoice};
pub use cpu_facts::CpuFacts;
pub use experiment::{Aim, Design, Experiment, ModelError, Progress, Scatter, Watched};
pub use histogram::{Buckets, Histogram};
pub use knob::{Call, ForEach, Knob, KnobValue, Knobs, Start, When};
pub use machine::{Clock, Costs, Machine};
pub use measure_key::{MeasureKey, Statistic};
pub use metric::{Measure, Metric};
pub use record::{ActiveScheduler, Measured, Outcome, Provenance, Record};
pub use seed::Seed;
pub use series::Series;
pub use shared::{Name, Shared};
pub use tables::{ControlGroup, InterruptLoad, Mutex, Program, Protocol, TaskSession, UtilClamp};
pub use tape::{Recorded, Tape, TapeOp};
pub use text::{Position, ReadFault};
pub use trace::{Trace, TraceEvent};
pub use trial::Trial;
pub use value_type::{Member, ValueKind, ValueType};
pub use words::Words;
pub use workload::{Channel, Step, TaskGroup, Total, Workload};

/// Values that JSON leaves out because they are usual, for `serde`'s attributes.
mod usual {
    pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
        *value == T::default()
    }

    pub(crate) fn yes() -> bool {
        true
    }

    pub(crate) fn is_true(value: &bool) -> bool {
        *value
    }

    pub(crate) fn usual<const USUAL: u32>() -> u32 {
        USUAL
    }

    pub(crate) fn is_usual<const USUAL: u32>(value: &u32) -> bool {
        *value == USUAL
    }
}
