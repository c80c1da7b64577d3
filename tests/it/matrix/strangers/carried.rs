//! Carriers as somebody opens them who knows all but the secrets.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use h2::client;
use http::{Method, Request};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use super::sight::{End, Sight};
use crate::matrix::keys::{Keys, NAME};
use crate::matrix::link::{Carrier, Link, Secure};

/// Any stream.
pub trait Io: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> Io for T {}

/// What is needed for a connection by TLS.
pub fn tls(keys: &Keys) -> Arc<ClientConfig> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(keys.ca()).expect("the authority is ours")).expect("it is one");
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    Arc::new(builder.expect("the provider has them").with_root_certificates(roots).with_no_client_auth())
}

/// A connection below the carrier.
pub async fn connected(link: Link, port: u16, tls: &Arc<ClientConfig>) -> Option<Box<dyn Io>> {
    let io = TcpStream::connect(SocketAddr::from((Ipv4Addr::LOCALHOST, port))).await.ok()?;
    io.set_nodelay(true).ok()?;
    match link.secure {
        Secure::Tls => {
            let name = ServerName::try_from(NAME).ok()?;
            let mut tls = ClientConfig::clone(tls);
            if link.carrier == Carrier::Grpc {
                tls.alpn_protocols = vec![b"h2".to_vec()];
            }
            Some(Box::new(TlsConnector::from(Arc::new(tls)).connect(name, io).await.ok()?))
        }
        _ => Some(Box::new(io)),
    }
}

/// A request to leave HTTP: for WebSocket with a key.
pub fn upgrade(path: &str, host: &str, ws: bool) -> Vec<u8> {
    let key = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n";
    let key = if ws { key } else { "" };
    format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n{key}\r\n")
        .into_bytes()
}

/// Opens WebSocket or HTTPUpgrade; `None` if the server does not want to.
pub async fn upgraded(io: &mut dyn Io, ws: bool) -> Option<()> {
    io.write_all(&upgrade("/matrix", NAME, ws)).await.ok()?;
    let mut head = vec![];
    while !head.ends_with(b"\r\n\r\n") {
        head.push(io.read_u8().await.ok()?);
    }
    head.starts_with(b"HTTP/1.1 101").then_some(())
}

/// One masked message.
pub fn framed(payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![0x82];
    match u16::try_from(payload.len()).expect("probes are short") {
        short @ 0..126 => frame.push(0x80 | short as u8),
        len => {
            frame.push(0x80 | 126);
            frame.extend(len.to_be_bytes());
        }
    }
    let mask = [1, 2, 3, 4];
    frame.extend(mask);
    frame.extend(payload.iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask));
    frame
}

/// A message of gRPC with bytes for a field.
fn message(payload: &[u8]) -> Vec<u8> {
    let mut field = vec![0x0a];
    let mut len = payload.len();
    while len >= 128 {
        field.push((len & 127) as u8 | 128);
        len >>= 7;
    }
    field.push(len as u8);
    field.extend_from_slice(payload);
    let len = u32::try_from(field.len()).expect("probes are short");
    [&[0][..], &len.to_be_bytes(), &field].concat()
}

/// A call, and what came of it and of its connection.
pub async fn call(io: Box<dyn Io>, ask: &Ask, payload: &[u8], wait: Duration) -> Sight {
    let Ok((mut send, connection)) = client::handshake(io).await else { return Sight::refused() };
    let mut connection = tokio::spawn(connection);
    let request = Request::builder().method(ask.method.clone()).uri(format!("http://{NAME}{}", ask.path));
    let request = match ask.content_type {
        Some(kind) => request.header("content-type", kind).header("te", "trailers"),
        None => request,
    };
    let request = request.body(()).expect("a plain request");
    let mut said = String::new();
    let talk = async {
        let (response, mut body) = match send.send_request(request, false) {
            Ok(sent) => sent,
            Err(error) => return said.push_str(&told(&error)),
        };
        if !payload.is_empty() {
            let _ = body.send_data(Bytes::from(message(payload)), false);
        }
        let response = match response.await {
            Ok(response) => response,
            Err(error) => return said.push_str(&told(&error)),
        };
        said.push_str(&format!("{} ", response.status().as_u16()));
        let mut headers: Vec<_> = response.headers().iter().filter(|(name, _)| *name != "date").collect();
        headers.sort_by_key(|(name, _)| name.as_str());
        said.push_str(&format!("{headers:?} "));
        let mut down = response.into_body();
        while let Some(data) = down.data().await {
            match data {
                Ok(data) if ask.dimly => said.push_str(if data.is_empty() { "" } else { "data " }),
                Ok(data) => said.push_str(&format!("{} ", data.escape_ascii())),
                Err(error) => return said.push_str(&told(&error)),
            }
        }
        match down.trailers().await {
            Ok(trailers) => said.push_str(&format!("{:?}", trailers.unwrap_or_default())),
            Err(error) => said.push_str(&told(&error)),
        }
    };
    let stream = timeout(wait, talk).await;
    said.push_str(if stream.is_ok() { "; the stream ends" } else { "; the stream stays" });
    let ended = timeout(wait, &mut connection).await;
    connection.abort();
    Sight { said: said.into_bytes(), end: if ended.is_ok() { End::Closed } else { End::Open } }
}

/// What a call asks for.
#[derive(Debug, Clone)]
pub struct Ask {
    pub method: Method,
    pub path: &'static str,
    pub content_type: Option<&'static str>,
    /// What comes back is sealed.
    pub dimly: bool,
}

fn told(error: &h2::Error) -> String {
    match error.reason() {
        Some(reason) => format!("{reason:?}"),
        None => "no answer".to_owned(),
    }
}
