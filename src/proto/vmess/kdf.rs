//! How keys are derived: HMACs built on each other, SHA-256 at the bottom.

use aws_lc_rs::hmac;

/// The key of the lowest HMAC.
const ROOT: &[u8] = b"VMess AEAD KDF";

/// Block size of SHA-256, and by definition of every HMAC above it.
const BLOCK: usize = 64;

/// Derives 32 bytes from a key: the HMAC of the key, keyed with the last word of the path, over the hash that the words before
/// it make. No library nests its HMACs, hence by hand.
pub(super) fn kdf(key: &[u8], path: &[&[u8]]) -> [u8; 32] {
    hash(path, &[key])
}

/// The first sixteen of them.
pub(super) fn kdf16(key: &[u8], path: &[&[u8]]) -> [u8; 16] {
    first(kdf(key, path))
}

/// The first twelve.
pub(super) fn kdf12(key: &[u8], path: &[&[u8]]) -> [u8; 12] {
    first(kdf(key, path))
}

fn first<const N: usize>(all: [u8; 32]) -> [u8; N] {
    let mut some = [0; N];
    some.copy_from_slice(&all[..N]);
    some
}

/// The hash that a path makes, of parts put behind each other.
fn hash(path: &[&[u8]], parts: &[&[u8]]) -> [u8; 32] {
    let Some((word, below)) = path.split_last() else {
        let mut mac = hmac::Context::with_key(&hmac::Key::new(hmac::HMAC_SHA256, ROOT));
        parts.iter().for_each(|part| mac.update(part));
        let mut out = [0; 32];
        out.copy_from_slice(mac.sign().as_ref());
        return out;
    };
    let pad = |with: u8| {
        // Words longer than a block would be hashed first. The protocol has none.
        let mut pad = [with; BLOCK];
        pad.iter_mut().zip(*word).for_each(|(pad, byte)| *pad ^= byte);
        pad
    };
    let (inner, outer) = (pad(0x36), pad(0x5c));
    let mut all = vec![&inner[..]];
    all.extend_from_slice(parts);
    let inner = hash(below, &all);
    hash(below, &[&outer, &inner])
}

#[cfg(test)]
mod tests {
    use super::super::vectors::hex;
    use super::*;

    #[test]
    fn known_answers() {
        let long = [&b"AEAD Resp Header Len Key"[..], b"AEAD Resp Header Len IV", b"AEAD Resp Header Key"];
        for (path, out) in [
            (&[&b"AES Auth ID Encryption"[..]][..], "956dfd149e2770c71c4a036a6308ea3b40ac7e059b1c3b15dcc4f1368a05476b"),
            (&long[..], "f350c1f9970a5da875efd659a1827a51eeb13371154a49d4c7294b9b3137d9e2"),
        ] {
            assert_eq!(kdf(b"test", path)[..], hex(out));
        }
    }
}
