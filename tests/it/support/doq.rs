//! A name server by QUIC, since no package of Debian 12 is one: it asks another server by UDP and says what that says.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use quinn::crypto::rustls::QuicServerConfig;
use quinn::{Connection, Endpoint, ServerConfig};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::net::UdpSocket;
use tokio::runtime::Runtime;

use super::certificate::Certificate;
use super::ports::{PATIENCE, free_port};

/// A name server by QUIC.
pub struct Doq {
    pub port: u16,
    connections: Arc<AtomicUsize>,
    runtime: Option<Runtime>,
}

impl Doq {
    /// Shows a certificate and asks `behind`.
    pub fn start(shown: &Certificate, behind: SocketAddr) -> Self {
        Self::start_at(free_port(), shown, behind)
    }

    /// The same on a port that another one had.
    pub fn start_at(port: u16, shown: &Certificate, behind: SocketAddr) -> Self {
        let runtime = Runtime::new().expect("threads can be had");
        let config = config(shown);
        let at = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let endpoint = runtime.block_on(async { Endpoint::server(config, at) }).expect("the port is free");
        let connections = Arc::<AtomicUsize>::default();
        let count = Arc::clone(&connections);
        runtime.spawn(async move {
            while let Some(caller) = endpoint.accept().await {
                if let Ok(connection) = caller.await {
                    count.fetch_add(1, Ordering::SeqCst);
                    tokio::spawn(serve(connection, behind));
                }
            }
        });
        Self { port, connections, runtime: Some(runtime) }
    }

    /// How many connections it has had.
    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

/// Nobody is told: it is gone, as a machine is whose power fails.
impl Drop for Doq {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            // The port is free again behind this.
            runtime.shutdown_timeout(PATIENCE);
        }
    }
}

fn config(shown: &Certificate) -> ServerConfig {
    let chain = CertificateDer::pem_file_iter(shown.cert()).expect("a file of ours").map(|one| one.expect("PEM"));
    let key = PrivateKeyDer::from_pem_file(shown.key()).expect("a file of ours");
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder =
        rustls::ServerConfig::builder_with_provider(provider).with_protocol_versions(&[&rustls::version::TLS13]);
    let builder = builder.expect("it has these suites").with_no_client_auth();
    let mut config = builder.with_single_cert(chain.collect(), key).expect("they fit");
    config.alpn_protocols = vec![b"doq".to_vec()];
    ServerConfig::with_crypto(Arc::new(QuicServerConfig::try_from(config).expect("it has TLS 1.3")))
}

async fn serve(connection: Connection, behind: SocketAddr) {
    while let Ok((mut up, mut down)) = connection.accept_bi().await {
        tokio::spawn(async move {
            let asked = down.read_to_end(4096).await.ok()?;
            let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await.ok()?;
            socket.send_to(asked.get(2..)?, behind).await.ok()?;
            let mut answer = [0; 2048];
            let len = socket.recv(&mut answer).await.ok()?;
            up.write_all(&u16::try_from(len).ok()?.to_be_bytes()).await.ok()?;
            up.write_all(&answer[..len]).await.ok()?;
            up.finish().ok()
        });
    }
}
