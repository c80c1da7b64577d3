//! What is done with the bytes of a fuzzer, or of a file of the corpus: each target shows them to one codec, whole and in
//! pieces, and panics where the two come to different things, where a codec claims more than it was shown, or where what
//! it wrote is not what it reads.

mod dns;
mod feed;
mod geo;
mod gun;
mod haproxy;
mod http;
mod hysteria;
mod mux;
mod plan;
mod quic;
mod shadowsocks;
mod socks;
mod tls;
mod tls13;
mod trojan;
mod tunnel;
mod vision;
mod vless;
mod vless_encryption;
mod vmess;
mod websocket;
mod xhttp;

/// The body of a target.
pub type Target = fn(&[u8]);

/// All targets, by the names of their folders in the corpus.
pub const ALL: &[(&str, Target)] = &[
    ("client-hello", tls::hello),
    ("dns-answer", dns::answer),
    ("dns-asked", dns::asked),
    ("dns-question", dns::question),
    ("geodata", geo::file),
    ("gun", gun::hunks),
    ("gun-paths", gun::paths),
    ("haproxy", haproxy::read),
    ("http-body", http::body),
    ("http-connect", http::connect),
    ("http-request", http::request),
    ("http-response", http::response),
    ("hysteria-request", hysteria::request),
    ("hysteria-response", hysteria::response),
    ("hysteria-udp", hysteria::datagrams),
    ("mux-frames", mux::frames),
    ("mux-xudp", mux::xudp),
    ("quic", quic::datagrams),
    ("quic-frames", quic::frames),
    ("shadowsocks-2022-stream", shadowsocks::stream_2022),
    ("shadowsocks-2022-udp", shadowsocks::udp_2022),
    ("shadowsocks-stream", shadowsocks::stream),
    ("shadowsocks-udp", shadowsocks::udp),
    ("sniff", tls::sniff),
    ("socks-address", socks::address),
    ("socks-client", socks::client),
    ("socks-server", socks::server),
    ("socks-udp", socks::udp),
    ("tls13-hellos", tls13::hellos),
    ("tls13-records", tls13::records),
    ("tls13-strangers", tls13::strangers),
    ("trojan", trojan::request),
    ("trojan-udp", trojan::frames),
    ("tunnel-packet", tunnel::packet),
    ("vision-blocks", vision::blocks),
    ("vision-padded", vision::padded),
    ("vless", vless::request),
    ("vless-answer", vless::answer),
    ("vless-encryption-answer", vless_encryption::answer),
    ("vless-encryption-hello", vless_encryption::hello_of_a_client),
    ("vless-encryption-records", vless_encryption::records),
    ("vless-udp", vless::lengths),
    ("vmess", vmess::stream),
    ("vmess-strangers", vmess::strangers),
    ("websocket", websocket::frames),
    ("xhttp-heads", xhttp::heads),
];
