// SPDX-License-Identifier: GPL-2.0-only
//! `printf` as in BPF's helpers: each argument is a 64-bit word.

use std::ffi::{CStr, c_char};

/// A conversion specification, such as `%-08.3llx`.
#[derive(Default)]
struct Conversion {
    left: bool,
    zeros: bool,
    plus: bool,
    alternative: bool,
    width: usize,
    precision: Option<usize>,
    /// Bits of the argument: 8, 16, 32 or 64.
    bits: u32,
}

/// Formats the arguments. Missing arguments are zeros.
///
/// # Safety
/// Arguments of `%s` must be null or point to a C string.
pub unsafe fn format(fmt: &str, arguments: &[u64]) -> String {
    let mut text = String::new();
    let mut words = arguments.iter().copied();
    let mut rest = fmt.chars().peekable();
    while let Some(letter) = rest.next() {
        if letter != '%' {
            text.push(letter);
            continue;
        }
        let mut conversion = Conversion { bits: 32, ..Conversion::default() };
        let Some(kind) = parse(&mut rest, &mut conversion) else { break };
        match kind {
            '%' => text.push('%'),
            // SAFETY: the caller guarantees that the argument is a C string.
            's' => text.push_str(&unsafe { string(&conversion, words.next().unwrap_or(0)) }),
            _ => text.push_str(&number(&conversion, kind, words.next().unwrap_or(0))),
        }
    }
    text
}

fn parse(
    rest: &mut std::iter::Peekable<std::str::Chars>,
    conversion: &mut Conversion,
) -> Option<char> {
    let mut precise = false;
    loop {
        let letter = rest.next()?;
        match (letter, precise) {
            ('-', _) => conversion.left = true,
            ('+', _) => conversion.plus = true,
            ('#', _) => conversion.alternative = true,
            ('0', false) if conversion.width == 0 => conversion.zeros = true,
            ('0'..='9', false) => conversion.width = conversion.width * 10 + digit(letter),
            ('0'..='9', true) => {
                conversion.precision = Some(conversion.precision.unwrap_or(0) * 10 + digit(letter));
            }
            ('.', _) => precise = true,
            ('l' | 'z' | 'j' | 't', _) => conversion.bits = 64,
            ('h', _) => conversion.bits /= 2,
            (' ', _) => {}
            ('p', _) => {
                conversion.bits = 64;
                skip_pointer_kind(rest);
                return Some('p');
            }
            _ => return Some(letter),
        }
    }
}

fn digit(letter: char) -> usize {
    letter.to_digit(10).unwrap_or(0) as usize
}

/// Skips the letters that select a representation of a pointer (`%pS`, `%pks`), because the
/// simulator prints only addresses.
fn skip_pointer_kind(rest: &mut std::iter::Peekable<std::str::Chars>) {
    while rest.next_if(|letter| "KksuSBxI46".contains(*letter)).is_some() {}
}

unsafe fn string(conversion: &Conversion, argument: u64) -> String {
    let pointer = argument as *const c_char;
    let whole = if pointer.is_null() {
        "(null)".into()
    } else {
        // SAFETY: the caller guarantees a C string.
        unsafe { CStr::from_ptr(pointer) }.to_string_lossy().into_owned()
    };
    let kept: String = whole.chars().take(conversion.precision.unwrap_or(usize::MAX)).collect();
    padded(conversion, kept, ' ')
}

fn number(conversion: &Conversion, kind: char, argument: u64) -> String {
    let unused = 64 - conversion.bits;
    let unsigned = argument << unused >> unused;
    let signed = (argument << unused).cast_signed() >> unused;
    let alternative = conversion.alternative && unsigned != 0;
    let text = match kind {
        'd' | 'i' if conversion.plus && signed >= 0 => format!("+{signed}"),
        'd' | 'i' => signed.to_string(),
        'u' => unsigned.to_string(),
        'x' if alternative => format!("{unsigned:#x}"),
        'x' => format!("{unsigned:x}"),
        'X' => format!("{unsigned:X}"),
        'o' => format!("{unsigned:o}"),
        'p' => format!("{argument:016x}"),
        'c' => char::from(argument as u8).to_string(),
        unknown => return format!("%{unknown}"),
    };
    padded(conversion, text, if conversion.zeros && !conversion.left { '0' } else { ' ' })
}

fn padded(conversion: &Conversion, text: String, fill: char) -> String {
    let missing = conversion.width.saturating_sub(text.chars().count());
    let padding: String = std::iter::repeat_n(fill, missing).collect();
    match text.strip_prefix('-') {
        _ if conversion.left => text + &padding,
        Some(digits) if fill == '0' => format!("-{padding}{digits}"),
        _ => padding + &text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(fmt: &str, arguments: &[u64], expected: &str) {
        // SAFETY: each argument of `%s` is null or a literal.
        assert_eq!(unsafe { format(fmt, arguments) }, expected, "{fmt}");
    }

    #[test]
    fn numbers_have_their_width() {
        check("%d %u %x", &[u64::MAX, u64::MAX, 255], "-1 4294967295 ff");
        check("%lld %llu %#llx", &[u64::MAX, u64::MAX, 255], "-1 18446744073709551615 0xff");
        check("[%5d|%-5d|%05d|%+d]", &[42, 42, u64::MAX - 41, 7], "[   42|42   |-0042|+7]");
        check("%hhu %hd", &[300, 0xffff], "44 -1");
        check("100%% %c", &[u64::from(b'x')], "100% x");
    }

    #[test]
    fn strings_are_cut_and_padded() {
        let word = c"runnable".as_ptr() as u64;
        check(
            "<%s> <%.3s> <%10s> <%-10s>",
            &[word; 4],
            "<runnable> <run> <  runnable> <runnable  >",
        );
        check("%s", &[0], "(null)");
    }

    #[test]
    fn missing_arguments_are_zeros() {
        check("%d %d", &[1], "1 0");
        check("%", &[], "");
    }
}
