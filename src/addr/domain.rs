//! A domain name that cannot be an IP address.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

/// A checked, lower-case domain name without a trailing dot.
///
/// Names from the wire keep to letters, digits, `-`, `_` and `.` ([`DomainName::new`]); names from a configuration may
/// hold anything printable ([`DomainName::loose`]), because configs in the field carry placeholders and Xray loads them.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DomainName(Arc<str>);

/// Why a text is no domain name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadDomain {
    /// Nothing is left after the trailing dot was removed.
    #[error("a domain name must not be empty")]
    Empty,
    /// The text is an IP address.
    #[error("an IP address is not a domain name")]
    Address,
    /// More than 253 bytes.
    #[error("a domain name has at most 253 bytes")]
    TooLong,
    /// A character that no name carries.
    #[error("a domain name holds letters, digits, '-', '_' and '.' only")]
    Character,
}

impl DomainName {
    /// Longest name in bytes (RFC 1035, without the root dot).
    pub const MAX: usize = 253;

    /// Checks a name that came over the wire.
    ///
    /// # Errors
    /// [`BadDomain`] for an empty, too long or malformed text, and for an IP address.
    pub fn new(text: &str) -> Result<Self, BadDomain> {
        let name = Self::loose(text)?;
        let plain = name.0.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b'_'));
        if plain { Ok(name) } else { Err(BadDomain::Character) }
    }

    /// Checks a name from a configuration: as [`DomainName::new`], but any printable character is taken, and names
    /// outside ASCII become punycode.
    ///
    /// # Errors
    /// [`BadDomain`] for an empty or too long text, one with blanks or control characters, and for an IP address.
    pub fn loose(text: &str) -> Result<Self, BadDomain> {
        if text.chars().any(|c| c.is_control() || c.is_whitespace()) {
            return Err(BadDomain::Character);
        }
        let name = if text.is_ascii() {
            text.to_ascii_lowercase()
        } else {
            idna::domain_to_ascii(text).unwrap_or_else(|_| text.to_lowercase())
        };
        // Of several dots at the end all go: what is left must be the same name when it is read again.
        let name = name.trim_end_matches('.');
        if name.is_empty() {
            return Err(BadDomain::Empty);
        }
        if name.parse::<IpAddr>().is_ok() {
            return Err(BadDomain::Address);
        }
        if name.len() > Self::MAX { Err(BadDomain::TooLong) } else { Ok(Self(name.into())) }
    }

    /// The name, lower-case, without a trailing dot.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for DomainName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for DomainName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_lowered_and_lose_the_root_dot() {
        assert_eq!(DomainName::new("Shop.Example.COM.").map(|d| d.to_string()), Ok("shop.example.com".into()));
    }

    #[test]
    fn addresses_and_odd_bytes_are_no_names() {
        assert_eq!(DomainName::new("10.0.0.1"), Err(BadDomain::Address));
        assert_eq!(DomainName::new("::1"), Err(BadDomain::Address));
        assert_eq!(DomainName::new("a b"), Err(BadDomain::Character));
        assert_eq!(DomainName::new("<ip>"), Err(BadDomain::Character));
        assert_eq!(DomainName::loose("<ip>").map(|d| d.to_string()), Ok("<ip>".into()));
        assert_eq!(DomainName::new("."), Err(BadDomain::Empty));
        assert_eq!(DomainName::new("127.0.0.1.."), Err(BadDomain::Address));
        assert_eq!(DomainName::loose("１27.0.0.1"), Err(BadDomain::Address), "digits of another script");
        assert_eq!(DomainName::new("a.example..").map(|d| d.to_string()), Ok("a.example".into()));
        assert_eq!(DomainName::new(&"a".repeat(254)), Err(BadDomain::TooLong));
    }

    #[test]
    fn names_outside_ascii_become_punycode_in_a_config() {
        assert_eq!(DomainName::loose("Bücher.example").map(|d| d.to_string()), Ok("xn--bcher-kva.example".into()));
    }
}
