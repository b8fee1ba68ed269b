// SPDX-License-Identifier: GPL-2.0-only
//! The built-in idle tracking and CPU selection of Linux 7.x (`idle.c`).
//!
//! DIVERGES: with `SCX_OPS_BUILTIN_IDLE_PER_NODE`, a search that leaves its node takes the other
//! nodes as one, and not by their distances.

use crate::core::mask::{CpuMask, next_in_all};
use crate::core::topology::{Distance, Topology};
use crate::core::{Core, TaskId};
use crate::flags::*;

/// The idle CPUs that schedulers see.
pub struct IdleMasks {
    /// Whether the core tracks idle CPUs.
    pub(super) enabled: bool,
    pub(super) cpus: CpuMask,
    /// CPUs of cores that are idle as a whole; only tracked with SMT.
    pub(super) cores: CpuMask,
    /// Cores have several threads.
    pub(super) smt: bool,
    /// A search begins with the last-level cache, because there are several.
    pub(super) by_llc: bool,
    /// A search goes on with the node, because nodes differ from caches.
    pub(super) by_node: bool,
}

impl IdleMasks {
    /// No CPU is idle yet.
    pub(super) fn new(topology: &Topology) -> IdleMasks {
        let mismatch = topology.llcs.len() != topology.nodes.len();
        IdleMasks {
            enabled: true,
            cpus: CpuMask::empty(topology.cpus),
            cores: CpuMask::empty(topology.cpus),
            smt: topology.smt > 1,
            by_llc: topology.llcs.len() > 1,
            by_node: topology.nodes.len() > 1 && mismatch,
        }
    }

    #[inline]
    pub(super) fn is_core_idle(&self, cpu: u32) -> bool {
        self.cpus.test(cpu) && (!self.smt || self.cores.test(cpu))
    }

    #[inline]
    pub(super) fn update(&mut self, cpu: u32, idle: bool, topology: &Topology) {
        if idle {
            self.cpus.set(cpu);
        } else {
            self.cpus.clear(cpu);
        }
        if self.smt {
            self.update_core(idle, topology.siblings(cpu));
        }
    }

    #[inline(never)]
    fn update_core(&mut self, idle: bool, core: &CpuMask) {
        if !idle {
            self.cores.remove(core);
        } else if core.is_subset(&self.cpus) {
            self.cores.add(core);
        }
    }

    /// Takes a CPU out of the masks; returns whether it was idle.
    #[inline]
    pub(super) fn claim(&mut self, cpu: u32, topology: &Topology) -> bool {
        if self.smt {
            self.update_core(false, topology.siblings(cpu));
        }
        let was_idle = self.cpus.test(cpu);
        self.cpus.clear(cpu);
        was_idle
    }
}

/// The bounds of a search: the task's CPUs and, within them, a cache or node.
struct Bounds<'a> {
    allowed: &'a CpuMask,
    within: Option<&'a CpuMask>,
    extra: Option<&'a CpuMask>,
}

impl Core {
    /// `__scx_update_idle()`: updates the masks, then calls the scheduler if the state changed.
    #[inline(always)]
    pub(crate) fn update_idle(&mut self, cpu: u32, idle: bool, notify: bool) {
        if self.ext.idle.enabled {
            self.ext.idle.update(cpu, idle, &self.machine.topology);
        }
        if notify && self.ext.has.update_idle && !self.ext.bypass {
            self.tell_idle(cpu, idle);
        }
    }

    #[inline(never)]
    fn tell_idle(&mut self, cpu: u32, idle: bool) {
        call!(self, update_idle(cpu as i32, idle));
    }

    /// `scx_bpf_test_and_clear_cpu_idle()`: claims an idle CPU.
    pub fn test_and_clear_cpu_idle(&mut self, cpu: i32) -> bool {
        self.idle_tracked() && self.cpu_valid(cpu, "") && self.claim(cpu as u32)
    }

    /// `scx_idle_test_and_clear_cpu()`.
    #[inline]
    fn claim(&mut self, cpu: u32) -> bool {
        self.ext.idle.claim(cpu, &self.machine.topology)
    }

    /// `cpumask_any_and_distribute()`: the next CPU after the one that this CPU found last.
    fn next_idle(&mut self, cores: bool, bounds: [Option<&CpuMask>; 3]) -> Option<u32> {
        let idle = if cores { &self.ext.idle.cores } else { &self.ext.idle.cpus };
        let start = self.machine.cpus[self.machine.this_cpu as usize].cursor.wrapping_add(1);
        let found = match bounds {
            [Some(a), Some(b), Some(c)] => next_in_all(&[idle, a, b, c], start),
            [Some(a), Some(b), None] | [Some(a), None, Some(b)] => {
                next_in_all(&[idle, a, b], start)
            }
            [Some(a), ..] => next_in_all(&[idle, a], start),
            _ => next_in_all(&[idle], start),
        };
        if let Some(cpu) = found {
            self.machine.cpus[self.machine.this_cpu as usize].cursor = cpu;
        }
        found
    }

    /// `pick_idle_cpu_in_node()`: whole cores first.
    fn pick(&mut self, bounds: &Bounds, flags: u64) -> Option<u32> {
        let bounds = [Some(bounds.allowed), bounds.within, bounds.extra];
        loop {
            let mut found = None;
            if self.ext.idle.smt {
                found = self.next_idle(true, bounds);
                if found.is_none() && flags & PICK_IDLE_CORE != 0 {
                    return None;
                }
            }
            let cpu = match found {
                Some(cpu) => cpu,
                None => self.next_idle(false, bounds)?,
            };
            if self.claim(cpu) {
                return Some(cpu);
            }
        }
    }

    /// `scx_select_cpu_dfl()`: an idle CPU for the task, claimed. `extra` narrows its CPUs further.
    #[inline]
    pub(crate) fn select_cpu_default(
        &mut self,
        task: TaskId,
        previous: u32,
        wake_flags: u64,
        extra: Option<&CpuMask>,
        flags: u64,
    ) -> Option<u32> {
        // The search would begin with the previous CPU, and mostly end there.
        let idle = self.ext.idle.is_core_idle(previous);
        if wake_flags & WAKE_SYNC == 0
            && idle
            && self.machine.allowed(task, previous)
            && extra.is_none_or(|extra| extra.test(previous))
        {
            self.claim(previous);
            return Some(previous);
        }
        self.search_idle(task, previous, wake_flags, extra, flags)
    }

    #[inline(never)]
    fn search_idle(
        &mut self,
        task: TaskId,
        previous: u32,
        wake_flags: u64,
        extra: Option<&CpuMask>,
        flags: u64,
    ) -> Option<u32> {
        // Moving the masks out avoids copies; nothing else reads them during the search.
        let masks = std::mem::take(&mut self.machine.masks);
        let llcs = std::mem::take(&mut self.machine.topology.llcs);
        let nodes = std::mem::take(&mut self.machine.topology.nodes);
        let allowed = &masks[self.machine.task(task).mask as usize];
        let llc = self
            .ext
            .idle
            .by_llc
            .then(|| &llcs[self.machine.topology.llc_of[previous as usize] as usize]);
        let node = self
            .ext
            .idle
            .by_node
            .then(|| &nodes[self.machine.topology.node_of[previous as usize] as usize]);
        let usable = |cpu| allowed.test(cpu) && extra.is_none_or(|extra: &CpuMask| extra.test(cpu));
        let stays = self.idle_is_per_node() && flags & PICK_IDLE_IN_NODE != 0;
        let farthest = node.filter(|_| stays);
        let places = [llc, node, farthest].map(|within| Bounds { allowed, within, extra });
        let found = self
            .select_synchronous(previous, wake_flags, &usable)
            .or_else(|| self.select_core(previous, &places, &usable))
            .or_else(|| {
                if self.ext.idle.smt && flags & PICK_IDLE_CORE != 0 {
                    None
                } else {
                    self.select_any(previous, &places, flags, &usable)
                }
            });
        (self.machine.masks, self.machine.topology.llcs, self.machine.topology.nodes) =
            (masks, llcs, nodes);
        found
    }

    /// A CPU for a synchronous wake-up: the previous CPU if it is near, else the waker's CPU,
    /// because the waker is about to sleep.
    fn select_synchronous(
        &mut self,
        previous: u32,
        wake_flags: u64,
        usable: &dyn Fn(u32) -> bool,
    ) -> Option<u32> {
        if wake_flags & WAKE_SYNC == 0 {
            return None;
        }
        let here = self.machine.this_cpu;
        let near = self.machine.topology.distance(here, previous) <= Distance::Llc;
        if near && usable(previous) && self.claim(previous) {
            return Some(previous);
        }
        let waker = self.machine.cpus[here as usize].curr;
        let ends = self.machine.task(waker).exiting;
        let free = self.ext.queues.len(here) == 0 && !self.ext.idle.cpus.is_empty();
        if ends || !free || !usable(here) {
            return None;
        }
        self.claim(here);
        Some(here)
    }

    /// A CPU of an idle core: the previous CPU, then a near one.
    fn select_core(
        &mut self,
        previous: u32,
        places: &[Bounds; 3],
        usable: &dyn Fn(u32) -> bool,
    ) -> Option<u32> {
        if !self.ext.idle.smt {
            return None;
        }
        if usable(previous) && self.ext.idle.cores.test(previous) && self.claim(previous) {
            return Some(previous);
        }
        self.pick_near(places, PICK_IDLE_CORE)
    }

    /// Any idle CPU: the previous one, then its sibling, then a near one.
    fn select_any(
        &mut self,
        previous: u32,
        places: &[Bounds; 3],
        flags: u64,
        usable: &dyn Fn(u32) -> bool,
    ) -> Option<u32> {
        if usable(previous) && self.claim(previous) {
            return Some(previous);
        }
        if self.ext.idle.smt {
            let first = previous / self.machine.topology.smt * self.machine.topology.smt;
            let siblings =
                first..(first + self.machine.topology.smt).min(self.machine.topology.cpus);
            for cpu in siblings.filter(|&cpu| cpu != previous && usable(cpu)) {
                if self.claim(cpu) {
                    return Some(cpu);
                }
            }
        }
        self.pick_near(places, flags & !PICK_IDLE_CORE)
    }

    /// Searches the last-level cache, the node, then all CPUs; missing levels are skipped.
    fn pick_near(&mut self, places: &[Bounds; 3], flags: u64) -> Option<u32> {
        let [llc, node, anywhere] = places;
        let near = [llc, node].into_iter().filter(|place| place.within.is_some());
        near.chain([anywhere]).find_map(|place| self.pick(place, flags))
    }

    /// `scx_bpf_select_cpu_dfl()`: the CPU, and whether it was idle and is now claimed.
    #[inline]
    pub fn select_cpu_dfl(&mut self, task: TaskId, previous: i32, wake_flags: u64) -> (i32, bool) {
        let picked = self.select_from_kfunc(task, previous, wake_flags, None, 0);
        if picked >= 0 { (picked, true) } else { (previous, false) }
    }

    /// `scx_bpf_select_cpu_and()`: claims an idle CPU that the task may use and that is in the
    /// mask; otherwise a negative error number.
    pub fn select_cpu_and(
        &mut self,
        task: TaskId,
        previous: i32,
        wake_flags: u64,
        mask: &CpuMask,
        flags: u64,
    ) -> i32 {
        self.select_from_kfunc(task, previous, wake_flags, Some(mask), flags)
    }

    #[inline]
    fn select_from_kfunc(
        &mut self,
        task: TaskId,
        previous: i32,
        wake_flags: u64,
        mask: Option<&CpuMask>,
        flags: u64,
    ) -> i32 {
        const EBUSY: i32 = -16;
        const EINVAL: i32 = -22;
        self.charge_look();
        if !self.cpu_valid(previous, "") {
            return EINVAL;
        }
        if !self.idle_tracked() {
            return EBUSY;
        }
        let cpu = previous as u32;
        if self.machine.task(task).nr_allowed == 1 {
            let usable = self.machine.allowed(task, cpu) && mask.is_none_or(|mask| mask.test(cpu));
            return if usable && self.claim(cpu) { previous } else { EBUSY };
        }
        let picked = self.select_cpu_default(task, cpu, wake_flags, mask, flags);
        picked.map_or(EBUSY, |cpu| cpu as i32)
    }

    /// `scx_bpf_pick_idle_cpu()`: claims an idle CPU of the mask; otherwise a negative error
    /// number.
    pub fn pick_idle_cpu(&mut self, mask: &CpuMask, flags: u64) -> i32 {
        const EBUSY: i32 = -16;
        self.charge_look();
        if !self.idle_tracked() {
            return EBUSY;
        }
        let bounds = Bounds { allowed: mask, within: None, extra: None };
        self.pick(&bounds, flags).map_or(EBUSY, |cpu| cpu as i32)
    }

    /// `scx_bpf_pick_any_cpu()`: claims an idle CPU of the mask; otherwise any CPU of the mask.
    pub fn pick_any_cpu(&mut self, mask: &CpuMask, flags: u64) -> i32 {
        const EBUSY: i32 = -16;
        if self.ext.idle.enabled {
            let cpu = self.pick_idle_cpu(mask, flags);
            if cpu >= 0 {
                return cpu;
            }
        }
        let start = self.machine.cpus[self.machine.this_cpu as usize].cursor.wrapping_add(1);
        let found = next_in_all(&[mask], start);
        if let Some(cpu) = found {
            self.machine.cpus[self.machine.this_cpu as usize].cursor = cpu;
        }
        found.map_or(EBUSY, |cpu| cpu as i32)
    }

    /// `scx_bpf_get_idle_cpumask()`.
    pub fn idle_cpumask(&self) -> &CpuMask {
        &self.ext.idle.cpus
    }

    /// `scx_bpf_get_idle_smtmask()`.
    pub fn idle_smtmask(&self) -> &CpuMask {
        if self.ext.idle.smt { &self.ext.idle.cores } else { &self.ext.idle.cpus }
    }

    /// Whether the core tracks the idle CPUs of each node (`SCX_OPS_BUILTIN_IDLE_PER_NODE`).
    #[inline]
    pub(crate) fn idle_is_per_node(&self) -> bool {
        self.ext.ops_flags & OPS_BUILTIN_IDLE_PER_NODE != 0
    }

    /// Whether the core tracks idle CPUs. If not, the question ejects the scheduler.
    pub fn idle_tracked(&mut self) -> bool {
        if !self.ext.idle.enabled {
            self.error("built-in idle tracking is disabled".into());
        }
        self.ext.idle.enabled
    }
}
