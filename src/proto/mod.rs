//! Sans-io codecs: bytes in, values out.
//!
//! Every protocol here is a value that eats bytes ([`crate::wire::Handshake`]) or a pair of functions that read and write
//! one message. Nothing waits, opens a socket or knows a configuration, so all of it is tested from byte arrays.

pub mod credentials;
pub mod fragment;
pub mod gun;
pub mod haproxy;
pub mod hello;
pub mod http;
pub mod hysteria;
pub mod login;
pub mod mask;
pub mod mkcp;
pub mod mux;
pub mod portfirst;
pub mod quic;
pub mod shadowsocks;
pub mod sniff;
pub mod socks;
pub mod trojan;
pub mod vision;
pub mod vless;
pub mod vmess;
pub mod websocket;
