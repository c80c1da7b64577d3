//! Datagrams that are sent before the first of an association, so that whoever looks at first datagrams sees others.

use std::future::Future;
use std::io;
use std::net::IpAddr;
use std::ops::RangeInclusive;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::BytesMut;
use rand::Rng;
use tokio::time::{Sleep, sleep};

use crate::addr::{Host, Target};
use crate::flow::Packets;

/// A datagram that means nothing.
#[derive(Debug)]
pub struct Noise {
    /// What it is made of.
    pub bytes: NoiseBytes,
    /// Milliseconds to wait behind it.
    pub delay: RangeInclusive<u64>,
    /// Whether targets with IPv4 addresses get it, and those with IPv6 addresses.
    pub families: (bool, bool),
}

/// What a noise is made of.
#[derive(Debug)]
pub enum NoiseBytes {
    /// So many random bytes.
    Random(RangeInclusive<usize>),
    /// These.
    Fixed(Vec<u8>),
}

impl Noise {
    /// Whether a target gets it. A name, which another outbound resolves, gets what is for either family.
    fn is_for(&self, target: &Target) -> bool {
        match &target.host {
            Host::Ip(IpAddr::V4(_)) => self.families.0,
            Host::Ip(IpAddr::V6(_)) => self.families.1,
            Host::Domain(_) => self.families == (true, true),
        }
    }

    fn make(&self) -> Vec<u8> {
        match &self.bytes {
            NoiseBytes::Fixed(bytes) => bytes.clone(),
            NoiseBytes::Random(len) => {
                let mut bytes = vec![0; rand::random_range(len.clone())];
                rand::rng().fill_bytes(&mut bytes);
                bytes
            }
        }
    }
}

/// An association that begins with noise, at whoever is spoken to first.
pub(super) struct Noisy<P> {
    inner: P,
    noises: Arc<[Noise]>,
    next: usize,
    /// A noise that could not leave yet.
    waiting: Option<Vec<u8>>,
    pause: Option<Pin<Box<Sleep>>>,
}

/// Questions to DNS are not hidden so: Xray leaves them alone too.
const DNS: u16 = 53;

impl<P: Packets> Noisy<P> {
    pub(super) fn new(inner: P, noises: Arc<[Noise]>) -> Self {
        Self { inner, noises, next: 0, waiting: None, pause: None }
    }

    /// Makes all the noise there is to make, and waits in between.
    fn poll_noise(&mut self, cx: &mut Context<'_>, peer: &Target) -> Poll<io::Result<()>> {
        if peer.port == DNS {
            return Poll::Ready(Ok(()));
        }
        loop {
            if let Some(pause) = &mut self.pause {
                ready!(pause.as_mut().poll(cx));
                self.pause = None;
            }
            let Some(noise) = self.noises.get(self.next) else { return Poll::Ready(Ok(())) };
            if noise.is_for(peer) {
                let bytes = self.waiting.get_or_insert_with(|| noise.make());
                ready!(self.inner.poll_send(cx, bytes, peer))?;
                self.waiting = None;
                self.pause = Some(Box::pin(sleep(Duration::from_millis(rand::random_range(noise.delay.clone())))));
            }
            self.next += 1;
        }
    }
}

impl<P: Packets> Packets for Noisy<P> {
    fn poll_recv(&mut self, cx: &mut Context<'_>, buf: &mut BytesMut) -> Poll<io::Result<Target>> {
        self.inner.poll_recv(cx, buf)
    }

    fn poll_send(&mut self, cx: &mut Context<'_>, payload: &[u8], peer: &Target) -> Poll<io::Result<()>> {
        if self.next < self.noises.len() || self.pause.is_some() {
            ready!(self.poll_noise(cx, peer))?;
        }
        self.inner.poll_send(cx, payload, peer)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::Mutex;

    use tokio::time::Instant;

    use super::*;
    use crate::flow::send;

    type Sent = Arc<Mutex<Vec<(Vec<u8>, u128)>>>;

    /// Notes what is sent, and after how many milliseconds.
    struct Ears(Sent, Instant);

    impl Packets for Ears {
        fn poll_recv(&mut self, _: &mut Context<'_>, _: &mut BytesMut) -> Poll<io::Result<Target>> {
            Poll::Pending
        }

        fn poll_send(&mut self, _: &mut Context<'_>, payload: &[u8], _: &Target) -> Poll<io::Result<()>> {
            self.0.lock().unwrap().push((payload.to_vec(), self.1.elapsed().as_millis()));
            Poll::Ready(Ok(()))
        }
    }

    fn noises() -> Arc<[Noise]> {
        let noise = |bytes, families| Noise { bytes, delay: 10..=10, families };
        Arc::new([
            noise(NoiseBytes::Fixed(b"both".to_vec()), (true, true)),
            noise(NoiseBytes::Fixed(b"six".to_vec()), (false, true)),
            noise(NoiseBytes::Random(7..=7), (true, false)),
        ])
    }

    #[tokio::test(start_paused = true)]
    async fn noise_goes_before_the_first_datagram_and_only_there() {
        let sent = Sent::default();
        let mut noisy = Noisy::new(Ears(Arc::clone(&sent), Instant::now()), noises());
        for (text, port) in [(b"dns", "53"), (b"one", "443"), (b"two", "443")] {
            send(&mut noisy, text, &format!("192.0.2.1:{port}").parse().unwrap()).await.unwrap();
        }
        let sent = sent.lock().unwrap();
        let seen: Vec<(usize, u128)> = sent.iter().map(|(bytes, millis)| (bytes.len(), *millis)).collect();
        assert_eq!(seen, [(3, 0), (4, 0), (7, 10), (3, 20), (3, 20)]);
        assert_eq!((&sent[0].0[..], &sent[1].0[..], &sent[3].0[..]), (&b"dns"[..], &b"both"[..], &b"one"[..]));
    }

    #[tokio::test(start_paused = true)]
    async fn each_family_gets_its_own() {
        let sent = Sent::default();
        let mut noisy = Noisy::new(Ears(Arc::clone(&sent), Instant::now()), noises());
        send(&mut noisy, b"x", &"[2001:db8::1]:443".parse().unwrap()).await.unwrap();
        let texts: Vec<Vec<u8>> = sent.lock().unwrap().iter().map(|(bytes, _)| bytes.clone()).collect();
        assert_eq!(texts, [b"both".to_vec(), b"six".to_vec(), b"x".to_vec()]);
        sent.lock().unwrap().clear();
        let mut noisy = Noisy::new(Ears(Arc::clone(&sent), Instant::now()), noises());
        send(&mut noisy, b"x", &"a.example:443".parse().unwrap()).await.unwrap();
        let texts: Vec<Vec<u8>> = sent.lock().unwrap().iter().map(|(bytes, _)| bytes.clone()).collect();
        assert_eq!(texts, [b"both".to_vec(), b"x".to_vec()]);
    }
}
