//! A hello in the making.

use std::sync::Arc;

use aws_lc_rs::agreement::{self, PrivateKey};
use rand::RngExt as _;
use rand::rngs::StdRng;
use rand::seq::SliceRandom as _;
use rustls::Error;
use rustls::pki_types::ServerName;
use zeroize::Zeroizing;

use super::keys::{self, Offered};
use super::shape::{Extension, GREASE, Shape};

/// A hello and the secrets behind it.
pub struct Draft {
    /// The handshake message.
    hello: Vec<u8>,
    pub random: [u8; 32],
    pub session_id: [u8; 32],
    /// The key of every X25519 share.
    pub own: Arc<PrivateKey>,
    pub(super) offered: Offered,
}

/// Where the session id stands in the message: behind type, length, version, random and its own length.
const SESSION_ID: usize = 4 + 2 + 32 + 1;
const CLIENT_HELLO: u8 = 1;
const VERSION: [u8; 2] = [3, 3];
const SERVER_NAME: u16 = 0;
const GROUPS: u16 = 10;
const SIGNATURE_ALGORITHMS: u16 = 13;
const ALPN: u16 = 16;
const PADDING: u16 = 21;
pub(super) const VERSIONS: u16 = 43;
pub(super) const KEY_SHARE: u16 = 51;
const ALPS: u16 = 17613;
const ECH: u16 = 0xfe0d;
/// Chrome's rule, which Safari shares: a hello between these lengths grows to the upper one.
const PADDED: std::ops::Range<usize> = 256..512;

impl Draft {
    /// Writes a hello in that shape.
    pub fn new(shape: &Shape, name: &ServerName<'_>, alpn: &[Vec<u8>], rng: &mut StdRng) -> Result<Self, Error> {
        let own = Zeroizing::new(rng.random::<[u8; 32]>());
        let own = PrivateKey::from_private_key(&agreement::X25519, &*own);
        let own = Arc::new(own.map_err(|_| Error::General("a key could not be made".into()))?);
        let groups = shape.extensions.iter().find_map(|extension| match extension {
            Extension::KeyShare(groups) => Some(*groups),
            _ => None,
        });
        let offered = keys::begin(groups.unwrap_or_default(), &own)?;
        let mut draft = Self { hello: Vec::new(), random: rng.random(), session_id: rng.random(), own, offered };
        let name = match name {
            ServerName::DnsName(name) => Some(name.as_ref()),
            _ => None,
        };
        draft.write(shape, name, alpn, rng);
        Ok(draft)
    }

    /// The handshake message.
    pub fn hello(&self) -> &[u8] {
        &self.hello
    }

    /// Puts another session id in.
    pub fn set_session_id(&mut self, id: [u8; 32]) {
        self.session_id = id;
        self.hello[SESSION_ID..SESSION_ID + 32].copy_from_slice(&id);
    }

    fn write(&mut self, shape: &Shape, name: Option<&str>, alpn: &[Vec<u8>], rng: &mut StdRng) {
        let grease = Grease::draw(rng);
        let mut extensions = shape.extensions.clone();
        if shape.shuffled {
            let still = |extension: &Extension| matches!(extension, Extension::Grease(_) | Extension::Padding);
            let mut moving: Vec<_> = extensions.iter().copied().filter(|extension| !still(extension)).collect();
            moving.shuffle(rng);
            for (place, extension) in extensions.iter_mut().filter(|place| !still(place)).zip(moving) {
                *place = extension;
            }
        }
        let mut body = Vec::with_capacity(2048);
        body.extend_from_slice(&VERSION);
        body.extend_from_slice(&self.random);
        body.push(32);
        body.extend_from_slice(&self.session_id);
        body.extend(prefixed(&numbers(&shape.suites, grease.suite)));
        body.extend_from_slice(&[1, 0]);
        let mut list = Vec::with_capacity(2048);
        let mut first = true;
        for extension in &extensions {
            let (kind, content) = match *extension {
                Extension::Grease(len) => {
                    let kind = if std::mem::take(&mut first) { grease.first } else { grease.last };
                    (kind, vec![0; len])
                }
                Extension::ServerName => {
                    let Some(name) = name else { continue };
                    let entry = [&[0][..], &prefixed(name.as_bytes())].concat();
                    (SERVER_NAME, prefixed(&entry))
                }
                Extension::Groups(groups) => (GROUPS, prefixed(&numbers(groups, grease.group))),
                Extension::Alpn if alpn.is_empty() => continue,
                Extension::Alpn => (ALPN, prefixed(&alpn.iter().flat_map(|name| short(name)).collect::<Vec<_>>())),
                Extension::SignatureAlgorithms(list) => {
                    (SIGNATURE_ALGORITHMS, prefixed(&numbers(list, grease.signature)))
                }
                Extension::KeyShare(groups) => (KEY_SHARE, prefixed(&self.shares(groups, grease.group))),
                Extension::Versions(list) => (VERSIONS, short(&numbers(list, grease.version))),
                Extension::Ech(cipher, lengths) => (ECH, ech(cipher, lengths, rng)),
                Extension::Fixed(kind, content) | Extension::Daring(kind, content) => (kind, content.to_vec()),
                Extension::Alps if !alpn.iter().any(|name| name == b"h2") => continue,
                Extension::Alps => (ALPS, prefixed(&short(b"h2"))),
                Extension::Padding => {
                    // Its own four bytes count, and those in front of the body and of the list.
                    let len = 4 + body.len() + 2 + list.len();
                    if !PADDED.contains(&len) {
                        continue;
                    }
                    (PADDING, vec![0; (PADDED.end - len).saturating_sub(4).max(1)])
                }
            };
            list.extend_from_slice(&kind.to_be_bytes());
            list.extend(prefixed(&content));
        }
        body.extend(prefixed(&list));
        self.hello = message(&body);
    }

    fn shares(&self, groups: &[u16], grease: u16) -> Vec<u8> {
        let mut list = Vec::with_capacity(1280);
        for &group in groups {
            let public = self.offered.iter().find(|offered| u16::from(offered.group()) == group);
            let (group, share) = match public {
                Some(exchange) => (group, exchange.pub_key()),
                None if group == GREASE => (grease, &[0][..]),
                None => continue,
            };
            list.extend_from_slice(&group.to_be_bytes());
            list.extend(prefixed(share));
        }
        list
    }
}

/// The reserved values of one hello.
struct Grease {
    suite: u16,
    group: u16,
    version: u16,
    signature: u16,
    first: u16,
    last: u16,
}

impl Grease {
    fn draw(rng: &mut StdRng) -> Self {
        let mut draw = || 0x0a0a + 0x1010 * rng.random_range(0..16u16);
        let (suite, group, version, signature, first, mut last) = (draw(), draw(), draw(), draw(), draw(), draw());
        if first == last {
            last ^= 0x1010;
        }
        Self { suite, group, version, signature, first, last }
    }
}

/// An encrypted hello that nobody can open: whoever cannot read one takes it for real.
fn ech(cipher: u16, lengths: &[usize], rng: &mut StdRng) -> Vec<u8> {
    const OUTER: u8 = 0;
    const HKDF_SHA256: [u8; 2] = [0, 1];
    let len = lengths.get(rng.random_range(0..lengths.len().max(1))).copied().unwrap_or_default();
    let mut payload = vec![0; len];
    rng.fill(&mut payload[..]);
    let mut out = vec![OUTER];
    out.extend_from_slice(&HKDF_SHA256);
    out.extend_from_slice(&cipher.to_be_bytes());
    out.push(rng.random());
    out.extend(prefixed(&rng.random::<[u8; 32]>()));
    out.extend(prefixed(&payload));
    out
}

fn numbers(list: &[u16], grease: u16) -> Vec<u8> {
    list.iter().flat_map(|&number| if number == GREASE { grease } else { number }.to_be_bytes()).collect()
}

/// With its length in two bytes in front. What is written here is never near 64 KiB.
pub(super) fn prefixed(content: &[u8]) -> Vec<u8> {
    let len = u16::try_from(content.len()).unwrap_or(u16::MAX);
    [&len.to_be_bytes()[..], content].concat()
}

/// With its length in one byte in front.
fn short(content: &[u8]) -> Vec<u8> {
    let len = u8::try_from(content.len()).unwrap_or(u8::MAX);
    [&[len][..], &content[..len.into()]].concat()
}

pub(super) fn message(body: &[u8]) -> Vec<u8> {
    let len = u32::try_from(body.len()).unwrap_or(u32::MAX).to_be_bytes();
    [&[CLIENT_HELLO, len[1], len[2], len[3]][..], body].concat()
}
