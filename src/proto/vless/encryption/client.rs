//! The client's side of a handshake.

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use rand::{Rng, RngExt};
use zeroize::Zeroizing;

use super::aead::{Aead, Cipher, DENIED, TAG};
use super::ctr::Ctr;
use super::header::{Hidden, Mode};
use super::keys::{CIPHERTEXT, Capsule, POINT, PUBLIC, Point, PublicKey, Shared};
use super::memory::{Memory, Pfs, pfs};
use super::opener::Opener;
use super::padding::{Padding, Piece};
use super::sealer::{Sealer, United};
use crate::wire::{Handshake, Step, WireError};

/// Bytes of a sealed length, and of a sealed ticket.
pub(super) const LENGTH: usize = 2 + TAG;
pub(super) const TICKET: usize = 16 + TAG;

/// What a client knows of one server.
pub struct Client {
    keys: Vec<PublicKey>,
    mode: Mode,
    padding: Padding,
    memory: Option<Arc<Memory>>,
}

/// How a connection begins.
pub enum Begun {
    /// By a ticket: it can be used at once, and the hello goes in front of the first bytes.
    Resumed(Box<(Sealer, Opener)>),
    /// By these pieces, each with a wait behind it, and then the server's answer.
    Asked(Vec<Piece>, Box<Answer>),
}

/// Keys that both sides have.
pub struct Established {
    /// For what is written.
    pub seal: Sealer,
    /// For what is read.
    pub open: Opener,
    ticket: ([u8; 16], Pfs),
}

/// All that was agreed on with one key after the other, of which the last counts.
pub(super) fn united(pfs: &Pfs, nfs: &Shared) -> United {
    Zeroizing::new([&pfs[..], &nfs[..]].concat())
}

/// Keys are never shown.
impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("mode", &self.mode).finish_non_exhaustive()
    }
}

impl Client {
    /// Of a server with these keys, one behind the other. Who may `resume` keeps the server's tickets.
    #[must_use]
    pub fn new(keys: Vec<PublicKey>, mode: Mode, padding: Padding, resume: bool) -> Self {
        Self { keys, mode, padding, memory: resume.then(Arc::default) }
    }

    /// Begins a connection.
    ///
    /// # Errors
    /// [`WireError`] if a key of the server is none.
    pub fn begin(&self, now: Instant, cipher: Cipher, rng: &mut impl Rng) -> Result<Begun, WireError> {
        let iv: [u8; 16] = rng.random();
        let (mut hello, nfs) = self.relays(iv)?;
        let mut front = Aead::new(&iv, &*nfs, cipher)?;
        if let Some(memory) = &self.memory
            && let Some(kept) = memory.find(now)
        {
            front.seal_onto(&(TICKET as u16).to_be_bytes(), &mut hello)?;
            front.seal_onto(&kept.ticket, &mut hello)?;
            let united = united(&kept.pfs, &nfs);
            let aead = Aead::new(hello.last_chunk::<TICKET>().ok_or(DENIED)?, &united, cipher)?;
            let hidden = (self.mode == Mode::Random).then(|| Hidden::new(Ctr::new(&united, iv)));
            let open = Opener::resumed(united.clone(), cipher, self.mode, memory.clone(), kept.ticket);
            let seal = Sealer::new(hello, aead, united, cipher, hidden);
            return Ok(Begun::Resumed(Box::new((seal, open))));
        }
        let (capsule, point) = (Capsule::draw()?, Point::draw()?);
        let public = [&capsule.public[..], &point.public].concat();
        front.seal_onto(&((public.len() + TAG) as u16).to_be_bytes(), &mut hello)?;
        front.seal_onto(&public, &mut hello)?;
        let drawn = self.padding.draw(rng);
        seal_padding(&mut front, drawn.whole(), &mut hello)?;
        let answer = Answer { iv, nfs, front, capsule, point, public, cipher, mode: self.mode };
        Ok(Begun::Asked(drawn.cut(hello), Box::new(answer)))
    }

    /// Keeps what an answer gave for the next connection.
    pub fn remember(&self, established: &Established, now: Instant) {
        if let Some(memory) = &self.memory {
            memory.keep(established.ticket.1.clone(), established.ticket.0, now);
        }
    }

    /// What each key of the server is told, behind the random bytes in front; and what came of the last.
    fn relays(&self, iv: [u8; 16]) -> Result<(Vec<u8>, Shared), WireError> {
        let mut hello = iv.to_vec();
        let mut last: Option<(Ctr, Shared)> = None;
        for key in &self.keys {
            let (mut sent, shared) = key.encapsulate()?;
            if self.mode != Mode::Native {
                Ctr::new(key.bytes(), iv).apply(&mut sent);
            }
            if let Some((mut ctr, _)) = last.take() {
                let mut hash = key.hash();
                ctr.apply(&mut hash);
                hello.extend_from_slice(&hash);
                // So that nobody on the way can put another in its place.
                ctr.apply(sent.get_mut(..POINT).ok_or(DENIED)?);
            }
            hello.extend_from_slice(&sent);
            last = Some((Ctr::new(&*shared, iv), shared));
        }
        last.map(|(_, shared)| (hello, shared)).ok_or(DENIED)
    }
}

/// Appends so many bytes of padding, in which its own length stands.
pub(super) fn seal_padding(aead: &mut Aead, whole: usize, out: &mut Vec<u8>) -> Result<(), WireError> {
    let sealed = whole.saturating_sub(LENGTH);
    aead.seal_onto(&(sealed as u16).to_be_bytes(), out)?;
    aead.seal_onto(&vec![0; sealed.saturating_sub(TAG)], out)
}

/// Reads what a server answers.
pub struct Answer {
    iv: [u8; 16],
    nfs: Shared,
    front: Aead,
    capsule: Capsule,
    point: Point,
    public: Vec<u8>,
    cipher: Cipher,
    mode: Mode,
}

/// The server's keys, its ticket, and how much padding follows.
const ANSWER: usize = CIPHERTEXT + POINT + TAG + TICKET + LENGTH;

impl Handshake for Answer {
    type Output = Established;

    fn step(&mut self, input: &[u8], _: &mut Vec<u8>) -> Result<Step<Established>, WireError> {
        let Some(answer) = input.first_chunk::<ANSWER>() else {
            return Ok(Step::More { used: 0, need: ANSWER - input.len() });
        };
        let mut answer = *answer;
        let (keys, rest) = answer.split_at_mut(CIPHERTEXT + POINT + TAG);
        let (ticket, len) = rest.split_at_mut(TICKET);
        let keys = &*self.front.open_last(keys)?;
        let (sent, point) = keys.split_at(CIPHERTEXT);
        let pfs = pfs(&self.capsule.open(sent)?, &self.point.agree(point)?);
        let united = united(&pfs, &self.nfs);
        let aead = Aead::new(&self.public, &united, self.cipher)?;
        let mut peer = Aead::new(keys, &united, self.cipher)?;
        let ticket: [u8; 16] = (&*peer.open(&[], ticket)?).try_into().map_err(|_| DENIED)?;
        let len: [u8; 2] = (&*peer.open(&[], len)?).try_into().map_err(|_| DENIED)?;
        let hidden = |iv| (self.mode == Mode::Random).then(|| Hidden::new(Ctr::new(&united, iv)));
        let seal = Sealer::new(Vec::new(), aead, united.clone(), self.cipher, hidden(self.iv));
        let open = Opener::new(peer, united.clone(), self.cipher, hidden(ticket));
        let open = open.padded(u16::from_be_bytes(len).into());
        Ok(Step::Done { used: ANSWER, value: Established { seal, open, ticket: (ticket, pfs) } })
    }
}

/// Bytes that a client tells a server before anything is sealed by keys of its own.
pub(super) const KEYS: usize = PUBLIC + POINT;
