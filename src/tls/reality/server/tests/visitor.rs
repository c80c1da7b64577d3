//! A client of its own, as small as can be, that looks at everything.

use aws_lc_rs::agreement::{PrivateKey, UnparsedPublicKey, X25519, agree};
use aws_lc_rs::error::Unspecified;
use aws_lc_rs::hmac;
use aws_lc_rs::kem::{DecapsulationKey, ML_KEM_768};
use aws_lc_rs::signature::{ED25519, UnparsedPublicKey as Verifier};
use bytes::BytesMut;

use super::super::super::super::tls13::testing::{halves, server_hello};
use super::super::super::super::tls13::{
    HANDSHAKE, HEADER, HandshakeSecrets, Opener, SESSION_ID, Sealer, Transcript, finished, header,
};
use super::super::super::token::{AuthKey, Token, auth_key};

/// Somebody who dials.
pub(super) struct Visitor {
    own: PrivateKey,
    quantum: Option<DecapsulationKey>,
    auth: AuthKey,
    /// Its hello, without a record around it.
    pub(super) hello: Vec<u8>,
}

/// What it offers.
#[derive(Clone)]
pub(super) struct Offer<'a> {
    pub(super) server_key: [u8; 32],
    pub(super) name: &'a str,
    pub(super) token: Token,
    /// Offers the hybrid group alone.
    pub(super) hybrid: bool,
    /// The versions it speaks.
    pub(super) version: u16,
}

/// What a handshake came to.
pub(super) struct Shaken {
    /// Its Finished, in a record.
    pub(super) finished: BytesMut,
    pub(super) sealer: Sealer,
    pub(super) opener: Opener,
    /// Bytes behind the server's Finished.
    pub(super) rest: Vec<u8>,
    /// Lengths of the records.
    pub(super) records: Vec<usize>,
}

impl Visitor {
    pub(super) fn new(offer: &Offer<'_>) -> Self {
        let own = PrivateKey::generate(&X25519).unwrap();
        let public = own.compute_public_key().unwrap();
        let quantum = offer.hybrid.then(|| DecapsulationKey::generate(&ML_KEM_768).unwrap());
        let (group, share) = match &quantum {
            None => ([0x00, 0x1d], public.as_ref().to_vec()),
            Some(key) => {
                let key = key.encapsulation_key().unwrap().key_bytes().unwrap();
                ([0x11, 0xec], [key.as_ref(), public.as_ref()].concat())
            }
        };
        let random: [u8; 32] = rand::random();
        let name = [&[0][..], &sized(offer.name.as_bytes())].concat();
        let share = [&group[..], &sized(&share)].concat();
        let versions = [&[2][..], &offer.version.to_be_bytes()].concat();
        let extensions = [
            extension(0, &sized(&name)),
            extension(10, &sized(&group)),
            extension(13, &sized(&[0x04, 0x03, 0x08, 0x04])),
            extension(43, &versions),
            extension(51, &sized(&share)),
        ]
        .concat();
        let body = [
            &[3, 3][..],
            &random,
            &[32],
            &[0; 32],
            &sized(&[0x13, 0x02, 0x13, 0x01, 0x13, 0x03]),
            &[1, 0],
            &sized(&extensions),
        ]
        .concat();
        let [.., a, b, c] = body.len().to_be_bytes();
        let mut hello = [&[1, a, b, c][..], &body].concat();
        let auth = auth_key(&own, &offer.server_key, &random).unwrap();
        let sealed = offer.token.seal(&auth, &random, &hello).unwrap();
        hello[SESSION_ID..SESSION_ID + 32].copy_from_slice(&sealed);
        Self { own, quantum, auth, hello }
    }

    /// The hello in one record.
    pub(super) fn record(&self) -> Vec<u8> {
        [&[HANDSHAKE, 3, 1][..], &sized(&self.hello)].concat()
    }

    /// Reads all of a server's flight, and checks what a client checks. Nothing if more is needed.
    pub(super) fn shake(&self, said: &[u8]) -> Option<Shaken> {
        let mut records = vec![];
        let mut rest = said;
        let mut next = || {
            let (_, len) = header(rest).ok()?;
            let (record, left) = rest.split_at_checked(HEADER + len)?;
            rest = left;
            records.push(record.len());
            Some(record.to_vec())
        };
        let hello = next()?.split_off(HEADER);
        assert_eq!(next()?, [20, 3, 3, 0, 1, 1]);
        let (suite, share) = server_hello(&hello);
        let mut transcript = Transcript::new(suite);
        transcript.add(&self.hello);
        transcript.add(&hello);
        let secrets = HandshakeSecrets::new(suite, &self.secret(&share), &transcript).unwrap();
        let mut key = secrets.server.key().unwrap();
        let mut messages = vec![];
        // EncryptedExtensions, Certificate, CertificateVerify, Finished.
        let mut certificate = vec![];
        for wanted in [8, 11, 15, 20] {
            while !whole(&messages) {
                let mut record = next()?;
                let (kind, len) = key.open(&mut record).unwrap();
                assert_eq!(kind, HANDSHAKE);
                messages.extend_from_slice(&record[HEADER..HEADER + len]);
            }
            let later = messages.split_off(4 + length(&messages[1..4]));
            assert_eq!(messages[0], wanted);
            match wanted {
                11 => certificate = messages[11..messages.len() - 2].to_vec(),
                15 => self.check(&certificate, &messages, &transcript),
                20 => assert_eq!(messages, finished(&secrets.server.finished_key().unwrap(), &transcript)),
                _ => {}
            }
            transcript.add(&messages);
            messages = later;
        }
        assert!(messages.is_empty());
        let (client, server) = secrets.application(&transcript).unwrap();
        let (sealer, opener) = halves(client, server);
        let mut record = BytesMut::new();
        let message = finished(&secrets.client.finished_key().unwrap(), &transcript);
        secrets.client.key().unwrap().seal(HANDSHAKE, &message, 0, &mut record).unwrap();
        Some(Shaken { finished: record, sealer, opener, rest: rest.to_vec(), records })
    }

    fn secret(&self, share: &[u8]) -> Vec<u8> {
        let (ciphertext, share) = share.split_at(share.len() - 32);
        let mut secret = match &self.quantum {
            Some(key) => key.decapsulate(ciphertext.into()).unwrap().as_ref().to_vec(),
            None => vec![],
        };
        agree(&self.own, UnparsedPublicKey::new(&X25519, share), Unspecified, |shared| {
            secret.extend_from_slice(shared);
            Ok(())
        })
        .unwrap();
        secret
    }

    /// The certificate is for us alone, and the server has its key.
    fn check(&self, certificate: &[u8], verify: &[u8], so_far: &Transcript) {
        // The key stands behind its algorithm, in the second place where that is named.
        let oid = [0x06, 0x03, 0x2b, 0x65, 0x70];
        let places: Vec<_> = (0..certificate.len() - 5).filter(|at| certificate[*at..*at + 5] == oid).collect();
        let public = &certificate[places[1] + 8..places[1] + 40];
        let code = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA512, &self.auth[..]), public);
        assert_eq!(&certificate[certificate.len() - 64..], code.as_ref());
        let signed = [&[b' '; 64][..], b"TLS 1.3, server CertificateVerify\0", so_far.hash().as_ref()].concat();
        assert!(Verifier::new(&ED25519, public).verify(&signed, &verify[8..]).is_ok());
    }
}

fn whole(messages: &[u8]) -> bool {
    messages.len() >= 4 && messages.len() >= 4 + length(&messages[1..4])
}

fn length(bytes: &[u8]) -> usize {
    bytes.iter().fold(0, |len, byte| len << 8 | usize::from(*byte))
}

fn sized(bytes: &[u8]) -> Vec<u8> {
    [&u16::try_from(bytes.len()).unwrap().to_be_bytes()[..], bytes].concat()
}

fn extension(kind: u16, value: &[u8]) -> Vec<u8> {
    [&kind.to_be_bytes()[..], &sized(value)].concat()
}
