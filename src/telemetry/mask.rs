//! Hides the far part of addresses in what is said (`maskAddress`).

use std::borrow::Cow;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// How much of an address stays readable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Mask {
    /// Bits of an IPv4 address that stay; a multiple of 8, 0 hides it, 32 leaves it.
    pub v4: u8,
    /// Bits of an IPv6 address that stay; 0 hides it, 128 leaves it.
    pub v6: u8,
}

impl Mask {
    /// Reads `quarter`, `half`, `full` and `/N+/M` (either half may be missing, and then hides).
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "quarter" => return Some(Self { v4: 8, v6: 16 }),
            "half" => return Some(Self { v4: 16, v6: 32 }),
            "full" => return Some(Self { v4: 0, v6: 0 }),
            _ => {}
        }
        let (v4, v6) = text.split_once('+').unwrap_or((text, ""));
        let bits = |part: &str, most: u8, step: u8| match part.strip_prefix('/') {
            None if part.is_empty() => Some(0),
            None => None,
            Some(number) => number.parse().ok().filter(|bits| *bits <= most && bits % step == 0),
        };
        (!text.is_empty()).then_some(())?;
        Some(Self { v4: bits(v4, 32, 8)?, v6: bits(v6, 128, 1)? })
    }

    /// The text with every address in it masked.
    #[must_use]
    pub fn apply<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let part_of_address = |c: char| c.is_ascii_hexdigit() || c == '.' || c == ':';
        let mut out = String::new();
        let mut rest = text;
        let mut changed = false;
        while let Some(start) = rest.find(part_of_address) {
            let (before, from) = rest.split_at(start);
            let (run, after) = from.split_at(from.find(|c| !part_of_address(c)).unwrap_or(from.len()));
            out.push_str(before);
            changed |= self.mask_run(run, &mut out);
            rest = after;
        }
        if !changed {
            return Cow::Borrowed(text);
        }
        out.push_str(rest);
        Cow::Owned(out)
    }

    /// One run of digits, dots and colons: an IPv6 address, or IPv4 addresses between colons (`:10.0.0.1:80`).
    fn mask_run(&self, run: &str, out: &mut String) -> bool {
        // `tcp:10.0.0.1` leaves the colon of the word before it in the run.
        let bare = run.strip_prefix(':').filter(|bare| !bare.starts_with(':')).unwrap_or(run);
        if let Ok(address) = bare.parse::<Ipv6Addr>() {
            out.push_str(&run[..run.len() - bare.len()]);
            out.push_str(&match address.to_canonical() {
                IpAddr::V4(address) => self.v4(address),
                IpAddr::V6(address) => self.v6(address),
            });
            return true;
        }
        let mut changed = false;
        for (index, part) in run.split(':').enumerate() {
            if index > 0 {
                out.push(':');
            }
            match part.parse() {
                Ok(address) => {
                    out.push_str(&self.v4(address));
                    changed = true;
                }
                Err(_) => out.push_str(part),
            }
        }
        changed
    }

    fn v4(&self, address: Ipv4Addr) -> String {
        if self.v4 == 0 {
            return "[Masked IPv4]".to_owned();
        }
        let keep = usize::from(self.v4 / 8);
        let parts = address
            .octets()
            .iter()
            .enumerate()
            .map(|(i, n)| if i < keep { n.to_string() } else { "*".to_owned() })
            .collect::<Vec<_>>();
        parts.join(".")
    }

    fn v6(&self, address: Ipv6Addr) -> String {
        match self.v6 {
            0 => "[Masked IPv6]".to_owned(),
            128 => address.to_string(),
            bits => {
                format!("{}/{bits}", Ipv6Addr::from_bits(address.to_bits() & (u128::MAX << (128 - u32::from(bits)))))
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn words_and_bits() {
        assert_eq!(Mask::parse("half"), Some(Mask { v4: 16, v6: 32 }));
        assert_eq!(Mask::parse("/24+/48"), Some(Mask { v4: 24, v6: 48 }));
        assert_eq!(Mask::parse("/8"), Some(Mask { v4: 8, v6: 0 }));
        assert_eq!(Mask::parse("+/64"), Some(Mask { v4: 0, v6: 64 }));
        for bad in ["", "third", "/9", "/40", "/8+/129", "8"] {
            assert_eq!(Mask::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn addresses_are_found_where_lines_have_them() {
        let half = Mask::parse("half").unwrap();
        let line = "from tcp:10.1.2.3:4567 accepted tcp:[2001:db8:7::1]:443 [in -> out] ::ffff:9.8.7.6 ::1";
        let want = "from tcp:10.1.*.*:4567 accepted tcp:[2001:db8::/32]:443 [in -> out] 9.8.*.* ::/32";
        assert_eq!(half.apply(line), want);
        let full = Mask::parse("full").unwrap();
        assert_eq!(full.apply("10.1.2.3:80"), "[Masked IPv4]:80");
        assert_eq!(full.apply("[::1]:80"), "[[Masked IPv6]]:80");
    }

    #[test]
    fn what_only_looks_like_one_stays() {
        let full = Mask::parse("full").unwrap();
        for text in ["1.2.3.4.example.com", "1.2.3", "at 12:30:45", "256.1.1.1", "deadbeef", "a::b::c", ""] {
            assert_eq!(full.apply(text), text);
        }
    }
}
