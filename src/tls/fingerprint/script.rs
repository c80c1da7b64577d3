//! What one connection's rustls is told while it runs its handshake.
//!
//! The parts of a provider are known to rustls by reference for the whole process, so they cannot belong to a connection. They
//! find the connection's part here: it lies on the thread exactly while that handshake is polled.

use std::cell::RefCell;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use rustls::crypto::{ActiveKeyExchange, GetRandomFailed};
use rustls::{Error, NamedGroup};

use super::draft::Draft;
use super::hello;
use super::keys::Offered;

/// One handshake's script.
pub(super) struct Script {
    /// The next 32 random bytes that rustls asks for, last first.
    fills: Vec<[u8; 32]>,
    /// The group that the server has chosen.
    hint: Option<NamedGroup>,
    offered: Offered,
    /// What went out first.
    first: Vec<u8>,
    /// What rustls wrote, and what went out instead.
    swaps: Vec<(Vec<u8>, Vec<u8>)>,
    proof: Option<Proof>,
}

/// How to tell a server that knows us from the site it hides behind, and what came of it.
pub struct Proof {
    /// Derived from the hello's key and the server's.
    pub key: zeroize::Zeroizing<[u8; 32]>,
    /// The client's hello and the server's.
    pub hellos: Vec<u8>,
    /// The server's certificate has shown that it knows the key.
    pub given: bool,
}

thread_local! {
    static CURRENT: RefCell<Option<Script>> = const { RefCell::new(None) };
}

impl Script {
    pub(super) fn new(draft: Draft, hint: Option<NamedGroup>, proof: Option<Proof>) -> Self {
        let first = draft.hello().to_vec();
        let hint = hint.or_else(|| draft.offered.first().map(|exchange| exchange.group()));
        // rustls asks for the session id first.
        let fills = vec![draft.random, draft.session_id];
        Self { fills, hint, offered: draft.offered, first, swaps: Vec::new(), proof }
    }

    /// Lays the script out while `body` runs.
    pub(super) fn during<T>(script: &mut Option<Self>, body: impl FnOnce() -> T) -> T {
        CURRENT.with_borrow_mut(|current| std::mem::swap(current, script));
        let done = body();
        CURRENT.with_borrow_mut(|current| std::mem::swap(current, script));
        done
    }

    /// Notes what rustls takes for its first hello. `false` if it does not have the values it was told.
    pub(super) fn note_first(&mut self, own: &[u8], random: &[u8; 32], session_id: &[u8; 32]) -> bool {
        let as_told = own.get(6..38) == Some(random) && own.get(38) == Some(&32) && own.get(39..71) == Some(session_id);
        self.swaps.push((own.to_vec(), self.first.clone()));
        as_told
    }

    /// Whether the server has proved itself.
    pub(super) fn is_proved(&self) -> bool {
        self.proof.as_ref().is_some_and(|proof| proof.given)
    }
}

fn current<T>(ask: impl FnOnce(&mut Script) -> Option<T>) -> Option<T> {
    CURRENT.with_borrow_mut(|current| current.as_mut().and_then(ask))
}

/// A future under its script.
pub(super) struct Scripted<F> {
    pub(super) future: F,
    pub(super) script: Option<Script>,
}

impl<F: Future + Unpin> Future for Scripted<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.get_mut();
        Script::during(&mut this.script, || Pin::new(&mut this.future).poll(cx))
    }
}

/// Random bytes, or those of the script.
pub(super) fn fill(into: &mut [u8]) -> Result<(), GetRandomFailed> {
    let told = <&mut [u8; 32]>::try_from(&mut *into).ok().and_then(|slot| {
        let next = current(|script| script.fills.pop())?;
        *slot = next;
        Some(())
    });
    told.map_or_else(|| aws_lc_rs::rand::fill(into).map_err(|_| GetRandomFailed), Ok)
}

/// The group that rustls should begin with.
pub(super) fn hint() -> Option<NamedGroup> {
    current(|script| script.hint)
}

/// The exchange that was begun in that group.
pub(super) fn begun(group: NamedGroup) -> Option<Box<dyn ActiveKeyExchange>> {
    current(|script| {
        let place = script.offered.iter().position(|exchange| exchange.group() == group)?;
        Some(script.offered.swap_remove(place))
    })
}

/// Hands `bytes` on with every hello of rustls replaced by what went out for it.
pub(super) fn swapped(bytes: &[u8], mut on: impl FnMut(&[u8])) {
    let mut rest = bytes;
    let swaps = current(|script| Some(std::mem::take(&mut script.swaps))).unwrap_or_default();
    while let Some((at, (own, ours))) = swaps
        .iter()
        .filter_map(|swap| Some((rest.windows(swap.0.len()).position(|window| window == swap.0)?, swap)))
        .min_by_key(|(at, _)| *at)
    {
        on(&rest[..at]);
        on(ours);
        rest = &rest[at + own.len()..];
    }
    on(rest);
    current(|script| {
        script.swaps = swaps;
        Some(())
    });
}

/// What goes out for a second hello that rustls has written.
pub fn second_hello(own: &[u8]) -> Option<Vec<u8>> {
    current(|script| {
        let ours = hello::again(&script.first, own).ok()?;
        script.swaps.push((own.to_vec(), ours.clone()));
        Some(ours)
    })
}

/// Lets `judge` look at the proof of this handshake, if one is asked for.
pub fn judge<T>(judge: impl FnOnce(&mut Proof) -> Result<T, Error>) -> Option<Result<T, Error>> {
    current(|script| script.proof.as_mut().map(judge))
}

/// Holds keys.
impl fmt::Debug for Proof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Proof").field("given", &self.given).finish_non_exhaustive()
    }
}
