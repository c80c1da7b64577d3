//! What a client asks, and what it is told: the server's side of the wire format (RFC 1035, EDNS of RFC 6891).

use std::net::IpAddr;

use hickory_proto::op::{Edns, Message, OpCode, Query, ResponseCode};
use hickory_proto::rr::{DNSClass, RData, Record, RecordType};

use super::family::Family;
use super::message::LARGEST;
use crate::addr::{BadDomain, DomainName};

/// A client's question.
#[derive(Debug, Clone)]
pub struct Question {
    /// The beginning of every answer to it.
    answer: Message,
    /// The question, with the name as the client spelled it.
    query: Query,
    /// The longest datagram that the client takes.
    limit: u16,
}

/// Bytes that are no question which anybody answers.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadQuestion {
    /// Nothing is said to it: it is no DNS message, or itself an answer.
    #[error("not a DNS question")]
    Strange,
    /// The client is told so with these bytes: it cannot be read, or asks for what is not known here.
    #[error("a DNS question that cannot be read")]
    Refused(Vec<u8>),
}

/// Bytes of a header; no message is shorter.
const HEADER: usize = 12;

/// The longest datagram of a client that does not say more (RFC 1035).
const SMALLEST: u16 = 512;

/// The longest datagram that anybody is sent, whatever he says: what is longer, no two ends agree to carry.
const LONGEST: u16 = 4096;

/// Bytes of the shortest record: a pointer to the name, type, class, time, length, an IPv4 address.
const SHORTEST: usize = 16;

impl Question {
    /// Reads a message.
    ///
    /// # Errors
    /// [`BadQuestion`], with what the client is told.
    pub fn read(bytes: &[u8]) -> Result<Self, BadQuestion> {
        let [id0, id1, flags, _, count0, count1, ..] = *bytes else { return Err(BadQuestion::Strange) };
        if bytes.len() < HEADER || flags & 0x80 != 0 {
            return Err(BadQuestion::Strange);
        }
        let mut answer = Message::response(u16::from_be_bytes([id0, id1]), OpCode::from_u8((flags >> 3) & 0xf));
        answer.metadata.recursion_desired = flags & 1 != 0;
        answer.metadata.recursion_available = true;
        if answer.metadata.op_code != OpCode::Query {
            return Err(refused(answer, ResponseCode::NotImp));
        }
        // More than one question has never been given a meaning, and the library would make room for as many as are claimed.
        if [count0, count1] != [0, 1] {
            return Err(refused(answer, ResponseCode::FormErr));
        }
        let Ok(asked) = Message::from_vec(bytes) else { return Err(refused(answer, ResponseCode::FormErr)) };
        let Some(query) = asked.queries.into_iter().next() else {
            return Err(refused(answer, ResponseCode::FormErr));
        };
        answer.metadata.checking_disabled = asked.metadata.checking_disabled;
        answer.add_query(query.clone());
        let mut limit = SMALLEST;
        if let Some(theirs) = asked.edns {
            limit = theirs.max_payload().clamp(SMALLEST, LONGEST);
            let mut ours = Edns::new();
            ours.set_max_payload(LARGEST);
            ours.set_dnssec_ok(theirs.flags().dnssec_ok);
            answer.set_edns(ours);
            if theirs.version() > 0 {
                return Err(refused(answer, ResponseCode::BADVERS));
            }
        }
        Ok(Self { answer, query, limit })
    }

    /// The number of the record type.
    #[must_use]
    pub fn kind(&self) -> u16 {
        self.query.query_type().into()
    }

    /// Which addresses it asks for, if it asks for addresses.
    #[must_use]
    pub fn family(&self) -> Option<Family> {
        if self.query.query_class() != DNSClass::IN {
            return None;
        }
        match self.query.query_type() {
            RecordType::A => Some(Family::V4),
            RecordType::AAAA => Some(Family::V6),
            _ => None,
        }
    }

    /// The name as rules see it: in lower case, without the dot at the end. Empty for the root.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = self.query.name().to_ascii();
        text.make_ascii_lowercase();
        text.truncate(text.trim_end_matches('.').len());
        text
    }

    /// The name to look up.
    ///
    /// # Errors
    /// The response code where nothing can be looked up: the root has no addresses, an address is nobody's name, and other
    /// characters than those of host names are refused.
    pub fn name(&self) -> Result<DomainName, u16> {
        DomainName::new(&self.text()).map_err(|bad| match bad {
            BadDomain::Empty => ResponseCode::NoError.into(),
            BadDomain::Address => ResponseCode::NXDomain.into(),
            BadDomain::TooLong | BadDomain::Character => ResponseCode::Refused.into(),
        })
    }

    /// The longest answer in bytes that the client takes in a datagram.
    #[must_use]
    pub fn limit(&self) -> u16 {
        self.limit
    }

    /// An answer of at most `limit` bytes. Of addresses that do not fit, those that do are sent, and the client is told to
    /// ask by TCP for all. Addresses of another family than it asked for are left out.
    #[must_use]
    pub fn answer(&self, ips: &[IpAddr], ttl: u32, limit: u16) -> Vec<u8> {
        let mut message = self.answer.clone();
        let record = |ip: &IpAddr| {
            let data = match *ip {
                IpAddr::V4(ip) => RData::A(ip.into()),
                IpAddr::V6(ip) => RData::AAAA(ip.into()),
            };
            Record::from_rdata(self.query.name().clone(), ttl, data)
        };
        let family = self.family();
        message.add_answers(ips.iter().filter(|ip| family.is_some_and(|family| family.holds(**ip))).map(record));
        let (all, limit) = (std::mem::take(&mut message.answers), usize::from(limit));
        let mut with = |count: usize| {
            message.answers = all[..count].to_vec();
            message.metadata.truncation = count < all.len();
            Some(written(&message)).filter(|bytes| bytes.len() <= limit)
        };
        // No record is shorter than this, so there is no use in writing more of them.
        let (mut fits, mut over) = (0, all.len().min(limit / SHORTEST) + 1);
        if let Some(whole) = with(over - 1) {
            return whole;
        }
        // Names far behind are written out, so records are not all of one length.
        while over - fits > 1 {
            let middle = usize::midpoint(fits, over);
            if with(middle).is_some() { fits = middle } else { over = middle }
        }
        with(fits).unwrap_or_default()
    }

    /// An answer that has nothing and tells the client to ask by TCP.
    #[must_use]
    pub fn cut(&self) -> Vec<u8> {
        let mut message = self.answer.clone();
        message.metadata.truncation = true;
        written(&message)
    }

    /// An answer that has nothing but a response code. Those above 15 need a client that speaks EDNS; others are told that
    /// the server failed.
    #[must_use]
    pub fn empty(&self, code: u16) -> Vec<u8> {
        let mut message = self.answer.clone();
        let plain = message.edns.is_none() && code > 15;
        // Twelve bits are all that there is room for.
        let code = if plain || code > 0xfff { ResponseCode::ServFail } else { code.into() };
        message.metadata.response_code = code;
        written(&message)
    }
}

fn refused(mut answer: Message, code: ResponseCode) -> BadQuestion {
    answer.metadata.response_code = code;
    BadQuestion::Refused(written(&answer))
}

/// What was read can be written, so this is never empty; an empty message would be none to any client.
fn written(message: &Message) -> Vec<u8> {
    message.to_vec().unwrap_or_default()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
