//! Free ports, and waiting for something to become true.

use std::net::{Ipv4Addr, TcpListener, UdpSocket};
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant};

/// How long a test waits for what should take milliseconds: long enough for a machine with two busy cores.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// Below the range from which the system takes the ports of outgoing connections: one of those could land on a port
/// between the moment it is found free and the moment a test's program listens on it.
const PORTS: std::ops::Range<u16> = 15_000..32_000;

/// A port of loopback, free for TCP and UDP, that no other test of this process was given.
pub fn free_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let span = PORTS.end - PORTS.start;
    // Two runs at once begin at different places.
    let begin = u16::try_from(std::process::id() % u32::from(span)).unwrap_or_default();
    for _ in 0..span {
        let step = (begin + NEXT.fetch_add(1, Ordering::Relaxed) % span) % span;
        let at = (Ipv4Addr::LOCALHOST, PORTS.start + step);
        if TcpListener::bind(at).is_ok() && UdpSocket::bind(at).is_ok() {
            return at.1;
        }
    }
    panic!("loopback has no free port in {PORTS:?}");
}

/// Polls until `ready` gives a value; `None` when `limit` has passed.
pub fn until<T>(limit: Duration, mut ready: impl FnMut() -> Option<T>) -> Option<T> {
    let end = Instant::now() + limit;
    loop {
        if let Some(value) = ready() {
            return Some(value);
        }
        if Instant::now() >= end {
            return None;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}
