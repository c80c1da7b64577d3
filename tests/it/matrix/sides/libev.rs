//! shadowsocks-libev: a process for each cell.

use std::process::Command;

use crate::matrix::keys::{Keys, Secrets, shadowsocks};
use crate::matrix::link::{Carrier, Cell, Link, Mux, Proto, Secure, Users};
use crate::support::program;

use super::program::{Launch, Role};

pub fn lacks(link: &Link, role: Role) -> Option<&'static str> {
    match link.proto {
        Proto::Shadowsocks(method, _) if method.starts_with("2022-") => Some("has no Shadowsocks 2022"),
        Proto::Shadowsocks("none", _) => Some("refuses to run without a cipher"),
        Proto::Shadowsocks(_, Users::Several) if role == Role::Server => Some("knows one user"),
        Proto::Shadowsocks(..) if link.carrier != Carrier::Raw || link.secure != Secure::None => {
            Some("has no carriers of its own, only plugins")
        }
        Proto::Shadowsocks(..) if link.mux != Mux::Off => Some("has no mux"),
        Proto::Shadowsocks(..) => None,
        _ => Some("speaks Shadowsocks alone"),
    }
}

pub fn launch(role: Role, cell: &Cell, keys: &Keys) -> Vec<Launch> {
    match role {
        Role::Server => vec![server(cell, keys)],
        Role::Client => vec![client(cell, &keys.right, false), client(cell, &keys.wrong, true)],
    }
}

fn server(cell: &Cell, keys: &Keys) -> Launch {
    let (method, _) = shadowsocks(cell.link.proto).expect("the link is Shadowsocks");
    let mut command = Command::new(program("ss-server"));
    command.args(["-s", "127.0.0.1", "-p", &cell.server.to_string(), "-m", method, "-u"]);
    command.args(["-k", &keys.right.server(method)]);
    Launch { command, files: vec![], ports: vec![cell.server.into()] }
}

fn client(cell: &Cell, secrets: &Secrets, wrong: bool) -> Launch {
    let (method, users) = shadowsocks(cell.link.proto).expect("the link is Shadowsocks");
    let port = if wrong { cell.wrong } else { cell.door };
    let mut command = Command::new(program("ss-local"));
    command.args(["-s", "127.0.0.1", "-p", &cell.server.to_string(), "-m", method, "-u"]);
    command.args(["-k", &secrets.client(method, users, wrong), "-b", "127.0.0.1", "-l", &port.to_string()]);
    Launch { command, files: vec![], ports: vec![port.into()] }
}
