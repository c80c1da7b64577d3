//! A question to a name server by UDP, for members that carry nothing else.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use hickory_proto::op::{Message, MessageType, Query as Question};
use hickory_proto::rr::{Name, RecordType};
use tokio::time::{Instant, timeout};

use super::dial::{marked, refused};
use super::measure::{By, Failure};
use super::what::Query;
use crate::addr::Network;
use crate::balance::Sample;
use crate::flow::{BoxPackets, DialError, Services, Via, recv, send};

/// Asks through the member; any answer that carries the question's number is life, whatever it says. A datagram may be
/// lost on a good way, so the question is repeated, at growing pauses, until whoever waits gives up.
///
/// # Errors
/// [`Failure`] where the member takes no datagrams.
pub async fn question(services: &Arc<dyn Services>, by: By<'_>, query: &Query) -> Result<Sample, Failure> {
    let begin = Instant::now();
    let (id, bytes) = written(query).ok_or(Failure::Broken)?;
    let flow = marked(by.tag, Network::Udp, query.server.clone());
    let mut way = services.associate(Via::from(by.hop), &flow).await.map_err(failed)?;
    let dial = begin.elapsed();
    let mut pause = Duration::from_secs(1);
    loop {
        send(&mut way, &bytes, &query.server).await.map_err(lost)?;
        if let Ok(answer) = timeout(pause, answer(&mut way, id)).await {
            answer.map_err(lost)?;
            return Ok(Sample { bytes: 0, time: begin.elapsed(), dial, status: 0 });
        }
        pause *= 2;
    }
}

/// Waits for the answer; anything else that comes is none.
async fn answer(way: &mut BoxPackets, id: u16) -> io::Result<()> {
    let mut datagram = BytesMut::with_capacity(LARGEST);
    loop {
        datagram.clear();
        recv(way, &mut datagram).await?;
        let answers = |message: &Message| message.id == id && message.message_type == MessageType::Response;
        if Message::from_vec(&datagram).is_ok_and(|message| answers(&message)) {
            return Ok(());
        }
    }
}

/// As much as an answer without EDNS holds (RFC 1035), and some.
const LARGEST: usize = 1500;

fn written(query: &Query) -> Option<(u16, Vec<u8>)> {
    let mut message = Message::query();
    message.metadata.recursion_desired = true;
    let mut name = Name::from_ascii(query.name.as_str()).ok()?;
    name.set_fqdn(true);
    message.add_query(Question::query(name, RecordType::A));
    Some((message.id, message.to_vec().ok()?))
}

fn failed(error: DialError) -> Failure {
    if refused(&error) { Failure::Refused(error.to_string()) } else { Failure::Dial(error.to_string()) }
}

fn lost(error: io::Error) -> Failure {
    Failure::Dial(error.to_string())
}
