use hickory_proto::op::MessageType;
use hickory_proto::rr::Name;
use proptest::prelude::*;

use super::*;

fn asked(name: &str, kind: RecordType, change: impl FnOnce(&mut Message)) -> Vec<u8> {
    let mut message = Message::query();
    message.metadata.id = 0x1234;
    message.metadata.recursion_desired = true;
    message.add_query(Query::query(Name::from_ascii(name).unwrap(), kind));
    change(&mut message);
    message.to_vec().unwrap()
}

fn edns(message: &mut Message, payload: u16) {
    let mut edns = Edns::new();
    edns.set_max_payload(payload);
    message.set_edns(edns);
}

fn read(bytes: &[u8]) -> Message {
    Message::from_vec(bytes).unwrap()
}

fn ips(count: u8) -> Vec<IpAddr> {
    (0..count).map(|last| [192, 0, 2, last].into()).collect()
}

#[test]
fn an_answer_repeats_what_was_asked() {
    let question = Question::read(&asked("WwW.Shop.Example.", RecordType::A, |m| edns(m, 4000))).unwrap();
    assert_eq!((question.kind(), question.family(), question.limit()), (1, Some(Family::V4), 4000));
    assert_eq!(question.name().unwrap().as_str(), "www.shop.example");
    let mixed = [ips(2), vec!["2001:db8::1".parse().unwrap()]].concat();
    let answer = read(&question.answer(&mixed, 77, 512));
    assert_eq!((answer.metadata.id, answer.metadata.message_type), (0x1234, MessageType::Response));
    let bits = answer.metadata;
    assert!(bits.recursion_desired && bits.recursion_available && !bits.authoritative && !bits.truncation);
    assert_eq!(
        answer.queries[0].name().to_string(),
        "WwW.Shop.Example.",
        "some clients spell names by chance and compare"
    );
    assert_eq!(answer.answers.len(), 2);
    assert!(answer.answers.iter().all(|record| record.ttl == 77));
    assert_eq!(answer.edns.as_ref().map(Edns::max_payload), Some(LARGEST));
    let plain =
        Question::read(&asked("a.example.", RecordType::AAAA, |m| m.metadata.recursion_desired = false)).unwrap();
    let answer = read(&plain.answer(&mixed, 1, 512));
    assert_eq!((plain.limit(), answer.answers.len(), answer.edns), (512, 1, None));
    assert!(!answer.metadata.recursion_desired);
}

#[test]
fn what_does_not_fit_is_cut_and_marked() {
    for (payload, limit) in [(None, 512), (Some(100), 512), (Some(900), 900), (Some(60000), 4096)] {
        let ask = |m: &mut Message| _ = payload.map(|payload| edns(m, payload));
        let question = Question::read(&asked("many.example.", RecordType::A, ask)).unwrap();
        assert_eq!(question.limit(), limit);
        for count in 0..=255 {
            let bytes = question.answer(&ips(count), 60, limit);
            let answer = read(&bytes);
            assert!(bytes.len() <= usize::from(limit));
            assert_eq!(answer.metadata.truncation, answer.answers.len() < usize::from(count));
            // Not even a record with its whole name would fit.
            let full = bytes.len() + 28 > usize::from(limit);
            assert!(!answer.metadata.truncation || full, "{count} {limit}: {}", bytes.len());
        }
    }
    let question = Question::read(&asked("many.example.", RecordType::A, |_| {})).unwrap();
    assert_eq!(read(&question.answer(&ips(255), 60, u16::MAX)).answers.len(), 255);
    let far: Vec<IpAddr> = (0..5000u32).map(|n| std::net::Ipv4Addr::from(n).into()).collect();
    assert!(question.answer(&far, 60, u16::MAX).len() <= usize::from(u16::MAX));
}

#[test]
fn codes_go_where_there_is_room_for_them() {
    let plain = Question::read(&asked("a.example.", RecordType::TXT, |_| {})).unwrap();
    let long = Question::read(&asked("a.example.", RecordType::TXT, |m| edns(m, 1232))).unwrap();
    for (code, on_plain, on_long) in [(0, 0, 0), (3, 3, 3), (5, 5, 5), (23, 2, 23), (4095, 2, 4095), (4096, 2, 2)] {
        assert_eq!(u16::from(read(&plain.empty(code)).metadata.response_code), on_plain, "{code}");
        assert_eq!(u16::from(read(&long.empty(code)).metadata.response_code), on_long, "{code}");
    }
    assert_eq!(read(&plain.empty(0)).queries.len(), 1);
}

#[test]
fn names_that_nobody_has_are_answered_by_code() {
    let code = |name: Name| {
        let bytes = asked("x.", RecordType::A, |m| m.queries = vec![Query::query(name.clone(), RecordType::A)]);
        Question::read(&bytes).unwrap().name().map(|name| name.to_string())
    };
    assert_eq!(code(Name::root()), Err(0));
    assert_eq!(code(Name::from_ascii("192.0.2.1.").unwrap()), Err(3));
    assert_eq!(code(Name::from_labels([&b"a b"[..], b"example"]).unwrap()), Err(5));
    assert_eq!(code(Name::from_labels([&b"a.b"[..], b"example"]).unwrap()), Err(5));
    assert_eq!(code(Name::from_ascii("_sip._tcp.example.").unwrap()), Ok("_sip._tcp.example".into()));
    let chaos = asked("version.bind.", RecordType::A, |m| _ = m.queries[0].set_query_class(DNSClass::CH));
    assert_eq!(Question::read(&chaos).unwrap().family(), None);
}

#[test]
fn what_cannot_be_answered_is_told_so_where_somebody_listens() {
    let good = asked("a.example.", RecordType::A, |_| {});
    let told = |bytes: &[u8]| match Question::read(bytes) {
        Err(BadQuestion::Refused(bytes)) => {
            let message = read(&bytes);
            assert_eq!(message.metadata.id, 0x1234);
            Some(u16::from(message.metadata.response_code))
        }
        Err(BadQuestion::Strange) => None,
        Ok(_) => unreachable!(),
    };
    assert_eq!(told(b""), None);
    assert_eq!(told(&good[..11]), None);
    assert_eq!(told(&asked("a.example.", RecordType::A, |m| m.metadata.message_type = MessageType::Response)), None);
    assert_eq!(told(&good[..20]), Some(1));
    assert_eq!(told(&asked("a.example.", RecordType::A, |m| m.queries.clear())), Some(1));
    let two = |m: &mut Message| _ = m.add_query(Query::query(Name::root(), RecordType::A));
    assert_eq!(told(&asked("a.example.", RecordType::A, two)), Some(1));
    let mut many = good.clone();
    many[4..6].copy_from_slice(&[0xff, 0xff]);
    assert_eq!(told(&many), Some(1));
    assert_eq!(told(&asked("a.example.", RecordType::A, |m| m.metadata.op_code = OpCode::Status)), Some(4));
    let newer = |m: &mut Message| {
        edns(m, 1232);
        _ = m.edns.as_mut().unwrap().set_version(1);
    };
    assert_eq!(told(&asked("a.example.", RecordType::A, newer)), Some(16));
    let mut looped = good;
    looped[12..14].copy_from_slice(&[0xc0, 12]);
    assert_eq!(told(&looped), Some(1));
}

proptest! {
    /// Whatever comes, it is read or refused, and what is said to it is a message within its limit.
    #[test]
    fn any_bytes_are_taken(mut bytes in proptest::collection::vec(any::<u8>(), 0..400), shaped: bool, code: u16) {
        if shaped && bytes.len() > 12 {
            bytes[2] &= 0x07;
            let more = bytes[11] & 1;
            bytes[4..12].copy_from_slice(&[0, 1, 0, 0, 0, 0, 0, more]);
        }
        match Question::read(&bytes) {
            Ok(question) => {
                let said = question.answer(&ips(200), 60, question.limit());
                prop_assert!(said.len() <= usize::from(question.limit()));
                prop_assert!(Message::from_vec(&said).is_ok());
                prop_assert!(Message::from_vec(&question.empty(code)).is_ok());
                let _ = (question.kind(), question.family(), question.name());
            }
            Err(BadQuestion::Refused(said)) => prop_assert!(Message::from_vec(&said).is_ok()),
            Err(BadQuestion::Strange) => {}
        }
    }
}
