//! The header of a proxy in front of us.

use std::net::SocketAddr;

use etemenanki::proto::haproxy::{Form, ReadHeader, header};

use super::feed;

/// Reads a header; both forms of what it says read the same.
pub fn read(data: &[u8]) {
    let mut said = None;
    feed::shake(data, ReadHeader::default, |client| {
        said = client;
        format!("{client:?}")
    });
    // A client without an address is written as unknown.
    let Some(client) = said.filter(|client| !client.ip().is_unspecified()) else { return };
    let server = if client.is_ipv4() { "192.0.2.1:443" } else { "[2001:db8::1]:443" };
    let server: SocketAddr = server.parse().expect("an address");
    for form in [Form::V1, Form::V2] {
        let again = feed::shake(&header(form, client, server), ReadHeader::default, |client| format!("{client:?}"));
        assert_eq!(again, Some(Ok((format!("{:?}", Some(client)), Vec::new()))));
    }
}
