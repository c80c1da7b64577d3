//! SOCKS 4 and 5.

use etemenanki::addr::Target;
use etemenanki::proto::login::Logins;
use etemenanki::proto::socks::{
    Client, Client4, Command, Login, Server, read_address, read_datagram, write_address, write_header,
};
use etemenanki::wire::Reader;

use super::feed;

/// A server, with and without logins.
pub fn server(data: &[u8]) {
    let logins = Logins::new([("user", "password")]);
    for logins in [None, Some(&logins)] {
        feed::shake(data, || Server::new(logins), |request| format!("{request:?}"));
    }
}

/// Clients of both versions, and what servers say to them.
pub fn client(data: &[u8]) {
    let target: Target = "a.example:443".parse().expect("a target");
    let login = || Login { user: "user", password: "password" };
    feed::shake(data, || Client::new(Command::Connect, &target, None), |answer| format!("{answer:?}"));
    feed::shake(data, || Client::new(Command::Connect, &target, Some(login())), |answer| format!("{answer:?}"));
    feed::shake(data, || Client4::new(&target, Some("user")).expect("a name fits"), |answer| format!("{answer:?}"));
}

/// An address; written again it reads the same.
pub fn address(data: &[u8]) {
    let mut reader = Reader::new(data);
    let Ok(target) = read_address(&mut reader) else { return };
    assert!(reader.used() <= data.len());
    let mut again = Vec::new();
    write_address(&target, &mut again);
    assert_eq!(read_address(&mut Reader::new(&again)), Ok(target.clone()));
    again.clear();
    etemenanki::proto::portfirst::write_address(&target, &mut again);
    assert_eq!(etemenanki::proto::portfirst::read_address(&mut Reader::new(&again)), Ok(target));
    let _ = etemenanki::proto::portfirst::read_address(&mut Reader::new(data));
}

/// A datagram.
pub fn udp(data: &[u8]) {
    let Ok((target, payload)) = read_datagram(data) else { return };
    let mut again = Vec::new();
    write_header(&target, &mut again);
    again.extend_from_slice(payload);
    assert_eq!(read_datagram(&again), Ok((target, payload)));
}
