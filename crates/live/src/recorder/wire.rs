// SPDX-License-Identifier: GPL-2.0-only
//! The structures of `recorder.h` as Rust sees them. A test compares them with the object's BTF.

use std::mem::size_of;

/// `enum record_kind`.
pub mod kind {
    /// A CPU changed from one task to another.
    pub const SWITCH: u16 = 0;
    /// A task became runnable.
    pub const WAKE: u16 = 1;
    /// A task made another one.
    pub const FORK: u16 = 2;
    /// A task ends.
    pub const EXIT: u16 = 3;
    /// A [`super::TaskFacts`].
    pub const TASK: u16 = 4;
    /// A task runs on a CPU as the recording begins.
    pub const RUNNING: u16 = 5;
    /// A task has put bytes into a stream.
    pub const SENT: u16 = 6;
    /// A task has taken bytes out of a stream.
    pub const TAKEN: u16 = 7;
}

/// `enum record_leaves`.
pub mod leaves {
    /// It could have run on.
    pub const RUNNABLE: u32 = 0;
    /// It has ended.
    pub const ENDED: u32 = 1;
    /// Interruptible sleep.
    #[cfg(test)]
    pub const WAITING: u32 = 2;
    /// Uninterruptible sleep.
    pub const STUCK: u32 = 3;
    /// Uninterruptible sleep for a disk.
    pub const IO: u32 = 4;
    /// A thread of the kernel that has nothing to do.
    pub const IDLING: u32 = 5;
    /// It could have run on, but lets others run.
    pub const YIELDING: u32 = 6;
}

/// `enum record_waker`.
pub mod waker {
    /// A task.
    pub const TASK: u32 = 0;
    /// A timer.
    pub const TIMER: u32 = 1;
    /// An interrupt.
    pub const INTERRUPT: u32 = 2;
}

/// `enum record_file`.
pub mod file {
    /// Not known, or none.
    pub const NONE: u32 = 0;
    /// A pipe.
    pub const PIPE: u32 = 1;
    /// A socket of this machine.
    pub const LOCAL_SOCKET: u32 = 2;
    /// A socket of a network.
    pub const NETWORK: u32 = 3;
    /// A file on a disk, or the disk itself.
    pub const DISK: u32 = 4;
    /// A `timerfd`.
    pub const TIMER: u32 = 5;
    /// An `eventfd`.
    pub const EVENT: u32 = 6;
}

/// `enum record_only`.
pub mod only {
    /// Tasks that are marked, and those that they fork.
    pub const MARKED: u32 = 1;
    /// Tasks of a name.
    pub const COMM: u32 = 2;
    /// Tasks of control groups.
    pub const CGROUP: u32 = 3;
}

/// No system call that is known.
pub const NO_SYSCALL: u32 = 0xffff;

/// System calls with a place in the programs' table.
pub const SYSCALLS: usize = 1024;

/// CPUs with a place in [`TaskFacts::cpus`], by 64.
pub const CPU_WORDS: usize = 16;

/// An event.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RawEvent {
    /// The kernel's monotonic clock.
    pub time_ns: u64,
    /// The task that leaves, the parent, or the task itself; 0: nobody that is recorded.
    pub task: u32,
    /// The task that runs next, the waker, the child, or the stream. Of a [`kind::TASK`], once it
    /// is kept: the place of its facts.
    pub other: u32,
    /// A switch: why the task leaves, the file, the system call; a wake-up: what woke the task; a
    /// message: its bytes.
    pub detail: u32,
    /// Where.
    pub cpu: u16,
    /// One of [`kind`].
    pub kind: u16,
}

/// What the kernel knows of a task.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct TaskFacts {
    /// When and whose.
    pub event: RawEvent,
    /// The number of the process.
    pub process: u32,
    /// 1: a thread of the kernel.
    pub kernel: u32,
    /// 120 is nice 0.
    pub static_prio: i32,
    /// The number of the policy.
    pub policy: u32,
    /// Of a real-time task.
    pub rt_priority: u32,
    /// How many CPUs it may use.
    pub allowed_cpus: u32,
    /// Of a deadline task.
    pub dl_runtime_ns: u64,
    /// Of a deadline task.
    pub dl_deadline_ns: u64,
    /// Of a deadline task.
    pub dl_period_ns: u64,
    /// The name.
    pub comm: [u8; 16],
    /// CPUs that it may use.
    pub cpus: [u64; CPU_WORDS],
}

/// What a CPU does outside of tasks: only the programs read it.
pub type CpuState = [u64; 8];

/// What is kept of the events in memory.
#[derive(Debug, Default)]
pub struct Kept {
    /// The events, as CPUs have reserved their places.
    pub events: Vec<RawEvent>,
    /// What [`kind::TASK`]s say.
    pub facts: Vec<TaskFacts>,
}

impl Kept {
    /// Keeps what the kernel has sent.
    pub fn keep(&mut self, bytes: &[u8]) {
        if bytes.len() < size_of::<RawEvent>() {
            return;
        }
        // SAFETY: long enough, and any bytes are an event.
        let mut event = unsafe { bytes.as_ptr().cast::<RawEvent>().read_unaligned() };
        if event.kind == kind::TASK && bytes.len() >= size_of::<TaskFacts>() {
            event.other = self.facts.len() as u32;
            // SAFETY: long enough, and any bytes are facts.
            self.facts.push(unsafe { bytes.as_ptr().cast::<TaskFacts>().read_unaligned() });
        }
        self.events.push(event);
    }

    /// How much that is.
    pub fn bytes(&self) -> u64 {
        let (events, facts) = (self.events.len(), self.facts.len());
        (events * size_of::<RawEvent>() + facts * size_of::<TaskFacts>()) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loader::variable::{self, members};
    use libbpf_rs::btf::Btf;
    use std::mem::offset_of;

    fn offsets(structure: &str) -> Vec<usize> {
        let object = compile::recorder_object();
        let btf = Btf::from_raw("recorder", object).expect("an object").expect("with BTF");
        let members = members(&btf, structure).expect("the structure is in the object");
        let mut offsets: Vec<usize> = members.iter().map(|member| member.offset).collect();
        offsets.push(members.last().map_or(0, |member| member.end));
        offsets
    }

    #[test]
    fn rust_and_c_agree_on_events() {
        let rust = [
            offset_of!(RawEvent, time_ns),
            offset_of!(RawEvent, task),
            offset_of!(RawEvent, other),
            offset_of!(RawEvent, detail),
            offset_of!(RawEvent, cpu),
            offset_of!(RawEvent, kind),
            size_of::<RawEvent>(),
        ];
        assert_eq!(offsets("record_event"), rust);
        assert_eq!(offsets("record_cpu").last(), Some(&size_of::<CpuState>()));
    }

    #[test]
    fn rust_and_c_agree_on_tasks() {
        let rust = [
            offset_of!(TaskFacts, event),
            offset_of!(TaskFacts, process),
            offset_of!(TaskFacts, kernel),
            offset_of!(TaskFacts, static_prio),
            offset_of!(TaskFacts, policy),
            offset_of!(TaskFacts, rt_priority),
            offset_of!(TaskFacts, allowed_cpus),
            offset_of!(TaskFacts, dl_runtime_ns),
            offset_of!(TaskFacts, dl_deadline_ns),
            offset_of!(TaskFacts, dl_period_ns),
            offset_of!(TaskFacts, comm),
            offset_of!(TaskFacts, cpus),
            size_of::<TaskFacts>(),
        ];
        assert_eq!(offsets("record_task"), rust);
    }

    #[test]
    fn the_programs_have_every_variable_that_is_looked_up() {
        let object = compile::recorder_object();
        let btf = Btf::from_raw("recorder", object).expect("an object").expect("with BTF");
        let found = variable::variables(&btf);
        for name in ["slot_mask", "own_process", "cpu_words", "only", "only_comm", "takes_file"] {
            assert!(found.iter().any(|v| v.name == name && v.section == ".rodata"), "{name}");
        }
        for name in ["recording", "lost_events"] {
            assert!(found.iter().any(|v| v.name == name && v.section == ".bss"), "{name}");
        }
        let table = found.iter().find(|v| v.name == "takes_file").expect("the table");
        assert_eq!(table.size, SYSCALLS);
    }

    #[test]
    fn what_is_cut_off_is_not_read() {
        let mut kept = Kept::default();
        kept.keep(&[0; 3]);
        assert!(kept.events.is_empty());
        let mut facts = [0; size_of::<TaskFacts>()];
        facts[offset_of!(RawEvent, kind)] = kind::TASK as u8;
        kept.keep(&facts);
        assert_eq!((kept.events.len(), kept.facts.len()), (1, 1));
        assert_eq!(kept.bytes(), (size_of::<RawEvent>() + size_of::<TaskFacts>()) as u64);
    }
}
