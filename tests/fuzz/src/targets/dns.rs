//! Messages of DNS.

use std::net::{IpAddr, Ipv6Addr};

use etemenanki::addr::DomainName;
use etemenanki::dns::{BadQuestion, BadReply, Family, Question, query, reply};

/// Takes the bytes for the answer to a question about a fixed name, with the id that they bear.
pub fn answer(data: &[u8]) {
    let name = DomainName::new("www.example.com").expect("a name");
    let id = u16::from_be_bytes([data.first().copied().unwrap_or(0), data.get(1).copied().unwrap_or(0)]);
    for family in [Family::V4, Family::V6] {
        let Ok(said) = reply(data, id, &name, family) else { continue };
        // A record has eleven bytes besides its address.
        assert!(said.ips.len() * 11 <= data.len(), "more addresses than bytes");
        assert!(said.ips.iter().all(|ip| ip.is_ipv4() == (family == Family::V4)));
        assert!(said.ttl > 0);
        assert_eq!(reply(data, id ^ 1, &name, family), Err(BadReply::Other), "the id is not its own");
        let other = DomainName::new("www.example.org").expect("a name");
        // Who cannot read a question need not repeat it, and gives no address.
        match reply(data, id, &other, family) {
            Err(BadReply::Other) => {}
            Ok(again) => assert!(again == said && said.code != 0, "it answers another question"),
            Err(error) => panic!("{error}"),
        }
        assert_eq!(reply(&data[..data.len().min(11)], id, &name, family), Err(BadReply::Malformed));
    }
}

/// Takes the bytes for a name and asks about it: what is sent is a question, and no answer to itself.
pub fn question(data: &[u8]) {
    let Some(name) = std::str::from_utf8(data).ok().and_then(|text| DomainName::new(text).ok()) else { return };
    for (family, client) in [(Family::V4, None), (Family::V6, "192.0.2.7".parse().ok())] {
        let Some(sent) = query(7, &name, family, client) else { continue };
        assert!(sent.len() <= 512, "a question of {} bytes", sent.len());
        assert_eq!(reply(&sent, 7, &name, family), Err(BadReply::Question));
    }
}

/// Takes the bytes for a client's question: what it is told is a message within its limit, and repeats the id.
pub fn asked(data: &[u8]) {
    let said = match Question::read(data) {
        Err(BadQuestion::Strange) => return,
        Err(BadQuestion::Refused(said)) => vec![said],
        Ok(question) => {
            let v4: Vec<IpAddr> = (0..200).map(|last| [192, 0, 2, last].into()).collect();
            let v6: Vec<IpAddr> =
                (0..200).map(|last| Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, last).into()).collect();
            let answer = question.answer(&[v4, v6].concat(), 60, question.limit());
            assert!(answer.len() <= usize::from(question.limit()), "{} bytes", answer.len());
            let _ = (question.name(), question.kind(), question.family());
            vec![answer, question.cut(), question.empty(3), question.empty(u16::MAX)]
        }
    };
    for said in said {
        assert_eq!(said.get(..2), data.get(..2), "another id");
        assert_eq!(said.get(2).map(|bits| bits & 0x80), Some(0x80), "no answer");
        assert!(said.len() >= 12, "no message");
        assert!(matches!(Question::read(&said), Err(BadQuestion::Strange)), "an answer is no question");
    }
}
