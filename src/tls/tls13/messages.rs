//! The messages of a server behind its hello.

use aws_lc_rs::hmac;
use aws_lc_rs::signature::Ed25519KeyPair;

use super::schedule::Transcript;

const ENCRYPTED_EXTENSIONS: u8 = 8;
const CERTIFICATE: u8 = 11;
const CERTIFICATE_VERIFY: u8 = 15;
pub(super) const FINISHED: u8 = 20;
const ED25519: [u8; 2] = [0x08, 0x07];

/// EncryptedExtensions with none in it.
#[must_use]
pub fn encrypted_extensions() -> Vec<u8> {
    message(ENCRYPTED_EXTENSIONS, &[&[0, 0]])
}

/// One certificate.
#[must_use]
pub fn certificate(der: &[u8]) -> Vec<u8> {
    let (list, entry) = (length(der.len() + 5), length(der.len()));
    message(CERTIFICATE, &[&[0], &list, &entry, der, &[0, 0]])
}

/// The signature over all so far (section 4.4.3).
#[must_use]
pub fn certificate_verify(key: &Ed25519KeyPair, so_far: &Transcript) -> Vec<u8> {
    let signed = [&[b' '; 64][..], b"TLS 1.3, server CertificateVerify\0", so_far.hash().as_ref()].concat();
    let signature = key.sign(&signed);
    let signature = signature.as_ref();
    message(CERTIFICATE_VERIFY, &[&ED25519, &length(signature.len())[1..], signature])
}

/// The end of a side's part.
#[must_use]
pub fn finished(key: &hmac::Key, so_far: &Transcript) -> Vec<u8> {
    message(FINISHED, &[hmac::sign(key, so_far.hash().as_ref()).as_ref()])
}

fn message(kind: u8, parts: &[&[u8]]) -> Vec<u8> {
    let len = length(parts.iter().map(|part| part.len()).sum());
    let mut message = vec![kind, len[0], len[1], len[2]];
    parts.iter().for_each(|part| message.extend_from_slice(part));
    message
}

/// As three bytes. All of ours are short.
fn length(len: usize) -> [u8; 3] {
    let [.., a, b, c] = len.to_be_bytes();
    [a, b, c]
}
