// SPDX-License-Identifier: GPL-2.0-only
//! Two small policies written in Rust, for tests of the engine without a compiler.

use std::cell::Cell;

use sim::flags::{DSQ_LOCAL, KICK_IDLE, SLICE_DFL};
use sim::{Core, Ops, OpsPresent, TaskId};

const SHARED_DSQ: u64 = 0;

/// One queue in order of arrival.
pub struct Fifo {
    pub slice_ns: u64,
}

impl Default for Fifo {
    fn default() -> Fifo {
        Fifo { slice_ns: SLICE_DFL }
    }
}

impl Ops for Fifo {
    fn present(&self) -> OpsPresent {
        OpsPresent { select_cpu: true, enqueue: true, dispatch: true, ..OpsPresent::default() }
    }

    fn name(&self) -> String {
        "fifo".into()
    }

    fn init(&self, core: &mut Core) -> i32 {
        core.create_dsq(SHARED_DSQ, -1)
    }

    fn select_cpu(&self, core: &mut Core, task: TaskId, prev_cpu: i32, wake_flags: u64) -> i32 {
        let (cpu, idle) = core.select_cpu_dfl(task, prev_cpu, wake_flags);
        if idle {
            core.dsq_insert(task, DSQ_LOCAL, self.slice_ns, 0);
        }
        cpu
    }

    fn enqueue(&self, core: &mut Core, task: TaskId, enq_flags: u64) {
        core.dsq_insert(task, SHARED_DSQ, self.slice_ns, enq_flags);
        let allowed = core.cpus_allowed(task).clone();
        let idle = core.pick_idle_cpu(&allowed, 0);
        if idle >= 0 {
            core.kick_cpu(idle, KICK_IDLE);
        }
    }

    fn dispatch(&self, core: &mut Core, _cpu: i32, _prev: Option<TaskId>) {
        core.dsq_move_to_local(SHARED_DSQ, 0);
    }
}

/// One queue ordered by weighted run time, as `scx_simple` has it.
#[derive(Default)]
pub struct Vtime {
    now: Cell<u64>,
}

fn before(a: u64, b: u64) -> bool {
    (a.wrapping_sub(b) as i64) < 0
}

impl Ops for Vtime {
    fn present(&self) -> OpsPresent {
        OpsPresent {
            select_cpu: true,
            enqueue: true,
            dispatch: true,
            running: true,
            stopping: true,
            enable: true,
            ..OpsPresent::default()
        }
    }

    fn name(&self) -> String {
        "vtime".into()
    }

    fn init(&self, core: &mut Core) -> i32 {
        core.create_dsq(SHARED_DSQ, -1)
    }

    fn select_cpu(&self, core: &mut Core, task: TaskId, prev_cpu: i32, wake_flags: u64) -> i32 {
        let (cpu, idle) = core.select_cpu_dfl(task, prev_cpu, wake_flags);
        if idle {
            core.dsq_insert(task, DSQ_LOCAL, SLICE_DFL, 0);
        }
        cpu
    }

    fn enqueue(&self, core: &mut Core, task: TaskId, enq_flags: u64) {
        let floor = self.now.get().wrapping_sub(SLICE_DFL);
        let vtime = core.dsq_vtime(task);
        let vtime = if before(vtime, floor) { floor } else { vtime };
        core.dsq_insert_vtime(task, SHARED_DSQ, SLICE_DFL, vtime, enq_flags);
    }

    fn dispatch(&self, core: &mut Core, _cpu: i32, _prev: Option<TaskId>) {
        core.dsq_move_to_local(SHARED_DSQ, 0);
    }

    fn running(&self, core: &mut Core, task: TaskId) {
        let vtime = core.dsq_vtime(task);
        if before(self.now.get(), vtime) {
            self.now.set(vtime);
        }
    }

    fn stopping(&self, core: &mut Core, task: TaskId, _runnable: bool) {
        let used = SLICE_DFL - core.slice(task).min(SLICE_DFL);
        let weight = u64::from(core.weight(task));
        let vtime = core.dsq_vtime(task).wrapping_add(used * 100 / weight);
        core.set_dsq_vtime(task, vtime);
    }

    fn enable(&self, core: &mut Core, task: TaskId) {
        core.set_dsq_vtime(task, self.now.get());
    }
}
