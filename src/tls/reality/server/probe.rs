//! Handshakes with the site, to see what comes behind them and what is borne before their end.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, ProtocolVersion};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::{Instant, timeout};

use super::super::super::tls13::{ALERT, APPLICATION_DATA, CHANGE_CIPHER_SPEC, HEADER, header};
use super::super::super::verify::Verifier;
use super::class::Class;
use super::site::{Ends, Site};
use crate::flow::BoxStream;

/// Time for the dial and the handshake.
const LIMIT: Duration = Duration::from_secs(10);
/// A site that was silent for four times what its handshake took has said all; but at least and at most for so long.
const QUIET: (Duration, Duration) = (Duration::from_millis(300), Duration::from_secs(5));
/// Most that is read.
const MOST: usize = 64 * 1024;

/// Lengths of the records that the site sends by itself behind a handshake.
///
/// # Errors
/// If there was none.
pub(super) async fn tail(
    name: &str,
    class: Class,
    site: &Site,
    provider: &Arc<CryptoProvider>,
) -> io::Result<Box<[usize]>> {
    let connection = connection(name, class, provider)?;
    let mut io = site.dial(Ends::none(), LIMIT).await?;
    let begun = Instant::now();
    let mut raw = BytesMut::new();
    let shaken = timeout(LIMIT, shake(&mut io, &mut raw, connection)).await;
    let Some(mut connection) = shaken.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))? else {
        return Ok(Box::default());
    };
    send(&mut io, &mut connection).await?;
    let (quiet, seen) = ((begun.elapsed() * 4).clamp(QUIET.0, QUIET.1), raw.len());
    while raw.len() < MOST {
        raw.reserve(4096);
        match timeout(quiet, io.read_buf(&mut raw)).await {
            Ok(Ok(1..)) => {}
            _ => break,
        }
    }
    connection.send_close_notify();
    let _ = timeout(LIMIT, send(&mut io, &mut connection)).await;
    Ok(lengths(&raw, seen))
}

/// How many useless records the site bears before a client's Finished. They are sent in three portions, as the reference
/// server does it.
///
/// # Errors
/// If there was no handshake.
pub(super) async fn patience(name: &str, site: &Site, provider: &Arc<CryptoProvider>) -> io::Result<usize> {
    let connection = connection(name, Class::Http2, provider)?;
    let mut io = site.dial(Ends::none(), LIMIT).await?;
    let mut raw = BytesMut::new();
    // Its own Finished stays with it.
    let shaken = timeout(LIMIT, shake(&mut io, &mut raw, connection)).await;
    if shaken.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))?.is_none() {
        return Ok(FEW[2]);
    }
    let mut sent = 0;
    for bears in FEW {
        let more = bears.max(2) - sent;
        sent += more;
        if io.write_all(&USELESS.repeat(more)).await.is_err() || complains(&mut io).await {
            return Ok(bears);
        }
    }
    Ok(usize::MAX)
}

/// Numbers of useless records that are in use; the first is tried with two.
const FEW: [usize; 3] = [1, 16, 32];
const USELESS: [u8; 6] = [CHANGE_CIPHER_SPEC, 3, 3, 0, 1, 1];
/// How long a complaint may take.
const COMPLAINT: Duration = Duration::from_secs(1);

/// Whether the site ends the connection, or says so in the clear. What it sends by itself is none.
async fn complains(io: &mut BoxStream) -> bool {
    let complaint = async {
        let mut scrap = [0; 4096];
        loop {
            match io.read(&mut scrap).await {
                Ok(1..) if scrap[0] != ALERT => {}
                _ => return,
            }
        }
    };
    timeout(COMPLAINT, complaint).await.is_ok()
}

fn connection(name: &str, class: Class, provider: &Arc<CryptoProvider>) -> io::Result<ClientConnection> {
    let name =
        ServerName::try_from(name.to_owned()).map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
    let verifier = Verifier {
        provider: Arc::clone(provider),
        by_roots: None,
        trusted: vec![],
        pins: vec![],
        names: vec![],
        // Nothing is said to it and nothing believed.
        anything: true,
    };
    let mut config = ClientConfig::builder_with_provider(Arc::clone(provider))
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth();
    config.alpn_protocols = class.protocols().iter().map(|name| name.to_vec()).collect();
    ClientConnection::new(Arc::new(config), name).map_err(io::Error::other)
}

/// Runs the handshake up to the client's last words, which are not sent yet; gives nothing if that was none of TLS 1.3. `raw` gets all bytes that the site said.
async fn shake(
    io: &mut BoxStream,
    raw: &mut BytesMut,
    mut connection: ClientConnection,
) -> io::Result<Option<ClientConnection>> {
    loop {
        if !connection.is_handshaking() {
            let tls13 = connection.protocol_version() == Some(ProtocolVersion::TLSv1_3);
            return Ok(tls13.then_some(connection));
        }
        send(io, &mut connection).await?;
        let before = raw.len();
        raw.reserve(4096);
        if io.read_buf(raw).await? == 0 || raw.len() > MOST {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let mut fresh = &raw[before..];
        while !fresh.is_empty() && connection.is_handshaking() {
            connection.read_tls(&mut fresh)?;
            connection.process_new_packets().map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        }
    }
}

async fn send(io: &mut BoxStream, connection: &mut ClientConnection) -> io::Result<()> {
    let mut out = vec![];
    while connection.wants_write() {
        connection.write_tls(&mut out)?;
    }
    io.write_all(&out).await?;
    io.flush().await
}

/// Lengths of the records that begin at `from` or later: those before came along with the handshake.
fn lengths(raw: &[u8], from: usize) -> Box<[usize]> {
    let mut lengths = vec![];
    let mut at = 0;
    while let Ok((kind, body)) = header(raw.get(at..).unwrap_or_default()) {
        if at >= from {
            if kind != APPLICATION_DATA {
                break;
            }
            lengths.push(HEADER + body);
        }
        at += HEADER + body;
    }
    lengths.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_behind_the_handshake_are_measured() {
        let record = |kind, len: u16| {
            let [high, low] = len.to_be_bytes();
            [&[kind, 3, 3, high, low][..], &vec![7; len.into()]].concat()
        };
        let raw = [record(22, 90), record(20, 1), record(23, 700), record(23, 250), record(23, 250)].concat();
        let handshake = raw.len() - 2 * 255;
        assert_eq!(lengths(&raw, handshake)[..], [255, 255]);
        assert_eq!(lengths(&raw, handshake + 1)[..], [255], "half of a record came along with the handshake");
        assert_eq!(lengths(&[&raw[..], &record(21, 2)].concat(), handshake)[..], [255, 255]);
        assert!(lengths(&raw[..raw.len() - 300], handshake - 1).len() == 1);
    }
}
