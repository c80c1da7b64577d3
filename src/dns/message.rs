//! Questions to servers and what they answer. The wire format (RFC 1035, EDNS of RFC 6891, client subnet of RFC 7871) is the
//! library's; what is believed of an answer is decided here.

use std::net::IpAddr;

use hickory_proto::op::{Edns, Message, MessageType, Query, ResponseCode};
use hickory_proto::rr::rdata::opt::{ClientSubnet, EdnsOption};
use hickory_proto::rr::{Name, RData, RecordType};

use super::family::Family;
use crate::addr::DomainName;

/// What a server said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// The addresses of the family that was asked for, in the server's order.
    pub ips: Vec<IpAddr>,
    /// How long they are good, in seconds: the shortest time of a record, at least 1; 300 where no record came.
    pub ttl: u32,
    /// The response code; 0 is success, 2 the server's failure, 3 a name that does not exist.
    pub code: u16,
    /// The answer did not fit: TCP is to be asked.
    pub truncated: bool,
}

/// Why bytes are no answer to the question; whoever waits goes on waiting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadReply {
    /// They are no DNS message.
    #[error("not a DNS message")]
    Malformed,
    /// They are a question.
    #[error("a question, not an answer")]
    Question,
    /// They answer another question.
    #[error("the answer to another question")]
    Other,
}

/// The most that a server is asked to send in one datagram: what passes every link unfragmented (DNS flag day 2020).
pub const LARGEST: u16 = 1232;

/// How long an answer without records is good.
const EMPTY_TTL: u32 = 300;

/// What hides the length of a question (RFC 7830), where there is something around it that hides the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Padding {
    /// Nothing.
    None,
    /// As much as makes the message a multiple of this (RFC 8467).
    Block(u16),
    /// So much.
    Bytes(u16),
}

/// Writes a question; nothing for a name that no message can carry. `client` is told as the client's network.
#[must_use]
pub fn query(id: u16, name: &DomainName, family: Family, client: Option<IpAddr>) -> Option<Vec<u8>> {
    padded_query(id, name, family, client, Padding::None)
}

/// The same with padding.
#[must_use]
pub fn padded_query(
    id: u16,
    name: &DomainName,
    family: Family,
    client: Option<IpAddr>,
    padding: Padding,
) -> Option<Vec<u8>> {
    let mut message = Message::query();
    message.metadata.id = id;
    message.metadata.recursion_desired = true;
    message.add_query(Query::query(wire_name(name)?, kind(family)));
    let mut edns = Edns::new();
    edns.set_max_payload(LARGEST);
    if let Some(client) = client {
        let bits = if client.is_ipv4() { 24 } else { 96 };
        edns.options_mut().insert(EdnsOption::Subnet(ClientSubnet::new(client, bits, 0)));
    }
    let length = match padding {
        Padding::None if client.is_none() => return message.to_vec().ok(),
        Padding::None => None,
        Padding::Bytes(length) => Some(length),
        Padding::Block(block) => {
            let bare = message.clone().set_edns(edns.clone()).to_vec().ok()?.len() + OPTION_HEAD;
            let block = usize::from(block.max(1));
            u16::try_from(bare.next_multiple_of(block) - bare).ok()
        }
    };
    if let Some(length) = length {
        edns.options_mut().insert(EdnsOption::Unknown(PADDING, vec![0; usize::from(length)]));
    }
    message.set_edns(edns);
    message.to_vec().ok()
}

/// The option of RFC 7830.
const PADDING: u16 = 12;

/// Code and length of an option.
const OPTION_HEAD: usize = 4;

/// Reads an answer to a question.
///
/// # Errors
/// [`BadReply`] for bytes that do not answer it: they may be spoofed, so they are no answer rather than a bad one.
pub fn reply(bytes: &[u8], id: u16, name: &DomainName, family: Family) -> Result<Reply, BadReply> {
    // Looked at first, because all that a message claims to hold is made room for when it is read.
    let [id0, id1, _, _, counts @ ..] = bytes else { return Err(BadReply::Malformed) };
    if !is_possible(counts) {
        return Err(BadReply::Malformed);
    }
    if u16::from_be_bytes([*id0, *id1]) != id {
        return Err(BadReply::Other);
    }
    let message = Message::from_vec(bytes).map_err(|_| BadReply::Malformed)?;
    if message.metadata.message_type != MessageType::Response {
        return Err(BadReply::Question);
    }
    // A server that cannot read the question may leave it out; anyone else repeats it.
    let repeated = message.queries.first();
    let same = |asked: &Query| asked.query_type() == kind(family) && named(asked.name(), name);
    let code = message.metadata.response_code;
    if !repeated.map_or(code != ResponseCode::NoError, same) {
        return Err(BadReply::Other);
    }
    let (mut ips, mut ttl): (Vec<IpAddr>, Option<u32>) = (vec![], None);
    for record in &message.answers {
        let ip = match record.data {
            RData::A(ref a) if family == Family::V4 => IpAddr::V4(a.0),
            RData::AAAA(ref aaaa) if family == Family::V6 => IpAddr::V6(aaaa.0),
            RData::CNAME(_) => {
                ttl = Some(ttl.map_or(record.ttl, |ttl| ttl.min(record.ttl)));
                continue;
            }
            _ => continue,
        };
        ttl = Some(ttl.map_or(record.ttl, |ttl| ttl.min(record.ttl)));
        if !ips.contains(&ip) {
            ips.push(ip);
        }
    }
    let ttl = if ips.is_empty() { EMPTY_TTL } else { ttl.unwrap_or(EMPTY_TTL).max(1) };
    Ok(Reply { ips, ttl, code: code.into(), truncated: message.metadata.truncation })
}

fn kind(family: Family) -> RecordType {
    match family {
        Family::V4 => RecordType::A,
        Family::V6 => RecordType::AAAA,
    }
}

fn wire_name(name: &DomainName) -> Option<Name> {
    let mut name = Name::from_ascii(name.as_str()).ok()?;
    name.set_fqdn(true);
    Some(name)
}

fn named(wire: &Name, name: &DomainName) -> bool {
    wire_name(name).is_some_and(|name| name == *wire)
}

/// Whether a message can hold as much as its header claims: a question takes 5 bytes at least, a record 11.
fn is_possible(counts: &[u8]) -> bool {
    let Some((counts, body)) = counts.split_first_chunk::<8>() else { return false };
    let count = |at: usize| usize::from(u16::from_be_bytes([counts[at], counts[at + 1]]));
    count(0) * 5 + (count(2) + count(4) + count(6)) * 11 <= body.len()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use hickory_proto::rr::Record;
    use hickory_proto::rr::rdata::{A, CNAME};

    use super::*;

    fn name() -> DomainName {
        DomainName::new("shop.example").unwrap()
    }

    fn answer(change: impl FnOnce(&mut Message)) -> Vec<u8> {
        let asked = Message::from_vec(&query(7, &name(), Family::V4, None).unwrap()).unwrap();
        let mut message = asked.into_response();
        let wire = wire_name(&name()).unwrap();
        let other = Name::from_ascii("cdn.example.").unwrap();
        message.add_answer(Record::from_rdata(wire, 60, RData::CNAME(CNAME(other.clone()))));
        message.add_answer(Record::from_rdata(other.clone(), 90, RData::A(A([192, 0, 2, 1].into()))));
        message.add_answer(Record::from_rdata(other, 90, RData::A(A([192, 0, 2, 2].into()))));
        change(&mut message);
        message.to_vec().unwrap()
    }

    #[test]
    fn addresses_behind_an_alias_are_read_with_the_shortest_time() {
        let read = reply(&answer(|_| {}), 7, &name(), Family::V4).unwrap();
        assert_eq!(read.ips, ["192.0.2.1".parse::<IpAddr>().unwrap(), "192.0.2.2".parse().unwrap()]);
        assert_eq!((read.ttl, read.code, read.truncated), (60, 0, false));
    }

    #[test]
    fn what_answers_another_question_is_no_answer() {
        let good = answer(|_| {});
        assert_eq!(reply(&good, 8, &name(), Family::V4), Err(BadReply::Other));
        assert_eq!(reply(&good, 7, &name(), Family::V6), Err(BadReply::Other));
        assert_eq!(reply(&good, 7, &DomainName::new("shop.test").unwrap(), Family::V4), Err(BadReply::Other));
        assert_eq!(
            reply(&query(7, &name(), Family::V4, None).unwrap(), 7, &name(), Family::V4),
            Err(BadReply::Question)
        );
        assert_eq!(reply(&good[..20], 7, &name(), Family::V4), Err(BadReply::Malformed));
        assert_eq!(reply(&answer(|m| m.queries.clear()), 7, &name(), Family::V4), Err(BadReply::Other));
    }

    #[test]
    fn no_room_is_made_for_what_a_message_only_claims() {
        let good = answer(|_| {});
        for count in [4, 6, 8, 10] {
            let mut claims = good.clone();
            claims[count..count + 2].copy_from_slice(&[0xff, 0xff]);
            assert_eq!(reply(&claims, 7, &name(), Family::V4), Err(BadReply::Malformed));
        }
        let counts = |counts: [u8; 8], body: usize| is_possible(&[&counts[..], &vec![0; body]].concat());
        assert!(counts([0, 1, 0, 1, 0, 1, 0, 1], 38) && !counts([0, 1, 0, 1, 0, 1, 0, 1], 37));
        assert!(!is_possible(&[0; 7]));
    }

    #[test]
    fn failures_and_absence_are_told_apart() {
        let failed = answer(|m| {
            m.answers.clear();
            m.metadata.response_code = ResponseCode::ServFail;
        });
        assert_eq!(reply(&failed, 7, &name(), Family::V4).unwrap().code, 2);
        let none = answer(|m| {
            m.answers.clear();
            m.metadata.response_code = ResponseCode::NXDomain;
        });
        let none = reply(&none, 7, &name(), Family::V4).unwrap();
        assert_eq!((none.code, none.ttl, none.ips.len()), (3, 300, 0));
        assert!(reply(&answer(|m| m.metadata.truncation = true), 7, &name(), Family::V4).unwrap().truncated);
    }

    #[test]
    fn the_clients_network_is_told_and_no_more_of_it() {
        let bytes = query(7, &name(), Family::V4, Some([198, 51, 100, 77].into())).unwrap();
        // Option 8, 7 bytes: family 1, 24 bits, scope 0, three bytes of the address.
        assert!(bytes.windows(11).any(|w| w == [0, 8, 0, 7, 0, 1, 24, 0, 198, 51, 100]), "{bytes:?}");
        assert!(!bytes.ends_with(&[100, 77]));
    }

    #[test]
    fn padding_hides_the_length() {
        let len = |name: &str, client: Option<IpAddr>, padding| {
            padded_query(0, &DomainName::new(name).unwrap(), Family::V4, client, padding).unwrap().len()
        };
        let client = Some([198, 51, 100, 77].into());
        for name in ["a.example", "a-much-longer-name.of-some-host.example"] {
            assert_eq!(len(name, None, Padding::Block(128)), 128);
            assert_eq!(len(name, client, Padding::Block(128)), 128);
            // The record of options is 11 bytes, the head of one 4.
            assert_eq!(len(name, None, Padding::Bytes(100)), len(name, None, Padding::None) + 11 + 4 + 100);
        }
    }

    /// A name that points at itself, and one that points forward (RFC 1035, 4.1.4).
    #[test]
    fn loops_of_compression_are_refused() {
        for pointer in [12u8, 40] {
            let mut bytes = vec![0, 7, 0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0, 0xc0, pointer, 0, 1, 0, 1];
            bytes.resize(60, 0);
            assert!(reply(&bytes, 7, &name(), Family::V4).is_err());
        }
    }
}
