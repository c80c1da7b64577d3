//! Free ports, and waiting for something to become true.

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, TcpListener};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// How long a test waits for what should take milliseconds: long enough for a machine with two busy cores.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// A TCP port of loopback that nobody has, and that no other test of this process was given.
pub fn free_port() -> u16 {
    static GIVEN: Mutex<BTreeSet<u16>> = Mutex::new(BTreeSet::new());
    loop {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("loopback has a free port");
        let port = listener.local_addr().expect("a bound socket has an address").port();
        if GIVEN.lock().expect("no test fails while it holds this lock").insert(port) {
            return port;
        }
    }
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
