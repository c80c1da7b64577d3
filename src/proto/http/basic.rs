//! Basic credentials (RFC 7617).

use base64::Engine;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig, STANDARD};

/// The user and password of a `Basic` field value, if it holds any.
#[must_use]
pub fn credentials(value: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
    let (scheme, rest) = value.split_at_checked(6)?;
    if !scheme.eq_ignore_ascii_case(b"basic ") {
        return None;
    }
    let plain = LENIENT.decode(rest.trim_ascii()).ok()?;
    let colon = plain.iter().position(|&b| b == b':')?;
    Some((plain[..colon].to_vec(), plain[colon + 1..].to_vec()))
}

/// The field value for a user and password.
#[must_use]
pub fn authorization(user: &str, password: &str) -> String {
    format!("Basic {}", STANDARD.encode(format!("{user}:{password}")))
}

/// Small clients forget the padding.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &base64::alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_the_rfc() {
        assert_eq!(authorization("Aladdin", "open sesame"), "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
        let read = credentials(b"basic QWxhZGRpbjpvcGVuIHNlc2FtZQ");
        assert_eq!(read, Some((b"Aladdin".to_vec(), b"open sesame".to_vec())));
    }

    #[test]
    fn a_password_may_hold_colons_and_other_schemes_are_nothing() {
        assert_eq!(credentials(authorization("u", "a:b").as_bytes()), Some((b"u".to_vec(), b"a:b".to_vec())));
        assert_eq!(credentials(b"Bearer abc"), None);
        assert_eq!(credentials(b"Basic ?"), None);
        assert_eq!(credentials(b"Ba"), None);
    }
}
