//! Freedom that cuts what is sent first.
#![allow(clippy::unwrap_used)]

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::support::{House, tunnel};

/// What a server reads of a client that says this and ends.
async fn arrives(sniffing: bool, said: &[u8]) -> Vec<u8> {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let house = House::start(&json!({
        "inbounds": [{ "tag": "in", "protocol": "socks", "listen": "127.0.0.1", "sniffing": { "enabled": sniffing } }],
        "outbounds": [{ "protocol": "freedom", "settings": {
            "fragment": { "packets": "tlshello", "length": "10-20", "interval": "1-2" },
        } }],
    }));
    let mut client = tunnel(house.at("in"), &listener.local_addr().unwrap().to_string()).await;
    client.write_all(said).await.unwrap();
    client.shutdown().await.unwrap();
    let mut all = Vec::new();
    listener.accept().await.unwrap().0.read_to_end(&mut all).await.unwrap();
    house.stop().await;
    all
}

#[tokio::test]
async fn a_hello_leaves_in_many_records_and_all_else_as_it_is() {
    let payload: Vec<u8> = (1..=100).collect();
    let said = [&b"\x16\x03\x01\x00\x64"[..], &payload, b"behind"].concat();
    for sniffing in [false, true] {
        let all = arrives(sniffing, &said).await;
        let mut rest = all.strip_suffix(b"behind").unwrap();
        let (mut records, mut joined) = (0, Vec::new());
        while let Some((head, more)) = rest.split_at_checked(5) {
            assert_eq!(head[..4], *b"\x16\x03\x01\x00");
            let (part, later) = more.split_at(head[4].into());
            joined.extend_from_slice(part);
            (rest, records) = (later, records + 1);
        }
        assert_eq!(joined, payload);
        assert!((5..=10).contains(&records), "{records}");
        assert_eq!(arrives(sniffing, b"GET / HTTP/1.1\r\n\r\n").await, b"GET / HTTP/1.1\r\n\r\n");
    }
}
