// SPDX-License-Identifier: GPL-2.0-only
//! A scheduler's programs on events of the kernel.

use compile::native::Native;
use model::knob::PROGRAMS;
use model::{KnobValue, Knobs};

use super::callbacks::number;
use super::object::Loaded;
use super::scheduler::NativeScheduler;
use crate::core::Core;

/// As many arguments as an event has at most.
const MOST: usize = 4;

/// A program with the event that calls it.
pub struct Program {
    event: String,
    code: Code,
}

/// It takes the arguments, each in a register.
type Plain = unsafe extern "C" fn(u64, u64, u64, u64) -> i32;
/// It takes a pointer to the arguments.
type OfContext = unsafe extern "C" fn(*mut u64) -> i32;

enum Code {
    Plain(Plain),
    OfContext(OfContext),
}

/// The programs of an object that events call, of those that user space loads.
pub fn programs(native: &Native, loaded: &Loaded, knobs: &Knobs) -> Vec<Program> {
    let program = |(place, tracer): &(_, compile::native::Tracer)| {
        let code: *const u8 = loaded.at(*place);
        // SAFETY: the place is the program's code, with the parameters that its type has.
        let code = unsafe {
            if tracer.plain {
                Code::Plain(std::mem::transmute::<*const u8, Plain>(code))
            } else {
                Code::OfContext(std::mem::transmute::<*const u8, OfContext>(code))
            }
        };
        Program { event: tracer.event.clone(), code }
    };
    let is_loaded = |(_, tracer): &&(_, compile::native::Tracer)| {
        let switch = knobs.get(&format!("{PROGRAMS}{}", tracer.name));
        switch.map_or(!tracer.is_optional, |switch| *switch == KnobValue::Bool(true))
    };
    native.facts.tracers.iter().filter(is_loaded).map(program).collect()
}

impl<const RACES: bool, const INSIDE: bool> NativeScheduler<RACES, INSIDE> {
    /// Calls the programs of an event.
    pub(super) fn event(&self, core: &mut Core, event: &str, mut arguments: [u64; MOST]) {
        for program in self.programs.iter().filter(|program| program.event == event) {
            self.call(core, const { number("an event") }, |_| {
                let [a, b, c, d] = arguments;
                // SAFETY: the program's code; it leaves what it is given alone, or writes to a
                // copy.
                unsafe {
                    match program.code {
                        Code::Plain(code) => code(a, b, c, d),
                        Code::OfContext(code) => code(arguments.as_mut_ptr()),
                    }
                }
            });
        }
    }
}
