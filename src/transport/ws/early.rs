//! First bytes that travel in a header of the request.

use base64::Engine;
use base64::alphabet::URL_SAFE;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

/// Clients end the text without padding; some pad, and some use the letters of ordinary base64.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &URL_SAFE,
    GeneralPurposeConfig::new()
        .with_encode_padding(false)
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// The header of Xray's clients; its value must come back in the answer, where a browser would look for it.
pub(super) const PROTOCOL: &str = "Sec-WebSocket-Protocol";

/// As a header's value.
pub(super) fn encode(bytes: &[u8]) -> String {
    BASE64.encode(bytes)
}

/// What a header's value holds; nothing if it is something else, such as the name of a protocol.
pub(super) fn decode(value: &[u8]) -> Option<Vec<u8>> {
    let usual = |byte: &u8| match byte {
        b'+' => b'-',
        b'/' => b'_',
        other => *other,
    };
    BASE64.decode(value.iter().map(usual).collect::<Vec<_>>()).ok().filter(|bytes| !bytes.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_spellings_are_read() {
        assert_eq!(encode(&[0xfb, 0xff, 0]), "-_8A");
        assert_eq!(encode(&[0xfb]), "-w");
        for text in ["-w", "-w==", "+w", "+w==", "-x"] {
            assert_eq!(decode(text.as_bytes()), Some(vec![0xfb]), "{text}");
        }
        assert_eq!((decode(b""), decode(b"a.b"), decode(b"a")), (None, None, None));
    }
}
