//! VLESS.

use etemenanki::proto::vless::{Answered, Id, Lengths, Server, Users, is_stranger, write_request};
use etemenanki::wire::Unframed;

use super::feed;

/// The header of a request. Version and id are put in front, and the input alone is shown too; what is written of it reads
/// the same.
pub fn request(data: &[u8]) {
    let id = Id::new([7; 16]);
    let users = Users::new([(id.key(), ())]);
    let known = [&[0][..], id.bytes(), data].concat();
    for input in [data, &known] {
        let _ = is_stranger(input, &users);
        feed::shake(
            input,
            || Server::new(&users),
            |request| {
                let words = format!("{:?} {:?}", request.wrapping, request.command);
                let mut again = Vec::new();
                write_request(&request.id, request.wrapping, &request.command, &mut again);
                assert!(!is_stranger(&again, &users));
                words
            },
        );
    }
}

/// A server's answer, and what is behind it.
pub fn answer(data: &[u8]) {
    feed::open(data, || Answered::new(Unframed));
}

/// Datagrams in a stream, from either side.
pub fn lengths(data: &[u8]) {
    feed::unpack(data, || Lengths::client(Vec::new()));
    let (packets, _) = feed::unpack(data, Lengths::server);
    assert!(packets.iter().all(|(payload, _)| payload.len() <= usize::from(u16::MAX)));
}
