//! A slow wire: a TCP forwarder of bounded rate, which can be cut.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// Forwards to one address; what comes back from there is held to a rate.
pub struct Throttle {
    pub addr: SocketAddr,
    shared: Arc<Shared>,
}

struct Shared {
    target: SocketAddr,
    /// Bytes a second.
    rate: AtomicU64,
    /// Bytes that came back from the target.
    carried: AtomicU64,
    cut: AtomicBool,
    open: Mutex<Vec<TcpStream>>,
}

impl Throttle {
    pub fn start(target: SocketAddr, bytes_per_second: u64) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("loopback has a free port");
        let addr = listener.local_addr().expect("a bound socket has an address");
        let shared = Arc::new(Shared {
            target,
            rate: AtomicU64::new(bytes_per_second),
            carried: AtomicU64::new(0),
            cut: AtomicBool::new(false),
            open: Mutex::new(Vec::new()),
        });
        let theirs = Arc::clone(&shared);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                if theirs.cut.load(Ordering::Relaxed) {
                    return;
                }
                let _ = theirs.forward(client);
            }
        });
        Self { addr, shared }
    }

    pub fn port(&self) -> u16 {
        self.addr.port()
    }

    pub fn set_rate(&self, bytes_per_second: u64) {
        self.shared.rate.store(bytes_per_second, Ordering::Relaxed);
    }

    /// Bytes that came back from the target since the start: what this wire truly carried.
    pub fn carried(&self) -> u64 {
        self.shared.carried.load(Ordering::Relaxed)
    }

    /// Ends every connection and refuses new ones, as a server that died.
    pub fn cut(&self) {
        if self.shared.cut.swap(true, Ordering::Relaxed) {
            return;
        }
        // Wakes the accepting thread, which then lets go of the port.
        let _ = TcpStream::connect(self.addr);
        for stream in self.shared.open.lock().expect("no test fails while it holds this lock").drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

impl Drop for Throttle {
    fn drop(&mut self) {
        self.cut();
    }
}

impl Shared {
    fn forward(self: &Arc<Self>, client: TcpStream) -> std::io::Result<()> {
        let server = TcpStream::connect_timeout(&self.target, Duration::from_secs(5))?;
        self.open
            .lock()
            .expect("no test fails while it holds this lock")
            .extend([client.try_clone()?, server.try_clone()?]);
        let (from_client, to_server) = (client.try_clone()?, server.try_clone()?);
        thread::spawn(move || copy(from_client, to_server, |_| {}));
        let shared = Arc::clone(self);
        let mut due = Instant::now();
        thread::spawn(move || {
            copy(server, client, |count| {
                shared.carried.fetch_add(count, Ordering::Relaxed);
                let rate = shared.rate.load(Ordering::Relaxed).max(1);
                due = due.max(Instant::now()) + Duration::from_secs_f64(count as f64 / rate as f64);
                thread::sleep(due.saturating_duration_since(Instant::now()));
            });
        });
        Ok(())
    }
}

/// Moves bytes to the end, telling each count before it is passed on, and passes the end on too.
fn copy(mut from: TcpStream, mut to: TcpStream, mut moved: impl FnMut(u64)) {
    let mut chunk = [0; 4096];
    while let Ok(count @ 1..) = from.read(&mut chunk) {
        moved(count as u64);
        if to.write_all(&chunk[..count]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Write);
}
