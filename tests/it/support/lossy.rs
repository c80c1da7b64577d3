//! A path of datagrams to a server that loses some, lets others pass late, or for a while passes nothing at all.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use rand::RngExt;
use tokio::net::UdpSocket;
use tokio::task::JoinHandle;
use tokio::time::sleep;

/// The path; it ends with the value.
pub struct Lossy {
    at: SocketAddr,
    state: Arc<State>,
    running: JoinHandle<()>,
}

struct State {
    to: SocketAddr,
    /// Of a hundred, so many are lost, and as many pass late.
    percent: u32,
    closed: AtomicBool,
    passed: AtomicU64,
}

impl Lossy {
    /// To a server of loopback.
    pub async fn to(port: u16, percent: u32) -> Self {
        Self::at("127.0.0.1:0", port, percent).await
    }

    /// The same at a port.
    pub async fn at(at: &str, port: u16, percent: u32) -> Self {
        let socket = Arc::new(UdpSocket::bind(at).await.expect("loopback has a port"));
        let to = ([127, 0, 0, 1], port).into();
        let (closed, passed) = (AtomicBool::new(false), AtomicU64::new(0));
        let state = Arc::new(State { to, percent, closed, passed });
        let at = socket.local_addr().expect("it is bound");
        Self { at, running: tokio::spawn(run(socket, Arc::clone(&state))), state }
    }

    pub fn port(&self) -> u16 {
        self.at.port()
    }

    /// Passes nothing any more, or everything again.
    pub fn close(&self, closed: bool) {
        self.state.closed.store(closed, Ordering::Relaxed);
    }

    /// Datagrams that passed, both ways.
    pub fn passed(&self) -> u64 {
        self.state.passed.load(Ordering::Relaxed)
    }
}

impl Drop for Lossy {
    fn drop(&mut self) {
        self.running.abort();
    }
}

async fn run(near: Arc<UdpSocket>, state: Arc<State>) {
    let mut clients: HashMap<SocketAddr, Arc<UdpSocket>> = HashMap::new();
    let mut buf = vec![0; 65_536];
    while let Ok((len, client)) = near.recv_from(&mut buf).await {
        let far = match clients.get(&client) {
            Some(far) => Arc::clone(far),
            None => {
                let far = Arc::new(UdpSocket::bind("127.0.0.1:0").await.expect("loopback has a port"));
                far.connect(state.to).await.expect("loopback has a way");
                tokio::spawn(back(Arc::clone(&near), Arc::clone(&far), client, Arc::clone(&state)));
                clients.insert(client, Arc::clone(&far));
                far
            }
        };
        let packet = buf[..len].to_vec();
        pass(&state, async move { drop(far.send(&packet).await) });
    }
}

async fn back(near: Arc<UdpSocket>, far: Arc<UdpSocket>, client: SocketAddr, state: Arc<State>) {
    let mut buf = vec![0; 65_536];
    loop {
        // What is refused for a moment, because nobody listens, may be taken later.
        let Ok(len) = far.recv(&mut buf).await else { continue };
        let (near, packet) = (Arc::clone(&near), buf[..len].to_vec());
        pass(&state, async move { drop(near.send_to(&packet, client).await) });
    }
}

fn pass(state: &State, send: impl Future<Output = ()> + Send + 'static) {
    if state.closed.load(Ordering::Relaxed) {
        return;
    }
    let (lost, late) = {
        let mut rng = rand::rng();
        (rng.random_range(0..100) < state.percent, rng.random_range(0..100) < state.percent)
    };
    if !lost {
        state.passed.fetch_add(1, Ordering::Relaxed);
        tokio::spawn(async move {
            if late {
                sleep(Duration::from_millis(8)).await;
            }
            send.await;
        });
    }
}
