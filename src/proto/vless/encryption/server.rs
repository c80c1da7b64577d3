//! The server's side of a handshake.

use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use rand::{Rng, RngExt};
use subtle::ConstantTimeEq;

use super::aead::{Aead, Cipher, DENIED, TAG};
use super::client::{KEYS, LENGTH, TICKET, seal_padding, united};
use super::ctr::Ctr;
use super::header::{HEADER, Hidden, Mode, length};
use super::keys::{POINT, PUBLIC, Point, PrivateKey, Shared, encapsulate_for};
use super::memory::{Pfs, pfs};
use super::opener::{Opener, RANDOM};
use super::padding::{Padding, Piece};
use super::sealer::{Sealer, United};
use super::tickets::Tickets;
use crate::wire::{Handshake, Step, WireError};

/// What a server needs for all of its clients.
pub struct Server {
    keys: Vec<PrivateKey>,
    mode: Mode,
    padding: Padding,
    lifetime: Lifetime,
    tickets: Mutex<Tickets>,
}

/// How many seconds tickets live: drawn between two numbers, or from half of the one to all of it. 0 gives none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lifetime {
    /// The lower number.
    pub from: u16,
    /// The upper one, if there is one.
    pub to: Option<u16>,
}

impl Lifetime {
    fn most(self) -> u16 {
        self.from.max(self.to.unwrap_or(0))
    }

    fn draw(self, rng: &mut impl Rng) -> u16 {
        match self.to {
            Some(to) => rng.random_range(self.from.min(to)..=self.from.max(to)),
            None => rng.random_range(self.from / 2..=self.from),
        }
    }
}

/// Keys are never shown.
impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("mode", &self.mode).finish_non_exhaustive()
    }
}

impl Server {
    /// With these keys, one behind the other.
    #[must_use]
    pub fn new(keys: Vec<PrivateKey>, mode: Mode, padding: Padding, lifetime: Lifetime) -> Self {
        Self { keys, mode, padding, lifetime, tickets: Mutex::default() }
    }

    /// Reads what a client begins with. `cipher` is tried first.
    pub fn greet<R: Rng>(&self, now: Instant, cipher: Cipher, rng: R) -> Greeting<'_, R> {
        Greeting { server: self, now, cipher, rng, state: State::Relays }
    }

    fn relays_len(&self) -> usize {
        self.keys.iter().map(|key| key.sent() + POINT).sum::<usize>().saturating_sub(POINT)
    }

    /// What a client and the last of the keys have agreed on.
    fn relays(&self, iv: [u8; 16], mut relays: &mut [u8]) -> Result<Shared, WireError> {
        let mut last: Option<(Ctr, Shared)> = None;
        for key in &self.keys {
            if let Some((ctr, _)) = &mut last {
                let (hash, rest) = relays.split_at_mut_checked(POINT).ok_or(DENIED)?;
                ctr.apply(hash);
                if !bool::from(hash.ct_eq(&key.hash())) {
                    return Err(DENIED);
                }
                relays = rest;
                ctr.apply(relays.get_mut(..POINT).ok_or(DENIED)?);
            }
            let (sent, rest) = relays.split_at_mut_checked(key.sent()).ok_or(DENIED)?;
            if self.mode != Mode::Native {
                Ctr::new(key.public(), iv).apply(sent);
            }
            let shared = key.decapsulate(sent)?;
            (last, relays) = (Some((Ctr::new(&*shared, iv), shared)), rest);
        }
        last.map(|(_, shared)| shared).ok_or(DENIED)
    }

    fn tickets<T>(&self, with: impl FnOnce(&mut Tickets) -> T) -> T {
        with(&mut self.tickets.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn hidden(&self, united: &United, iv: [u8; 16]) -> Option<Hidden> {
        (self.mode == Mode::Random).then(|| Hidden::new(Ctr::new(united, iv)))
    }
}

/// What a client began with.
pub enum Greeted {
    /// It brought a ticket; all is ready.
    Resumed(Box<(Sealer, Opener)>),
    /// It is to be answered by these pieces, each with a wait behind it, and then its padding to be read.
    Asked(Vec<Piece>, Confirmed),
}

/// Reads the beginning of a connection.
pub struct Greeting<'a, R> {
    server: &'a Server,
    now: Instant,
    cipher: Cipher,
    rng: R,
    state: State,
}

enum State {
    Relays,
    Length([u8; 16], Shared),
    Ticket([u8; 16], Shared, Aead),
    Keys([u8; 16], Shared, Aead, usize),
    Over,
}

impl<R: Rng> Greeting<'_, R> {
    /// The length behind the relays, and whose cipher it is.
    fn length(&mut self, iv: [u8; 16], nfs: Shared, sealed: &[u8]) -> Result<State, WireError> {
        for cipher in [self.cipher, self.cipher.other()] {
            let mut front = Aead::new(&iv, &*nfs, cipher)?;
            let mut sealed = sealed.to_vec();
            let Ok(&mut [high, low]) = front.open(&[], &mut sealed) else { continue };
            self.cipher = cipher;
            return match usize::from(u16::from_be_bytes([high, low])) {
                TICKET if self.server.lifetime.most() == 0 => {
                    Err(WireError::Denied { what: "a ticket; none were given" })
                }
                TICKET => Ok(State::Ticket(iv, nfs, front)),
                len if len >= KEYS + TAG => Ok(State::Keys(iv, nfs, front, len)),
                _ => Err(WireError::Malformed { what: "length of a client's keys" }),
            };
        }
        Err(DENIED)
    }

    fn resume(
        &mut self,
        iv: [u8; 16],
        nfs: &Shared,
        front: &mut Aead,
        sealed: &[u8],
        reply: &mut Vec<u8>,
    ) -> Result<Greeted, WireError> {
        let mut opened = sealed.to_vec();
        let ticket: [u8; 16] = (&*front.open(&[], &mut opened)?).try_into().map_err(|_| DENIED)?;
        let Some(pfs) = self.server.tickets(|tickets| tickets.redeem(&ticket, **nfs, self.now))? else {
            self.send_noise(reply);
            return Err(WireError::Denied { what: "a ticket that is not known, or not any more" });
        };
        let united = united(&pfs, nfs);
        let random: [u8; RANDOM] = self.rng.random();
        let seal = Aead::new(&random, &united, self.cipher)?;
        let open = Aead::new(sealed, &united, self.cipher)?;
        let (out, from) = (self.server.hidden(&united, random), self.server.hidden(&united, iv));
        let seal = Sealer::new(random.to_vec(), seal, united.clone(), self.cipher, out);
        Ok(Greeted::Resumed(Box::new((seal, Opener::new(open, united, self.cipher, from)))))
    }

    /// What tells a client that its ticket is not known: as long as an answer, and in no way a record.
    fn send_noise(&mut self, reply: &mut Vec<u8>) {
        let mut noise = vec![0; self.rng.random_range(1279..2279)];
        while {
            self.rng.fill_bytes(&mut noise);
            [0, RANDOM]
                .iter()
                .any(|at| noise[*at..].first_chunk::<HEADER>().is_none_or(|bytes| length(*bytes).is_some()))
        } {}
        reply.extend_from_slice(&noise);
    }

    fn answer(&mut self, iv: [u8; 16], nfs: &Shared, mut front: Aead, sealed: &[u8]) -> Result<Greeted, WireError> {
        let mut opened = sealed.to_vec();
        let public = front.open(&[], &mut opened)?.get(..KEYS).ok_or(DENIED)?;
        let (capsule, peer) = public.split_at(PUBLIC);
        let (mut answer, shared) = encapsulate_for(capsule)?;
        let point = Point::draw()?;
        answer.extend_from_slice(&point.public);
        let pfs = pfs(&shared, &point.agree(peer)?);
        let united = united(&pfs, nfs);
        let mut seal = Aead::new(&answer, &united, self.cipher)?;
        let open = Aead::new(public, &united, self.cipher)?;
        let tag = front.seal_last(&mut answer)?;
        answer.extend_from_slice(&tag);
        let ticket = self.ticket(pfs);
        seal.seal_onto(&ticket, &mut answer)?;
        let drawn = self.server.padding.draw(&mut self.rng);
        seal_padding(&mut seal, drawn.whole(), &mut answer)?;
        let (out, from) = (self.server.hidden(&united, ticket), self.server.hidden(&united, iv));
        let seal = Sealer::new(Vec::new(), seal, united.clone(), self.cipher, out);
        let open = Opener::new(open, united, self.cipher, from);
        Ok(Greeted::Asked(drawn.cut(answer), Confirmed { front, len: None, ready: Some(Box::new((seal, open))) }))
    }

    fn ticket(&mut self, pfs: Pfs) -> [u8; 16] {
        let mut ticket: [u8; 16] = self.rng.random();
        let (lifetime, seconds) = (self.server.lifetime, self.server.lifetime.draw(&mut self.rng));
        ticket[..2].copy_from_slice(&seconds.to_be_bytes());
        if seconds > 0 {
            let life = Duration::from_secs(lifetime.most().into());
            self.server.tickets(|tickets| tickets.give(ticket, pfs, self.now, life));
        }
        ticket
    }
}

impl<R: Rng> Handshake for Greeting<'_, R> {
    type Output = Greeted;

    fn step(&mut self, input: &[u8], reply: &mut Vec<u8>) -> Result<Step<Greeted>, WireError> {
        let mut used = 0;
        loop {
            let rest = input.get(used..).unwrap_or_default();
            let len = match &self.state {
                State::Relays => 16 + self.server.relays_len(),
                State::Length(..) => LENGTH,
                State::Ticket(..) => TICKET,
                State::Keys(.., len) => *len,
                State::Over => return Err(WireError::Malformed { what: "handshake that is over" }),
            };
            let Some(part) = rest.get(..len) else { return Ok(Step::More { used, need: len - rest.len() }) };
            used += len;
            let value = match std::mem::replace(&mut self.state, State::Over) {
                State::Relays => {
                    let (iv, relays) = part.split_first_chunk().ok_or(DENIED)?;
                    self.state = State::Length(*iv, self.server.relays(*iv, &mut relays.to_vec())?);
                    continue;
                }
                State::Length(iv, nfs) => {
                    self.state = self.length(iv, nfs, part)?;
                    continue;
                }
                State::Ticket(iv, nfs, mut front) => self.resume(iv, &nfs, &mut front, part, reply)?,
                State::Keys(iv, nfs, front, _) => self.answer(iv, &nfs, front, part)?,
                State::Over => return Err(WireError::Malformed { what: "handshake that is over" }),
            };
            return Ok(Step::Done { used, value });
        }
    }
}

/// Reads the padding of a client that was answered.
pub struct Confirmed {
    front: Aead,
    len: Option<usize>,
    ready: Option<Box<(Sealer, Opener)>>,
}

impl Handshake for Confirmed {
    type Output = Box<(Sealer, Opener)>;

    fn step(&mut self, input: &[u8], _: &mut Vec<u8>) -> Result<Step<Self::Output>, WireError> {
        let (mut rest, mut used) = (input, 0);
        let len = match self.len {
            Some(len) => len,
            None => {
                let Some((sealed, behind)) = rest.split_at_checked(LENGTH) else {
                    return Ok(Step::More { used, need: LENGTH - rest.len() });
                };
                let len: [u8; 2] = (&*self.front.open(&[], &mut sealed.to_vec())?).try_into().map_err(|_| DENIED)?;
                (rest, used) = (behind, LENGTH);
                *self.len.insert(u16::from_be_bytes(len).into())
            }
        };
        let Some(sealed) = rest.get(..len) else { return Ok(Step::More { used, need: len - rest.len() }) };
        self.front.open(&[], &mut sealed.to_vec())?;
        let value = self.ready.take().ok_or(WireError::Malformed { what: "handshake that is over" })?;
        Ok(Step::Done { used: used + len, value })
    }
}
