//! How long a text is in HPACK's Huffman code (RFC 7541, appendix B), by which padding is measured.

/// Bytes of the text in that code. Signs that no token has count as long ones.
pub(super) fn huffman_len(text: &str) -> usize {
    text.bytes().map(bits).sum::<usize>().div_ceil(8)
}

fn bits(byte: u8) -> usize {
    match byte {
        b'0'..=b'2' | b'a' | b'c' | b'e' | b'i' | b'o' | b's' | b't' => 5,
        b'3'..=b'9' | b'A' | b'b' | b'd' | b'f'..=b'h' | b'l'..=b'n' | b'p' | b'r' | b'u' => 6,
        b'-' | b'.' | b'%' | b'/' | b'=' | b'_' => 6,
        b'B'..=b'W' | b'Y' | b'j' | b'k' | b'q' | b'v'..=b'z' => 7,
        _ => 8,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 7541, appendix C.4 and C.6.
    #[test]
    fn the_examples_of_the_standard() {
        assert_eq!(huffman_len("www.example.com"), 12);
        assert_eq!(huffman_len("private"), 5);
        assert_eq!(huffman_len(&"X".repeat(100)), 100);
    }
}
