// SPDX-License-Identifier: GPL-2.0-only
//! What the recorder's programs send, and what is kept of it.

use std::mem::size_of;

use compile::recorder_types::record_limit;
pub use compile::recorder_types::{
    RecordCpu as CpuState, RecordEvent as RawEvent, RecordTask as TaskFacts, record_file as file,
    record_kind as kind, record_leaves as leaves, record_limit::NO_SYSCALL, record_only as only,
    record_waker as waker,
};

pub const SYSCALLS: usize = record_limit::SYSCALLS as usize;
/// CPUs with a place in [`TaskFacts::cpus`], by 64.
pub const CPU_WORDS: usize = record_limit::CPU_WORDS as usize;

/// What is kept of the events in memory.
#[derive(Debug, Default)]
pub struct Kept {
    /// The events, as CPUs have reserved their places.
    pub events: Vec<RawEvent>,
    /// What [`kind::TASK`]s say.
    pub facts: Vec<TaskFacts>,
}

impl Kept {
    pub fn keep(&mut self, bytes: &[u8]) {
        if bytes.len() < size_of::<RawEvent>() {
            return;
        }
        // SAFETY: long enough, and any bytes are an event.
        let mut event = unsafe { bytes.as_ptr().cast::<RawEvent>().read_unaligned() };
        if u32::from(event.kind) == kind::TASK && bytes.len() >= size_of::<TaskFacts>() {
            event.other = self.facts.len() as u32;
            // SAFETY: long enough, and any bytes are facts.
            self.facts.push(unsafe { bytes.as_ptr().cast::<TaskFacts>().read_unaligned() });
        }
        self.events.push(event);
    }

    pub fn bytes(&self) -> u64 {
        let (events, facts) = (self.events.len(), self.facts.len());
        (events * size_of::<RawEvent>() + facts * size_of::<TaskFacts>()) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loader::variable;
    use libbpf_rs::btf::Btf;
    use std::mem::offset_of;

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
