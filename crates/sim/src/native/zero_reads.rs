// SPDX-License-Identifier: GPL-2.0-only
//! Reads through null pointers of the kernel's structures give zeros, as on a kernel. The lines
//! that may do so are known (`compile::native::Facts::null_reads`). So do reads from pages of an
//! arena that are not there, and a write to these does nothing; a null pointer of a scheduler with
//! an arena is taken for one into it. Any other use of a null pointer is a crash, because the
//! verifier refuses it.
//!
//! The instruction is executed again with its base among zeros, and alone: the processor stops
//! after it, and the register gets its value back, unless the instruction has replaced it.

use std::cell::UnsafeCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::c_void;

use compile::native::{Native, find_lines};

use super::division::REGISTERS;
use super::maps::{arena, kinds};

/// No process has anything below this address (`vm.mmap_min_addr`).
const LOWEST: u64 = 64 << 10;
/// The flag that stops the processor after one instruction.
const TRAP: i64 = 1 << 8;
/// Zeros, with room for a misaligned access of 16 bytes.
#[repr(align(64))]
struct Zeros([u8; 64]);

/// A scheduler, and where its object is loaded.
struct Loaded {
    object: Vec<u8>,
    first: u64,
    null_reads: BTreeSet<(String, u32)>,
    has_arena: bool,
}

/// What the handlers of signals know. The process that they are in has one scheduler and one
/// thread, and the interrupted code is the scheduler's, so that allocating is safe.
struct State {
    scheduler: Option<Loaded>,
    /// Instructions that were asked about before.
    known: BTreeMap<u64, bool>,
    zeros: Zeros,
    /// The base register of the instruction that is executed alone, its value, and the value that
    /// it has meanwhile.
    alone: Option<(usize, i64, i64)>,
}

struct Shared(UnsafeCell<State>);
// SAFETY: see `State`.
unsafe impl Sync for Shared {}
static STATE: Shared = Shared(UnsafeCell::new(State::of(None)));

impl State {
    const fn of(scheduler: Option<Loaded>) -> State {
        State { scheduler, known: BTreeMap::new(), zeros: Zeros([0; 64]), alone: None }
    }
}

fn state() -> &'static mut State {
    // SAFETY: one thread, and no function here calls another one that holds the state.
    unsafe { &mut *STATE.0.get() }
}

/// Tells the handlers of the scheduler that was loaded at this address.
pub fn allow(native: &Native, first: u64) {
    let facts = &native.facts;
    let has_arena = facts.maps.iter().any(|map| map.kind == kinds::ARENA);
    let scheduler = (has_arena || !facts.null_reads.is_empty()).then(|| Loaded {
        object: native.object.clone(),
        first,
        null_reads: facts.null_reads.iter().cloned().collect(),
        has_arena,
    });
    *state() = State::of(scheduler);
}

/// Lets an interrupted access of this address go on with zeros. Returns false if it may not, or if
/// the instruction is none that is known.
///
/// # Safety
/// `context` must be the context of a signal handler, interrupted in the scheduler's code.
pub unsafe fn resolve(context: *mut c_void, address: u64, writes: bool) -> bool {
    // SAFETY: the caller guarantees a valid context.
    let registers = unsafe { &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs };
    let at = registers[libc::REG_RIP as usize] as u64;
    if !may_go_on(at, address, writes) {
        return false;
    }
    // SAFETY: the processor has decoded the instruction.
    let Some(base) = (unsafe { base(at) }) else { return false };
    let state = state();
    state.zeros = Zeros([0; 64]);
    let to = (&raw mut state.zeros.0) as u64 + address % 16;
    let old = registers[base];
    let new = old.wrapping_add(to.wrapping_sub(address) as i64);
    registers[base] = new;
    registers[libc::REG_EFL as usize] |= TRAP;
    state.alone = Some((base, old, new));
    true
}

/// After the instruction. Returns false if none was executed alone.
///
/// # Safety
/// `context` must be the context of a signal handler.
pub unsafe fn end(context: *mut c_void) -> bool {
    let Some((base, old, new)) = state().alone.take() else { return false };
    // SAFETY: the caller guarantees a valid context.
    let registers = unsafe { &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs };
    if registers[base] == new {
        registers[base] = old;
    }
    registers[libc::REG_EFL as usize] &= !TRAP;
    true
}

/// Whether the instruction at `at` may use an address at which nothing is.
fn may_go_on(at: u64, address: u64, writes: bool) -> bool {
    let State { scheduler: Some(loaded), known, .. } = state() else { return false };
    let is_null = address < LOWEST;
    if loaded.has_arena && (is_null || arena::has_room_at(address as usize)) {
        return true;
    }
    is_null && !writes && *known.entry(at).or_insert_with(|| loaded.reads_null(at))
}

impl Loaded {
    /// Whether the instruction belongs to a line that may read null pointers.
    fn reads_null(&self, at: u64) -> bool {
        let lines = find_lines(&self.object, at - self.first).unwrap_or_default();
        lines.into_iter().any(|line| {
            let file = line.file.rsplit('/').next().unwrap_or_default().to_owned();
            self.null_reads.contains(&(file, line.line))
        })
    }
}

/// The index in `gregs` of the register that an access's address begins with (Intel SDM, volume 2,
/// chapter 2). `None` where there is none, or where it takes part twice.
unsafe fn base(at: u64) -> Option<usize> {
    let mut place = at as *const u8;
    // SAFETY: the processor has decoded the instruction, so its bytes can be read.
    let mut next = || unsafe {
        place = place.add(1);
        place.sub(1).read()
    };
    let (mut rex, mut opcode) = (0, next());
    while matches!(opcode, 0x66 | 0xf0 | 0xf2 | 0xf3) || opcode & 0xf0 == 0x40 {
        if opcode & 0xf0 == 0x40 {
            rex = opcode;
        }
        opcode = next();
    }
    match opcode {
        0x0f => {
            if matches!(next(), 0x38 | 0x3a) {
                next();
            }
        }
        // Strings of bytes, absolute addresses and the vectors of newer processors.
        0xa0..=0xaf | 0x62 | 0xc4 | 0xc5 => return None,
        _ => {}
    }
    let modrm = next();
    let (mode, rm) = (modrm >> 6, modrm & 7);
    let (number, index) = if rm == 4 {
        let sib = next();
        (sib & 7 | (rex & 1) << 3, Some(sib >> 3 & 7 | (rex & 2) << 2).filter(|&index| index != 4))
    } else {
        (rm | (rex & 1) << 3, None)
    };
    let has_none = mode == 3 || (mode == 0 && number & 7 == 5) || number == 4;
    (!has_none && index != Some(number)).then(|| REGISTERS[usize::from(number)] as usize)
}
