//! Trojan.

use etemenanki::proto::trojan::{Frames, Server, Token, Users, is_stranger};

use super::feed;

/// The header of a request. The hash of the password is put in front, and the input alone is shown too.
pub fn request(data: &[u8]) {
    let token = Token::new("password");
    let users = Users::new([(*token.text(), ())]);
    let known = [&token.text()[..], b"\r\n", data].concat();
    for input in [data, &known] {
        let _ = is_stranger(input, &users);
        feed::shake(input, || Server::new(&users), |request| format!("{:?} {}", request.network, request.target));
    }
}

/// Datagrams in a stream.
pub fn frames(data: &[u8]) {
    let (packets, _) = feed::unpack(data, || Frames::after(Vec::new()));
    let packets: Vec<_> = packets.into_iter().filter_map(|(payload, peer)| Some((payload, peer?))).collect();
    feed::pack_again(&packets, Frames::after(Vec::new()), || Frames::after(Vec::new()));
}
