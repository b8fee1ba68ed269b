// SPDX-License-Identifier: GPL-2.0-only
//! Records of several computers. Under a real clock the processor is a part of the machine: numbers
//! of two processors are not compared.

use std::collections::BTreeSet;

use model::{Clock, Record};

/// Adds the processor's name to the machine's name, where the clock is real and the name is known.
pub fn name_processor(record: &mut Record) {
    let processor = &record.provenance.cpu_model;
    if record.trial.clock() == Clock::Real && !processor.is_empty() {
        record.trial.machine.name = format!("{}, {processor}", record.trial.machine.name);
    }
}

/// Adds the processor's name to all records if they were measured on more than one processor.
pub fn name_processors_if_several(campaigns: &mut [Vec<Record>]) {
    let real = campaigns.iter().flatten().filter(|record| record.trial.clock() == Clock::Real);
    let processors: BTreeSet<&str> =
        real.map(|record| record.provenance.cpu_model.as_str()).collect();
    if processors.len() > 1 {
        campaigns.iter_mut().flatten().for_each(name_processor);
    }
}
