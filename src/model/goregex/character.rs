//! Single characters of an expression.

use std::iter::Peekable;
use std::str::Chars;

/// Writes a character that means itself, outside of a class or in one.
pub(super) fn put(out: &mut String, c: char) {
    if c.is_ascii() && !c.is_ascii_alphanumeric() {
        out.push_str(&format!("\\x{:02x}", u32::from(c)));
    } else {
        out.push(c);
    }
}

/// Behind a backslash, in a class or outside: the one character that is meant.
pub(super) fn escaped(rest: &mut Peekable<Chars<'_>>) -> Result<char, String> {
    let Some(c) = rest.next() else { return Err("a backslash stands at the end".into()) };
    let number = |number: u32| char::from_u32(number).ok_or_else(|| format!("{number:#x} is no character"));
    match c {
        'a' => Ok('\x07'),
        'f' => Ok('\x0c'),
        'n' => Ok('\n'),
        'r' => Ok('\r'),
        't' => Ok('\t'),
        'v' => Ok('\x0b'),
        '1'..='9' if c > '7' || !matches!(rest.peek(), Some('0'..='7')) => {
            Err("back references are not supported".into())
        }
        '0'..='7' => {
            let mut value = c.to_digit(8).unwrap_or(0);
            for _ in 0..2 {
                let Some(digit) = rest.next_if(|c| c.is_digit(8)).and_then(|c| c.to_digit(8)) else { break };
                value = value * 8 + digit;
            }
            number(value)
        }
        'x' => {
            let braced = rest.next_if_eq(&'{').is_some();
            let (mut value, mut digits) = (0u32, 0);
            while (braced || digits < 2)
                && let Some(digit) = rest.next_if(char::is_ascii_hexdigit).and_then(|c| c.to_digit(16))
            {
                (value, digits) = (value.saturating_mul(16).saturating_add(digit), digits + 1);
            }
            let whole = if braced { digits > 0 && rest.next_if_eq(&'}').is_some() } else { digits == 2 };
            if whole { number(value) } else { Err("expected \\x41 or \\x{41}".into()) }
        }
        'u' => Err("\\u is not supported: write \\x{41}".into()),
        'C' => Err("\\C (one byte) is not supported".into()),
        'Z' => Err("\\Z is not supported: write \\z or $".into()),
        c if c.is_ascii() && !c.is_ascii_alphanumeric() => Ok(c),
        c => Err(format!("\\{c} means nothing")),
    }
}
