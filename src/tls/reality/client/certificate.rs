//! The few fields of a certificate that carry REALITY's proof.

/// An Ed25519 certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Certificate<'a> {
    /// The key with its algorithm, as TLS takes it.
    pub(super) key_info: &'a [u8],
    /// The key alone.
    pub(super) key: &'a [u8; 32],
    pub(super) signature: &'a [u8],
    /// The value of the first extension.
    pub(super) extension: Option<&'a [u8]>,
}

const INTEGER: u8 = 0x02;
const BIT_STRING: u8 = 0x03;
const OCTET_STRING: u8 = 0x04;
const SEQUENCE: u8 = 0x30;
const VERSION: u8 = 0xa0;
const EXTENSIONS: u8 = 0xa3;
/// What stands in front of an Ed25519 key (RFC 8410).
const ED25519: [u8; 12] = [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];

impl<'a> Certificate<'a> {
    /// Reads DER (RFC 5280 4.1); nothing if it is no such certificate.
    pub(super) fn read(der: &'a [u8]) -> Option<Self> {
        let mut outer = Der(Der(der).expect(SEQUENCE)?);
        let mut fields = Der(outer.expect(SEQUENCE)?);
        outer.expect(SEQUENCE)?;
        let signature = outer.expect(BIT_STRING)?.strip_prefix(&[0])?;
        if fields.0.first() == Some(&VERSION) {
            fields.expect(VERSION)?;
        }
        fields.expect(INTEGER)?;
        // Algorithm, issuer, validity, subject.
        for _ in 0..4 {
            fields.expect(SEQUENCE)?;
        }
        let before = fields.0;
        fields.expect(SEQUENCE)?;
        let key_info = &before[..before.len() - fields.0.len()];
        let key = key_info.strip_prefix(&ED25519)?.try_into().ok()?;
        Some(Self { key_info, key, signature, extension: extension(fields) })
    }
}

fn extension(mut fields: Der<'_>) -> Option<&[u8]> {
    let mut first = Der(Der(Der(fields.expect(EXTENSIONS)?).expect(SEQUENCE)?).expect(SEQUENCE)?);
    loop {
        // Its name, and perhaps that it is critical.
        let (kind, content) = first.next()?;
        if kind == OCTET_STRING {
            return Some(content);
        }
    }
}

struct Der<'a>(&'a [u8]);

impl<'a> Der<'a> {
    fn expect(&mut self, kind: u8) -> Option<&'a [u8]> {
        self.next().filter(|(found, _)| *found == kind).map(|(_, content)| content)
    }

    fn next(&mut self) -> Option<(u8, &'a [u8])> {
        let (&[kind, short], rest) = self.0.split_first_chunk()?;
        let (len, rest) = if short < 0x80 {
            (usize::from(short), rest)
        } else {
            let (long, rest) = rest.split_at_checked((short & 0x7f).into())?;
            if long.len() > 3 {
                return None;
            }
            (long.iter().fold(0, |len, &byte| len << 8 | usize::from(byte)), rest)
        };
        let (content, rest) = rest.split_at_checked(len)?;
        self.0 = rest;
        Some((kind, content))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use rcgen::{CertificateParams, KeyPair, PKCS_ED25519};

    use super::*;

    #[test]
    fn an_ed25519_certificate_is_read_and_others_are_not() {
        let key = KeyPair::generate_for(&PKCS_ED25519).unwrap();
        let made = CertificateParams::new(vec!["a.example".into()]).unwrap().self_signed(&key).unwrap();
        let read = Certificate::read(made.der()).unwrap();
        assert_eq!(read.key, key.public_key_raw());
        assert!(made.der().ends_with(read.signature) && read.signature.len() == 64);
        // The only one of rcgen's is that of the names.
        assert!(read.extension.unwrap().ends_with(b"a.example"));
        let other = CertificateParams::new(Vec::new()).unwrap().self_signed(&KeyPair::generate().unwrap()).unwrap();
        assert_eq!(Certificate::read(other.der()), None);
    }

    #[test]
    fn no_cut_certificate_is_read() {
        let key = KeyPair::generate_for(&PKCS_ED25519).unwrap();
        let made = CertificateParams::new(Vec::new()).unwrap().self_signed(&key).unwrap();
        assert!((0..made.der().len()).all(|len| Certificate::read(&made.der()[..len]).is_none()));
        assert_eq!(Certificate::read(&[0x30, 0x84, 0xff, 0xff, 0xff, 0xff, 0]), None);
    }
}
