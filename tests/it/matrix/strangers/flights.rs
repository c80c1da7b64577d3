//! First bytes of clients, recorded.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::time::timeout;

use crate::matrix::keys::Keys;
use crate::matrix::link::{Carrier, Cell, Link, Proto, Secure};
use crate::matrix::sides::{Program, Role};
use crate::matrix::socks::connect;
use crate::matrix::targets::{ECHO, Targets};
use crate::support::{PATIENCE, free_port};

/// What clients of a protocol say first, with a word for a target that sends it back.
pub struct Flights {
    pub right: Vec<u8>,
    /// With secrets that nobody knows.
    pub wrong: Vec<u8>,
}

/// A client that says nothing for so long has said its first words.
const PAUSE: Duration = Duration::from_millis(300);

impl Flights {
    pub async fn record(proto: Proto, keys: &Keys, targets: &Targets) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback has a free port");
        let server = listener.local_addr().expect("it is bound").port();
        let link = Link::new(proto, Carrier::Raw, Secure::None);
        let cell = Cell { link, nth: 0, server, door: free_port(), wrong: free_port() };
        let _client = Program::Ours.start(Role::Client, std::slice::from_ref(&cell), keys);
        let right = Self::one(&listener, cell.door, targets).await;
        let wrong = Self::one(&listener, cell.wrong, targets).await;
        Self { right, wrong }
    }

    async fn one(listener: &TcpListener, door: u16, targets: &Targets) -> Vec<u8> {
        let mut tunnel = connect(door, targets.streams).await.expect("the protocols wait for no answer");
        tunnel.write_all(&[&[ECHO][..], b"a word"].concat()).await.expect("the client listens");
        let (mut heard, _) = timeout(PATIENCE, listener.accept()).await.expect("the client dials").expect("it accepts");
        let (mut flight, mut chunk) = (vec![], [0; 4096]);
        let mut patience = PATIENCE;
        while let Ok(Ok(len @ 1..)) = timeout(patience, heard.read(&mut chunk)).await {
            flight.extend_from_slice(&chunk[..len]);
            patience = PAUSE;
        }
        assert!(flight.len() > 20, "the client says its header and a word: {flight:?}");
        flight
    }
}
