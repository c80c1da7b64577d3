//! trojan, the program that gave the protocol its name: a process for each cell.

use serde_json::json;

use crate::matrix::keys::{Keys, NAME, Secrets};
use crate::matrix::link::{Carrier, Cell, Link, Mux, Proto, Secure};
use crate::support::program;

use super::program::{Launch, Role};

pub fn lacks(link: &Link, _role: Role) -> Option<&'static str> {
    match (link.proto, link.carrier, link.secure, link.mux) {
        (Proto::Trojan, Carrier::Raw, Secure::Tls, Mux::Off) => None,
        (Proto::Trojan, Carrier::Raw, Secure::Tls, _) => Some("has no mux"),
        (Proto::Trojan, Carrier::Raw, ..) => Some("speaks over TLS alone"),
        (Proto::Trojan, ..) => Some("has no carriers"),
        _ => Some("speaks Trojan alone"),
    }
}

pub fn launch(role: Role, cell: &Cell, keys: &Keys) -> Vec<Launch> {
    match role {
        Role::Server => vec![server(cell, keys)],
        Role::Client => vec![client(cell, keys, &keys.right, cell.door), client(cell, keys, &keys.wrong, cell.wrong)],
    }
}

fn server(cell: &Cell, keys: &Keys) -> Launch {
    let config = json!({
        "run_type": "server", "local_addr": "127.0.0.1", "local_port": cell.server,
        // Strangers go where nobody answers: here a stranger is to hear nothing.
        "remote_addr": "127.0.0.1", "remote_port": 1,
        "password": [keys.right.password], "log_level": 1,
        "ssl": {
            "cert": keys.cert(), "key": keys.key(), "alpn": ["http/1.1"], "prefer_server_cipher": true,
            "cipher": "", "cipher_tls13": "", "curves": "", "dhparam": "", "plain_http_response": "",
            "reuse_session": true, "session_ticket": false, "session_timeout": 600
        },
        "tcp": tcp(), "mysql": { "enabled": false }
    });
    Launch::json(&program("trojan"), &["-c", "config.json"], &config, vec![cell.server.into()])
}

fn client(cell: &Cell, keys: &Keys, secrets: &Secrets, port: u16) -> Launch {
    let config = json!({
        "run_type": "client", "local_addr": "127.0.0.1", "local_port": port,
        "remote_addr": "127.0.0.1", "remote_port": cell.server,
        "password": [secrets.password], "log_level": 1,
        "ssl": {
            "verify": true, "verify_hostname": true, "cert": keys.ca(), "sni": NAME, "alpn": ["h2", "http/1.1"],
            "cipher": "", "cipher_tls13": "", "curves": "", "reuse_session": true, "session_ticket": false
        },
        "tcp": tcp()
    });
    Launch::json(&program("trojan"), &["-c", "config.json"], &config, vec![port.into()])
}

fn tcp() -> serde_json::Value {
    json!({ "no_delay": true, "keep_alive": true, "reuse_port": false, "fast_open": false, "fast_open_qlen": 20 })
}
