// SPDX-License-Identifier: GPL-2.0-only
//! Division by zero as BPF defines it: the quotient is 0, the remainder is the dividend. x86 raises
//! an exception instead; its handler writes these results. The hardware of arm64 divides as BPF
//! does.

use std::ffi::c_void;

/// The registers' indices in `gregs`, in the order of their numbers in instructions.
pub const REGISTERS: [i32; 16] = [
    libc::REG_RAX,
    libc::REG_RCX,
    libc::REG_RDX,
    libc::REG_RBX,
    libc::REG_RSP,
    libc::REG_RBP,
    libc::REG_RSI,
    libc::REG_RDI,
    libc::REG_R8,
    libc::REG_R9,
    libc::REG_R10,
    libc::REG_R11,
    libc::REG_R12,
    libc::REG_R13,
    libc::REG_R14,
    libc::REG_R15,
];

/// A decoded `div`. Schedulers contain no signed division, because the BPF of older kernels has
/// none.
struct Division {
    /// Length of the instruction, bytes.
    length: u64,
    /// Width of the operands, bits.
    bits: u32,
    divisor: u64,
}

/// Writes the result of an interrupted division by zero and skips the instruction. Returns false if
/// the instruction is something else.
///
/// # Safety
/// `context` must be the context of a signal handler, and the interrupted code must be mapped.
pub unsafe fn resolve(context: *mut c_void) -> bool {
    // SAFETY: the caller guarantees a valid context.
    let registers = unsafe { &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs };
    // SAFETY: the caller guarantees that the code is mapped.
    let Some(division) = (unsafe { decode(registers) }) else { return false };
    if division.divisor != 0 {
        return false;
    }
    let dividend = registers[libc::REG_RAX as usize] as u64 & ones(division.bits);
    set(registers, dividend, division.bits);
    registers[libc::REG_RIP as usize] += division.length as i64;
    true
}

/// Writes a quotient of 0 and the remainder as the instruction would: a 32-bit result clears the
/// upper half of its register, a shorter result leaves the other bits.
fn set(registers: &mut [i64; 23], remainder: u64, bits: u32) {
    let (rax, rdx) = (libc::REG_RAX as usize, libc::REG_RDX as usize);
    if bits == 8 {
        let rest = registers[rax] as u64 & !0xffff;
        registers[rax] = (rest | remainder << 8) as i64;
        return;
    }
    let kept = if bits == 16 { !0xffff } else { 0 };
    registers[rax] = (registers[rax] as u64 & kept) as i64;
    registers[rdx] = (registers[rdx] as u64 & kept | remainder) as i64;
}

fn ones(bits: u32) -> u64 {
    u64::MAX >> (64 - bits)
}

/// Decodes the instruction at the instruction pointer (Intel SDM, volume 2, chapter 2 and `DIV`).
unsafe fn decode(registers: &[i64; 23]) -> Option<Division> {
    let begin = registers[libc::REG_RIP as usize] as u64;
    let mut at = begin;
    // SAFETY: the CPU has executed the instruction, so its bytes can be read.
    let mut next = || unsafe {
        at += 1;
        ((at - 1) as *const u8).read()
    };
    let (mut short, mut rex, mut opcode) = (false, 0, next());
    while opcode == 0x66 || opcode & 0xf0 == 0x40 {
        match opcode {
            0x66 => short = true,
            _ => rex = opcode,
        }
        opcode = next();
    }
    let modrm = next();
    let bits = match opcode {
        0xf6 => 8,
        0xf7 if rex & 8 != 0 => 64,
        0xf7 if short => 16,
        0xf7 => 32,
        _ => return None,
    };
    if modrm >> 3 & 7 != 6 {
        return None;
    }
    let (mode, rm) = (modrm >> 6, modrm & 7);
    if mode == 3 {
        let register = REGISTERS[usize::from(rm | (rex & 1) << 3)] as usize;
        let high_byte = bits == 8 && rex == 0 && rm >= 4;
        let value = if high_byte {
            registers[REGISTERS[usize::from(rm - 4)] as usize] as u64 >> 8
        } else {
            registers[register] as u64
        };
        return Some(Division { length: at - begin, bits, divisor: value & ones(bits) });
    }
    let sib = if rm == 4 { Some(next()) } else { None };
    let base = sib.map_or(rm, |sib| sib & 7);
    let wide = mode == 2 || (mode == 0 && base == 5);
    let displacement = match (mode, wide) {
        (_, true) => i64::from(i32::from_le_bytes([next(), next(), next(), next()])),
        (1, _) => i64::from(next().cast_signed()),
        _ => 0,
    };
    let register = |number: u8| registers[REGISTERS[usize::from(number)] as usize];
    let origin = match (mode, base, sib) {
        (0, 5, None) => at as i64,
        (0, 5, Some(_)) => 0,
        _ => register(base | (rex & 1) << 3),
    };
    let index = sib.map_or(0, |sib| match sib >> 3 & 7 | (rex & 2) << 2 {
        4 => 0,
        number => register(number) << (sib >> 6),
    });
    let address = origin.wrapping_add(index).wrapping_add(displacement);
    // SAFETY: the instruction has read the operand before the exception, so it is mapped.
    let value = unsafe { (address as *const u64).read_unaligned() };
    Some(Division { length: at - begin, bits, divisor: value & ones(bits) })
}

/// Instruction and stack pointer of the interrupted code.
#[cfg(target_arch = "x86_64")]
pub fn machine(context: *mut c_void) -> (u64, u64) {
    // SAFETY: the system gave it.
    let registers = unsafe { &(*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs };
    (registers[libc::REG_RIP as usize] as u64, registers[libc::REG_RSP as usize] as u64)
}

/// Instruction and stack pointer of the interrupted code.
#[cfg(target_arch = "aarch64")]
pub fn machine(context: *mut c_void) -> (u64, u64) {
    // SAFETY: the system gave it.
    let machine = unsafe { &(*context.cast::<libc::ucontext_t>()).uc_mcontext };
    (machine.pc, machine.sp)
}

/// Whether the access that failed was a write.
#[cfg(target_arch = "x86_64")]
pub fn writes(context: *mut c_void) -> bool {
    const WRITE: i64 = 1 << 1;
    // SAFETY: the system gave it.
    let registers = unsafe { &(*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs };
    registers[libc::REG_ERR as usize] & WRITE != 0
}

/// Whether the access that failed was a write; it is not told from a read.
#[cfg(target_arch = "aarch64")]
pub fn writes(_context: *mut c_void) -> bool {
    true
}

/// The third argument of the interrupted system call.
#[cfg(target_arch = "x86_64")]
pub fn third_argument(context: *mut c_void) -> u64 {
    // SAFETY: the system gave it.
    let registers = unsafe { &(*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs };
    registers[libc::REG_RDX as usize] as u64
}

/// The third argument of the interrupted system call.
#[cfg(target_arch = "aarch64")]
pub fn third_argument(context: *mut c_void) -> u64 {
    // SAFETY: the system gave it.
    unsafe { (*context.cast::<libc::ucontext_t>()).uc_mcontext.regs[2] }
}

/// Gives the interrupted system call its result.
#[cfg(target_arch = "x86_64")]
pub fn set_result(context: *mut c_void, result: i64) {
    // SAFETY: the system gave it, and takes the registers from there.
    let registers = unsafe { &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs };
    registers[libc::REG_RAX as usize] = result;
}

/// Gives the interrupted system call its result.
#[cfg(target_arch = "aarch64")]
pub fn set_result(context: *mut c_void, result: i64) {
    // SAFETY: the system gave it, and takes the registers from there.
    unsafe { (*context.cast::<libc::ucontext_t>()).uc_mcontext.regs[0] = result as u64 };
}
