// SPDX-License-Identifier: GPL-2.0-only
//! sched_ext, as Linux 7.x has it.
//!
//! Read in this order: `ext_state` is its state; `ext_class` is the class itself; `enqueue`
//! decides where a task goes, `dispatch` what a CPU runs; `dsq` are the queues and `queues` their
//! kfuncs; `reenqueue` gives tasks back to the scheduler; `idle` chooses idle CPUs; `kick`,
//! `timer`,
//! `watchdog`, `enable` and `error` are the rest.

/// Calls one of the scheduler's callbacks and charges its cost.
macro_rules! call {
    ($core:expr, $op:ident($($argument:expr),*)) => {{
        let ops = std::rc::Rc::clone(&$core.ops);
        $core.charge_callback();
        ops.$op($core, $($argument),*)
    }};
}

mod cids;
pub(crate) mod dispatch;
pub(crate) mod dsq;
pub(crate) mod enable;
pub(crate) mod enqueue;
pub(crate) mod error;
pub(crate) mod ext_class;
pub(crate) mod ext_state;
mod group_callbacks;
pub(crate) mod idle;
pub(crate) mod kick;
pub(crate) mod queues;
pub(crate) mod reenqueue;
pub(crate) mod timer;
pub(crate) mod tracepoints;
pub(crate) mod watchdog;
