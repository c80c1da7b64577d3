//! One question to one server.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::{Instant, timeout_at};

use super::family::Family;
use super::message::{BadReply, LARGEST, Reply, query, reply};
use crate::addr::{DomainName, Host, Network, Tag, Target};
use crate::flow::{BoxPackets, Flow, Services, Via, recv, send};
use crate::net::{SocketOptions, tcp};

/// What is asked.
#[derive(Debug, Clone, Copy)]
pub(super) struct Question<'a> {
    pub(super) name: &'a DomainName,
    pub(super) family: Family,
    /// Told as the client's address.
    pub(super) client: Option<std::net::IpAddr>,
}

/// Asks by UDP, as the rules say for a flow with this inbound tag. A datagram may be lost, so the question is repeated at
/// growing pauses until whoever waits gives up. An answer that did not fit is asked for by TCP.
pub(super) async fn by_udp(
    house: &Arc<dyn Services>,
    tag: &Tag,
    server: &Target,
    question: Question<'_>,
) -> io::Result<Reply> {
    let flow = flow(tag, Network::Udp, server);
    let mut way = house.associate(Via::Route, &flow).await.map_err(|error| error.source)?;
    let (id, bytes) = written(question)?;
    let mut pause = Duration::from_secs(1);
    let answer = loop {
        send(&mut way, &bytes, server).await?;
        let until = Instant::now() + pause;
        match timeout_at(until, answer(&mut way, server, id, question)).await {
            Ok(answer) => break answer?,
            Err(_) => pause *= 2,
        }
    };
    drop(way);
    if answer.truncated { by_tcp(house, tag, server, false, question).await } else { Ok(answer) }
}

/// Waits for the answer; whatever else comes is none.
async fn answer(way: &mut BoxPackets, server: &Target, id: u16, question: Question<'_>) -> io::Result<Reply> {
    let mut datagram = BytesMut::with_capacity(usize::from(LARGEST));
    loop {
        datagram.clear();
        let from = recv(way, &mut datagram).await?;
        // Who was asked by name may answer from any of its addresses.
        if matches!(server.host, Host::Ip(_)) && from != *server {
            continue;
        }
        match reply(&datagram, id, question.name, question.family) {
            Ok(reply) => return Ok(reply),
            Err(why) => tracing::debug!(target: "dns", "{server}: {why}"),
        }
    }
}

/// Asks by TCP: directly, or as the rules say for a flow with this inbound tag.
pub(super) async fn by_tcp(
    house: &Arc<dyn Services>,
    tag: &Tag,
    server: &Target,
    direct: bool,
    question: Question<'_>,
) -> io::Result<Reply> {
    let (id, bytes) = written(question)?;
    let len = u16::try_from(bytes.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
    let framed = [&len.to_be_bytes()[..], &bytes].concat();
    if direct {
        let mut socket = dialed(house, server).await?;
        socket.write_all(&framed).await?;
        return read(&mut socket, id, question).await;
    }
    let mut flow = flow(tag, Network::Tcp, server);
    flow.protocol = Some("dns");
    let mut stream = house.dial(Via::Route, &flow, &framed).await.map_err(|error| error.source)?;
    stream.flush().await?;
    read(&mut *stream, id, question).await
}

async fn dialed(house: &Arc<dyn Services>, server: &Target) -> io::Result<tokio::net::TcpStream> {
    let addresses: Vec<_> = match &server.host {
        Host::Ip(ip) => vec![(*ip, server.port).into()],
        Host::Domain(name) => {
            let found = house.resolve(name).await.map_err(|error| error.source)?;
            found.iter().map(|ip| (*ip, server.port).into()).collect()
        }
    };
    tcp::dial(&addresses, &SocketOptions::default(), Duration::MAX).await
}

/// Reads the answer behind its length.
async fn read<S: tokio::io::AsyncRead + Unpin + ?Sized>(
    stream: &mut S,
    id: u16,
    question: Question<'_>,
) -> io::Result<Reply> {
    let len = stream.read_u16().await?;
    let mut message = vec![0; usize::from(len)];
    stream.read_exact(&mut message).await?;
    // Nobody else can say anything here, so what is no answer is the server's fault.
    reply(&message, id, question.name, question.family)
        .map_err(|why: BadReply| io::Error::new(io::ErrorKind::InvalidData, why))
}

fn written(question: Question<'_>) -> io::Result<(u16, Vec<u8>)> {
    let id = rand::random();
    let bytes = query(id, question.name, question.family, question.client);
    bytes.map(|bytes| (id, bytes)).ok_or_else(|| io::ErrorKind::InvalidInput.into())
}

/// The flow of a question: it comes from nowhere, and the rules know it by its tag.
fn flow(tag: &Tag, network: Network, server: &Target) -> Flow {
    let nowhere = ([0, 0, 0, 0], 0).into();
    Flow::new(tag.clone(), network, nowhere, nowhere, server.clone())
}
